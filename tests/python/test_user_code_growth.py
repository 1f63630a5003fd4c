"""How many threads user code gets: more while it waits for something outside, no more than help."""
import logging
import sqlite3
import threading
import time

import pytest

import forebay as fb
from forebay._growth import CAP, Growth, LockWatch, MoveTrial, Sample


class Machine:
    """Threads, a lock and a storage, as far as `Growth` can see them; time is a number."""

    def __init__(self, growth, latency_s=0.1, most_per_s=1e9, waiting=1.0, lock_taken=0.0, cores_used=0.1, work=10**9, cores=2):
        self.growth, self.latency_s, self.most_per_s, self.work = growth, latency_s, most_per_s, work
        self.waiting, self.lock_taken, self.cores_used, self.cores = waiting, lock_taken, cores_used, cores
        self.now_s = self.completed = 0.0
        self.sizes = [growth.size]
        self.begun = [0.0] * growth.size  # when each thread's call began

    def run(self, seconds, tick_s=0.02):
        end_s = self.now_s + seconds
        while self.now_s < end_s:
            self.now_s += tick_s
            size = self.growth.size
            self.begun = (self.begun + [self.now_s - tick_s] * size)[:size]
            latency_s = max(self.latency_s, size / self.most_per_s)
            for i, begun_s in enumerate(self.begun):
                while self.now_s - self.begun[i] >= latency_s:
                    self.begun[i] += latency_s
                    self.completed += 1
            self.growth.look(Sample(self.now_s, int(self.completed), min(size, self.work), self.waiting, self.lock_taken,
                                    self.cores_used, self.cores_used, self.cores))
            self.sizes.append(self.growth.size)
        return self.growth.size


@pytest.mark.parametrize("latency_s", [0.01, 0.1, 1.0])
def test_calls_that_wait_get_more_threads_up_to_the_cap(latency_s):
    assert Machine(Growth(2), latency_s).run(3 + 30 * latency_s) == CAP


def test_calls_that_never_end_get_many_threads():
    assert Machine(Growth(2), latency_s=1e9).run(1) == 64


