"""Tables: the same rows, bytes and order whatever the machinery; epochs that are new; caches that spare every second visit."""
import itertools
import random
import time

import numpy as np
import pytest
from loading import behind_faults, epochs, one_epoch

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS, FILES = 12_000, 5
BUCKET = "tables"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """A folder of files of different sizes and row groups: numbers, lists, texts, images' bytes; `id` is the row."""
    folder = tmp_path_factory.mktemp("tables") / "rows"
    folder.mkdir()
    rng = np.random.default_rng(5)
    ends = [0, 100, 4100, 4101, 9000, ROWS]
    for number, (begin, end) in enumerate(itertools.pairwise(ends)):
        ids = np.arange(begin, end)
        lengths = ids % 6
        columns = {
            "id": ids, "x": rng.random(len(ids), dtype=np.float32), "y": rng.integers(-5, 5, len(ids)).astype(np.int16),
            "text": [f"row {i}" * (i % 3) for i in ids], "bytes": pa.array([b"\0" * (i % 5) for i in ids], pa.binary()),
            "list": pa.array([list(range(n)) for n in lengths], pa.list_(pa.int32())),
        }
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet", row_group_size=701, compression="zstd")
    return folder


def mixed(table, batch=256, block=3, lanes=2, **cache):
    pipeline = fb.parquet(str(table))
    return (pipeline.cache(**cache) if cache else pipeline).shuffle(block=block, lanes=lanes).batch(batch)


@pytest.fixture(scope="module")
def expected(table):
    """The digests of three epochs."""
    return epochs(mixed(table), threads=1)


def test_every_row_comes_once_and_with_its_own_values(table):
    with fb.Loader(mixed(table), seed=1) as loader:
        seen = []
        for batch in loader:
            assert np.array_equal(batch["id"], batch.ids)
            values, offsets = batch["list"]
            assert np.array_equal(np.diff(offsets), batch.ids % 6)
            assert all(np.array_equal(values[a:b], np.arange(b - a)) for a, b in itertools.pairwise(offsets))
            assert list(batch["text"]) == [f"row {i}" * (i % 3) for i in batch.ids]
            assert [len(one) for one in batch["bytes"]] == [i % 5 for i in batch.ids]
            seen += batch.ids.tolist()
    assert sorted(seen) == list(range(ROWS))


def test_no_two_epochs_are_alike_and_the_seed_decides(table, expected):
    assert len(set(expected)) == 3
    with fb.Loader(mixed(table), seed=8) as loader:
        assert fb.digest(loader) not in expected


@pytest.mark.parametrize("run", range(20))
def test_the_order_is_that_of_the_seed_in_every_run(table, expected, run):
    """Threads, consumers that take their time and consumers that do not: all of it at random."""
    chance = random.Random(run)
    with fb.Loader(mixed(table), seed=7, threads=(1, 2, 10)[run % 3]) as loader:
        found = fb._core.EpochDigest()
        for batch in loader:
            found.add(batch)
            if chance.random() < 0.05:
                time.sleep(0.003 * chance.random())
        assert found.hexdigest() == expected[0]


@pytest.mark.parametrize("state", ["cold", "warm", "half"])
@pytest.mark.parametrize("tier", ["ram", "disk"])
@pytest.mark.parametrize("threads", [1, 2, 10])
def test_a_cache_changes_nothing_however_much_it_holds(table, expected, tmp_path, state, tier, threads):
    budget = "150KB" if state == "half" else "1GiB"
    cache = {"ram": budget, "disk": 0} if tier == "ram" else {"ram": 0, "disk": budget, "dir": str(tmp_path / "cache")}
    pipeline = mixed(table, **cache)
    if state == "warm":
        epochs(pipeline, threads=threads)
    assert epochs(pipeline, threads=threads) == expected


def test_memory_changes_nothing(table, expected):
    with pytest.raises(fb.OutOfBudget) as refused:
        fb.Loader(mixed(table), memory="100KB")
    assert "block=" in str(refused.value)
    assert epochs(mixed(table), memory=refused.value.bytes_needed) == expected
    assert epochs(mixed(table), memory="1GiB") == expected


