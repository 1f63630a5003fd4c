"""Loaders of a process share its compute threads, its memory and the row groups that any of them holds."""
import gc
import os
import pathlib
import threading
import time

import numpy as np
import pytest
from PIL import Image

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 20_000


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    rng = np.random.default_rng(1)
    for number in range(60):
        (folder / "one").mkdir(exist_ok=True)
        values = rng.integers(0, 255, (90 + number, 120, 3), dtype=np.uint8)
        Image.fromarray(values).save(folder / "one" / f"{number}.jpg")
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "rows.parquet"
    ids = np.arange(ROWS)
    columns = {"id": ids, "x": ids / 3, "text": [f"row {i}" for i in ids]}
    pq.write_table(pa.table(columns), path, row_group_size=4000)
    return path


def photographs(pictures, batch=8):
    return fb.images(str(pictures)).shuffle().decode_image().random_crop((64, 64)).batch(batch)


def rows(table, batch=100):
    return fb.parquet(str(table)).shuffle(block=2).batch(batch)


def compute_threads():
    names = (pathlib.Path(path) / "comm" for path in pathlib.Path("/proc/self/task").iterdir())
    count = 0
    for name in names:
        try:
            count += name.read_text().startswith("forebay-compute")
        except FileNotFoundError:  # it ended meanwhile
            pass
    return count


def none_left():
    """Joined threads are counted for a moment longer, and an exception that a test caught may hold a loader until it is collected."""
    gc.collect()
    until = time.monotonic() + 60
    while compute_threads() and time.monotonic() < until:
        time.sleep(0.01)
    return compute_threads() == 0


def test_loaders_have_as_many_compute_threads_together_as_there_are_cores(pictures, table):
    assert none_left()
    cores = len(os.sched_getaffinity(0))
    loaders = [fb.Loader(photographs(pictures), seed=seed) for seed in range(3)] + [fb.Loader(rows(table))]
    for loader in loaders:
        next(iter(loader))
    assert 1 <= compute_threads() <= cores
    for loader in loaders[:-1]:
        loader.close()
    next(iter(loaders[-1]))
    loaders[-1].close()
    assert none_left()


def test_who_asks_for_more_threads_gets_them(pictures):
    more = len(os.sched_getaffinity(0)) + 5
    with fb.Loader(photographs(pictures), threads=more) as many, fb.Loader(photographs(pictures)) as other:
        next(iter(many)), next(iter(other))
        assert compute_threads() == more
        assert many.stats()["threads"] == more > other.stats()["threads"]


def test_loaders_of_different_age_and_pace_deliver_what_each_delivers_alone(pictures, table):
    def digests(pipeline, count, pause=0.0):
        with fb.Loader(pipeline, seed=3) as loader:
            made = []
            for _ in range(count):
                time.sleep(pause)
                made.append(fb.digest(loader))
            return made

    expected = {"photographs": digests(photographs(pictures), 4), "rows": digests(rows(table), 4)}
    found = {}
    work = {
        "photographs": (photographs(pictures), 4, 0), "rows": (rows(table), 4, 0),
        "slow": (photographs(pictures), 4, 0.2), "same rows": (rows(table), 4, 0.05),
    }
    threads = [threading.Thread(target=lambda name=name, args=args: found.update({name: digests(*args)}))
               for name, args in work.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert found == {"photographs": expected["photographs"], "slow": expected["photographs"],
                     "rows": expected["rows"], "same rows": expected["rows"]}


def test_two_models_on_one_table_decode_a_row_group_once(table):
    """Side by side, batch by batch: what one has decoded the other takes. (Row groups are larger than what is made ahead.)"""
    def decodes(*loaders):
        return sum(loader.stats()["chunks"]["decoded"] for loader in loaders)

    with fb.Loader(rows(table), seed=3, epochs=1) as alone:
        assert len([batch for batch in alone]) == ROWS // 100
        once = decodes(alone)
    assert once == ROWS // 4000, "with epochs=1 nothing is decoded ahead of another epoch"
    with fb.Loader(rows(table), seed=3, epochs=1) as one, fb.Loader(rows(table), seed=3, epochs=1) as two:
        for left, right in zip(one, two, strict=True):
            assert np.array_equal(left["id"], right["id"])
            assert left["text"] == right["text"]
        assert decodes(one, two) <= once + 2


def test_other_columns_are_other_row_groups(table):
    with fb.Loader(rows(table), seed=3) as one, \
            fb.Loader(fb.parquet(str(table), columns=["id"]).shuffle(block=2).batch(100), seed=3) as two:
        for left, right in zip(one, two, strict=True):
            assert np.array_equal(left["id"], right["id"])
            assert set(right) == {"id"}


def test_a_file_that_changes_between_two_loaders_is_read_anew(table, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": np.arange(1000)}), path)
    with fb.Loader(fb.parquet(str(path)).batch(10)) as before:
        assert next(iter(before))["id"][3] == 3  # it holds the row group from here on
        time.sleep(0.05)
        pq.write_table(pa.table({"id": np.arange(1000) + 5000}), path)
        with fb.Loader(fb.parquet(str(path)).batch(10)) as after:
            assert next(iter(after))["id"][3] == 5003
