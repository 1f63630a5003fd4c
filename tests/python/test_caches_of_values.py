"""`.cache()` over arrays, tables in memory and data sets of the user: the same batches as without it, and nothing done twice."""
import numpy as np
import pytest
from caching import ROWS, TIERS, small_table, twice
from loading import script

import forebay as fb


class Doubled:
    """A function of the user that counts its calls."""

    def __init__(self, field):
        self.field, self.calls = field, 0

    def __call__(self, sample):
        self.calls += 1
        return {**sample, self.field: sample[self.field] * 2}


def pictures(seed=1, rows=ROWS):
    return np.random.default_rng(seed).integers(0, 255, (rows, 16, 16, 3), dtype=np.uint8)


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
    return small_table()


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


# Data sets of the user's own


class Squares:
    """A data set that counts what it is asked for, of the usual forms of fields."""

    def __init__(self, rows=ROWS, factor=1):
        self.rows, self.factor, self.asked = rows, factor, []

    @property
    def calls(self):
        return len(self.asked)

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        self.asked.append(i)
        return {"x": np.full((4, 4), i * i * self.factor, np.float32), "text": f"sample {i}", "n": i, "share": i / 7,
                "raw": bytes([i % 256] * (i % 5))}


@pytest.mark.parametrize("tiers", TIERS)
@pytest.mark.parametrize("behind", [lambda p: p, lambda p: p.map(Doubled("x"), version="1"), lambda p: p.select("x", "text")])
def test_a_data_set_with_a_version_is_kept_and_found_again(tmp_path, tiers, behind, capfd):
    plain, kept = Squares(), Squares()
    expected = twice(behind(fb.Dataset(plain, version="1").shuffle()).batch(8))
    cached = behind(fb.Dataset(kept, version="1").shuffle()).cache(dir=tmp_path, **tiers).batch(8)
    assert twice(cached) == expected
    assert [kept.calls, plain.calls] == [ROWS, 2 * ROWS]
    other = Squares()
    assert twice(behind(fb.Dataset(other, version="1").shuffle()).cache(dir=tmp_path, **tiers).batch(8)) == expected
    assert other.calls == (0 if tiers["disk"] else ROWS)
    assert "cache" not in capfd.readouterr().err


def test_another_version_type_or_length_is_another_data_set(tmp_path):
    class Others(Squares):
        pass

    def calls(dataset, version):
        pipeline = fb.Dataset(dataset, version=version).cache(dir=tmp_path, ram=0).batch(8)
        with fb.Loader(pipeline, epochs=1) as loader:
            sums = sum(float(batch["x"].sum()) for batch in loader)
        assert sums == dataset.factor * sum(16 * i * i for i in range(len(dataset)))
        return dataset.calls

    assert calls(Squares(), "1") == ROWS
    assert calls(Squares(), "1") == 0
    assert calls(Squares(factor=2), "2") == ROWS
    assert calls(Others(), "1") == ROWS
    assert calls(Squares(rows=ROWS - 1), "1") == ROWS - 1


def test_without_a_version_a_data_set_is_kept_for_its_loader_alone(tmp_path):
    kept = Squares()
    expected = twice(fb.Dataset(Squares()).shuffle().batch(8))
    cached = fb.Dataset(kept).shuffle().cache(dir=tmp_path, ram="8MB").batch(8)
    with fb.Loader(cached, seed=3, epochs=1) as loader:
        first = fb.digest(loader)
        assert kept.calls == ROWS
        kept.factor = 2  # what another loader has to notice
        with fb.Loader(cached, seed=3, epochs=1) as other:
            assert fb.digest(other) != first
        assert kept.calls == 2 * ROWS
        loader.set_epoch(0)
        assert [first, fb.digest(loader)] == expected
    assert kept.calls == 2 * ROWS
    assert not list(tmp_path.iterdir()), "nothing on disk that nobody may find"


@pytest.mark.parametrize("tiers, told", [({"ram": "1MB", "disk": "16MB"}, ["keeps nothing on disk", "version=", "disk=0"]),
                                         ({"ram": 0, "disk": "16MB"}, ["keeps nothing", "version=", "ram="]),
                                         ({"ram": "1MB", "disk": 0}, [])])
def test_what_a_data_set_without_a_version_lacks_is_told_once(tmp_path, capfd, tiers, told):
    twice(fb.Dataset(Squares()).cache(dir=tmp_path, **tiers).batch(8))
    lines = [line for line in capfd.readouterr().err.splitlines() if "cache" in line]
    assert len(lines) == (1 if told else 0)
    assert all(word in line for line in lines for word in told)


def test_the_version_of_a_data_set_is_part_of_what_it_is():
    def state(**version):
        pipeline = fb.Dataset(Squares(), **version).batch(8)
        with fb.Loader(pipeline) as loader:
            return str(pipeline), pipeline.fingerprint, loader.fingerprint

    assert 'version="1"' in state(version="1")[0]
    assert state(version="1") == state(version="1")
    assert len({state(), state(version="1"), state(version="2")}) == 3
    assert "version" not in state()[0]
    (problem,) = fb.Dataset(Squares(), version="").check()
    assert "empty" in problem.message and "version=" in problem.remedy
    assert fb.Dataset(Squares(), version=1).check()


def test_a_sample_is_asked_for_once_by_all_loaders_of_a_version(tmp_path):
    program = """
        import sys
        import numpy as np
        import forebay as fb
        class Numbers:
            def __len__(self):
                return 40
            def __getitem__(self, i):
                open(f"{sys.argv[1]}/{i}", "x")
                return {"x": np.arange(i, i + 3)}
        if __name__ == "__main__":
            pipeline = fb.Dataset(Numbers(), workers="threads", version="1").cache(dir=sys.argv[1] + "/cache", ram=0).batch(8)
            for _ in range(2):
                with fb.Loader(pipeline, epochs=1) as loader:
                    print(fb.digest(loader))
    """
    (tmp_path / "cache").mkdir(mode=0o700)
    outcome = script(program, tmp_path)
    first, second = outcome.out.split()
    assert first == second, outcome.err


def test_a_damaged_entry_of_a_data_set_is_asked_of_it_again(tmp_path):
    kept = Squares()
    cached = fb.Dataset(kept, version="1").cache(dir=tmp_path, ram=0).batch(8)
    expected = twice(cached)
    for segment in [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 16_000]:
        content = bytearray(segment.read_bytes())
        for at in range(300, len(content), 500):
            content[at] ^= 1
        segment.write_bytes(content)
    assert twice(cached) == expected
    assert kept.calls > ROWS
