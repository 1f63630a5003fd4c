"""Recordings as they are found: cut off, written to a pipe, several in one file, with tags behind them, FLAC in Ogg. What is delivered is all that there is,
or an error says what is not."""
import io
import struct

import numpy as np
import pytest

import forebay as fb

soundfile = pytest.importorskip("soundfile")

RATE, COUNT = 16000, 20001
SOUND = 0.3 * np.sin(np.arange(COUNT) * 0.05)


def written(container, coding="PCM_16", sound=SOUND, rate=RATE):
    file = io.BytesIO()
    soundfile.write(file, sound, rate, format=container, subtype=coding)
    return file.getvalue()


def little(value, size=4):
    return value.to_bytes(size, "little")


def replaced(data, place, new):
    return data[:place] + new + data[place + len(new):]


def told(folder, files):
    """name → samples, or the message of the error; `files`: name → bytes."""
    for name, data in files.items():
        (folder / name).write_bytes(data)
    found = {}
    with fb.Loader(fb.files(sorted(str(folder / name) for name in files)).decode_audio().batch(1), on_error="skip", epochs=1) as loader:
        for batch in loader:
            if len(batch):
                found[batch["key"][0].rsplit("/", 1)[-1]] = np.asarray(batch["audio"][0])
        for error in loader.errors():
            found[error["key"].rsplit("/", 1)[-1]] = f"{error['code']}: {error['message']}"
    return found


def expect_whole(folder, files, count=COUNT):
    found = told(folder, files)
    wrong = {name: value if isinstance(value, str) else len(value) for name, value in found.items() if isinstance(value, str) or len(value) != count}
    assert sorted(found) == sorted(files) and wrong == {}
    return found


def expect_told(folder, files, code, *parts):
    found = told(folder, files)
    assert sorted(found) == sorted(files)
    for name, value in found.items():
        assert isinstance(value, str) and value.startswith(code) and all(part in value for part in parts), (name, value)


# ---- Ogg

def checksum(data):
    value = 0
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ 0x04C11DB7 if value & 0x80000000 else value << 1) & 0xFFFFFFFF
    return value


