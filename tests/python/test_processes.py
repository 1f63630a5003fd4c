"""Worker processes as the package uses them: calls, results, exceptions, iterators, and what becomes of a worker's memory."""
import collections
import contextlib
import dataclasses
import functools
import os
import random
import threading

import numpy as np
import pytest
from loading import children, descriptors, script

import forebay as fb
from forebay._processes import ExceptionInWorker, ProcessPool, WorkerDied, current_worker

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass
class Item:
    name: str
    values: np.ndarray


def echo():
    return lambda *args: args[0] if len(args) == 1 else args


def do():
    """A target that calls what it is given."""
    return lambda function, *args: function(*args)


@pytest.fixture
def pool():
    with ProcessPool(do, 2, "test") as made:
        yield made


def equal(a, b):
    if isinstance(a, np.ndarray):
        return type(b) is np.ndarray and a.dtype == b.dtype and a.shape == b.shape and np.array_equal(a, b)
    if isinstance(a, (tuple, list)):
        return type(a) is type(b) and len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    if isinstance(a, Item):
        return a.name == b.name and equal(a.values, b.values)
    return type(a) is type(b) and a == b


LARGE = np.arange(300_000, dtype=np.int64)


@pytest.mark.parametrize("value", [
    None, 1, 1.5, "text", "é" * 100_000, b"", b"bytes" * 100_000, np.arange(3), LARGE, LARGE.reshape(3, -1), LARGE[::2],
    np.asfortranarray(LARGE.reshape(2, -1)), np.zeros(0), np.float32(2), np.array(["a", "b"]), np.ones(5, "f4,i8"),
    {"a": LARGE, "b": [LARGE + 1, ("c", b"d" * 70_000)], "same": "x"}, (LARGE, LARGE * 2), Point(LARGE, 2),
    Item("n", LARGE), [], (), {}, [Item("a", np.arange(2000)), Point(1, Item("b", LARGE))]])
def test_values_go_there_and_come_back_equal(value):
    with ProcessPool(echo, 1, "test") as pool:
        for _ in range(3):
            assert equal(pool.call(None, value), value)


def test_torch_tensors_go_there_and_come_back_equal():
    torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: tensors were not tried")
    values = [torch.arange(100_000), torch.tensor(3.5), torch.zeros(0, 4), torch.ones(300, 300, dtype=torch.bfloat16),
              torch.eye(200)[:, ::2], torch.ones(2000, dtype=torch.bool), torch.ones(3000, dtype=torch.complex64),
              torch.ones(2000, requires_grad=True)]
    with ProcessPool(echo, 1, "test") as pool:
        for value in values:
            got = pool.call(None, {"t": [value]})["t"][0]
            assert type(got) is torch.Tensor and got.dtype == value.dtype and got.shape == value.shape
            assert got.requires_grad == value.requires_grad
            assert torch.equal(got, value)
            got.detach().fill_(1)  # writable
    assert torch.equal(values[0], torch.arange(100_000))


def test_results_stay_as_they_were_while_the_worker_goes_on_and_after_the_end(pool):
    kept = [pool.call(0, np.full, 200_000, i) for i in range(100)]  # more than a worker's budget of shared memory
    again = [pool.call(0, np.full, 200_000, -1) for _ in range(3)]
    pool.close()
    assert [int(array[0]) for array in kept] == [int(array[-1]) for array in kept] == list(range(100))
    assert all((array == -1).all() for array in again)


def test_results_and_arguments_are_the_receivers_to_write_to(pool):
    array = pool.call(0, np.zeros, 200_000)
    array += 1
    assert pool.call(0, np.zeros, 200_000).sum() == 0 and array.sum() == 200_000

    def add_one(given, kept=[]):
        given += 1
        kept.append(given)
        return [int(one[0]) for one in kept]

    with ProcessPool(lambda: add_one, 1, "test") as keeping:
        for i in range(4):
            assert keeping.call(0, np.full(200_000, 10 * i)) == [10 * j + 1 for j in range(i + 1)]


def shared_memory(pid):
    """Bytes of shared memory that a process has open."""
    sizes = {}
    for fd in os.listdir(f"/proc/{pid}/fd"):
        path = f"/proc/{pid}/fd/{fd}"
        with contextlib.suppress(FileNotFoundError):  # what the listing itself had open
            if "memfd:forebay" in os.readlink(path):
                sizes[os.stat(path).st_ino] = os.stat(path).st_blocks * 512
    return sum(sizes.values())


def test_shared_memory_is_used_again_and_has_a_bound(pool):
    (pid, _) = pool.pids
    for size in (50_000, 100_000, 3_000_000, 70_000_000, 10):
        for _ in range(20 if size < 10_000_000 else 2):
            assert pool.call(0, np.ones, size, np.uint8).nbytes == size
    kept = [pool.call(0, np.ones, 4_000_000) for _ in range(6)]
    assert shared_memory(pid) <= 130 << 20
    del kept
    pool.call(0, len, "")  # with this the worker learns that it may have its memory back
    assert shared_memory(pid) <= 64 << 20
    assert shared_memory(os.getpid()) <= 64 << 20


