"""States in the middle of epochs and at their ends: a loader that resumes gives what the first one goes on to give, or says why
it cannot. (PyTorch's own has no states; torchdata's StatefulDataLoader is the measure.)"""
import copy
import random

import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: forebay.torch needs it")
data = torch.utils.data

import forebay as fb  # noqa: E402
from forebay.torch import DataLoader  # noqa: E402


class Rows(data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return i


class Shuffled(data.IterableDataset):
    """Dealt out over the workers, in an order that comes from PyTorch's generator of the process."""

    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        mine = torch.arange(first, 24, step)
        yield from mine[torch.randperm(len(mine))].tolist()


class Unrepeatable(Shuffled):
    def __iter__(self):
        yield from random.SystemRandom().sample(range(24), 24)


class Resets(data.IterableDataset):
    """Its own iterator."""

    def __init__(self, end=10):
        self.end = end

    def __iter__(self):
        self.i = 0
        return self

    def __next__(self):
        if self.i == self.end:
            raise StopIteration
        self.i += 1
        return self.i - 1

    def state_dict(self):
        return {"i": self.i}

    def load_state_dict(self, state):
        self.i = state["i"]


class Epochs(data.IterableDataset):
    """Counts epochs; remembers them in its state."""

    def __init__(self):
        self.epoch = self.i = 0

    def __iter__(self):
        while self.i < 7:
            self.i += 1
            yield 100 * self.epoch + self.i
        self.i = 0
        self.epoch += 1

    def state_dict(self):
        return {"epoch": self.epoch, "i": self.i}

    def load_state_dict(self, state):
        self.__dict__.update(state)


class Reader:
    """An iterator with a state, of a data set that has none."""

    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 9:
            raise StopIteration
        self.at += 1
        return self.at

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Opens(data.IterableDataset):
    def __iter__(self):
        return Reader()


class Counts(Rows):
    """Its items depend on how many it gave."""

    def __init__(self):
        self.calls = 0

    def __getitem__(self, i):
        self.calls += 1
        return 100 * self.calls + i

    def state_dict(self):
        return {"calls": self.calls}

    def load_state_dict(self, state):
        self.calls = state["calls"]


class Walk:
    def __init__(self):
        self.at = 0

    def __iter__(self):
        return self

    def __next__(self):
        if self.at == 12:
            raise StopIteration
        self.at += 1
        return (5 * self.at) % 12

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


class Walks(data.Sampler):
    """Its iterators have states."""

    def __len__(self):
        return 12

    def __iter__(self):
        return Walk()


def plain(batches):
    return [batch.tolist() if isinstance(batch, torch.Tensor) else batch for batch in batches]


def seeded():
    made = torch.Generator()
    made.manual_seed(8)
    return made


def goes_on(make, batches, epochs=0):
    """After some epochs and batches, what comes in the rest of that epoch, if there is any, and in the next one: of the loader itself,
    and of one that resumes. Behind an epoch's last batch both begin the next epoch."""
    loader = make()
    for _ in range(epochs):
        list(loader)
    iterator = iter(loader)
    for _ in range(batches):
        next(iterator)
    state = copy.deepcopy(loader.state_dict())
    passes = (iterator, loader, loader)
    expected = [batches for batches in map(plain, passes) if batches]
    other = make()
    torch.manual_seed(12345)
    other.load_state_dict(state)
    assert plain(other) == expected[0]
    return other, expected[1]


@pytest.mark.parametrize("persistent, epochs", [(False, 0), (True, 0), (True, 1), (True, 2)])
@pytest.mark.parametrize("batches", [0, 1, 3, 5])
def test_row_4_an_iterable_shuffled_by_the_workers_seed(batches, persistent, epochs):
    goes_on(lambda: DataLoader(Shuffled(), 3, num_workers=2, persistent_workers=persistent), batches, epochs)


def test_row_4_an_iterable_shuffled_by_the_programs_generator():
    goes_on(lambda: DataLoader(Shuffled(), 3), 3)


@pytest.mark.parametrize("workers", [0, 2])
def test_row_4_an_order_that_cannot_be_had_again_is_refused(workers):
    loader = DataLoader(Unrepeatable(), 3, num_workers=workers)
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    other = DataLoader(Unrepeatable(), 3, num_workers=workers)
    other.load_state_dict(loader.state_dict())
    with pytest.raises(fb.StateMismatch, match="other items.*state_dict"):
        list(other)


@pytest.mark.parametrize("there, here", [(2, 3), (2, 0), (0, 2)])
@pytest.mark.parametrize("make", [Shuffled, Resets])
def test_row_4_another_number_of_workers_is_refused(make, there, here):
    loader = DataLoader(make(), 3, num_workers=there)
    next(iter(loader))
    with pytest.raises(fb.StateMismatch, match=f"num_workers={there}.*num_workers={here}"):
        DataLoader(make(), 3, num_workers=here).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("every", [1, 3, 0])
@pytest.mark.parametrize("batch_size", [None, 4])
@pytest.mark.parametrize("make", [Resets, Epochs, Opens])
def test_row_4_iterables_and_iterators_with_a_state(make, batch_size, every, workers):
    goes_on(lambda: DataLoader(make(), batch_size, num_workers=workers, snapshot_every_n_steps=every),
            3 if batch_size is None else 2)


def test_row_4_the_example_of_the_report():
    loader = DataLoader(Resets(), None)
    iterator = iter(loader)
    for _ in range(4):
        next(iterator)
    other = DataLoader(Resets(), None)
    other.load_state_dict(loader.state_dict())
    assert list(other) == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("workers, persistent", [(0, False), (2, True)])
def test_row_4_a_data_sets_state_outlives_an_epochs_end(workers, persistent):
    def make():
        return DataLoader(Epochs(), 2, num_workers=workers, persistent_workers=persistent)

    loader = make()
    list(loader)
    list(loader)
    other = make()
    other.load_state_dict(loader.state_dict())
    expected = plain(loader)
    assert expected[0] == [201, 202] and plain(other) == expected and plain(other) == plain(loader)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("every", [1, 2, 0])
def test_row_4_map_style_data_sets_with_a_state(every, workers):
    other, following = goes_on(
        lambda: DataLoader(Counts(), 2, shuffle=True, generator=seeded(), num_workers=workers, snapshot_every_n_steps=every), 3)
    assert plain(other) == following


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [None, 5])
@pytest.mark.parametrize("batches", [0, 2, 3])
def test_row_4_iterators_of_samplers_with_a_state(batches, batch_size, workers):
    other, following = goes_on(lambda: DataLoader(Rows(), batch_size, sampler=Walks(), num_workers=workers), batches)
    assert plain(other) == following


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("epochs", [0, 1, 2])
@pytest.mark.parametrize("batches", [0, 1, 5])
def test_row_5_shuffled_with_persistent_workers(batches, epochs, own):
    other, following = goes_on(lambda: DataLoader(Rows(), 2, shuffle=True, num_workers=2, persistent_workers=True,
                                                  generator=seeded() if own else None), batches, epochs)
    assert not own or plain(other) == following


