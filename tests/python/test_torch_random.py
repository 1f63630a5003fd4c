"""Random numbers in user code beside PyTorch's loader: as many different ones, the same ones, and none taken from the program."""
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: the drop-in cannot be compared with PyTorch's DataLoader")
data = torch.utils.data

from forebay.torch import DataLoader  # noqa: E402


class Draws(data.Dataset):
    def __len__(self):
        return 40

    def __getitem__(self, i):
        return random.randrange(10**9), int(np.random.randint(10**9)), int(torch.randint(10**9, (1,)))


class Streams(data.IterableDataset):
    def __iter__(self):
        yield from (Draws()[0] for _ in range(10))


class Seeds(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        info = data.get_worker_info()
        return info.seed, torch.initial_seed(), info.id, info.dataset is self


def seed_worker(worker_id):
    """As PyTorch's documentation has it."""
    seed = torch.initial_seed() % 2**32
    np.random.seed(seed)
    random.seed(seed)


def drawn(cls, make, epochs=3, **options):
    torch.manual_seed(3)
    loader = cls(make(), 2, num_workers=2, **options)
    return [tuple(map(tuple, zip(*(part.tolist() for part in batch)))) for _ in range(epochs) for batch in loader]


@pytest.mark.parametrize("options", [{}, {"worker_init_fn": seed_worker}, {"persistent_workers": True},
                                     {"persistent_workers": True, "worker_init_fn": seed_worker}], ids=lambda one: "+".join(one))
@pytest.mark.parametrize("make", [Draws, Streams])
def test_row_1_draws_are_pytorchs_and_different_in_each_epoch(make, options):
    ours = drawn(DataLoader, make, **options)
    assert ours == drawn(data.DataLoader, make, **options) == drawn(DataLoader, make, **options)
    items = [item for batch in ours for item in batch]
    assert len(set(items)) == len(items) == (120 if make is Draws else 60)


@pytest.mark.parametrize("init", [None, seed_worker])
def test_row_1_the_programs_generators_are_left_alone(init):
    after = []
    for cls in (DataLoader, data.DataLoader):
        random.seed(1)
        np.random.seed(2)
        torch.manual_seed(3)
        list(cls(Draws(), num_workers=2, worker_init_fn=init))
        after.append((random.random(), np.random.rand(), float(torch.rand(1))))
    assert after[0] == after[1]


def test_row_11_the_seed_is_that_of_pytorchs_generator_in_the_worker():
    seen = []
    for cls in (DataLoader, data.DataLoader):
        torch.manual_seed(4)
        seen.append([[part.tolist() for part in batch] for batch in cls(Seeds(), 2, num_workers=2)])
    assert seen[0] == seen[1]
    assert all(seed == initial and all(own) for seed, initial, _, own in seen[0])