def test_a_result_larger_than_all_shared_memory_that_is_kept(pool):
    array = pool.call(0, np.arange, 20_000_000)
    assert array.nbytes == 160_000_000 and np.array_equal(array[::999_999], np.arange(0, 20_000_000, 999_999))


# Workers


def test_there_are_as_many_processes_as_asked_for(tmp_path):
    before = children()
    with ProcessPool(do, 3, "test") as pool:
        assert len(pool) == 3
        assert len(set(pool.pids)) == 3
        assert [pool.call(i, os.getpid) for i in range(3)] == pool.pids
        assert len(children() - before - set(pool.pids)) <= 1  # the process they are forked from
    assert not children() & set(pool.pids)


def test_a_worker_knows_its_number_and_the_program_is_none(pool):
    assert current_worker() is None
    assert [pool.call(i, current_worker) for i in range(2)] == [(0, 2, "test"), (1, 2, "test")]


def test_calls_run_at_the_same_time_and_wait_for_a_free_worker(tmp_path):
    def meet(folder, name):
        (folder / name).touch()
        while len(list(folder.iterdir())) < 3:
            pass
        return name

    with ProcessPool(lambda: meet, 3, "test") as pool:
        got = []
        threads = [threading.Thread(target=lambda i=i: got.append(pool.call(None, tmp_path, str(i)))) for i in range(9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert sorted(got) == [str(i) for i in range(9)]


def test_init_runs_in_each_worker_before_the_target_is_made():
    seen = []

    def init(index):
        seen.append(index)

    with ProcessPool(lambda: lambda made=tuple(seen): (seen, made), 2, "test", init) as pool:
        assert [pool.call(i)[0] for i in range(2)] == [[0], [1]]
    assert seen == []


def draw():
    return np.random.random(), random.random()


def test_random_numbers_of_workers_differ(pool):
    draws = [number for i in range(2) for number in pool.call(i, draw)]
    assert len(set(draws)) == 4


def test_the_fork_server_is_clean():
    program = """
        import os, sys
        from forebay._processes import ProcessPool
        import numpy as np, forebay as fb
        loader = fb.Loader(fb.arrays(x=np.arange(100)).map(lambda s: s).batch(4))
        next(iter(loader))

        def look():
            return len(os.listdir("/proc/self/task")), len(os.listdir(f"/proc/{os.getppid()}/task")), "torch" in sys.modules

        with ProcessPool(lambda: look, 1, "test") as pool:
            print(pool.call(0))
    """
    outcome = script(program)
    assert outcome.out == "(1, 1, False)\n", outcome.err


def test_a_data_set_is_in_memory_once_for_all_workers():
    data = np.ones(80_000_000, np.uint8)

    def own_bytes():
        assert data.sum() == 80_000_000
        with open("/proc/self/smaps_rollup") as lines:
            return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))

    with ProcessPool(lambda: own_bytes, 3, "test") as pool:
        assert max(pool.call(i) for i in range(3)) < 80_000_000


def test_the_data_set_in_a_worker_may_be_changed_and_is_its_own():
    data = np.zeros(100_000)

    def count():
        data[:] += 1
        return data.max()

    with ProcessPool(lambda: count, 2, "test") as pool:
        assert [pool.call(0), pool.call(0), pool.call(1)] == [1, 2, 1]
    assert data.max() == 0


def test_what_workers_print_goes_through(capfd, pool):
    pool.call(0, print, "to standard output")
    pool.call(0, os.system, "echo to standard error >&2")
    out, err = capfd.readouterr()
    # The fork server has the streams of the moment it was started, which are not those of this test: only nothing may be lost.
    assert out in ("", "to standard output\n") and err in ("", "to standard error\n")


# Exceptions


class Odd(Exception):
    pass


class TwoArguments(Exception):
    def __init__(self, what, number):
        super().__init__(f"{what} {number}")
        self.number = number


def fail(kind):
    if kind == "odd":
        raise Odd("seven") from KeyError("the cause")
    if kind == "two":
        raise TwoArguments("seven", 7)
    if kind == "during":
        try:
            {}["a"]
        except KeyError:
            raise Odd("while handling")
    if kind == "local":
        class Local(Exception):
            def __init__(self):
                super().__init__("inside")
                self.held = threading.Lock()

        raise Local
    raise fb.Corrupt("damaged", key="a/b", sample=3)


