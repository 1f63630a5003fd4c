"""Which rank gets which rows is no part of what they are: by count and by place, on any number of hosts."""
import itertools

import numpy as np
import pytest
import forebay as fb
from forebay.errors import InvalidArgument


def open_ranks(pipeline, world_size, **options):
    return [fb.Loader(pipeline, rank=rank, world_size=world_size, **options) for rank in range(world_size)]


def digest_of_epoch(epoch, loaders):
    for loader in loaders:
        loader.set_epoch(epoch)
    return fb.digest(*loaders)


def close(loaders):
    for loader in loaders:
        loader.close()


def rows_of_epoch(loaders):
    return [list(itertools.chain.from_iterable(batch.ids.tolist() for batch in loader)) for loader in loaders]


@pytest.mark.parametrize("world_size,hosts", [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3), (4, 2), (4, 4), (8, 3), (8, 4)])
def test_digests_by_count_and_by_place_are_that_of_one_process(photos, world_size, hosts):
    pipeline = fb.images(photos).shuffle().decode_image().random_resized_crop(24).random_flip()
    for epoch in (0, 1):
        with fb.Loader(pipeline.batch(5), seed=7) as one:
            alone = digest_of_epoch(epoch, [one])
        fingerprints = set()
        for deal in ("count", "locality"):
            loaders = open_ranks(pipeline.batch(2), world_size, seed=7, shard_by=deal, hosts=hosts)
            assert digest_of_epoch(epoch, loaders) == alone, (deal, epoch)
            fingerprints |= {loader.fingerprint for loader in loaders}
            close(loaders)
        assert len(fingerprints) == 1


@pytest.mark.parametrize("last", ["partial", "drop", "pad"])
@pytest.mark.parametrize("world_size,hosts", [(2, 2), (4, 2), (5, 3), (8, 4)])
@pytest.mark.parametrize("n", [1, 7, 60, 203])
def test_exactly_once_in_equal_steps(n, world_size, hosts, last):
    pipeline = fb.arrays(x=np.arange(n)).shuffle().batch(4, last=last)
    loaders = open_ranks(pipeline, world_size, seed=1, epochs=2, shard_by="locality", hosts=hosts)
    for _ in range(2):
        per_rank = [list(loader) for loader in loaders]
        assert len({len(batches) for batches in per_rank}) == 1
        kept = [i for batches in per_rank for batch in batches for i in batch.ids[: len(batch) - batch.padding].tolist()]
        assert len(kept) == len(set(kept)) == (n - n % (4 * world_size) if last == "drop" else n)
        assert all(np.array_equal(batch["x"], batch.ids) for batches in per_rank for batch in batches)
    close(loaders)


def test_from_the_second_epoch_on_ranks_get_what_their_host_had():
    n = 6400
    pipeline = fb.arrays(x=np.arange(n)).shuffle().batch(32)
    loaders = open_ranks(pipeline, 4, seed=3, shard_by="locality", hosts=2)
    first, second = rows_of_epoch(loaders), rows_of_epoch(loaders)
    close(loaders)
    again = sum(len((set(first[2 * h]) | set(first[2 * h + 1])) & (set(second[2 * h]) | set(second[2 * h + 1]))) for h in range(2))
    assert 0.9 * n < again < n


def test_a_run_goes_on_under_the_other_deal_and_on_other_hosts():
    n = 500
    pipeline = fb.arrays(x=np.arange(n)).shuffle()
    seen = []
    state = None
    for world_size, hosts, batch, deal in [(4, 2, 3, "locality"), (3, 3, 5, "count"), (6, 2, 4, "locality"), (1, 1, 7, "locality")]:
        loaders = open_ranks(pipeline.batch(batch), world_size, seed=9, shard_by=deal, hosts=hosts)
        for loader in loaders:
            if state:
                loader.load_state_dict(state)
            else:
                loader.set_epoch(1)
        iterators = [iter(loader) for loader in loaders]
        steps = 6 if world_size > 1 else len(loaders[0])
        for _ in range(steps):
            for iterator in iterators:
                b = next(iterator, None)
                if b is not None:
                    seen += b.ids[: len(b) - b.padding].tolist()
        states = [loader.state_dict() for loader in loaders]
        assert all(s == states[0] for s in states)
        state = states[0]
        close(loaders)
    assert sorted(seen) == list(range(n))


def test_caches_in_memory_make_each_rank_a_host_by_itself():
    pipeline = fb.arrays(x=np.arange(1000)).shuffle().cache(ram="1MiB", disk=0).batch(10)
    loaders = open_ranks(pipeline, 4, seed=3)
    first, second = rows_of_epoch(loaders), rows_of_epoch(loaders)
    close(loaders)
    assert sum(len(set(a) & set(b)) for a, b in zip(first, second)) > 800


def test_hosts_come_from_the_launcher(monkeypatch):
    pipeline = fb.arrays(x=np.arange(1000)).shuffle().batch(10)
    with pytest.raises(InvalidArgument, match="hosts="):
        fb.Loader(pipeline, rank=0, world_size=4, shard_by="locality")
    for name, value in {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "GROUP_WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    with fb.Loader(pipeline, seed=3, shard_by="locality") as told, fb.Loader(pipeline, seed=3, shard_by="locality", hosts=2) as given:
        for loader in (told, given):
            loader.set_epoch(1)
        assert rows_of_epoch([told]) == rows_of_epoch([given])
    monkeypatch.setenv("GROUP_WORLD_SIZE", "3")  # divides no 4 ranks
    with pytest.raises(InvalidArgument, match="hosts="):
        fb.Loader(pipeline, shard_by="locality")


@pytest.mark.parametrize("options", [{"shard_by": "near"}, {"shard_by": None}, {"hosts": 0}, {"hosts": 5}, {"hosts": "2"}])
def test_what_cannot_be_is_refused(options):
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        fb.Loader(fb.arrays(x=np.arange(9)).batch(1), rank=0, world_size=4, **options)
