"""Sound becomes batches: samples against libsndfile and shipped references, spectra against torchaudio's formulas and librosa, damage by policy,
and the same bytes for any threads, ranks, resumes and instruction sets."""
import io
import os
import subprocess
import sys
import wave

import numpy as np
import pytest
import sound_formulas
from loading import one_epoch

import forebay as fb

CHOICES = [
    {},
    {"n_fft": 512, "win_length": 400, "hop_length": 160, "n_mels": 80},
    {"n_fft": 1024, "hop_length": 256, "n_mels": 64, "norm": "slaney", "mel_scale": "slaney", "pad_mode": "constant"},
    {"n_fft": 400, "hop_length": 160, "n_mels": 40, "f_min": 60, "f_max": 7000, "power": 1.0, "center": False},
    {"n_fft": 300, "win_length": 201, "n_mels": 23, "log": "db"},
    {"n_mels": 60, "log": "ln"},
]


def sound(count, seed=1):
    """Tones and noise, as loud as speech."""
    draw = np.random.default_rng(seed)
    t = np.arange(count) / 16000
    tones = 0.3 * np.sin(2 * np.pi * 440 * t) + 0.1 * np.sin(2 * np.pi * (200 + 900 * t) * t)
    return (tones + 0.02 * draw.standard_normal(count)).astype(np.float32)


def write_wav(path, samples, rate=16000):
    """Samples of (frames,) or (frames, channels) as 16 bits; the numbers that a reader must give."""
    numbers = np.clip(np.round(np.asarray(samples) * 32768), -32768, 32767).astype(np.int16)
    with wave.open(path if isinstance(path, io.BytesIO) else str(path), "wb") as file:
        file.setnchannels(1 if numbers.ndim == 1 else numbers.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(numbers.tobytes())
    return (numbers / 32768).astype(np.float32)


def rows(pipeline, **options):
    """name → row of every sample."""
    with fb.Loader(pipeline.batch(1), epochs=1, **options) as loader:
        for batch in loader:
            yield {name: batch[name] for name in batch.keys()}


def samples_of(row):
    values = row["audio"]
    return values[0] if isinstance(values, tuple) else values[0]


def decoded(path, **options):
    (row,) = rows(fb.files([path]).decode_audio(**options))
    return samples_of(row)


@pytest.fixture
def speech(tmp_path):
    """Twelve recordings of different lengths."""
    for i in range(12):
        write_wav(tmp_path / f"{i:02}.wav", sound(4000 + 700 * i, seed=i))
    return f"{tmp_path}/*.wav"


def augmented(pattern):
    return (fb.files(pattern).shuffle().decode_audio(rate=16000).pad_or_crop(0.3, random=True).random_gain().add_noise((5, 20), p=0.7)
            .mel_spectrogram(n_mels=40, log="db").spec_augment(time_mask_param=8, freq_mask_param=6, value=-100).select("audio", "key").batch(4))


# Decoding


def test_values_of_decoded_speech_equal_the_shipped_references(shared):
    for path in sorted((shared / "audio/librispeech-decoded").glob("*.npy")):
        got = decoded(shared / f"audio/librispeech/237/134500/{path.stem}.flac")
        assert got.dtype == np.float32
        assert np.array_equal(got * 32768, np.load(path).reshape(-1))


@pytest.mark.parametrize("pattern", ["audio/spoken-digits/*_0.wav", "audio/librispeech/**/*.flac", "audio/mp3/*.mp3",
                                     "audio/esc10/001*/*.ogg", "audio/flac-testbench/subset/*(*.flac"])
def test_values_equal_libsndfile(shared, pattern):
    soundfile = pytest.importorskip("soundfile")
    paths = sorted(shared.glob(pattern))[:12]
    assert paths
    for path in paths:
        expected, rate = soundfile.read(path, dtype="float32", always_2d=True)
        (row,) = rows(fb.files([path]).decode_audio(mono=False))
        assert row["audio_rate"][0] == rate
        got = row["audio"][0]
        assert got.shape[0] == expected.shape[1]
        # Of MP3 without a tag libsndfile's length is a guess.
        count = min(got.shape[1], len(expected))
        assert count > 0.98 * max(got.shape[1], len(expected)), path.name
        np.testing.assert_allclose(got[:, :count], expected.T[:, :count], rtol=1e-4, atol=2e-6, err_msg=path.name)


def test_mono_is_the_mean_of_the_channels(tmp_path):
    stereo = write_wav(tmp_path / "a.wav", np.stack([sound(900, 1), sound(900, 2)], axis=1))
    assert np.array_equal(decoded(tmp_path / "a.wav"), (stereo[:, 0] + stereo[:, 1]) / 2)
    (row,) = rows(fb.files([tmp_path / "a.wav"]).decode_audio(mono=False, channels=2))
    assert np.array_equal(row["audio"][0], stereo.T)


def test_rates_become_one_and_agree_with_librosa(tmp_path):
    samples = write_wav(tmp_path / "a.wav", sound(22050), rate=22050)
    got = decoded(tmp_path / "a.wav", rate=16000)
    assert len(got) == 16000
    librosa = pytest.importorskip("librosa")
    expected = librosa.resample(samples, orig_sr=22050, target_sr=16000)  # soxr_hq
    np.testing.assert_allclose(got, expected, atol=1e-5)


def test_a_tone_keeps_its_pitch_at_another_rate(tmp_path):
    write_wav(tmp_path / "a.wav", 0.5 * np.sin(2 * np.pi * 1000 * np.arange(44100) / 44100), rate=44100)
    got = decoded(tmp_path / "a.wav", rate=16000)
    expected = 0.5 * np.sin(2 * np.pi * 1000 * np.arange(16000) / 16000)
    np.testing.assert_allclose(got[1000:-1000], expected[1000:-1000], atol=1e-4)


def test_recordings_of_different_lengths_are_ragged(speech):
    with fb.Loader(fb.files(speech).decode_audio(rate=16000).batch(4), epochs=1) as loader:
        values, offsets = next(iter(loader))["audio"]
    assert np.diff(offsets).tolist() == [4000, 4700, 5400, 6100]
    assert len(values) == offsets[-1]


def test_pad_or_crop_gives_one_length(speech):
    with fb.Loader(fb.files(speech).decode_audio(rate=16000).pad_or_crop(0.3).batch(12), epochs=1) as loader:
        batch = next(iter(loader))["audio"]
        assert batch.shape == (12, 4800)
    assert not batch[0, 4000:].any()
    assert np.array_equal(batch[5], decoded(speech.replace("*", "05"))[:4800])


# Spectra


def close(got, expected, logarithm):
    if logarithm:  # 1e-4 of the value under the logarithm
        np.testing.assert_allclose(got, expected, atol=5e-4)
    else:  # of the value, and of the loudest what float32's sums lose beside it
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-7 * expected.max())


