"""Lists of encoded recordings: decoded each, one after the other with their lengths, and rows of one length by `.pad_or_crop`."""
import io
import wave

import numpy as np
import pytest
from loading import one_epoch

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

COUNTS = [2, 0, 3, 1, 0, 4, 1]
RATE = 8000


def numbers(i, k):
    draw = np.random.default_rng([i, k])
    return draw.integers(-30_000, 30_000, 500 + 170 * i + 90 * k).astype(np.int16)


def wav(values, rate=RATE):
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(rate)
        written.writeframes(values.tobytes())
    return file.getvalue()


def lists():
    return [[wav(numbers(i, k), RATE * (1 + k % 2)) for k in range(count)] for i, count in enumerate(COUNTS)]


def table():
    return pa.table({"audios": pa.array(lists(), pa.list_(pa.binary())), "row": np.arange(len(COUNTS))})


def dataset():
    return fb.Dataset([{"audios": audios, "row": i} for i, audios in enumerate(lists())], version="1")


def sources():
    return {"table": (fb.arrow(table()), {}), "data set": (dataset(), {"lists": True})}


def pieces(value):
    values, offsets = (np.asarray(one) for one in value)
    return [values[a:b] for a, b in zip(offsets, offsets[1:])]


def epoch(pipeline, *fields, **options):
    """The fields of each sample, by its id."""
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            rows = [pieces(batch[field]) if isinstance(batch[field], tuple) else list(np.asarray(batch[field])) for field in fields]
            found.update(zip(batch["row"].tolist(), zip(*rows), strict=True))
    return found


def alone(steps, **options):
    """What the steps make of each recording alone."""
    flat = [(i, k) for i, count in enumerate(COUNTS) for k in range(count)]
    source = fb.Dataset([{"audio": wav(numbers(i, k), RATE * (1 + k % 2))} for i, k in flat], version="1")
    with fb.Loader(steps(source.decode_audio(**options)).batch(1), epochs=1) as loader:
        made = [np.asarray(batch["audio"][0] if isinstance(batch["audio"], tuple) else batch["audio"][0]) for batch in loader]
    return {i: [made[n] for n, (of, _) in enumerate(flat) if of == i] for i in range(len(COUNTS))}


@pytest.mark.parametrize("rate", [None, 6000])
@pytest.mark.parametrize("source", ["table", "data set"])
def test_each_recording_becomes_what_it_becomes_alone(source, rate):
    pipeline, lists = sources()[source]
    fields = ["audios", "audios.lengths"] + (["audios_rate"] if rate is None else [])
    found = epoch(pipeline.decode_audio(rate=rate, field="audios", **lists).batch(3), *fields)
    wanted = alone(lambda p: p, rate=rate)
    for i, count in enumerate(COUNTS):
        samples, lengths, *rates = found[i]
        assert samples.dtype == np.float32 and lengths.dtype == np.int32
        assert lengths.tolist() == [len(one) for one in wanted[i]] and len(lengths) == count
        np.testing.assert_array_equal(samples, np.concatenate(wanted[i]) if count else np.zeros(0, np.float32))
        if rate is None:
            assert rates[0].tolist() == [RATE * (1 + k % 2) for k in range(count)]


@pytest.mark.parametrize("source", ["table", "data set"])
def test_recordings_of_one_length_are_rows(source):
    pipeline, lists = sources()[source]
    cropped = pipeline.decode_audio(rate=RATE, field="audios", **lists).pad_or_crop(0.1, field="audios")
    found = epoch(cropped.batch(3), "audios", "audios.lengths")
    wanted = alone(lambda p: p.pad_or_crop(0.1), rate=RATE)
    for i, count in enumerate(COUNTS):
        assert found[i][0].shape == (count, 800)
        for one, single in zip(found[i][0], wanted[i], strict=True):
            np.testing.assert_array_equal(one, single)
    spectra = epoch(cropped.mel_spectrogram(n_fft=128, hop_length=64, n_mels=20, field="audios").batch(3), "audios")
    alone_spectra = alone(lambda p: p.pad_or_crop(0.1).mel_spectrogram(n_fft=128, hop_length=64, n_mels=20), rate=RATE)
    for i, count in enumerate(COUNTS):
        assert spectra[i][0].shape[0] == count
        for one, single in zip(spectra[i][0], alone_spectra[i], strict=True):
            np.testing.assert_array_equal(one, single)


def test_recordings_of_a_sample_share_each_draw():
    same = wav(numbers(0, 0))
    source = fb.arrow(pa.table({"audios": pa.array([[same] * 3] * 20, pa.list_(pa.binary())), "row": np.arange(20)}))
    made = source.decode_audio(rate=RATE, field="audios").random_gain(field="audios").pad_or_crop(0.02, random=True, field="audios")
    found = epoch(made.batch(4), "audios", seed=3)
    assert all((rows == rows[:1]).all() for rows, in found.values())
    assert len({rows[0].tobytes() for rows, in found.values()}) > 10