def test_going_on_anywhere_gives_the_rest_whatever_the_batch_size_and_cache(table):
    chance = random.Random(3)
    with fb.Loader(mixed(table, 100), seed=7) as loader:
        whole = np.concatenate([batch.ids for batch in loader])
        for _ in range(6):
            loader.set_epoch(0)
            loader.load_state_dict(loader.state_dict() | {"position": 0, "step": 0, "epoch": 0})
            stop = chance.randrange(1, len(loader))
            for batch in itertools.islice(loader, stop):
                pass
            state = loader.state_dict()
            other = mixed(table, chance.choice([1 + chance.randrange(500), 100]), ram="1GiB", disk=0)
            with fb.Loader(other, seed=7, threads=chance.choice([1, 2, 10])) as later:
                later.load_state_dict(state)
                rest = np.concatenate([batch.ids for batch in later])
            assert np.array_equal(rest, whole[stop * 100:])


@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_share_the_epoch_and_each_row_group_is_decoded_once(table, expected, world):
    batches = []
    for rank in range(world):
        with fb.Loader(mixed(table, batch=252 // world, lanes=6), seed=7, rank=rank, world_size=world, epochs=1) as loader:
            batches.append(list(loader))
            if world == 1:
                assert max(loader.stats()["chunks"]["decoded_times"]) <= 2
    rows = sorted((int(position), int(i)) for rank in batches for batch in rank
                  for position, i in zip(batch.positions[: len(batch) - batch.padding], batch.ids, strict=False))
    assert [position for position, _ in rows] == list(range(ROWS))
    with fb.Loader(mixed(table, lanes=6), seed=7) as loader:
        assert [i for _, i in rows] == [int(i) for batch in loader for i in batch.ids]


@pytest.mark.parametrize("world", [2, 3, 5])
def test_the_digest_does_not_depend_on_how_many_ranks_share_the_lanes(table, world):
    whole = one_epoch(mixed(table, lanes=4), seed=7)
    loaders = [fb.Loader(mixed(table, batch=50, lanes=4), seed=7, rank=rank, world_size=world) for rank in range(world)]
    assert fb.digest(*loaders) == whole
    for loader in loaders:
        loader.close()


def test_without_a_shuffle_rows_come_by_id(table):
    with fb.Loader(fb.parquet(str(table)).batch(1000)) as loader:
        assert np.array_equal(np.concatenate([batch["id"] for batch in loader]), np.arange(ROWS))
        assert loader.stats()["chunks"]["decoded"] >= loader.stats()["chunks"]["row_groups"]


@pytest.mark.parametrize("options", [{"block": 1}, {"block": 1000}, {"lanes": 40}, {"block": 2, "lanes": 7}])
def test_blocks_and_lanes_of_any_size_work(table, options):
    with fb.Loader(fb.parquet(str(table), columns=["id"]).shuffle(**options).batch(999), seed=2) as loader:
        assert sorted(int(i) for batch in loader for i in batch["id"]) == list(range(ROWS))


def test_functions_filters_and_takes_see_rows(table):
    pipeline = (fb.parquet(str(table), columns=["id", "x"]).filter(lambda s: s["id"] % 3 == 0, fields=["id"]).take(1000)
                .map(lambda s: {"x": s["x"] * 2}, fields=["x"]).shuffle(block=4).batch(64))
    with fb.Loader(pipeline, seed=3) as loader:
        ids = np.concatenate([batch["id"] for batch in loader])
    assert sorted(ids.tolist()) == list(range(0, 3000, 3))


@pytest.fixture
def bucket(servers, faults, table, nothing_from_outside):
    """The table in a bucket behind the counting proxy: storage options."""
    return behind_faults(servers("ceph", "faults"), BUCKET, table)


@pytest.mark.parametrize("threads", [1, 10])
def test_a_bucket_far_away_gives_the_same(bucket, faults, expected, threads):
    faults.set(latency_ms=10)
    assert epochs(mixed(f"s3://{BUCKET}/rows"), storage_options=bucket, threads=threads) == expected


@pytest.mark.parametrize("cache", [{"ram": "1GiB", "disk": 0}, {"ram": 0, "disk": "1GiB"}])
def test_after_the_first_epoch_no_byte_of_the_table_is_read_again(bucket, faults, expected, tmp_path, cache):
    pipeline = mixed(f"s3://{BUCKET}/rows", **cache, dir=str(tmp_path / "kept"))
    with fb.Loader(pipeline, seed=7, storage_options=bucket) as loader:
        assert fb.digest(loader) == expected[0]
        faults.reset_counts()
        assert [fb.digest(loader) for _ in range(2)] == expected[1:]
        counts = faults.status()["counts"]
        assert (counts["requests"], counts["bytes_sent"]) == (0, 0)
    if cache["disk"]:
        # A new run lists and reads the footers of five files, and no row group.
        faults.reset_counts()
        with fb.Loader(pipeline, seed=7, storage_options=bucket) as loader:
            opened = faults.status()["counts"]["bytes_sent"]
            assert fb.digest(loader) == expected[0]
            assert faults.status()["counts"]["bytes_sent"] == opened


def test_a_cache_is_asked_once_for_each_row_group_however_long_that_waits_for_a_slot(table, tmp_path):
    pipeline = mixed(table, ram="1GiB", disk=0, dir=str(tmp_path))
    options = {"requests": 1, "storage_options": {"imitate_latency_ms": "3"}}
    with fb.Loader(pipeline, seed=7, **options) as loader:
        fb.digest(loader)
        fb.digest(loader)
        stats = loader.stats()
        # Beyond that: what was decoded for the edges of two lanes, or was dropped for want of memory and asked for again.
        assert stats["caches"][0]["misses"] <= stats["chunks"]["decoded"] + 2
        assert stats["caches"][0]["ram"]["hits"] >= stats["chunks"]["row_groups"] - 6


def test_photographs_are_fetched_once_where_they_are_cached(photos, tmp_path):
    pictures = fb.images(photos).decode_image().resize(short_side=32).center_crop(24)
    rest = lambda pipeline: pipeline.random_flip().normalize(fb.IMAGENET).shuffle().batch(4)  # noqa: E731
    plain = epochs(rest(pictures))
    for cache in ({"ram": "1GiB", "disk": 0}, {"ram": 0, "disk": "1GiB", "dir": str(tmp_path / "kept")}):
        with fb.Loader(rest(pictures.cache(**cache)), seed=7) as loader:
            assert fb.digest(loader) == plain[0]
            assert [fb.digest(loader) for _ in range(2)] == plain[1:]
            kept = loader.stats()["caches"][0]
            # A few of the second epoch may have been asked for before the first had kept them.
            assert kept["ram"]["hits"] + kept["disk"]["hits"] >= 2 * 21 - 8


def test_a_changed_file_is_never_served_from_the_cache(photos, tmp_path):
    import shutil

    folder = tmp_path / "photos"
    shutil.copytree(photos, folder)
    pipeline = fb.images(str(folder)).decode_image().resize(24).cache(ram=0, disk="1GiB", dir=str(tmp_path / "kept")).batch(4)
    first = one_epoch(pipeline)
    names = sorted(folder.rglob("*.jpg"))
    shutil.copy(names[1], names[0])
    other = one_epoch(fb.images(str(folder)).decode_image().resize(24).batch(4))
    assert one_epoch(pipeline) == other != first


def test_fifty_epochs_take_no_more_memory_or_disk_than_three(table, tmp_path):
    pipeline = mixed(table, ram="300KB", disk="400KB", dir=str(tmp_path / "kept"))
    used = lambda: sum(f.stat().st_blocks * 512 for f in (tmp_path / "kept").rglob("*") if f.is_file())  # noqa: E731
    with fb.Loader(pipeline, seed=7, epochs=50) as loader:
        for _ in range(50):
            fb.digest(loader)
            stats = loader.stats()
            assert used() <= 400_000
            assert stats["caches"][0]["ram"]["bytes"] <= 300_000
            assert stats["memory_bytes"]["peak"] <= stats["memory_bytes"]["budget"]
