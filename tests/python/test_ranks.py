"""Ranks together give exactly what one process gives, in equal steps."""
import numpy as np
import pytest
from loading import one_epoch

import forebay as fb


def open_ranks(pipeline, world_size, **options):
    return [fb.Loader(pipeline, rank=rank, world_size=world_size, **options) for rank in range(world_size)]


@pytest.mark.parametrize("world_size", [1, 2, 3, 8])
def test_the_joined_digest_is_that_of_one_process(photos, world_size):
    pipeline = fb.images(photos).shuffle().decode_image().random_resized_crop(24).random_flip()
    loaders = open_ranks(pipeline.batch(2), world_size, seed=7)
    assert fb.digest(*loaders) == one_epoch(pipeline.batch(5), seed=7)
    assert len({loader.fingerprint for loader in loaders}) == 1
    for loader in loaders:
        loader.close()


@pytest.mark.parametrize("last", ["partial", "drop", "pad"])
@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
@pytest.mark.parametrize("n", [1, 2, 7, 24, 25, 60])
def test_exactly_once_in_equal_steps(n, world_size, last):
    pipeline = fb.arrays(x=np.arange(n)).shuffle().batch(4, last=last)
    loaders = open_ranks(pipeline, world_size, seed=1, epochs=1)
    lengths = {len(loader) for loader in loaders}
    assert len(lengths) == 1
    per_rank = [list(loader) for loader in loaders]
    assert {len(batches) for batches in per_rank} == lengths
    kept = [i for batches in per_rank for batch in batches for i in batch.ids[: len(batch) - batch.padding].tolist()]
    assert len(kept) == len(set(kept)) == (n - n % (4 * world_size) if last == "drop" else n)
    for batches in per_rank:
        for batch in batches:
            assert len(batch) >= 1
            assert last == "partial" or len(batch) == 4
            assert np.array_equal(batch["x"], batch.ids)
    for step in zip(*per_rank):
        sizes = [len(batch) - batch.padding for batch in step]
        assert last != "partial" or max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("variables", [
    {"RANK": "1", "WORLD_SIZE": "3", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "3"},
    {"SLURM_PROCID": "1", "SLURM_NTASKS": "3", "SLURM_STEP_ID": "0"},
    {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "3"},
])
def test_rank_and_world_size_come_from_the_launcher(variables, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with fb.Loader(fb.arrays(x=np.arange(9)).batch(1)) as loader:
        assert (loader.rank, loader.world_size) == (1, 3)
        assert len(loader) == 3
    with fb.Loader(fb.arrays(x=np.arange(9)).batch(1), rank=0, world_size=1) as loader:
        assert len(loader) == 9