def page(packets, kind=0, position=0, serial=7, number=0):
    lacing = b"".join(bytes([255] * (len(packet) // 255) + [len(packet) % 255]) for packet in packets)
    head = b"OggS" + struct.pack("<BBqIIIB", 0, kind, position, serial, number, 0, len(lacing)) + lacing
    data = head + b"".join(packets)
    return replaced(data, 22, little(checksum(data)))


def flac_parts(flac):
    """STREAMINFO's block, the others, the frames (together: where they begin nobody else knows)."""
    blocks, at, last = [], 4, 0
    while not last:
        last, size = flac[at] & 0x80, int.from_bytes(flac[at + 1: at + 4], "big")
        blocks.append(bytes([flac[at] & 0x7F]) + flac[at + 1: at + 4 + size])
        at += 4 + size
    blocks[-1] = bytes([blocks[-1][0] | 0x80]) + blocks[-1][1:]
    return blocks, flac[at:]


def ogg_flac(flac, mapped=True, serial=7):
    """By the mapping of xiph.org, frames cut into pages anywhere."""
    blocks, frames = flac_parts(flac)
    first = b"fLaC" + blocks[0]
    pages = [[b"\x7fFLAC\x01\x00" + struct.pack(">H", len(blocks) - 1) + first] if mapped else [first], *([block] for block in blocks[1:])]
    pages += [[frames[at: at + 4000]] for at in range(0, len(frames), 4000)]
    return b"".join(page(packets, 2 if i == 0 else 4 if i == len(pages) - 1 else 0, COUNT if i == len(pages) - 1 else 0, serial, i)
                    for i, packets in enumerate(pages))


CODINGS = ["VORBIS", "OPUS", "FLAC"]


def ogg(coding, sound=SOUND, rate=RATE):
    return ogg_flac(written("FLAC", sound=sound, rate=rate)) if coding == "FLAC" else written("OGG", coding, sound, rate)


@pytest.mark.parametrize("mapped", [True, False])
def test_flac_in_ogg_gives_the_samples_of_the_flac_file(tmp_path, mapped):
    for coding in ("PCM_16", "PCM_24"):
        flac = written("FLAC", coding)
        found = expect_whole(tmp_path, {"a.flac": flac, "a.oga": ogg_flac(flac, mapped)})
        assert np.array_equal(found["a.flac"], found["a.oga"])


@pytest.mark.parametrize("coding", CODINGS)
def test_an_ogg_file_that_was_cut_off_anywhere_is_told(tmp_path, coding):
    whole = ogg(coding)
    last = whole.rfind(b"OggS")
    lengths = {*np.linspace(5, len(whole) - 1, 25).astype(int), last, last + 3, last + 27}
    expect_told(tmp_path, {f"{length:06}": whole[:length] for length in lengths}, "Corrupt", "Ogg: at byte")
    expect_whole(tmp_path, {"whole": whole, "tag": whole + b"TAG" + bytes(125), "zeros": whole + bytes(1000)})


@pytest.mark.parametrize("coding", CODINGS)
def test_ogg_streams_in_a_row_are_read_whole_or_refused_by_name(tmp_path, coding):
    whole, short = ogg(coding), ogg(coding, SOUND[:7000])
    alone = told(tmp_path, {"a": whole, "b": short})
    found = expect_whole(tmp_path, {"row": whole + short + whole}, 2 * COUNT + 7000)["row"]
    assert np.array_equal(found, np.concatenate([alone["a"], alone["b"], alone["a"]]))
    expect_told(tmp_path, {"rate": whole + ogg(coding, rate=8000), "channels": whole + ogg(coding, np.stack([SOUND, SOUND], 1))},
                "Unsupported", "the format changes at stream 2 of 2", "cut it into files of one format")
    expect_told(tmp_path, {"end": whole + short[:-5], "first": whole[: whole.rfind(b"OggS")] + short}, "Corrupt", "Ogg: at byte")


def test_pages_that_are_damaged_or_missing_are_told(tmp_path):
    whole = ogg("FLAC")
    starts = [at for at in range(len(whole)) if whole.startswith(b"OggS", at)]
    without = {f"without {i}": whole[: starts[i]] + whole[starts[i + 1]:] for i in range(1, len(starts) - 1)}
    expect_told(tmp_path, without, "Corrupt", "pages are missing")
    flipped = {f"bit {at}": replaced(whole, at, bytes([whole[at] ^ 1])) for at in range(starts[2] + 5, len(whole), 997)}
    expect_told(tmp_path, flipped, "Corrupt")


def test_other_streams_beside_the_sound_are_passed_over_and_a_second_sound_is_not(tmp_path):
    """Skeleton and Theora begin with pages of their own, and lie between those of the sound."""
    sound = [page_of for page_of in split_pages(ogg("FLAC"))]
    other = [page([b"fishead\0" + bytes(56)], 2, serial=1), page([b"data"], 0, serial=1, number=1), page([b""], 4, serial=1, number=2)]
    expect_whole(tmp_path, {"beside": other[0] + sound[0] + other[1] + sound[1] + other[2] + b"".join(sound[2:])})
    second = split_pages(ogg_flac(written("FLAC"), serial=8))
    expect_told(tmp_path, {"two": b"".join(one + two for one, two in zip(sound, second))}, "Unsupported", "side by side")
    expect_told(tmp_path, {"speex": page([b"Speex   " + bytes(72)], 2) + page([b"x"], 4, number=1)}, "Unsupported", "Speex")
    expect_told(tmp_path, {"video": page([b"\x80theora" + bytes(40)], 2) + page([b"x"], 4, number=1)}, "Unsupported", "Theora")


def split_pages(data):
    starts = [at for at in range(len(data)) if data.startswith(b"OggS", at)] + [len(data)]
    return [data[begin:end] for begin, end in zip(starts, starts[1:])]


# ---- lengths in headers

def test_lengths_that_a_pipe_left_mean_the_end_of_the_file(tmp_path):
    wav, rf64, w64 = written("WAV"), written("RF64"), written("W64")
    au, caf, aiff = written("AU"), written("CAF"), written("AIFF")
    data, ds64, long_data, caf_data, ssnd, comm = (wav.index(b"data"), rf64.index(b"ds64"), w64.index(b"data"), caf.index(b"data"),
                                                   aiff.index(b"SSND"), aiff.index(b"COMM"))
    files = {f"{size:x}.wav": replaced(replaced(wav, data + 4, little(size)), 4, little(min(size + 36, 2**32 - 1)))
             for size in (0, 0x7FFF0000, 0x7FFFF000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)}
    files |= {"zeros.rf64": replaced(rf64, ds64 + 8, bytes(24)), "ones.rf64": replaced(rf64, ds64 + 8, b"\xff" * 24)}
    files |= {f"{size:x}.w64": replaced(w64, long_data + 16, little(size, 8)) for size in (0, 2**63 - 1)}
    files |= {"0.au": replaced(au, 8, bytes(4)), "ones.au": replaced(au, 8, b"\xff" * 4), "ones.caf": replaced(caf, caf_data + 4, b"\xff" * 8)}
    files |= {f"{size.hex()}.aiff": replaced(replaced(aiff, comm + 10, frames), ssnd + 4, size)
              for size, frames in ((bytes(4), bytes(4)), (b"\xff" * 4, b"\xff" * 4), (b"\x7f\xff\xff\xff", bytes(4)))}
    found = expect_whole(tmp_path, files)
    for name, samples in found.items():
        np.testing.assert_allclose(samples, SOUND, atol=4e-5, err_msg=name)


def test_an_empty_recording_with_chunks_behind_it_is_empty(tmp_path):
    wav = written("WAV")
    empty = replaced(wav, wav.index(b"data") + 4, bytes(4))[: wav.index(b"data") + 8]
    expect_whole(tmp_path, {"bare.wav": empty, "list.wav": empty + b"LIST" + little(4) + b"INFO"}, 0)


@pytest.mark.parametrize("container", ["WAV", "RF64", "W64", "AU", "CAF", "AIFF"])
def test_recordings_cut_short_of_their_stated_length_are_told(tmp_path, container):
    whole = written(container)
    begin = len(whole) - 2 * COUNT
    expect_told(tmp_path, {f"{length:06}": whole[:length] for length in np.linspace(begin + 10, begin + 2 * COUNT - 100, 12).astype(int)}, "Corrupt")
    expect_whole(tmp_path, {"whole": whole})


@pytest.mark.parametrize("container", ["WAV", "RF64", "W64", "AU", "CAF", "AIFF", "FLAC"])
def test_two_recordings_in_one_file_are_refused_by_name(tmp_path, container):
    whole = written(container)
    expect_told(tmp_path, {"two": whole + whole}, "Unsupported", "a second", "cut it into files of one")


def without_length(flac):
    return replaced(flac, 21, bytes([flac[21] & 0xF0, 0, 0, 0, 0]))


def test_flac_without_a_length_is_read_to_its_end_and_told_where_it_was_cut(tmp_path):
    whole = written("FLAC")
    open_ended = without_length(whole)
    expect_whole(tmp_path, {"open": open_ended, "zeros": open_ended + bytes(5000), "tag": open_ended + b"TAG" + b"x" * 125})
    frames = len(flac_parts(whole)[1])
    cuts = [int(length) for length in np.linspace(1, frames // 5 - 1, 12)]  # inside the last of five frames
    expect_told(tmp_path, {f"open {cut}": open_ended[:-cut] for cut in cuts}, "Corrupt")
    expect_told(tmp_path, {f"known {cut}": whole[:-cut] for cut in cuts}, "Corrupt")
    fewer = replaced(whole, 22, struct.pack(">I", 8192))
    expect_told(tmp_path, {"more": fewer}, "Corrupt", "there are more")


# ---- MP3

TAG = b"TAG" + b"t" * 125
LYRICS = b"LYRICSBEGININD0000200LYR00005hello"


def ape(size):
    def end(flags):
        return b"APETAGEX" + struct.pack("<IIII", 2000, size + 32, 1, flags) + bytes(8)
    return end(0xA0000000) + b"y" * size + end(0x80000000)


TAILS = {"id3v1": TAG, "id3v1 twice": TAG + TAG, "extended": b"TAG+" + bytes(223) + TAG, "ape": ape(300), "ape and id3v1": ape(300) + TAG,
         "lyrics3": LYRICS + b"%06d" % len(LYRICS) + b"LYRICS200" + TAG, "lyrics3v1": b"LYRICSBEGINhelloLYRICSEND" + TAG, "zeros": bytes(3000),
         "page": b"<html>not found</html>" * 30, "byte": b"\xff", "part of a header": b"\xff\xfb\x90",
         "junk": np.random.default_rng(3).integers(0, 255, 3000, np.uint8).tobytes()}


@pytest.mark.parametrize("name", ["nasa_13013.mp4.audio.mp3", "nasa_13013.mp4.audio_44100.mp3", "test_audio_44100.mp3", "test_audio_16000.mp3"])
def test_mp3_with_a_tail_gives_what_it_gives_without(shared, tmp_path, name):
    whole = (shared / "audio/mp3" / name).read_bytes()
    found = told(tmp_path, {"plain": whole} | {tail: whole + data for tail, data in TAILS.items()})
    assert len(found) == len(TAILS) + 1
    for tail, samples in found.items():
        assert not isinstance(samples, str), (tail, samples)
        assert np.array_equal(samples, found["plain"]), tail


def test_mp3_that_was_cut_off_is_told(shared, tmp_path):
    for name in ("nasa_13013.mp4.audio.mp3", "nasa_13013.mp4.audio_44100.mp3"):  # an encoder's tag says how many frames
        whole = (shared / "audio/mp3" / name).read_bytes()
        expect_told(tmp_path, {f"{length}": whole[:length] for length in np.linspace(2000, len(whole) - 30, 15).astype(int)}, "Corrupt", "MPEG frames")
    whole = (shared / "audio/mp3/test_audio_44100.mp3").read_bytes()  # none
    expect_told(tmp_path, {f"{cut}": whole[:-cut] for cut in (50, 100, 300)}, "Corrupt", "ends inside a frame")


# ---- all real files

def test_every_real_recording_is_what_libsndfile_reads_or_told(shared):
    paths = [path for folder in ("audio", "malformed/flac") for path in sorted((shared / folder).rglob("*"))
             if path.is_file() and path.suffix in (".flac", ".wav", ".ogg", ".mp3", ".bit")]
    assert len(paths) > 600
    read, errors = {}, {}
    with fb.Loader(fb.files(paths).decode_audio(mono=False).batch(1), on_error="skip", epochs=1) as loader:
        for batch in loader:
            if len(batch):
                read[int(batch.ids[0])] = np.asarray(batch["audio"][0])
        errors = {error["sample"]: error for error in loader.errors()}
    assert sorted([*read, *errors]) == list(range(len(paths)))
    assert {error["code"] for error in errors.values()} <= {"Corrupt", "Unsupported"}
    for i, path in enumerate(paths):
        if path.suffix in (".mp3", ".bit") or i not in read:
            assert i in read or "audio/mp3-vectors" in str(path) or "malformed" in str(path) or "flac-testbench" in str(path), errors[i]
            continue
        try:
            expected = soundfile.read(path, dtype="float32", always_2d=True)[0]
        except soundfile.LibsndfileError:
            continue  # libsndfile refuses 12 and 20 bits, and damage that its version tells in another way
        assert read[i].shape == expected.T.shape, path
        np.testing.assert_allclose(read[i], expected.T, rtol=1e-4, atol=2e-6, err_msg=str(path))
