"""`.cache()` over every kind of source: the same batches as without it, nothing done twice, and nothing kept that has changed."""
import numpy as np
import pytest
from loading import script

import forebay as fb

ROWS = 60
TIERS = [{"ram": "8MB", "disk": 0}, {"ram": 0, "disk": "16MB"}, {"ram": "20KB", "disk": "16MB"}]


class Doubled:
    """A function of the user that counts its calls."""

    def __init__(self, field):
        self.field, self.calls = field, 0

    def __call__(self, sample):
        self.calls += 1
        return {**sample, self.field: sample[self.field] * 2}


def pictures(seed=1, rows=ROWS):
    return np.random.default_rng(seed).integers(0, 255, (rows, 16, 16, 3), dtype=np.uint8)


def twice(pipeline, between=lambda: None, **options):
    """The digests of an epoch that is read twice by one loader, and so not before it was read once."""
    with fb.Loader(pipeline, seed=3, epochs=1, **options) as loader:
        first = fb.digest(loader)
        between()
        loader.set_epoch(0)
        return [first, fb.digest(loader)]


# Arrays


@pytest.mark.parametrize("tiers", TIERS)
def test_rows_of_arrays_are_kept_and_found_again(tmp_path, tiers):
    x, y = pictures(), np.arange(ROWS)
    kept, plain = Doubled("x"), Doubled("x")
    cached = fb.arrays(x=x, y=y).shuffle().map(kept, version="1").cache(dir=tmp_path, **tiers).batch(8)
    expected = twice(fb.arrays(x=x, y=y).shuffle().map(plain, version="1").batch(8))
    assert twice(cached) == expected
    assert [kept.calls, plain.calls] == [ROWS, 2 * ROWS]
    again = fb.arrays(x=x.copy(), y=y.copy()).shuffle().map(kept, version="1").cache(dir=tmp_path, **tiers).batch(8)
    assert twice(again) == expected
    assert kept.calls == (ROWS if tiers["disk"] else 2 * ROWS), "the disk keeps it for whoever has equal arrays"


def test_a_row_that_changed_is_made_anew_and_the_others_are_not(tmp_path):
    x = pictures()
    doubled = Doubled("x")

    def loaded(array):
        return [batch["x"].copy() for batch in fb.Loader(
            fb.arrays(x=array).map(doubled, version="1").cache(dir=tmp_path, ram=0).batch(8), epochs=1)]

    loaded(x)
    x[7] += 1
    assert np.array_equal(np.concatenate(loaded(x)), x * 2)
    assert doubled.calls == ROWS + 1
    moved = np.roll(x, 5, axis=0)
    assert np.array_equal(np.concatenate(loaded(moved)), moved * 2)
    assert doubled.calls == ROWS + 1, "wherever the row stands"
    assert np.array_equal(np.concatenate(loaded(x.astype(np.int64))), x.astype(np.int64) * 2), "another type"
    assert doubled.calls == 2 * ROWS + 1


def noisy(sample, rng):
    return {"x": sample["x"] + rng.integers(0, 1000)}


def test_equal_rows_share_an_entry_and_what_is_random_behind_it_stays_their_own():
    x = np.ones((ROWS, 100), np.int32)
    doubled = Doubled("x")
    cached = fb.arrays(x=x).map(doubled, version="1").cache(ram="8MB", disk=0)
    plain = fb.arrays(x=x).map(Doubled("x"), version="1")
    with fb.Loader(cached.batch(8), epochs=1) as loader:
        fb.digest(loader)
        assert loader.stats()["caches"][0]["ram"]["entries"] == 1
        doubled.calls = 0
        loader.set_epoch(0)
        fb.digest(loader)
    assert doubled.calls == 0
    assert twice(cached.map(noisy, random=True).batch(8)) == twice(plain.map(noisy, random=True).batch(8))


def test_rows_of_npy_files_are_kept_until_the_file_changes(tmp_path):
    x, doubled = pictures(), Doubled("x")
    path = tmp_path / "x.npy"
    np.save(path, x)
    pipeline = fb.arrays(x=path).map(doubled, version="1").cache(dir=tmp_path / "cache", ram=0).batch(8)
    expected = twice(fb.arrays(x=x).map(Doubled("x"), version="1").batch(8))
    assert twice(pipeline) == twice(pipeline) == expected
    assert doubled.calls == ROWS
    np.save(tmp_path / "other.npy", x[::-1])
    (tmp_path / "other.npy").rename(path)
    assert np.array_equal(np.concatenate([b["x"] for b in fb.Loader(pipeline, epochs=1)]), x[::-1] * 2)


def test_another_process_finds_what_was_made_of_arrays(tmp_path):
    program = """
        import sys
        import numpy as np
        import forebay as fb
        calls = []
        def doubled(sample):
            calls.append(1)
            return {"x": sample["x"] * 2}
        x = np.random.default_rng(1).integers(0, 255, (60, 16, 16, 3), dtype=np.uint8)
        with fb.Loader(fb.arrays(x=x).map(doubled, version="1").cache(dir=sys.argv[1], ram=0).batch(8), epochs=1) as loader:
            print(fb.digest(loader), len(calls))
    """
    first, second = (script(program, tmp_path).out.split() for _ in range(2))
    assert first[0] == second[0]
    assert [first[1], second[1]] == ["60", "0"]


# Tables in memory


@pytest.fixture
def table():
    pa = pytest.importorskip("pyarrow")
    return pa.table({"n": np.arange(ROWS), "text": [f"row {i % 7}" for i in range(ROWS)],
                     "list": [[float(i)] * (i % 3) for i in range(ROWS)]})


@pytest.mark.parametrize("tiers", TIERS)
def test_groups_of_rows_of_tables_in_memory_are_kept_and_found_again(tmp_path, table, tiers):
    def columns(where):
        return where.cast("float32", field="n").log1p("n")

    cached = columns(fb.arrow(table).shuffle()).cache(dir=tmp_path, **tiers).batch(8)
    expected = twice(columns(fb.arrow(table).shuffle()).batch(8))
    assert twice(cached) == expected
    again = columns(fb.arrow(table.take(list(range(ROWS)))).shuffle()).cache(dir=tmp_path, **tiers).batch(8)
    with fb.Loader(again, seed=3, epochs=1) as loader:
        assert fb.digest(loader) == expected[0]
        if tiers["ram"] == 0:
            assert loader.stats()["caches"][0]["misses"] == 0, "an equal table, other memory"


@pytest.mark.parametrize("tiers", TIERS)
def test_rows_of_tables_in_memory_are_kept_behind_functions_of_the_user(tmp_path, table, tiers):
    kept = Doubled("n")
    cached = fb.arrow(table).shuffle().map(kept, version="1").cache(dir=tmp_path, **tiers).batch(8)
    expected = twice(fb.arrow(table).shuffle().map(Doubled("n"), version="1").batch(8))
    assert twice(cached) == expected
    assert kept.calls == ROWS
    changed = table.set_column(0, "n", [np.arange(ROWS) + (np.arange(ROWS) == 9)])
    cached = fb.arrow(changed).map(kept, version="1").cache(dir=tmp_path, **tiers)
    assert np.concatenate([b["n"] for b in fb.Loader(cached.batch(8), epochs=1)])[9] == 20
    assert kept.calls == 2 * ROWS