@pytest.mark.parametrize("workers, persistent", [(0, False), (2, False), (2, True)])
def test_row_5_going_back_to_the_beginning_gives_the_same_order(workers, persistent):
    loader = DataLoader(Rows(), 2, shuffle=True, num_workers=workers, persistent_workers=persistent)
    list(loader)
    iterator = iter(loader)
    state = loader.state_dict()
    expected = plain(iterator)
    loader.load_state_dict(state)
    assert plain(loader) == expected


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("make", [Rows, Resets, Epochs])
def test_row_10_behind_the_last_batch_is_before_the_next_epoch(make, workers):
    loader = DataLoader(make(), 3, num_workers=workers)
    count = len(list(loader))
    loader = DataLoader(make(), 3, num_workers=workers)
    iterator = iter(loader)
    for _ in range(count):
        next(iterator)
    other = DataLoader(make(), 3, num_workers=workers)
    other.load_state_dict(loader.state_dict())
    assert len(plain(other)) == count
    assert len(plain(other)) == count


@pytest.mark.parametrize("workers", [0, 2])
def test_row_10_a_source_that_is_too_short_now_is_named(workers):
    class Short(data.IterableDataset):
        def __init__(self, size):
            self.size = size

        def __iter__(self):
            return iter(range(self.size))

    loader = DataLoader(Short(30), 2, num_workers=workers)
    iterator = iter(loader)
    for _ in range(9):
        next(iterator)
    other = DataLoader(Short(4), 2, num_workers=workers)
    other.load_state_dict(loader.state_dict())
    with pytest.raises(fb.StateMismatch, match="of the data set, which ends after 2"):
        list(other)


