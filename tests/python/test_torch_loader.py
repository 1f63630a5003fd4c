"""forebay.torch.DataLoader on threads (`thread_safe=True`): many calls at once, worker info, exceptions, time-outs, endings; what
its processes leave behind; and over pipelines."""
import functools
import gc
import multiprocessing
import os
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: forebay.torch needs it")
from torch.utils.data import Dataset, IterableDataset, Subset, get_worker_info  # noqa: E402  (before forebay.torch: see below)

from loading import script  # noqa: E402

import forebay as fb  # noqa: E402
from forebay.torch import DataLoader  # noqa: E402

Threads = functools.partial(DataLoader, thread_safe=True)


class Rows(Dataset):
    def __init__(self, size=40):
        self.size = size

    def __len__(self):
        return self.size

    def __getitem__(self, i):
        return i


others = set()


@pytest.fixture(autouse=True)
def what_was_there():
    """Loaders that tests of other files interrupted, or kept in a traceback, may be there still: a test counts what it made itself."""
    gc.collect()
    others.clear()
    others.update(threading.enumerate(), (child.pid for child in multiprocessing.active_children()))


def ours():
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("forebay") and thread not in others]


def children():
    return [child for child in multiprocessing.active_children() if child.pid not in others]


# Threads


class Meeting(Rows):
    def __init__(self, parties):
        super().__init__(256)
        self.barrier = threading.Barrier(parties)

    def __getitem__(self, i):
        if i < self.barrier.parties:
            self.barrier.wait(60)
        return i


@pytest.mark.parametrize("workers", [1, 2])
def test_64_calls_are_in_flight_at_once(workers):
    loader = Threads(Meeting(64), batch_size=64, num_workers=workers)
    assert torch.cat(list(loader)).tolist() == list(range(256))


def test_what_was_learned_stays_for_the_next_pass():
    loader = Threads(Meeting(64), batch_size=64, num_workers=2)
    list(loader)
    iterator = iter(loader)
    next(iterator)
    assert sum(name.startswith("forebay-worker") for name in ours()) >= 64


class Seen(Rows):
    def __init__(self):
        super().__init__()
        self.by = set()

    def __getitem__(self, i):
        self.by.add(threading.current_thread().name)
        return i


@pytest.mark.parametrize("wrap", [lambda rows: rows, lambda rows: Subset(rows, range(40)),
                                  lambda rows: torch.utils.data.ConcatDataset([rows, Rows(0)])])
def test_threads_share_the_one_data_set_that_there_is(wrap):
    rows = Seen()
    assert torch.cat(list(Threads(wrap(rows), batch_size=4, num_workers=4))).tolist() == list(range(40))
    assert rows.by and all(name.startswith("forebay-worker") for name in rows.by)


def test_without_thread_safe_there_are_processes_and_no_threads():
    rows = Seen()
    iterator = iter(DataLoader(rows, batch_size=4, num_workers=2))
    next(iterator)
    assert not ours() and len(children()) == 2 and not rows.by


@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.parametrize("persistent", [False, True])
def test_nothing_is_left_after_a_loader(persistent, safe):
    rows = Rows()
    alive = weakref.ref(rows)
    loader = DataLoader(rows, batch_size=4, num_workers=2, persistent_workers=persistent, thread_safe=safe)
    for _ in loader:
        break
    for _ in loader:
        pass
    gc.disable()
    try:
        del loader, rows, _
        assert not ours() and not children()
        assert alive() is None  # without the garbage collector: no reference cycles
    finally:
        gc.enable()


class Bad(Rows):
    def __getitem__(self, i):
        raise LookupError(i)


@pytest.mark.parametrize("safe", [False, True])
def test_nothing_is_left_after_an_exception(safe):
    rows = Bad()
    alive = weakref.ref(rows)
    with pytest.raises(LookupError):
        list(DataLoader(rows, num_workers=2, thread_safe=safe))
    del rows
    gc.collect()
    assert not ours() and not children() and alive() is None


@pytest.mark.parametrize("safe", [False, True])
def test_a_kept_traceback_does_not_keep_the_workers(safe):
    iterator = iter(DataLoader(Bad(), num_workers=2, thread_safe=safe, persistent_workers=True))
    with pytest.raises(LookupError) as caught:
        next(iterator)
    del iterator
    assert not ours() and not children()
    assert "LookupError" in repr(caught.value) and caught.value.__traceback__ is not None


def test_batches_are_made_on_the_worker_threads_and_share_no_memory_with_other_processes():
    names = set()

    class Tensors(Rows):
        def __getitem__(self, i):
            return torch.full((4,), i)

    def collate(samples):
        names.add(threading.current_thread().name)
        return torch.utils.data.default_collate(samples)

    for collate_fn in (None, collate):
        for batch in Threads(Tensors(), batch_size=4, num_workers=2, collate_fn=collate_fn):
            assert not batch.is_shared()
    assert names and all(name.startswith("forebay-worker") for name in names)