def test_exceptions_keep_type_text_attributes_cause_and_context(pool):
    with pytest.raises(Odd, match="^seven") as caught:
        pool.call(0, fail, "odd")
    assert str(caught.value) == "seven"
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__cause__.args == ("the cause",)
    with pytest.raises(TwoArguments, match="^seven 7") as caught:
        pool.call(0, fail, "two")
    assert caught.value.number == 7
    with pytest.raises(Odd) as caught:
        pool.call(0, fail, "during")
    assert isinstance(caught.value.__context__, KeyError) and caught.value.__cause__ is None
    with pytest.raises(fb.Corrupt) as caught:
        pool.call(0, fail, "")
    assert (caught.value.key, caught.value.sample) == ("a/b", 3)


def test_the_traceback_of_the_worker_is_a_note_and_begins_with_the_users_code(pool):
    with pytest.raises(Odd) as caught:
        pool.call(1, fail, "odd")
    if hasattr(caught.value, "add_note"):
        (note,) = caught.value.__notes__
        assert "worker process 1 of test" in note and "in fail" in note and "the cause" in note
        assert "forebay/_processes" not in note


def test_an_exception_that_cannot_leave_its_process_is_named(pool):
    with pytest.raises(ExceptionInWorker, match="Local: inside"):
        pool.call(0, fail, "local")


def test_after_an_exception_the_same_worker_goes_on(pool):
    (pid, _) = pool.pids
    for _ in range(3):
        with pytest.raises(Odd):
            pool.call(0, fail, "odd")
        assert pool.call(0, os.getpid) == pid


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_what_is_no_exception_arrives_too(pool, error):
    def leave():
        raise error(3)

    with ProcessPool(lambda: leave, 1, "test") as leaving:
        for _ in range(2):
            with pytest.raises(error):
                leaving.call(None)


def test_an_exception_while_the_target_is_made_is_that_of_every_call():
    def make():
        raise Odd("no target")

    with ProcessPool(make, 1, "test") as pool:
        for _ in range(3):
            with pytest.raises(Odd, match="no target"):
                pool.call(None)


def test_results_and_arguments_that_cannot_be_pickled_are_told_and_the_worker_goes_on(pool):
    (pid, _) = pool.pids
    with pytest.raises(fb.InvalidArgument, match="result, of type lock, cannot be sent"):
        pool.call(0, threading.Lock)
    with pytest.raises(fb.InvalidArgument, match="TextIOWrapper cannot be pickled"), open(os.devnull) as file:
        pool.call(0, print, [1, {"file": file}])
    assert pool.call(0, os.getpid) == pid


# Iterators


class Stop(Exception):
    pass


def count_to(n, end=None):
    for i in range(n):
        yield np.full(1000, i)
    if end:
        raise Stop(end)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("batch", [1, 2, 3, 100])
def test_an_iterator_in_a_worker_gives_all_its_items_in_order(n, batch):
    with ProcessPool(lambda: count_to, 2, "test") as pool:
        assert [int(item[0]) for item in pool.iterate(1, n, batch=batch)] == list(range(n))
        got = []
        with pytest.raises(Stop, match="the end"):
            for item in pool.iterate(0, n, "the end", batch=batch):
                got.append(int(item[0]))
        assert got == list(range(n))


def test_iterators_in_one_worker_do_not_disturb_each_other_nor_calls():
    with ProcessPool(lambda: count_to, 1, "test") as pool:
        first, second = pool.iterate(0, 10), pool.iterate(0, 10, batch=4)
        both = [(int(a[0]), int(b[0])) for a, b in zip(first, second)]
        assert both == [(i, i) for i in range(10)]


def test_an_iterator_that_is_left_is_closed_in_its_worker(tmp_path):
    def endless(path):
        try:
            while True:
                yield 1
        finally:
            path.touch()

    with ProcessPool(lambda: endless, 1, "test") as pool:
        items = pool.iterate(0, tmp_path / "closed")
        assert [next(items) for _ in range(3)] == [1, 1, 1]
        items.close()
        assert (tmp_path / "closed").exists()


def test_an_iterator_does_not_outlive_its_process():
    def dies():
        yield 1
        os._exit(5)

    with ProcessPool(lambda: dies, 1, "test") as pool:
        items = pool.iterate(0)
        assert next(items) == 1
        with pytest.raises(WorkerDied, match="exit code 5"):
            next(items)
        assert next(pool.iterate(0)) == 1


# Many


def test_200_pools_leave_no_process_and_no_descriptor():
    def round():
        with ProcessPool(functools.partial(getattr, np, "ones"), 2, "test") as pool:
            pool.call(0, 100_000)
            return pool.pids

    round()
    before = descriptors(), len(children())
    pids = [pid for _ in range(200) for pid in round()]
    assert (descriptors(), len(children())) == before
    assert len(set(pids)) == 400 and not children() & set(pids)


def test_fewer_than_one_process_is_refused():
    with pytest.raises(fb.InvalidArgument, match="at least one"):
        ProcessPool(do, 0, "test")
