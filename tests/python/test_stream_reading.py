"""Ranks that read a broker's log together: each partition by one rank, each record once, whatever becomes of a rank."""

import itertools
import os
import uuid

import pytest

import forebay as fb
from redis_client import RedisClient
from streaming import on_ranks, steps_of_ranks, xs

PARTITIONS, RECORDS, SIZE = 4, 300, 2000


@pytest.fixture
def written(servers):
    """A Redis of four streams with 300 records of 2 KB each; x is 10**6 * stream + number."""
    servers("redis")
    client = RedisClient()
    written = Written(client, f"dealt-{uuid.uuid4().hex}")
    for partition in range(PARTITIONS):
        written.append(partition, 0, RECORDS)
    yield written
    client.close()


class Written:
    def __init__(self, client, name):
        self.client, self.name = client, name

    def append(self, partition, begin, end):
        self.client.send(*(("XADD", f"{self.name}-{partition}", "*", "x", 10**6 * partition + i, "rest", b"r" * SIZE) for i in range(begin, end)))

    def pipeline(self, batch, window=None):
        source = fb.stream(f"{os.environ['FOREBAY_TEST_REDIS']}/0/{self.name}-{{0..{PARTITIONS - 1}}}", fields={"x": "int64", "rest": "bytes"})
        return (source if window is None else source.shuffle(window=window)).batch(batch)

    def sent(self):
        """Bytes that the server has sent since it was started."""
        (info,) = self.client.send(("INFO", "stats"))
        return int(next(line for line in info.decode().split("\r\n") if line.startswith("total_net_output_bytes:")).partition(":")[2])


ALL = sorted(10**6 * partition + i for partition in range(PARTITIONS) for i in range(RECORDS))


@pytest.mark.parametrize("window", [None, 400])
@pytest.mark.parametrize("world", [2, 3, 5])
def test_a_broker_sends_each_record_once_whatever_the_number_of_ranks(tmp_path, written, world, window):
    steps = PARTITIONS * RECORDS // (world * 4)
    before = written.sent()
    got, _ = steps_of_ranks(lambda world: written.pipeline(4, window), world, f"file://{tmp_path}", steps=steps, seed=3)
    sent = written.sent() - before
    assert sorted(xs(got)) == ALL
    # Twice or more where each rank reads all. Beside them it sends what XINFO says of each stream, two records, behind every answer.
    assert sent < 1.7 * PARTITIONS * RECORDS * SIZE


def test_the_journal_of_several_ranks_is_repeated_by_one(tmp_path, written):
    """So what each rank gets is what it would read by itself."""
    world, steps = 3, 40

    def run(rank):
        with fb.Loader(written.pipeline(8, 120), rank=rank, world_size=world, peers=f"file://{tmp_path}/meet", seed=5) as loader:
            loader.journal(str(tmp_path / "run.journal"))
            taken = [(batch.positions.tolist(), batch["x"].tolist(), batch["rest"]) for batch in itertools.islice(loader, steps)]
            return taken, loader.stats()["stream"]

    (tmp_path / "meet").mkdir()
    ranks = on_ranks(world, run)
    with fb.Loader(written.pipeline(8 * world, 120), seed=5, journal=str(tmp_path / "run.journal")) as loader:
        alone = [dict(zip(batch.positions.tolist(), batch["x"].tolist())) for batch in itertools.islice(loader, steps)]
    together = [dict(pair for taken, _ in ranks for pair in zip(*taken[step][:2])) for step in range(steps)]
    assert together == alone
    assert all(row == b"r" * SIZE for taken, _ in ranks for step in taken for row in step[2])
    assert sum(stats["from_ranks"] for _, stats in ranks) > steps * world * 8 / 2, "two of three records are read by another rank"


def test_a_run_goes_on_with_other_ranks(tmp_path, written):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, state = steps_of_ranks(lambda world: written.pipeline(24 // world, 100), 3, f"file://{tmp_path}/a", steps=11, seed=3)
    rest, _ = steps_of_ranks(lambda world: written.pipeline(24 // world, 100), 2, f"file://{tmp_path}/b", state=state, steps=39, seed=3)
    assert sorted(xs(first) + xs(rest)) == ALL


def test_a_rank_that_leaves_early_is_read_for_by_the_others(tmp_path, written):
    """The first steps are taken by three ranks; then one closes, and the others go on with what it had read and with what it would have."""
    world, together, all_steps = 3, 5, 50

    def run(rank):
        with fb.Loader(written.pipeline(8), rank=rank, world_size=world, peers=f"file://{tmp_path}", seed=1) as loader:
            return [batch["x"].tolist() for batch in itertools.islice(loader, together if rank == 2 else all_steps)]

    ranks = on_ranks(world, run)
    assert [len(steps) for steps in ranks] == [all_steps, all_steps, together]
    got = [x for steps in ranks for step in steps for x in step]
    assert len(got) == len(set(got)) and set(got) <= set(ALL)


def test_what_comes_from_now_on_begins_alike(tmp_path, written):
    url = f"{os.environ['FOREBAY_TEST_REDIS']}/0/{written.name}-{{0..{PARTITIONS - 1}}}"

    def run(rank):
        pipeline = fb.stream(url, fields={"x": "int64"}, start="now").batch(6)
        with fb.Loader(pipeline, rank=rank, world_size=2, peers=f"file://{tmp_path}") as loader:
            if rank == 0:  # whose loader has asked where the log ends
                for partition in range(PARTITIONS):
                    written.append(partition, RECORDS, RECORDS + 6)
            return [x for batch in itertools.islice(loader, 2) for x in batch["x"].tolist()]

    got = sum(on_ranks(2, run), [])
    assert sorted(got) == sorted(10**6 * partition + i for partition in range(PARTITIONS) for i in range(RECORDS, RECORDS + 6))