def same(sample):
    return sample


@pytest.mark.parametrize("step", ["ram", "disk", "map", "materialized"])
def test_lists_stay_through_caches_functions_and_files(tmp_path, step):
    decoded = fb.arrow(table()).decode_audio(rate=RATE, field="audios")
    wanted = epoch(decoded.pad_or_crop(0.1, field="audios").batch(3), "audios", "audios.lengths")
    if step == "materialized":
        fb.materialize(decoded.batch(3), tmp_path / "made", cut="decode_audio", format="arrow")
        pipeline = fb.materialized(str(tmp_path / "made"))
    else:
        pipeline = {"ram": lambda: decoded.cache(ram="64MiB", disk=0), "disk": lambda: decoded.cache(ram=0, disk="64MiB", dir=str(tmp_path)),
                    "map": lambda: decoded.pad_or_crop(0.1, field="audios").map(same, version="1")}[step]()
    if step != "map":
        pipeline = pipeline.pad_or_crop(0.1, rate=RATE, field="audios")
    for _ in range(2):
        found = epoch(pipeline.batch(3), "audios", "audios.lengths")
        for i in range(len(COUNTS)):
            for one, other in zip(found[i], wanted[i], strict=True):
                np.testing.assert_array_equal(one, other)


def test_digests_are_the_same_for_any_threads_and_batches(tmp_path):
    made = fb.arrow(table()).shuffle().decode_audio(rate=RATE, field="audios").pad_or_crop(0.05, random=True, field="audios")
    wanted = one_epoch(made.batch(2), threads=1)
    assert one_epoch(made.batch(5), threads=4) == wanted
    pq.write_table(table(), tmp_path / "t.parquet")
    stored = fb.parquet(tmp_path / "t.parquet").decode_audio(field="audios").random_gain(field="audios").batch(3)
    assert one_epoch(fb.Pipeline.from_json(stored.to_json())) == one_epoch(stored, threads=3)


def test_a_bad_recording_is_named():
    rows = [[wav(numbers(0, 0)), b"no sound at all"], [wav(numbers(1, 0))]]
    pipeline = fb.arrow(pa.table({"audios": pa.array(rows, pa.list_(pa.binary()))})).decode_audio(rate=RATE, field="audios")
    with pytest.raises(fb.Error, match="recording 1 of the list"):
        list(fb.Loader(pipeline.batch(2), epochs=1))
    with fb.Loader(pipeline.batch(2), epochs=1, on_error="skip") as loader:
        assert [len(batch) for batch in loader] == [1]


def test_what_the_user_gives_wrong_is_told():
    decoded = fb.arrow(table()).decode_audio(rate=RATE, field="audios", lists=True)
    for wrong in (decoded.mel_spectrogram(field="audios"), decoded.mfcc(field="audios"), decoded.add_noise(field="audios")):
        with pytest.raises(fb.InvalidArgument, match=r"'audios' has a list of recordings, one after the other; put \.pad_or_crop\(seconds, field=\"audios\"\)"):
            fb.Loader(wrong.batch(2))
    with pytest.raises(fb.InvalidArgument, match="each of which becomes one channel; leave mono=False out"):
        fb.Loader(fb.arrow(table()).decode_audio(rate=RATE, mono=False, field="audios", lists=True).batch(2))
    with pytest.raises(fb.Unsupported, match=r"'audios' is a list of recordings here; give .*lists=True"):
        list(fb.Loader(dataset().decode_audio(rate=RATE, field="audios").batch(2), epochs=1))
    single = fb.arrow(pa.table({"audio": [wav(numbers(0, 0))]}))
    with pytest.raises(fb.InvalidArgument, match="lists: the field 'audio' is bytes, one recording in each sample; leave lists= out"):
        fb.Loader(single.decode_audio(lists=True).batch(1))
    alone = (decoded.select("audios", "row"), decoded.rename(audios="sounds"))
    for pipeline, field in zip(alone, ["audios", "sounds"], strict=True):
        with pytest.raises(fb.InvalidArgument, match=rf"'{field}' has a list of recordings, and there is no field '{field}\.lengths' with the length of each; name both fields in \.select"):
            fb.Loader(pipeline.pad_or_crop(0.1, field=field).batch(2))
        with pytest.raises(fb.InvalidArgument, match=rf"'{field}' has a list of recordings, one after the other"):
            fb.Loader(pipeline.mel_spectrogram(field=field).batch(2))
        fb.Loader(pipeline.random_gain(field=field).batch(2)).close()
    named = decoded.rename(audios="sounds")
    assert [piece[0].shape for piece in epoch(named.rename(**{"audios.lengths": "sounds.lengths"}).pad_or_crop(0.1, field="sounds").batch(2), "sounds").values()] == [
        (count, 800) for count in COUNTS]