def test_pytorch_computes_on_one_thread_there_and_on_as_many_as_before_elsewhere():
    class Counts(Rows):
        def __getitem__(self, i):
            return torch.get_num_threads()

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert {int(one) for batch in Threads(Counts(), num_workers=3) for one in batch} == {1}
        seen = [torch.get_num_threads()]
        thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
        thread.start()
        thread.join()
        assert seen == [3, 3]
    finally:
        torch.set_num_threads(before)


# get_worker_info


class Info(Rows):
    def __getitem__(self, i):
        info = get_worker_info()
        return i, info.id, info.num_workers, info.seed - info.id, int(info.dataset is self), info.worker_method, info.rng is not None


def test_worker_info_is_there_inside_of_user_code_and_nowhere_else():
    seeds = set()
    for _ in range(2):
        for number, batch in enumerate(Threads(Info(), batch_size=4, num_workers=3)):
            assert get_worker_info() is None
            i, worker, workers, seed, own, method, rng = batch
            assert worker.tolist() == [number % 3] * 4 and workers.tolist() == [3] * 4
            assert own.all() and set(method) == {"thread"} and rng.all()
            seeds |= set(seed.tolist())
    assert len(seeds) == 2  # one base seed a pass


@pytest.mark.parametrize("options", [{"worker_init_fn": print}, {"multiprocessing_context": "fork"}], ids=str)
def test_what_is_about_processes_is_refused_for_threads_with_the_way_out(options):
    (name,) = options
    with pytest.raises(ValueError, match=f"{name}= is about worker processes.*thread_safe"):
        Threads(Rows(), num_workers=2, **options)


def test_pytorchs_own_loader_still_works_beside_it():
    list(Threads(Rows(), num_workers=2))
    theirs = torch.utils.data.DataLoader(Numbered(), num_workers=2)
    assert [int(batch) for batch in theirs] == [i % 2 for i in range(6)]


class Numbered(Rows):
    def __init__(self):
        super().__init__(6)

    def __getitem__(self, i):
        return get_worker_info().id


# Exceptions and time-outs


@pytest.mark.parametrize("batch_size", [4, None])
def test_an_exception_keeps_type_and_traceback_and_says_where(batch_size):
    class Odd(Exception):
        def __init__(self, one, two):  # PyTorch cannot make these again from text
            super().__init__(one, two)

    class Bad(Rows):
        def __getitem__(self, i):
            if i == 9:
                raise Odd(1, 2) from KeyError("cause")
            return i

    iterator = iter(Threads(Bad(), batch_size=batch_size, num_workers=2))
    good = [next(iterator) for _ in range(9 // (batch_size or 1))]
    with pytest.raises(Odd) as caught:
        next(iterator)
    assert len(good) == 9 // (batch_size or 1)
    assert isinstance(caught.value.__cause__, KeyError)
    assert "__getitem__" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    (note,) = caught.value.__notes__
    assert "Bad" in note and "9" in note and f"batch {len(good)}" in note
    rest = list(iterator)
    assert len(rest) == (30 if batch_size is None else 7)


def test_of_several_failures_in_a_batch_the_first_one_is_raised():
    class Bad(Rows):
        def __getitem__(self, i):
            if i == 0:
                time.sleep(0.05)
            raise LookupError(i)

    with pytest.raises(LookupError, match="^0"):
        next(iter(Threads(Bad(), batch_size=40, num_workers=4)))


def test_a_sampler_that_fails_does_so_in_its_place():
    def indices():
        yield from range(10)
        raise LookupError("no more")

    class Sampler(torch.utils.data.Sampler):
        def __iter__(self):
            return indices()

    iterator = iter(Threads(Rows(), batch_size=2, sampler=Sampler(), num_workers=2))
    assert [next(iterator).tolist() for _ in range(5)] == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]
    with pytest.raises(LookupError, match="no more"):
        next(iterator)
    assert list(iterator) == []


def test_a_time_out_names_what_was_awaited_and_the_loader_goes_on():
    go_on = threading.Event()

    class Slow(Rows):
        def __getitem__(self, i):
            if i == 5:
                go_on.wait(60)
            return i

    iterator = iter(Threads(Slow(), batch_size=4, num_workers=2, timeout=2.5))
    assert next(iterator).tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match=r"timed out after 2.5 seconds: batch 1 waits for .*Slow, at index 5 for .*timeout="):
        next(iterator)
    go_on.set()
    assert next(iterator).tolist() == [4, 5, 6, 7]


def test_a_fork_is_told_that_its_iterator_stayed_behind():
    outcome = script("""
        import os, sys
        from forebay.torch import DataLoader
        iterator = iter(DataLoader(list(range(100)), num_workers=2, thread_safe=True))
        next(iterator)
        if os.fork() == 0:
            try:
                next(iterator)
            except RuntimeError as error:
                print(error, flush=True)
            del iterator  # whatever its threads held when the fork came
            print(len(list(DataLoader(list(range(100)), num_workers=2, thread_safe=True))), flush=True)
            os._exit(0)
        os.wait()
        print(len(list(iterator)))
    """)
    assert outcome.code == 0, outcome.err
    assert "belongs to the process that made it" in outcome.out and outcome.out.split()[-2:] == ["100", "99"]


