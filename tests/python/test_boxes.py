"""Rows of more than one axis whose first axis differs, members of dicts, and what detection data sets give."""
import json

import numpy as np
import pytest
import torch

import forebay as fb

SHAPES = [(4,), (3, 2), (1,), (2, 1, 5)]
COUNTS = [2, 0, 3, 1, 4, 4, 1]


def same(sample):
    return sample


def boxes(i, n, rest, dtype="float32"):
    size = n * int(np.prod(rest))
    return (np.arange(size).reshape((n, *rest)) + 100 * i).astype(dtype)


def samples(counts, rest, dtype="float32"):
    return [{"boxes": boxes(i, n, rest, dtype), "n": n} for i, n in enumerate(counts)]


def pieces(value):
    values, offsets = (np.asarray(one) for one in value)
    assert offsets.dtype == np.int64 and offsets[0] == 0 and offsets[-1] == len(values)
    return [values[a:b] for a, b in zip(offsets, offsets[1:])]


def epoch(pipeline, field="boxes", **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        return [batch[field] for batch in loader]


SOURCES = {
    "data set": lambda rows: fb.Dataset(rows),
    "processes": lambda rows: fb.Dataset(rows, workers="processes"),
    "map": lambda rows: fb.arrays(i=np.arange(len(rows))).map(lambda sample: rows[int(sample["i"])]),
    "fields of a map": lambda rows: fb.arrays(i=np.arange(len(rows))).map(lambda sample: rows[int(sample["i"])], fields="i"),
}


@pytest.mark.parametrize("rest", SHAPES)
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_rows_lie_end_to_end(source, rest, output):
    rows = samples(COUNTS, rest)
    found = [piece for value in epoch(SOURCES[source](rows).batch(3), output=output) for piece in pieces(value)]
    assert [one.shape for one in found] == [(n, *rest) for n in COUNTS]
    assert all(np.array_equal(one, row["boxes"]) for one, row in zip(found, rows))


@pytest.mark.parametrize("rest", SHAPES)
@pytest.mark.parametrize("source", SOURCES)
def test_rows_are_padded(source, rest):
    rows = samples(COUNTS, rest)
    found = epoch(SOURCES[source](rows).pad("boxes", -1).batch(3))
    assert [value.shape for value in found] == [(3, 3, *rest), (3, 4, *rest), (1, 1, *rest)]
    fixed = epoch(SOURCES[source](rows).pad("boxes", -1, length=6).batch(3))
    assert [value.shape for value in fixed] == [(3, 6, *rest), (3, 6, *rest), (1, 6, *rest)]
    for values in (found, fixed):
        for one, row in zip((one for value in values for one in value), rows):
            n = row["n"]
            assert np.array_equal(one[:n], row["boxes"]) and (one[n:] == -1).all()
    with pytest.raises(fb.Error, match="'boxes'.*3"):
        epoch(SOURCES[source](rows).pad("boxes", length=3).batch(3))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64"])
def test_types_are_kept(dtype):
    rows = samples(COUNTS, (4,), dtype)
    assert {value[0].dtype.name for value in epoch(fb.Dataset(rows).batch(2))} == {dtype}


def test_the_form_lasts_and_batch_ragged_names_it():
    # The first batch decides; a later one whose rows agree is ragged, too.
    assert all(isinstance(value, tuple) for value in epoch(fb.Dataset(samples([1, 2, 3, 3], (4,))).batch(2)))
    late = fb.Dataset(samples([2, 2, 2, 3], (4,)))
    with pytest.raises(fb.InvalidArgument, match=r"'boxes' had 2 values.*\.pad\(.*ragged="):
        epoch(late.batch(2))
    assert all(isinstance(value, tuple) for value in epoch(late.batch(2, ragged="boxes")))
    assert [value.shape for value in epoch(fb.Dataset(samples([2, 2, 2], (4,))).batch(2))] == [(2, 2, 4), (1, 2, 4)]
    assert [value.shape for value in epoch(fb.Dataset(samples([2, 0, 1], (4,))).batch(1))] == [(1, 2, 4), (1, 0, 4), (1, 1, 4)]


@pytest.mark.parametrize("first, second, words", [
    ((2, 4), (2, 5), "first axis alone"), ((2, 3, 2), (1, 3, 3), "first axis alone"), ((2, 4), (0,), r"\.reshape\(-1, 4\)"), ((0,), (2, 4), r"\.reshape\(-1, 4\)"),
    ((2, 4), (4,), "one shape")])
def test_other_axes_that_differ_are_an_error_with_the_field(first, second, words):
    with pytest.raises(fb.InvalidArgument, match=f"(?s)'boxes'.*{words}"):
        epoch(fb.Dataset([{"boxes": np.zeros(first)}, {"boxes": np.zeros(second)}]).batch(2))


def test_other_axes_that_differ_between_batches_are_an_error():
    rows = [np.zeros((1, 4)), np.zeros((2, 4)), np.zeros((1, 5)), np.zeros((2, 5))]
    with pytest.raises(fb.InvalidArgument, match="'boxes' had rows of"):
        epoch(fb.Dataset([{"boxes": row} for row in rows]).batch(2))


def test_one_type_is_asked_for_by_name():
    with pytest.raises(fb.InvalidArgument, match=r"'boxes'.*one type.*cast\("):
        epoch(fb.Dataset([{"boxes": np.zeros((1, 4), np.float32)}, {"boxes": np.zeros((2, 4))}]).batch(2))


class Detection:
    """As torchvision's data sets: (image, target)."""

    def __len__(self):
        return len(COUNTS)

    def __getitem__(self, i):
        n = COUNTS[i]
        return torch.full((3, 8, 8), float(i)), {"boxes": torch.from_numpy(boxes(i, n, (4,))), "labels": torch.arange(n), "image_id": i, "info": {"name": f"p{i}"}}


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_members_of_dicts_are_fields_with_dotted_names(workers):
    pipeline = fb.Dataset(Detection(), workers=workers).batch(4)
    with fb.Loader(pipeline, epochs=1, output="torch") as loader:
        batch = next(iter(loader))
        assert sorted(batch.keys()) == ["0", "1.boxes", "1.image_id", "1.info.name", "1.labels"]
        assert batch["0"].shape == (4, 3, 8, 8) and batch["1.info.name"] == ["p0", "p1", "p2", "p3"]
        assert [one.shape for one in pieces(batch["1.boxes"])] == [(n, 4) for n in COUNTS[:4]]
    renamed = fb.Dataset(Detection()).rename(**{"0": "image", "1.boxes": "boxes"}).select("image", "boxes").pad("boxes").batch(4)
    with fb.Loader(renamed, epochs=1) as loader:
        assert next(iter(loader))["boxes"].shape == (4, 3, 4)


def test_a_map_sees_dotted_names_and_may_give_dicts():
    def shifted(sample):
        assert sorted(sample) == ["a.b", "a.c.d"]
        return {"a": {"b": sample["a.b"] + 1, "c": {"d": sample["a.c.d"]}}, "e": 1}

    with fb.Loader(fb.Dataset([{"a": {"b": i, "c": {"d": [i]}}} for i in range(3)]).map(shifted).batch(3), epochs=1) as loader:
        (batch,) = loader
        assert sorted(batch.keys()) == ["a.b", "a.c.d", "e"] and batch["a.b"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("sample, words", [({"a": {"b": 1}, "a.b": 2}, "'a.b' is there twice"), ({"a": {1: 2}}, "got 1 of type int in 'a'")])
def test_names_of_members(sample, words):
    with pytest.raises(TypeError, match=words):
        epoch(fb.Dataset([sample]).batch(1), "a.b")


@pytest.mark.parametrize("pad", [None, -1])
def test_digest_threads_and_batch_sizes_agree(pad):
    rows = samples(COUNTS, (3, 2))
    digests = set()
    for threads, batch in ((1, 2), (4, 3), (2, 7)):
        pipeline = fb.Dataset(rows).shuffle()
        pipeline = pipeline if pad is None else pipeline.pad("boxes", pad)
        pipeline = pipeline.batch(batch) if pad is not None else pipeline.batch(batch, ragged="boxes")
        with fb.Loader(pipeline, seed=3, threads=threads) as loader:
            digests.add(fb.digest(loader))
    assert len(digests) == 1


def test_caches_keep_them(tmp_path):
    rows = samples(COUNTS, (4,))
    made = []

    def counted(sample):
        made.append(1)
        return rows[int(sample["i"])]

    pipeline = fb.arrays(i=np.arange(len(rows))).map(counted, version="1").cache(dir=tmp_path).batch(3)
    plain = [piece.tolist() for value in epoch(pipeline) for piece in pieces(value)]
    again = [piece.tolist() for value in epoch(pipeline) for piece in pieces(value)]
    assert plain == again == [row["boxes"].tolist() for row in rows] and len(made) == len(rows)


@pytest.mark.parametrize("form", ["arrow", "wds"])
def test_they_are_materialized(tmp_path, form):
    rows = [{"boxes": row["boxes"]} for row in samples(COUNTS, (4,))]
    fb.materialize(fb.Dataset(rows, version="1").map(same, version="1"), tmp_path / "kept", cut="last", format=form)
    back = fb.materialized(str(tmp_path / "kept"), original="trust")
    # Files do not say which axes differ, so samples come back one by one; batches of several are refused.
    with fb.Loader(back.batch(1), epochs=1) as loader:
        found = [np.asarray(batch["boxes"])[0].tolist() for batch in loader]
    assert found == [row["boxes"].tolist() for row in rows]
    with pytest.raises(fb.InvalidArgument, match="differ in shape"), fb.Loader(back.batch(3), epochs=1) as loader:
        next(iter(loader))


def test_states_between_batches_give_the_same_rest():
    pipeline = fb.Dataset(samples(COUNTS, (4,))).shuffle().batch(2, ragged="boxes")
    with fb.Loader(pipeline, seed=1, epochs=1) as loader:
        whole = [[piece.tolist() for piece in pieces(batch["boxes"])] for batch in loader]
    for done in range(len(whole)):
        with fb.Loader(pipeline, seed=1, epochs=1) as loader:
            passed = iter(loader)
            for _ in range(done):
                next(passed)
            state = json.loads(json.dumps(loader.state_dict()))
        with fb.Loader(pipeline, seed=1, epochs=1) as loader:
            loader.load_state_dict(state)
            assert [[piece.tolist() for piece in pieces(batch["boxes"])] for batch in loader] == whole[done:]


def test_pictures_of_different_sizes_stay_an_error(tmp_path):
    from PIL import Image

    for i, height in enumerate((8, 9)):
        Image.new("RGB", (8, height)).save(tmp_path / f"{i}.png")
    pictures = fb.files(str(tmp_path / "*.png")).decode_image()
    assert any("may differ in shape" in problem.message for problem in pictures.batch(2).check())
    assert any("pictures" in problem.remedy for problem in pictures.pad("image").batch(2).check())
