"""A DataLoader's state: small, plain, and exact in the middle of an epoch."""
import json

import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: forebay.torch needs it")
data = torch.utils.data

import forebay as fb  # noqa: E402
from forebay.torch import DataLoader  # noqa: E402


class Numbers(data.Dataset):
    def __init__(self, size=50):
        self.size = size
        self.asked = []

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        self.asked.append(i)
        return i


class Stream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        return iter(range(info.id, 40, info.num_workers) if info else range(40))


class StreamWithState(data.IterableDataset):
    def __init__(self):
        self.at = 0
        self.read = 0

    def __iter__(self):
        while self.at < 40:
            self.at += 1
            self.read += 1
            yield self.at
        self.at = 0

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Own(data.Sampler):
    """Knows where it is."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        while self.at < 50:
            self.at += 1
            yield (self.at * 7) % 50
        self.at = 0

    def __len__(self):
        return 50

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Unseen(data.Sampler):
    """Its order cannot be had again."""

    def __iter__(self):
        import random

        return iter(random.sample(range(50), 50))

    def __len__(self):
        return 50


def generator(seed=3):
    made = torch.Generator()
    made.manual_seed(seed)
    return made


SHUFFLES = {
    "in order": lambda: {},
    "shuffled by the default generator": lambda: {"shuffle": True},
    "shuffled by a generator": lambda: {"shuffle": True, "generator": generator()},
    "with replacement": lambda: {"sampler": data.RandomSampler(range(50), replacement=True, num_samples=90, generator=generator())},
    "weighted": lambda: {"sampler": data.WeightedRandomSampler([1.0] * 50, 60)},
    "two generators": lambda: {"sampler": data.SubsetRandomSampler(range(50), generator=generator(1)), "generator": generator(2)},
    "distributed": lambda: {"sampler": data.DistributedSampler(range(50), num_replicas=2, rank=1)},
    "a sampler with a state": lambda: {"sampler": Own()},
    "single samples": lambda: {"shuffle": True, "batch_size": None, "generator": generator()},
}


def make(shuffle, workers):
    return DataLoader(Numbers(), num_workers=workers, **{"batch_size": 4, **SHUFFLES[shuffle]()})


def plain(batches):
    return [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in batches]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("position", [0, 1, 5])
@pytest.mark.parametrize("shuffle", SHUFFLES)
def test_another_loader_goes_on_where_the_state_was_saved(shuffle, position, workers):
    torch.manual_seed(1)
    loader = make(shuffle, workers)
    if hasattr(loader.sampler, "set_epoch"):
        loader.sampler.set_epoch(5)
    list(loader)  # an epoch before
    iterator = iter(loader)
    for _ in range(position):
        next(iterator)
    state = json.loads(json.dumps(loader.state_dict()))
    rest = plain(iterator)
    next_epoch = plain(loader) if loader.generator is not None else None
    torch.manual_seed(99)
    other = make(shuffle, workers)
    other.load_state_dict(state)
    before = torch.get_rng_state()
    assert plain(other) == rest != []
    assert next_epoch is None or plain(other) == next_epoch
    if other.generator is not None:
        assert torch.equal(torch.get_rng_state(), before)  # the program's own random numbers are left alone


@pytest.mark.parametrize("workers", [0, 2])
def test_what_was_delivered_is_not_loaded_again(workers):
    loader = DataLoader(Numbers(), 4, num_workers=workers)
    iterator = iter(loader)
    for _ in range(6):
        next(iterator)
    rows = Numbers()
    other = DataLoader(rows, 4, num_workers=workers)
    other.load_state_dict(loader.state_dict())
    assert plain(other) == plain(iterator)
    assert all(i >= 24 for i in rows.asked)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_can_be_saved_between_any_two_batches_and_again_after_a_resume(workers):
    whole = plain(make("shuffled by a generator", workers))
    state, seen = None, []
    for _ in range(len(whole)):
        loader = make("shuffled by a generator", workers)
        if state is not None:
            loader.load_state_dict(state)
            assert loader.state_dict() == state
        seen.append(next(iter(loader)).tolist())
        state = loader.state_dict()
    assert seen == whole
    assert len(json.dumps(state)) < 20_000


@pytest.mark.parametrize("workers", [0, 2])
def test_behind_the_last_batch_is_before_the_next_epoch(workers):
    loader = make("shuffled by a generator", workers)
    iterator = iter(loader)
    for _ in range(len(loader)):
        next(iterator)
    other = make("shuffled by a generator", workers)
    other.load_state_dict(loader.state_dict())
    assert list(iterator) == []
    assert plain(other) == plain(loader)


@pytest.mark.parametrize("workers", [0, 2])
def test_after_the_loop_it_is_the_state_of_the_next_epoch(workers):
    loader = make("shuffled by a generator", workers)
    list(loader)
    other = make("shuffled by a generator", workers)
    other.load_state_dict(loader.state_dict())
    assert plain(other) == plain(loader)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [3, None])
def test_an_iterable_data_set_is_read_again_up_to_there(batch_size, workers):
    loader = DataLoader(Stream(), batch_size, num_workers=workers)
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    state = loader.state_dict()
    other = DataLoader(Stream(), batch_size, num_workers=workers)
    other.load_state_dict(state)
    rest = plain(other)
    assert rest == plain(iterator) and rest
    assert plain(other) == plain(loader)


def test_an_iterable_data_set_with_a_state_is_asked_for_it():
    loader = DataLoader(StreamWithState(), 3)
    iterator = iter(loader)
    for _ in range(5):
        next(iterator)
    stream = StreamWithState()
    other = DataLoader(stream, 3)
    other.load_state_dict(loader.state_dict())
    assert plain(other) == plain(iterator)
    assert stream.read == 25


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sampler_that_gives_another_order_is_noticed(workers):
    loader = DataLoader(Numbers(), 4, sampler=Unseen(), num_workers=workers)
    next(iter(loader))
    loader.load_state_dict(loader.state_dict())
    with pytest.raises(fb.StateMismatch, match="other indices.*generator="):
        iter(loader) and next(iter(loader))


def test_states_that_do_not_fit_are_refused_with_the_reason():
    state = DataLoader(Numbers(), 4, shuffle=True, generator=generator()).state_dict()
    with pytest.raises(fb.StateMismatch, match="batches of 4.*batches of 8"):
        DataLoader(Numbers(), 8).load_state_dict(state)
    with pytest.raises(fb.StateMismatch, match="generator of the loader"):
        loader = DataLoader(Numbers(), 4)
        loader.load_state_dict(state)
        iter(loader)
    with pytest.raises(fb.StateMismatch, match="format"):
        DataLoader(Numbers(), 4).load_state_dict({**state, "format": 99})
    with pytest.raises(fb.InvalidArgument, match="no state"):
        DataLoader(Numbers(), 4).load_state_dict({"epoch": 1})
    loader = DataLoader(Numbers(60), 4)
    iterator = iter(loader)
    for _ in range(14):
        next(iterator)
    shorter = DataLoader(Numbers(20), 4)
    shorter.load_state_dict(loader.state_dict())
    with pytest.raises(fb.StateMismatch, match="behind batch 14, and the sampler gives 5"):
        iter(shorter)


@pytest.mark.parametrize("workers", [0, 2])
def test_the_epoch_that_is_set_behind_a_state_of_an_epochs_end_counts(workers):
    """As training loops do: load, then for each epoch set_epoch() and a pass."""
    def of_rank():
        sampler = torch.utils.data.DistributedSampler(range(50), 2, 0)
        return sampler, DataLoader(Numbers(), 4, sampler=sampler, num_workers=workers)

    sampler, loader = of_rank()
    sampler.set_epoch(0)
    first = plain(loader)
    state = json.loads(json.dumps(loader.state_dict()))
    sampler.set_epoch(1)
    second = plain(loader)
    assert first != second
    sampler, again = of_rank()
    again.load_state_dict(state)
    sampler.set_epoch(1)
    assert plain(again) == second