@pytest.mark.parametrize("workers", [0, 2])
def test_row_10_states_before_the_first_iterator(workers):
    loader = DataLoader(Rows(), 2, shuffle=True, num_workers=workers)
    state = loader.state_dict()
    expected = plain(loader)
    other = DataLoader(Rows(), 2, shuffle=True, num_workers=workers)
    other.load_state_dict(state)
    assert other.state_dict() == state and plain(other) == expected
    other.load_state_dict({})
    assert len(plain(other)) == 6


@pytest.mark.parametrize("safe", [False, True])
def test_row_11_states_are_exact_when_batches_overtake(safe):
    class Slow(Rows):
        def __init__(self, wait):
            self.gone, self.wait = torch.multiprocessing.Event(), wait

        def __getitem__(self, i):
            if i == 0 and self.wait:
                assert self.gone.wait(60)
            return i

    slow = Slow(True)
    loader = DataLoader(slow, num_workers=2, in_order=False, thread_safe=safe, prefetch_factor=4)
    iterator = iter(loader)
    seen = [int(next(iterator)) for _ in range(3)]
    assert 0 not in seen
    state = loader.state_dict()
    slow.gone.set()
    other = DataLoader(Slow(False), num_workers=2, in_order=False, thread_safe=safe)
    other.load_state_dict(state)
    assert sorted(seen + [int(batch) for batch in other]) == list(range(12))


class Epochal(Rows):
    """Its items depend on a number that the program sets, and it knows which it gave."""

    def __init__(self):
        self.number, self.given = 0, set()

    def __getitem__(self, i):
        self.given.add(i)
        return 100 * self.number + i

    def state_dict(self):
        return {"number": self.number, "given": sorted(self.given)}

    def load_state_dict(self, state):
        self.number, self.given = state["number"], set(state["given"])


def threads(dataset):
    return DataLoader(dataset, num_workers=2, thread_safe=True, prefetch_factor=2)


def test_threads_give_the_state_of_a_data_set_at_both_ends_of_an_epoch_and_refuse_it_between():
    rows = Epochal()
    rows.number = 3
    loader = threads(rows)
    begin = loader.state_dict()
    assert begin["dataset_state"] == {"number": 3, "given": []}, "of before the threads read ahead"
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(fb.InvalidArgument, match=r"Epochal has a state of its own.*end of an epoch.*thread_safe="):
        loader.state_dict()
    assert len(list(iterator)) == 11
    end = loader.state_dict()
    assert end["finished"] and end["dataset_state"] == {"number": 3, "given": list(range(12))}

    for state in (begin, end):
        resumed = threads(Epochal())
        resumed.load_state_dict(copy.deepcopy(state))
        assert [int(batch) for batch in resumed] == [300 + i for i in range(12)]


def test_states_of_worker_processes_are_refused_by_threads_and_the_other_way_round():
    loader = DataLoader(Epochal(), num_workers=2)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(fb.StateMismatch, match="thread_safe=True"):
        threads(Epochal()).load_state_dict(loader.state_dict())
    with pytest.raises(fb.StateMismatch, match="num_workers=2"):
        DataLoader(Epochal(), num_workers=2).load_state_dict(threads(Epochal()).state_dict())
