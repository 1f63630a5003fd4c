"""One place, one state: however a loop is left, the state has what the loop did not get, and nothing that it got.

"Behind an epoch's last batch" and "before the next epoch" are one place. A signal handler that saves a state while a batch is being made, and Ctrl-C at
any point of that, find the place behind the last batch that the loop has.
"""
import copy
import signal
import sys

import numpy as np
import pytest

import forebay as fb

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: forebay.torch needs it")
data = torch.utils.data

from forebay.torch import DataLoader  # noqa: E402

PER_EPOCH = 4  # batches of 3


@pytest.fixture(autouse=True)
def interruptible():
    """Ctrl-C raises KeyboardInterrupt, also where the shell started the tests with the signal ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Rows(data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return self.given(i)

    def given(self, i):
        return i


class RowsWithState(Rows):
    """Its items depend on how many it gave."""

    def __init__(self):
        self.calls = 0

    def __getitem__(self, i):
        self.calls += 1
        return self.given(1000 * self.calls + i)

    def state_dict(self):
        return {"calls": self.calls}

    def load_state_dict(self, state):
        self.calls = state["calls"]


class Stream(data.IterableDataset):
    def __iter__(self):
        info = data.get_worker_info()
        first, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(first, 12, step):
            yield self.given(i)

    def given(self, i):
        return i


class StreamWithState(data.IterableDataset):
    def __init__(self):
        self.i = self.epoch = 0

    def __iter__(self):
        while self.i < 12:
            self.i += 1
            yield self.given(100 * self.epoch + self.i)
        self.i = 0
        self.epoch += 1

    def given(self, i):
        return i

    def state_dict(self):
        return {"i": self.i, "epoch": self.epoch}

    def load_state_dict(self, state):
        self.__dict__.update(state)


def seeded():
    return torch.Generator().manual_seed(5)


def shuffled(made, **options):
    return DataLoader(made, 3, shuffle=True, generator=seeded(), collate_fn=list, **options)


def in_order(made, **options):
    return DataLoader(made, 3, collate_fn=list, **options)


LOADERS = {
    "rows": lambda: shuffled(Rows()),
    "rows, the default generator": lambda: DataLoader(Rows(), 3, shuffle=True, collate_fn=list),
    "rows, distributed": lambda: in_order(Rows(), sampler=data.DistributedSampler(range(24), 2, 0, seed=3)),
    "rows with a state": lambda: shuffled(RowsWithState()),
    "rows, processes": lambda: shuffled(Rows(), num_workers=2),
    "rows, persistent processes": lambda: shuffled(Rows(), num_workers=2, persistent_workers=True),
    "rows, threads": lambda: shuffled(Rows(), num_workers=2, thread_safe=True),
    "a stream": lambda: in_order(Stream()),
    "a stream, processes": lambda: in_order(Stream(), num_workers=2),
    "a stream, persistent processes": lambda: in_order(Stream(), num_workers=2, persistent_workers=True),
    "a stream with a state": lambda: in_order(StreamWithState()),
    "a stream with a state, processes": lambda: in_order(StreamWithState(), num_workers=1),
    "a pipeline": lambda: DataLoader(fb.arrays(x=np.arange(12)), 3, shuffle=True, generator=seeded()),
    "a pipeline, forebay.Loader": lambda: fb.Loader(fb.arrays(x=np.arange(12)).shuffle().batch(3), seed=5),
    "a pipeline, forebay.Loader(restart=True)": lambda: fb.Loader(fb.arrays(x=np.arange(12)).shuffle().batch(3), seed=5, restart=True),
    "a pipeline, own code": lambda: fb.Loader(fb.Dataset(Rows()).rename(**{"0": "x"}).shuffle().batch(3), seed=5, restart=True),
}


class Left(Exception):
    pass


def items(batch):
    return batch if isinstance(batch, list) else batch["x"].tolist()


def passes(loader, count):
    return [[items(batch) for batch in loader] for _ in range(count)]


def whole(make):
    """Three epochs of a run that nothing interrupts."""
    torch.manual_seed(77)
    return passes(make(), 3)


def check_rest(name, state, epochs, epoch, batches, told=""):
    """A new loader of that name, with that state, gives what is behind those batches of that epoch."""
    left = epochs[epoch][batches:]
    expected = [left, *epochs[epoch + 1 :]] if left else epochs[epoch + 1 :]
    if name == "rows, the default generator":
        expected = expected[:1]  # the program saves and restores that one, by which later epochs are shuffled
    resumed = LOADERS[name]()
    resumed.load_state_dict(copy.deepcopy(state))
    assert passes(resumed, len(expected)) == expected, f"behind {batches} batches of epoch {epoch}{told}"


def by_end(loader, epoch, batches):
    for _ in range(epoch + (batches == PER_EPOCH)):
        for _ in loader:
            pass
    return loader.state_dict()


def in_the_loop(loader, epoch, batches):
    for _ in range(epoch):
        list(loader)
    state = loader.state_dict()
    for number, _ in enumerate(loader, 1):
        if number == batches:
            state = copy.deepcopy(loader.state_dict())
    return state


def by_break(loader, epoch, batches):
    for _ in range(epoch):
        list(loader)
    for number, _ in enumerate(loader, 1):
        if number == batches:
            break
    return loader.state_dict()


def by_exception(loader, epoch, batches):
    for _ in range(epoch):
        list(loader)
    try:
        for number, _ in enumerate(loader, 1):
            if number == batches:
                raise Left
    except Left:
        pass
    return loader.state_dict()


def by_ctrl_c_in_the_loop(loader, epoch, batches):
    for _ in range(epoch):
        list(loader)
    try:
        for number, _ in enumerate(loader, 1):
            if number == batches:
                signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass
    return loader.state_dict()


def by_a_handler(loader, epoch, batches):
    for _ in range(epoch):
        list(loader)
    states = []
    before = signal.signal(signal.SIGUSR1, lambda *_: states.append(copy.deepcopy(loader.state_dict())))
    try:
        for number, _ in enumerate(loader, 1):
            if number == batches:
                signal.raise_signal(signal.SIGUSR1)
                return states[0]
    finally:
        signal.signal(signal.SIGUSR1, before)
    raise AssertionError("the epoch has fewer batches")


WAYS = (in_the_loop, by_break, by_exception, by_ctrl_c_in_the_loop, by_a_handler)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOADERS)
def test_every_way_out_of_a_loop_leads_to_the_same_rest(name, way):
    make = LOADERS[name]
    epochs = whole(make)
    assert [len(epoch) for epoch in epochs] == [PER_EPOCH] * 3
    for epoch, batches in ((0, 1), (0, PER_EPOCH), (1, 2), (1, PER_EPOCH)):
        torch.manual_seed(77)
        check_rest(name, way(make(), epoch, batches), epochs, epoch, batches)


@pytest.mark.parametrize("name", LOADERS)
def test_behind_the_last_batch_and_before_the_next_epoch_are_one_place(name):
    make = LOADERS[name]
    rests = []
    for way in (in_the_loop, by_end):
        torch.manual_seed(77)
        state = way(make(), 1, PER_EPOCH)
        resumed = make()
        resumed.load_state_dict(copy.deepcopy(state))
        rests.append(passes(resumed, 1))
    assert rests[0] == rests[1]


class Interrupt:
    """Calls something at one of the points where Python looks at signals: where a function begins, and where one of C returns."""

    def __init__(self, at, then):
        self.at, self.then, self.seen = at, then, 0

    def __call__(self, frame, event, _):
        if event not in ("call", "c_return") or "/forebay/" not in frame.f_code.co_filename and "/torch/" not in frame.f_code.co_filename:
            return
        self.seen += 1
        if self.seen - 1 == self.at:
            sys.setprofile(None)
            self.then()


def interrupted_next(iterator, at, then):
    """Whether `next(iterator)` gave a batch, and how many points there were."""
    interrupt = Interrupt(at, then)
    sys.setprofile(interrupt)
    try:
        next(iterator)
        gave = True
    except (KeyboardInterrupt, StopIteration):
        gave = False
    finally:
        sys.setprofile(None)
    return gave, interrupt.seen


def ctrl_c():
    raise KeyboardInterrupt


AT_EACH_POINT = [name for name in LOADERS if "process" not in name and "pipeline" not in name]


@pytest.mark.parametrize("taken", [0, 1, PER_EPOCH - 1, PER_EPOCH])
@pytest.mark.parametrize("name", AT_EACH_POINT)
def test_ctrl_c_at_each_point_of_making_a_batch(name, taken):
    make = LOADERS[name]
    epochs = whole(make)
    at = points = 0
    while at <= points:
        torch.manual_seed(77)
        loader = make()
        iterator = iter(loader)
        for _ in range(taken):
            next(iterator)
        gave, points = interrupted_next(iterator, at, ctrl_c)
        check_rest(name, loader.state_dict(), epochs, 0, taken + gave, f", point {at}")
        at += 1
    assert points > 5


@pytest.mark.parametrize("taken", [0, 1, PER_EPOCH - 1, PER_EPOCH])
@pytest.mark.parametrize("name", LOADERS)
def test_a_handler_that_saves_at_each_point_of_making_a_batch(name, taken):
    make = LOADERS[name]
    epochs = whole(make)
    torch.manual_seed(77)
    loader = make()
    iterator = iter(loader)
    for _ in range(taken):
        next(iterator)
    states = []

    def save():
        states.append(copy.deepcopy(loader.state_dict()))
        interrupt.at += 1
        sys.setprofile(interrupt)

    interrupt = Interrupt(0, save)
    sys.setprofile(interrupt)
    next(iterator, None)
    sys.setprofile(None)
    assert states
    different = [state for number, state in enumerate(states) if state not in states[:number]]
    for state in different[:20]:
        check_rest(name, state, epochs, 0, taken)


class Fails:
    """Once, as what is far away does."""

    failed = False

    def given(self, i):
        if i % 1000 % 100 == 7 and not Fails.failed:
            Fails.failed = True
            raise OSError("the mount is gone")
        return i


class FailingRows(Fails, Rows):
    pass


class FailingStream(Fails, Stream):
    pass


class FailingStreamWithState(Fails, StreamWithState):
    pass


@pytest.mark.parametrize("make", [
    lambda: shuffled(FailingRows()), lambda: shuffled(FailingRows(), num_workers=1), lambda: shuffled(FailingRows(), num_workers=2, thread_safe=True),
    lambda: in_order(FailingStream()), lambda: in_order(FailingStream(), num_workers=1), lambda: in_order(FailingStreamWithState())])
def test_a_batch_that_an_exception_stood_in_for_comes_again(make):
    Fails.failed = True
    expected = passes(make(), 1)[0]
    Fails.failed = False
    loader, trained = make(), []
    with pytest.raises(OSError, match="the mount is gone"):
        for batch in loader:
            trained.append(batch)
    state = loader.state_dict()
    Fails.failed = True  # it is there again
    resumed = make()
    resumed.load_state_dict(state)
    assert trained + passes(resumed, 1)[0] == expected


@pytest.mark.parametrize("workers", [{}, {"num_workers": 1}, {"num_workers": 2, "thread_safe": True}])
def test_a_loop_that_goes_on_behind_an_exception_has_left_that_batch(workers):
    """As in PyTorch; a state behind the next batch does not have it, either."""
    Fails.failed = False
    loader = in_order(FailingRows(), **workers)
    iterator, trained = iter(loader), []
    while len(trained) < 3:
        try:
            trained.append(next(iterator))
        except OSError:
            pass
    assert trained == [[0, 1, 2], [3, 4, 5], [9, 10, 11]]
    Fails.failed = True
    resumed = in_order(FailingRows(), **workers)
    resumed.load_state_dict(loader.state_dict())
    assert passes(resumed, 1) == [[[0, 1, 2], [3, 4, 5], [6, 7, 8], [9, 10, 11]]]


def test_a_trainer_that_saves_every_n_steps_loses_no_epoch():
    loader, step, state = shuffled(Rows()), 0, None
    for _ in loader:
        step += 1
        if step % PER_EPOCH == 0:
            state = copy.deepcopy(loader.state_dict())
    resumed = shuffled(Rows())
    resumed.load_state_dict(state)
    assert [len(epoch) for epoch in passes(resumed, 2)] == [PER_EPOCH, PER_EPOCH]


@pytest.mark.parametrize("save", [by_end, in_the_loop])
@pytest.mark.parametrize("workers", [{}, {"num_workers": 2}, {"num_workers": 2, "thread_safe": True}])
def test_another_batch_size_is_taken_at_an_epochs_end(workers, save):
    def make(size):
        return DataLoader(Rows(), size, shuffle=True, generator=seeded(), collate_fn=list, **workers)

    loader = make(3)
    state = copy.deepcopy(save(loader, 0, PER_EPOCH))
    following = sum(passes(loader, 1)[0], [])
    larger = make(6)
    larger.load_state_dict(state)
    batches = passes(larger, 1)[0]
    assert [len(batch) for batch in batches] == [6, 6]
    assert sum(batches, []) == following


def test_another_batch_size_in_the_middle_is_refused_with_the_way_out():
    loader = shuffled(Rows())
    next(iter(loader))
    with pytest.raises(fb.StateMismatch, match="batches of 3.*batches of 4.*at an epoch's end"):
        DataLoader(Rows(), 4).load_state_dict(loader.state_dict())
