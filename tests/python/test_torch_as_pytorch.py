"""Arguments, annotations and endings of PyTorch's loader that ours once lacked, each beside it."""
import gc
import os
import time

import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: the drop-in cannot be compared with PyTorch's DataLoader")
data = torch.utils.data

from forebay.torch import DataLoader  # noqa: E402


@pytest.fixture(autouse=True)
def no_garbage_of_earlier_tests():
    """PyTorch's iterators take locks when they are finalised; a forked worker that does so for one of an earlier test waits for ever."""
    gc.collect()

both = pytest.mark.parametrize("cls", [DataLoader, data.DataLoader], ids=["forebay", "torch"])


class Rows(data.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return i


class Waits(Rows):
    """Its first item comes when the program has got another one."""

    def __init__(self):
        self.got_one = torch.multiprocessing.Event()

    def __getitem__(self, i):
        if i == 0:
            assert self.got_one.wait(60)
        return i


class Pids(data.IterableDataset):
    def __iter__(self):
        return iter([os.getpid()] * 3)


class Nested(Rows):
    def __getitem__(self, i):
        return torch.nested.nested_tensor([torch.full((2,), float(i)), torch.full((3,), float(i))])


def first(samples):
    return samples[0]


def breaks(worker_id):
    raise ConnectionError(f"no database for {worker_id}")


@both
def test_row_7_it_is_generic(cls):
    def train(loader: cls[int]) -> None: ...

    assert cls[int](Rows()).batch_size == 1 and issubclass(cls[int].__origin__, data.DataLoader)


@both
@pytest.mark.parametrize("kept", [False, True])
def test_row_9_workers_of_iterables_are_forked_and_persistent_ones_stay(cls, kept):
    loader = cls(Pids(), None, num_workers=2, persistent_workers=kept)
    epochs = [set(loader), set(loader)]
    assert all(len(epoch) == 2 for epoch in epochs) and os.getpid() not in epochs[0]
    assert (epochs[0] == epochs[1]) == kept


def seen_out_of_order(cls, **options):
    rows, seen = Waits(), []
    for batch in cls(rows, num_workers=2, in_order=False, **options):
        seen.append(int(batch))
        rows.got_one.set()
    return seen


@both
def test_row_11_batches_that_are_ready_come_first(cls):
    seen = seen_out_of_order(cls)
    assert sorted(seen) == list(range(12)) and seen[0] != 0


def test_row_11_batches_that_are_ready_come_first_from_threads():
    seen = seen_out_of_order(DataLoader, thread_safe=True)
    assert sorted(seen) == list(range(12)) and seen[0] != 0


@both
@pytest.mark.parametrize("context", ["fork", "forkserver"])
def test_row_11_nested_tensors_travel(cls, context):
    loader = cls(Nested(), num_workers=1, collate_fn=first, multiprocessing_context=context)
    assert [float(batch[1][2]) for batch in loader] == list(range(12))


@both
def test_an_exception_in_worker_init_fn_arrives_in_the_place_of_the_first_batch(cls):
    iterator = iter(cls(Rows(), num_workers=2, worker_init_fn=breaks))
    with pytest.raises(ConnectionError, match="no database for 0"):
        next(iterator)


@both
@pytest.mark.parametrize("persistent", [False, True])
def test_leaving_early_leaves_no_process_behind(cls, persistent):
    loader = cls(Pids(), None, num_workers=2, persistent_workers=persistent)
    pids = {int(pid) for pid, _ in zip(loader, range(2))} | set(map(int, loader))
    del loader
    deadline = time.monotonic() + 60
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(alive, pids))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().split()[2] != "Z"
    except OSError:
        return False
