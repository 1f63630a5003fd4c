"""Caches behind functions of the user over tables: the same rows cold and warm, with fields that only folders' names know."""
import itertools

import numpy as np
import pytest
from loading import one_epoch

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def partitioned(tmp_path):
    """Rows in folders year=…/kind=…"""
    folder = tmp_path / "rows"
    for number, (year, kind) in enumerate(itertools.product((2024, 2025), ("a", "b"))):
        where = folder / f"year={year}" / f"kind={kind}"
        where.mkdir(parents=True)
        ids = np.arange(number * 30, number * 30 + 30)
        pq.write_table(pa.table({"a": ids, "text": [f"row {i}" for i in ids]}), where / "rows.parquet", row_group_size=11)
    return folder


def same(sample):
    return sample


MAPS = {
    "one field": lambda p: p.map(lambda s: {"a": s["a"] * 2}, fields="a", version="1"),
    "all fields": lambda p: p.map(same, version="1"),
    "a new field": lambda p: p.map(lambda s: {"b": s["a"] + 1}, fields="a", version="1"),
    "a folder's field": lambda p: p.map(lambda s: {"year": s["year"] + 1}, fields="year", version="1"),
    "twice": lambda p: p.map(lambda s: {"a": s["a"] * 2}, fields="a", version="1").map(same, version="2"),
}


@pytest.mark.parametrize("tiers", [{"ram": "1MB", "disk": 0}, {"ram": 0, "disk": "10MB"}, {"ram": "2KB", "disk": "10MB"}])
@pytest.mark.parametrize("behind", [lambda p: p, lambda p: p.shuffle(block=2, lanes=2), lambda p: p.select("a", "year"),
                                    lambda p: p.rename(year="y", a="k"), lambda p: p.select("year")])
@pytest.mark.parametrize("mapped", MAPS)
def test_a_cache_behind_a_map_gives_the_same(partitioned, tmp_path, mapped, behind, tiers):
    made = MAPS[mapped](fb.parquet(str(partitioned)))
    cached = behind(made.cache(dir=str(tmp_path / "cache"), **tiers)).batch(16)
    expected = one_epoch(behind(made).batch(16), seed=2)
    with fb.Loader(cached, seed=2) as loader:
        assert [fb.digest(loader), loader.epoch] == [expected, 1], "cold"
        again = fb.digest(loader)
    for _ in range(2):
        assert one_epoch(cached, seed=2) == expected, "warm"
    with fb.Loader(behind(made).batch(16), seed=2) as loader:
        fb.digest(loader)
        assert again == fb.digest(loader)