@pytest.mark.parametrize("options", CHOICES, ids=str)
def test_mel_values_equal_the_formulas_of_torchaudio(speech, options):
    for row, plain in zip(rows(fb.files(speech).decode_audio(rate=16000).mel_spectrogram(**options)),
                          rows(fb.files(speech).decode_audio(rate=16000))):
        close(row["audio"][0], sound_formulas.mel_spectrogram(samples_of(plain), 16000, **options), options.get("log"))


@pytest.mark.parametrize("options", [{}, {"n_mfcc": 13, "n_mels": 40, "n_fft": 512}, {"log_mels": True, "hop_length": 160}], ids=str)
def test_mfcc_values_equal_the_formulas_of_torchaudio(speech, options):
    for row, plain in zip(rows(fb.files(speech).decode_audio(rate=16000).mfcc(**options)), rows(fb.files(speech).decode_audio(rate=16000))):
        expected = sound_formulas.mfcc(samples_of(plain), 16000, **options)
        np.testing.assert_allclose(row["audio"][0], expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max() / 10)


def test_mel_and_mfcc_values_of_speech_equal_librosa(shared):
    librosa = pytest.importorskip("librosa")
    path = shared / "audio/librispeech/237/134500/237-134500-0001.flac"
    samples = decoded(path)
    slaney = {"n_fft": 512, "hop_length": 160, "n_mels": 80}
    source = fb.files([path]).decode_audio(rate=16000)
    (row,) = rows(source.mel_spectrogram(**slaney, norm="slaney", mel_scale="slaney", pad_mode="constant"))
    close(row["audio"][0], librosa.feature.melspectrogram(y=samples, sr=16000, **slaney), None)
    (row,) = rows(source.mel_spectrogram(**slaney, power=1.0, pad_mode="reflect"))
    close(row["audio"][0], librosa.feature.melspectrogram(y=samples, sr=16000, **slaney, htk=True, norm=None, power=1.0, pad_mode="reflect"), None)
    (row,) = rows(source.mfcc(20, **slaney, norm="slaney", mel_scale="slaney", pad_mode="constant"))
    expected = librosa.feature.mfcc(y=samples, sr=16000, n_mfcc=20, **slaney)
    np.testing.assert_allclose(row["audio"][0], expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


# Random steps


def test_noise_has_the_ratio_that_was_asked_for(speech):
    source = fb.files(speech).decode_audio(rate=16000)
    for noisy, plain in zip(rows(source.add_noise(12.0)), rows(source)):
        clean = samples_of(plain).astype(np.float64)
        noise = samples_of(noisy) - clean
        assert 10 * np.log10((clean**2).sum() / (noise**2).sum()) == pytest.approx(12, abs=1e-2)


def test_epochs_differ_and_seeds_repeat_them(speech):
    with fb.Loader(augmented(speech), seed=3) as loader:
        first, second = fb.digest(loader), fb.digest(loader)
    assert first != second
    assert one_epoch(augmented(speech), seed=3) == first


# The same bytes everywhere


def test_deterministic_for_any_threads_batch_and_memory(speech):
    expected = one_epoch(augmented(speech), seed=5, threads=1)
    for options in ({"threads": 2}, {"threads": 4, "memory": "24MiB"}, {"requests": 1}):
        assert one_epoch(augmented(speech), seed=5, **options) == expected


def test_deterministic_for_any_ranks(speech):
    def values(rank, world):
        found = {}
        with fb.Loader(augmented(speech), seed=5, rank=rank, world_size=world, epochs=1) as loader:
            for batch in loader:
                for i in range(len(batch) - batch.padding):
                    found[int(batch.ids[i])] = batch["audio"][i].tobytes()
        return found

    alone = values(0, 1)
    shared_out = {}
    for rank in range(3):
        shared_out.update(values(rank, 3))
    assert shared_out == alone


def test_resumes_in_the_middle_with_the_same_bytes(speech):
    with fb.Loader(augmented(speech), seed=5, epochs=1) as loader:
        whole = [batch["audio"].tobytes() for batch in loader]
    with fb.Loader(augmented(speech), seed=5, epochs=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with fb.Loader(augmented(speech), seed=5, epochs=1) as loader:
        loader.load_state_dict(state)
        assert [batch["audio"].tobytes() for batch in loader] == whole[1:]


def test_a_cache_gives_the_same_bytes(speech, tmp_path):
    plain = fb.files(speech).decode_audio(rate=8000).mel_spectrogram(n_fft=256)
    kept = plain.cache(ram="64MiB", disk="64MiB", dir=str(tmp_path / "cache"))
    expected = one_epoch(plain.batch(1), seed=1)
    with fb.Loader(kept.batch(1), seed=1) as loader:
        assert fb.digest(loader) == expected
    assert one_epoch(kept.batch(1), seed=1) == expected


DIGESTS = """
import sys
import forebay as fb
for pattern in sys.argv[1:]:
    source = fb.files(pattern).decode_audio(rate=11025)
    for n_fft in (400, 512, 1000, 97):
        with fb.Loader(source.mel_spectrogram(n_fft=n_fft, log="ln").batch(1), epochs=1) as loader:
            print(fb.digest(loader))
"""


def test_the_c_librarys_instruction_sets_change_nothing(shared, speech):
    """glibc chooses its sines and logarithms by what the processor can do; here it is told that it cannot."""
    patterns = [speech, f"{shared}/audio/mp3/test*.mp3", f"{shared}/audio/esc10/001*/1-3*.ogg", f"{shared}/audio/librispeech/**/*-000?.flac"]

    def digests(**more):
        return subprocess.run([sys.executable, "-c", DIGESTS, *patterns], capture_output=True, text=True, check=True, env=os.environ | more).stdout

    without = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F,-AVX,-AVX2_Usable,-FMA_Usable"
    expected = digests()
    assert len(expected.split()) == 16
    assert digests(GLIBC_TUNABLES=without) == expected


# What is wrong is told


def test_damage_acts_by_policy_and_names_the_file(speech, tmp_path):
    broken = tmp_path / "03.wav"
    broken.write_bytes(broken.read_bytes()[:1000])
    pipeline = fb.files(speech).decode_audio(rate=16000).batch(4)
    with pytest.raises(fb.Corrupt, match=r"03\.wav: decode_audio: .*bytes of samples, and 956 are there"):
        one_epoch(pipeline)
    with fb.Loader(pipeline, on_error="skip", epochs=1) as loader:
        ids = [int(i) for batch in loader for i in batch.ids]
        (error,) = loader.errors()
    assert 3 not in ids and len(ids) == 11
    assert (error["sample"], error["operator"], error["code"]) == (3, "decode_audio", "Corrupt")
    with fb.Loader(pipeline, on_error="replace", epochs=1) as loader:
        assert sum(len(batch) for batch in loader) == 12


def test_damaged_and_hostile_files_are_told_or_decoded(shared):
    """Every audio file that is there, damaged or not, alone and by policy: nothing crashes, and what is refused says why."""
    paths = [path for folder in ("malformed/flac", "audio/mp3-vectors", "audio/flac-testbench") for path in sorted((shared / folder).rglob("*"))
             if path.is_file()]
    with fb.Loader(fb.files(paths).decode_audio(rate=16000).batch(1), on_error="skip", epochs=1) as loader:
        good = sum(len(batch) for batch in loader)
        errors = loader.errors()
    assert good + len(errors) == len(paths)
    assert {error["code"] for error in errors} <= {"Corrupt", "Unsupported"}
    told = {error["key"].rsplit("/", 1)[-1]: error["message"] for error in errors}
    assert "changes at sample 147456" in told["02 - increasing number of channels.flac"]
    assert "changes at sample 139264" in told["04 - changing bitdepth.flac"]
    assert "no STREAMINFO block" in told["06 - missing streaminfo metadata block.flac"]


@pytest.mark.parametrize("name", ["audio/librispeech/237/134500/237-134500-0001.flac", "audio/spoken-digits/0_jackson_0.wav",
                                  "audio/mp3/test_audio_16000.mp3", "audio/esc10/001 - Dog bark/1-30226-A.ogg"])
def test_truncations_and_flipped_bits_are_told_or_decoded(shared, tmp_path, name):
    whole = (shared / name).read_bytes()
    draw = np.random.default_rng(7)
    for i in range(40):
        data = bytearray(whole)
        if i % 2:
            data[draw.integers(len(data))] ^= 1 << int(draw.integers(8))
        else:
            del data[int(draw.integers(len(data))):]
        (tmp_path / f"{i:02}").write_bytes(data)
    with fb.Loader(fb.files(f"{tmp_path}/*").decode_audio(rate=16000).batch(1), on_error="skip", epochs=1) as loader:
        good = sum(len(batch) for batch in loader)
        errors = loader.errors()
    assert good + len(errors) == 40
    assert {error["code"] for error in errors} <= {"Corrupt", "Unsupported"}
    if name.endswith((".flac", ".wav")):  # lengths are known: every truncation is told
        assert {error["sample"] for error in errors} >= set(range(0, 40, 2))


def test_a_header_that_promises_hours_takes_no_memory(shared, tmp_path):
    data = bytearray((shared / "audio/librispeech/237/134500/237-134500-0001.flac").read_bytes())
    data[21] |= 0x0F
    (tmp_path / "a.flac").write_bytes(data)
    with pytest.raises(fb.Unsupported, match="raise max_samples"):
        decoded(tmp_path / "a.flac")
    with pytest.raises(fb.Corrupt, match="ends after 28960 of"):
        decoded(tmp_path / "a.flac", max_samples=1 << 40)


def test_longer_recordings_than_allowed_are_unsupported(speech):
    with pytest.raises(fb.Unsupported, match="max_samples=4000"):
        one_epoch(fb.files(speech).decode_audio(max_samples=4000).batch(1))


def test_check_says_what_is_missing_for_one_shape():
    source = fb.files("*.wav")
    def remedies(pipeline):
        return [problem.remedy for problem in pipeline.batch(4).check()]

    assert remedies(source.decode_audio()) == []
    assert "pad_or_crop(seconds) before what makes spectra" in remedies(source.decode_audio(rate=8000).mel_spectrogram())[0]
    assert "rate=" in remedies(source.decode_audio().mel_spectrogram())[0]
    assert "mono=True" in remedies(source.decode_audio(mono=False))[0]
    assert "put .decode_audio() before .mfcc" in remedies(source.rename(bytes="audio").mfcc(rate=8000))[0]
    assert remedies(source.decode_audio(rate=8000).pad_or_crop(1).mel_spectrogram()) == []


def test_the_same_pipeline_in_json(speech):
    pipeline = augmented(speech)
    assert str(fb.Pipeline.from_json(pipeline.to_json())) == str(pipeline)
    assert one_epoch(fb.Pipeline.from_json(pipeline.to_json()), seed=2) == one_epoch(pipeline, seed=2)


def test_sound_that_users_bring_needs_a_rate_and_nothing_else():
    data = np.stack([sound(3200, seed) for seed in range(5)])
    with fb.Loader(fb.arrays(audio=data).mel_spectrogram(rate=16000, n_mels=20).batch(5), epochs=1) as loader:
        got = next(iter(loader))["audio"]
    assert got.shape == (5, 20, 17)
    close(got[2], sound_formulas.mel_spectrogram(data[2], 16000, n_mels=20), None)


def test_user_code_may_bring_recordings_in_memory():
    class Recordings:
        def __len__(self):
            return 3

        def __getitem__(self, index):
            file = io.BytesIO()
            write_wav(file, sound(1000 + index))
            return {"audio": file.getvalue()}

    lengths = [len(samples_of(row)) for row in rows(fb.Dataset(Recordings()).decode_audio(rate=16000))]
    assert lengths == [1000, 1001, 1002]