def test_a_storage_that_gives_no_more_is_not_asked_by_ever_more_threads():
    machine = Machine(Growth(2), latency_s=0.1, most_per_s=100)  # ten threads reach it
    machine.run(30)
    sizes = sorted(machine.sizes[-1000:])
    assert 8 <= sizes[len(sizes) // 2] <= 32
    assert machine.completed > 0.75 * 100 * 30


@pytest.mark.parametrize("why", [{"waiting": 0.1}, {"lock_taken": 0.8, "cores_used": 1.0},
                                 {"cores_used": 1.0, "most_per_s": 22}, {"cores_used": 1.95}])
def test_calls_that_compute_get_no_more(why):
    machine = Machine(Growth(2), 0.1, **why)
    machine.run(60)
    assert sum(size > 2 for size in machine.sizes) < 0.1 * len(machine.sizes)  # more are tried now and then
    assert max(machine.sizes) <= 4


def test_threads_that_take_turns_become_fewer_where_that_is_faster():
    machine = Machine(Growth(4), latency_s=0.02, most_per_s=50, lock_taken=0.9, waiting=0.1, cores_used=1.0)
    machine.run(60)
    assert machine.growth.size == 1
    machine.lock_taken, machine.waiting, machine.cores_used, machine.most_per_s = 0.0, 1.0, 0.1, 1e9
    assert machine.run(60) > 4, "calls that wait now get threads again"


def test_without_more_work_there_are_no_more_threads():
    assert set_of_sizes(Machine(Growth(4), 0.1, work=3)) == {4}


def test_threads_that_were_of_use_once_go_when_they_are_not():
    machine = Machine(Growth(2), latency_s=0.1)
    assert machine.run(10) == CAP
    machine.most_per_s = 40  # four threads reach it now
    machine.run(600)
    assert machine.growth.size <= 16


def set_of_sizes(machine):
    machine.run(20)
    return set(machine.sizes)


def sample(now_s, lock_taken, call_cores, process_cores, cores=4):
    return Sample(now_s, 0, 2, 0.5, lock_taken, process_cores, call_cores, cores)


@pytest.mark.parametrize("what, lock_taken, call_cores, process_cores, cores, told", [
    ("computes with the lock", 1.0, 1.0, 1.05, 4, True),
    ("waits", 0.0, 0.1, 0.1, 4, False),
    ("computes without the lock", 0.0, 2.0, 2.0, 4, False),
    ("waits while the training step holds the lock", 1.0, 0.1, 1.0, 4, False),
    ("has no other core to go to", 1.0, 1.0, 1.0, 1, False),
    ("leaves no core idle", 1.0, 1.0, 3.9, 4, False),
])
def test_the_hint_is_for_code_that_holds_the_lock(what, lock_taken, call_cores, process_cores, cores, told):
    watch = LockWatch()
    said = [watch.look(sample(0.25 * i, lock_taken, call_cores, process_cores, cores), 2) for i in range(40)]
    assert any(said) == told, what


@pytest.mark.parametrize("rate, faster", [(100, True), (120, False), (200, False)])
def test_a_move_to_processes_is_judged_by_the_calls_that_they_complete(rate, faster):
    trial = MoveTrial(rate)
    looks = [trial.look(Sample(0.25 * i, 30 * i, 2, 1.0, 0.0, 0.1, 0.1, 2), 2) for i in range(40)]  # 120 a second
    verdicts = [look for look in looks if look is not None]
    assert verdicts[0] is faster


def test_a_move_is_not_judged_while_there_is_not_enough_to_do():
    trial = MoveTrial(100)
    assert all(trial.look(Sample(0.25 * i, i, 0, 1.0, 0.0, 0.1, 0.1, 2), 2) is None for i in range(100))


# Real threads


class Meeting:
    """Nobody gets past before 64 are there."""

    def __init__(self):
        self.barrier = threading.Barrier(64)

    def __copy__(self):
        return self

    def __len__(self):
        return 256

    def __getitem__(self, i):
        if i < 64:
            self.barrier.wait(60)
        return i


def test_64_calls_of_a_data_set_are_in_flight_at_once():
    with fb.Loader(fb.Dataset(Meeting()).batch(64), epochs=1, threads=2) as loader:
        assert [int(i) for batch in loader for i in batch["0"]] == list(range(256))


def test_64_calls_of_a_map_are_in_flight_at_once():
    meeting = Meeting()
    import numpy as np

    pipeline = fb.arrays(x=np.arange(64)).map(lambda s: {"x": meeting[int(s["x"])]}).batch(64)
    with fb.Loader(pipeline, epochs=1, threads=2) as loader:
        assert [batch["x"].tolist() for batch in loader] == [list(range(64))]


def test_threads_go_with_the_loader():
    others = ours()  # of loaders that other tests hold
    with fb.Loader(fb.Dataset(Meeting()).batch(64), epochs=1, threads=2) as loader:
        next(iter(loader))
        assert ours() >= 64 + others
    deadline = time.monotonic() + 60  # those that were too many are on their way out
    while ours() > others and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ours() <= others


def ours():
    return sum(thread.name.startswith("forebay") for thread in threading.enumerate())


class Lazy:
    """Opens a connection when it is first needed, which only the thread that opened it may use."""

    def __init__(self, path):
        self.path = path
        self.connection = None
        self.barrier = threading.Barrier(4)

    def __len__(self):
        return 64

    def __getitem__(self, i):
        if self.connection is None:
            self.connection = sqlite3.connect(self.path)
        if i < 4:
            self.barrier.wait(60)
        return self.connection.execute("select square from numbers where number = ?", (int(i),)).fetchone()[0]


def test_each_thread_has_a_copy_of_the_data_set_with_a_connection_of_its_own(tmp_path):
    path = tmp_path / "numbers.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table numbers (number, square)")
        connection.executemany("insert into numbers values (?, ?)", [(i, i * i) for i in range(64)])
    connection.close()
    rows = Lazy(path)
    with fb.Loader(fb.Dataset(rows).batch(8), epochs=1, threads=4) as loader:
        assert [int(i) for batch in loader for i in batch["0"]] == [i * i for i in range(64)]
    assert rows.connection is None  # the one that the user holds was left alone


class NoCopies(Meeting):
    def __copy__(self):
        raise TypeError("there is only one of these")

    def __getitem__(self, i):
        return i, id(self) % 1000


def test_a_data_set_that_cannot_be_copied_is_shared_with_one_warning():
    rows = NoCopies()
    with pytest.warns(RuntimeWarning, match="NoCopies cannot be copied .*there is only one of these") as warned:
        with fb.Loader(fb.Dataset(rows).batch(16), epochs=1, threads=4) as loader:
            assert {int(one) for batch in loader for one in batch["1"]} == {id(rows) % 1000}
    assert len(warned) == 1


class Waits:
    def __len__(self):
        return 300

    def __getitem__(self, i):
        time.sleep(0.02)
        return i


class Computes:
    def __len__(self):
        return 10**6

    def __getitem__(self, i):
        return sum(range(30_000))


def test_waiting_gets_no_hint(caplog):
    with caplog.at_level(logging.WARNING, logger="forebay"):
        with fb.Loader(fb.Dataset(Waits()).batch(16), epochs=1, threads=2) as loader:
            assert sum(len(batch) for batch in loader) == 300
    assert not caplog.records


def test_the_threads_of_code_that_computes_stay_as_many_as_they_were():
    with fb.Loader(fb.Dataset(Computes()).batch(16), threads=2) as loader:
        batches = iter(loader)
        until_s = time.monotonic() + 2
        while time.monotonic() < until_s:
            next(batches)
        assert loader._workers._pool.size <= 4  # the next size is tried, but not kept
