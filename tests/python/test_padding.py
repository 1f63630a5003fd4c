"""Padding: part of the batch and, where its length depends on the batch, no part of the digest."""
import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

LENGTHS = [3, 0, 5, 1, 2, 9, 4, 4, 0, 7, 1, 1]


def rows():
    return [np.arange(1, n + 1, dtype=np.int32) for n in LENGTHS]


class Rows:
    def __len__(self):
        return len(LENGTHS)

    def __getitem__(self, index):
        return {"t": rows()[index], "n": LENGTHS[index]}


@pytest.fixture(params=["dataset", "table", "table row by row", "behind a map"])
def source(request, tmp_path):
    if request.param == "dataset":
        return fb.Dataset(Rows())
    if request.param == "behind a map":
        return fb.arrays(n=np.array(LENGTHS)).map(lambda s: {"t": rows_of(int(s["n"])), "n": s["n"]})
    pq.write_table(pa.table({"t": pa.array(rows(), pa.list_(pa.int32())), "n": LENGTHS}), tmp_path / "t.parquet", row_group_size=5)
    table = fb.parquet(str(tmp_path / "t.parquet"))
    return table if request.param == "table" else table.map(lambda s: {"n": s["n"]}, fields="n")


def rows_of(n):
    return np.arange(1, n + 1, dtype=np.int32)


def digest_of(pipeline, world_size=1, **options):
    loaders = [fb.Loader(pipeline, seed=5, rank=rank, world_size=world_size, **options) for rank in range(world_size)]
    try:
        return fb.digest(*loaders)
    finally:
        for loader in loaders:
            loader.close()


def test_the_digest_is_that_of_the_rows_for_any_batch_size_and_ranks(source):
    for length in (None, 9):
        padded = source.pad("t", -1, length=length).shuffle()
        digests = {digest_of(padded.batch(n), ranks) for n in (1, 2, 5, 12) for ranks in (1, 2, 3)}
        assert len(digests) == 1, length


def test_the_digest_sees_the_values_and_their_number(source):
    def of(change):
        return digest_of(source.map(change, fields="t").pad("t", 0).batch(4))

    same = of(lambda s: s)
    assert of(lambda s: {"t": np.append(s["t"], np.int32(0))}) != same, "a value that looks like padding is one"
    assert of(lambda s: {"t": s["t"] + 1}) != same


def test_rows_are_as_long_as_the_longest_of_their_batch(source):
    with fb.Loader(source.pad("t", -1).batch(4)) as loader:
        shapes = [batch["t"].shape for batch in loader]
    assert shapes == [(4, 5), (4, 9), (4, 7)]


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_row_that_is_too_long_is_named(source, shuffled):
    padded = source.pad("t", -1, length=8)
    with pytest.raises(fb.Error, match="9 elements, more than length=8") as caught:
        list(fb.Loader((padded.shuffle() if shuffled else padded).batch(4)))
    assert caught.value.sample == 5


def test_a_row_that_becomes_too_long_behind_the_padding_is_named():
    def longer(sample):
        return {"t": np.arange(9 if sample["n"] == 9 else 3, dtype=np.int32), "n": sample["n"]}

    pipeline = fb.Dataset([{"t": np.arange(2, dtype=np.int32), "n": n} for n in LENGTHS]).pad("t", -1, length=8).map(longer)
    with pytest.raises(fb.InvalidArgument, match="9 values, more than the 8") as caught:
        list(fb.Loader(pipeline.batch(12)))
    assert caught.value.sample == 5


def test_skipped_rows_leave_the_others_their_lengths():
    def without_three(sample):
        if sample["n"] == 3:
            raise ValueError("three")
        return sample

    pipeline = fb.Dataset(Rows()).map(without_three).pad("t", -1)
    digests = {digest_of(pipeline.batch(n), on_error="skip") for n in (1, 4, 12)}
    assert len(digests) == 1


@pytest.mark.parametrize("length", [None, 9])
def test_padding_before_a_map_of_all_fields_is_kept(length):
    pipeline = fb.Dataset(Rows()).pad("t", -1, length=length).map(lambda sample: sample).batch(12)
    with fb.Loader(pipeline) as loader:
        (batch,) = loader
    assert batch["t"].shape == (12, 9) and batch["t"][1].tolist() == [-1] * 9
