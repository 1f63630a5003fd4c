"""Rows of one axis that user code makes: arrays or (values, offsets), the same in every batch of a run."""
import numpy as np
import pyarrow as pa
import pytest

import forebay as fb


def dataset(lengths):
    return fb.Dataset([{"x": np.arange(n, dtype=np.float32), "n": n} for n in lengths])


SOURCES = {
    "dataset": dataset,
    "behind a map": lambda lengths: fb.arrays(n=np.array(lengths)).map(lambda s: {"x": np.arange(int(s["n"]), dtype=np.float32)}),
    "a field of a map": lambda lengths: fb.arrays(n=np.array(lengths)).map(lambda s: {"x": np.arange(int(s["n"]), dtype=np.float32)},
                                                                           fields="n"),
}


@pytest.fixture(params=SOURCES)
def source(request):
    return SOURCES[request.param]


def batches(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        return [batch["x"] for batch in loader]


def rows_of(value):
    if not isinstance(value, tuple):
        return [row.tolist() for row in value]
    return [value[0][a:b].tolist() for a, b in zip(value[1], value[1][1:])]


def test_rows_of_one_length_are_arrays_in_every_batch(source):
    assert [value.shape for value in batches(source([4] * 7).batch(3))] == [(3, 4), (3, 4), (1, 4)]


def test_rows_of_different_lengths_are_ragged_also_where_a_batch_agrees(source):
    lengths = [3, 1, 2, 2, 5, 5, 4]
    found = batches(source(lengths).batch(2))
    assert all(isinstance(value, tuple) and value[1].dtype == np.int64 for value in found)
    assert sum(map(rows_of, found), []) == [list(range(n)) for n in lengths]


@pytest.mark.parametrize("late", [[4, 4, 4, 4, 4, 2], [4, 4, 4, 4, 2, 2]])
def test_what_differs_late_is_an_error_with_the_ways_out(source, late):
    with pytest.raises(fb.InvalidArgument, match=r"'x' had 4 values.*\.pad\(.*ragged="):
        batches(source(late).batch(2))
    assert [value.shape for value in batches(source(late).pad("x", -1).batch(2))][0] == (2, 4)
    found = batches(source(late).batch(2, ragged="x"))
    assert all(isinstance(value, tuple) for value in found) and sum(map(rows_of, found), []) == [list(range(n)) for n in late]


def test_batches_of_one_row_are_arrays_of_any_length(source):
    assert [value.shape for value in batches(source([4, 4, 2, 0, 7]).batch(1))] == [(1, 4), (1, 4), (1, 2), (1, 0), (1, 7)]


def test_the_form_lasts_over_epochs_and_threads():
    lengths = list(np.random.default_rng(1).integers(1, 3, 40))
    lengths[0:2] = [1, 2]
    for threads in (1, 4):
        with fb.Loader(dataset(lengths).batch(2), epochs=3, threads=threads) as loader:
            assert all(isinstance(batch["x"], tuple) for _ in range(3) for batch in loader)


def test_list_columns_stay_ragged_behind_a_map_of_other_fields():
    lists = fb.arrow(pa.table({"n": [1, 2, 3, 4], "x": [[1, 2], [3, 4], [5, 6], [7, 8]]}))
    for pipeline in (lists, lists.clip(max=9, field="x"), lists.hash_bucket(10, "x")):
        assert isinstance(batches(pipeline.batch(2))[0], tuple)
    behind = lists.map(lambda s: {"more": 1}, fields="n")
    for pipeline in (behind, behind.clip(max=9, field="x"), behind.hash_bucket(10, "x"), behind.cast("float32", field="x")):
        found = batches(pipeline.batch(2))
        assert all(isinstance(value, tuple) for value in found) and [len(row) for row in sum(map(rows_of, found), [])] == [2] * 4


def test_ragged_names_fields_of_user_code():
    assert "no field 'z'" in str(fb.arrays(x=np.ones((4, 2))).batch(2, ragged="z").check())
    with pytest.raises(fb.InvalidArgument, match="ragged"):
        batches(fb.arrays(x=np.ones((4, 2))).batch(2, ragged="x"))


@pytest.mark.parametrize("lengths", [[4] * 8, [4, 2, 3, 3, 1, 1, 2, 2]])
def test_batches_that_were_skipped_as_a_whole_have_the_fields_of_the_others(lengths):
    def some(sample):
        if sample["n"] < 0:
            raise ValueError("bad")
        return {**sample, "pair": np.ones((2, 3), "i2"), "word": "w"}

    samples = [{"x": np.arange(n, dtype=np.float32), "n": -1 if i in (4, 5) else n} for i, n in enumerate(lengths)]
    with fb.Loader(fb.Dataset(samples).map(some).batch(2), epochs=1, on_error="skip") as loader:
        found = list(loader)
    assert [len(batch) for batch in found] == [2, 2, 0, 2]
    assert [sorted(batch.keys()) for batch in found] == [["n", "pair", "word", "x"]] * 4
    empty = found[2]
    assert empty["pair"].shape == (0, 2, 3) and empty["pair"].dtype == np.int16 and empty["n"].shape == (0,)
    assert list(empty["word"]) == []
    if len(set(lengths)) == 1:
        assert empty["x"].shape == (0, 4)
    else:
        assert empty["x"][0].shape == (0,) and empty["x"][1].tolist() == [0]