@pytest.mark.parametrize("safe", [False, True])
@pytest.mark.parametrize("how", ["pass", "keep = iterator", "raise SystemExit(0)"])
def test_the_interpreter_exits_with_a_live_iterator(how, safe):
    outcome = script(f"""
        import time
        import torch
        from forebay.torch import DataLoader
        class Rows(torch.utils.data.Dataset):
            def __len__(self):
                return 1000
            def __getitem__(self, i):
                time.sleep(0.01)
                return torch.zeros(1000)
        loader = DataLoader(Rows(), batch_size=8, num_workers=2, persistent_workers=True, thread_safe={safe})
        iterator = iter(loader)
        next(iterator)
        {how}
    """)
    assert outcome.code == 0 and not outcome.err, outcome.err


def test_user_code_that_does_not_return_is_left_and_named():
    release = threading.Event()

    class Stubborn(Rows):
        def __getitem__(self, i):
            release.wait(60)
            return i

    iterator = iter(Threads(Stubborn(), num_workers=1))
    while not any(name.startswith("forebay-worker") for name in ours()):
        pass
    time.sleep(0.2)
    with pytest.warns(RuntimeWarning, match="left running: .*Stubborn has been working on"):
        del iterator
    release.set()


# Processes


class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        return iter([(info.id, info.num_workers, os.getpid(), int(info.worker_method == "multiprocessing"))] * 4)


@pytest.mark.parametrize("safe", [False, True])
def test_iterable_data_sets_run_in_processes(safe):
    seen = [tuple(map(int, item)) for item in DataLoader(Stream(), batch_size=None, num_workers=2, thread_safe=safe)]
    assert [item[0] for item in seen] == [0, 1] * 4 and len({item[2] for item in seen} | {os.getpid()}) == 3
    assert all(item[3] for item in seen)


class Pid(Rows):
    def __getitem__(self, i):
        return i, os.getpid(), get_worker_info().id


@pytest.mark.parametrize("context", ["fork", "spawn", "forkserver", torch.multiprocessing.get_context("fork")],
                         ids=["fork", "spawn", "forkserver", "an object"])
def test_processes_come_from_the_context_that_is_given(context):
    loader = DataLoader(Pid(), batch_size=4, shuffle=True, num_workers=2, multiprocessing_context=context)
    seen = list(loader)
    assert sorted(torch.cat([batch[0] for batch in seen]).tolist()) == list(range(40))
    assert len({int(pid) for batch in seen for pid in batch[1]} | {os.getpid()}) == 3
    assert [int(batch[2][0]) for batch in seen] == [number % 2 for number in range(10)]


def test_pin_memory_without_an_accelerator_warns_as_pytorch_does():
    if torch.accelerator.is_available():
        assert all(batch.is_pinned() for batch in Threads(Rows(), num_workers=2, pin_memory=True))
        return
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert len(list(Threads(Rows(), num_workers=2, pin_memory=True))) == 40


# Pipelines


def numbers():
    return fb.arrays(x=np.arange(20, dtype=np.float32))


def test_a_pipeline_gives_what_a_forebay_loader_gives():
    generator = torch.Generator()
    generator.manual_seed(7)
    loader = DataLoader(numbers(), batch_size=6, shuffle=True, num_workers=2, generator=generator)
    with fb.Loader(numbers().shuffle().batch(6), seed=7, output="torch") as expected:
        for _ in range(2):
            for ours_, theirs in zip(loader, expected, strict=True):
                assert isinstance(ours_["x"], torch.Tensor) and torch.equal(ours_["x"], theirs["x"])
    assert len(loader) == 4 and isinstance(loader, torch.utils.data.DataLoader) and len(loader.sampler) == 20
    loader.close()


def test_a_pipeline_with_a_batch_of_its_own_keeps_it_and_its_state():
    loader = DataLoader(numbers().shuffle().batch(5))
    going = iter(loader)
    next(going)
    other = DataLoader(numbers().shuffle().batch(5), batch_size=None)
    other.load_state_dict(loader.state_dict())
    assert [batch["x"].tolist() for batch in other] == [batch["x"].tolist() for batch in going]


def test_drop_last_of_a_pipeline():
    assert [len(batch) for batch in DataLoader(numbers(), 6, drop_last=True)] == [6, 6, 6]


@pytest.mark.parametrize("options, instead", [
    ({"sampler": [1]}, r"\.shuffle\(\)"), ({"batch_sampler": [[1]]}, r"\.shuffle\(\)"),
    ({"timeout": 3}, "storage_options"), ({"worker_init_fn": print}, "the function"), ({"prefetch_factor": 2}, "memory="),
    ({"multiprocessing_context": "fork"}, "workers='processes'"), ({"batch_size": None}, r"\.batch\(n\)")])
def test_what_makes_no_sense_for_a_pipeline_is_refused_with_the_way_out(options, instead):
    with pytest.raises(fb.InvalidArgument, match=instead):
        DataLoader(numbers(), num_workers=2, **options)


def test_a_batch_size_for_a_pipeline_that_has_one_is_refused():
    with pytest.raises(fb.InvalidArgument, match="ends in .batch"):
        DataLoader(numbers().batch(5), batch_size=6)
