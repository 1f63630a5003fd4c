"""`.pad` of rows that are all of one known length: over arrays and tables, as a ragged field would be padded."""

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow")

ROWS = 7
VALUES = np.arange(ROWS * 2, dtype="int16").reshape(ROWS, 2)


def arrays():
    return fb.arrays(a=VALUES[:, 0], b=VALUES[:, 1], other=np.arange(ROWS))


def table():
    return fb.arrow(pa.table({"a": VALUES[:, 0], "b": VALUES[:, 1], "other": np.arange(ROWS)}))


@pytest.mark.parametrize("source", [arrays, table])
@pytest.mark.parametrize("length", [2, 3, 9])
@pytest.mark.parametrize("shuffle", [False, True])
def test_stacked_columns_are_filled_up(source, length, shuffle):
    pipeline = source().stack(["a", "b"], "row").pad("row", -1, length)
    expected = np.full((ROWS, length), -1, "int16")
    expected[:, :2] = VALUES
    with fb.Loader((pipeline.shuffle() if shuffle else pipeline).batch(3), epochs=1) as loader:
        for batch in loader:
            assert batch["row"].dtype == np.int16
            assert np.array_equal(batch["row"], expected[batch.ids])
            assert np.array_equal(batch["other"], batch.ids)


@pytest.mark.parametrize("source", [arrays, table])
def test_without_a_length_they_stay(source):
    with fb.Loader(source().stack(["a", "b"], "row").pad("row").batch(4), epochs=1) as loader:
        assert np.array_equal(np.concatenate([batch["row"] for batch in loader]), VALUES)


def test_a_cache_behind_it_changes_nothing(tmp_path):
    pipeline = table().stack(["a", "b"], "row").pad("row", 7, 4)
    with fb.Loader(pipeline.batch(3)) as loader:
        plain = fb.digest(loader)
    for _ in range(2):
        with fb.Loader(pipeline.cache(ram="1MB", disk="8MB", dir=tmp_path).batch(2)) as loader:
            assert fb.digest(loader) == plain


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 0.5])
@pytest.mark.parametrize("length", [None, 2, 4])
def test_values_that_json_has_no_words_for(value, length):
    rows = VALUES.astype("float32")
    for source in (fb.arrays(row=rows), fb.Dataset([{"row": row} for row in rows]),
                   fb.arrow(pa.table({"a": rows[:, 0], "b": rows[:, 1]})).stack(["a", "b"], "row")):
        expected = np.full((ROWS, length or 2), value, "float32")
        expected[:, :2] = rows
        with fb.Loader(source.pad("row", value, length).batch(4), epochs=1) as loader:
            assert np.concatenate([batch["row"] for batch in loader]).tobytes() == expected.tobytes()
