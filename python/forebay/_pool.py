"""Daemon threads that run user code. Their number is adapted to the code."""

from __future__ import annotations

import collections
import copy
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable

from ._growth import Growth, LockWatch, MoveTrial, Sample
from ._typing import Any, Protocol

TAKE_TIMEOUT_S = 1.0  # how often an idle thread checks its state; closing wakes it at once
STUCK_AFTER_S = 5.0
_TICK_S = 0.02
_CALM_TICK_S = 0.25
_IDLE_TICK_S = 1.0
_SAMPLED_THREADS = 8
_MOST_DECISIONS = 64
_ATTEMPTS = 5
_NAP_S = 0.001
_LATE_S = 0.00015  # beyond the system's own timer slack of 50 us


def log() -> Any:
    """Returns the package's logger."""
    import logging  # imported here because messages are rare and importing the package should stay fast

    return logging.getLogger("forebay")


class Slot:
    """One thread of a pool, and its own data."""

    __slots__ = ("index", "own", "thread", "native_id", "busy_since_s", "what", "completed", "seen")

    def __init__(self, index: int) -> None:
        self.index = index
        self.own: dict[Any, Any] = {}  # copies of data sets and similar objects; released with the thread
        self.thread: threading.Thread | None = None
        self.native_id = 0
        self.busy_since_s = 0.0  # 0: not in a call
        self.what: Callable[[], str] | None = None  # describes the call
        self.completed = 0
        self.seen: tuple[float, int, int] | None = None  # time, CPU and run-queue ns at the latest sample


class Source(Protocol):
    """The source of the threads' work."""

    closed: bool

    def take(self, slot: Slot, timeout_s: float) -> Callable[[], None] | None:
        """Returns the next job, a function that never raises, and sets `slot.what`. None after the
        time-out and once closed.
        """
        ...


class LockHeld(Protocol):
    """The action to take when user code holds the interpreter lock."""

    def __call__(self) -> Growth | None:
        """Called once. Returns another growth if the code moves elsewhere."""
        ...

    def back(self) -> Growth:
        """Moves the code back because it was no faster. Returns another growth."""
        ...


class Pool:
    """Threads over a source of calls. Nothing runs before `start()`. The owner closes the source
    and then calls `stop()`.

    The pool begins with `growth.size` threads and follows the decisions of `growth`. It samples
    every 20 ms while that changes something, otherwise four times per second. `held()` is called
    once if user code holds the interpreter lock. The threads hold no reference to the pool's owner,
    so dropping the owner can close the pool.
    """

    def __init__(self, source: Source, growth: Growth, held: LockHeld | None = None,
                 name: str = "forebay-python", begin: Callable[[], None] | None = None) -> None:
        self._shared = _Shared(source, growth, held, name, begin)
        self._process = os.getpid()

    @property
    def size(self) -> int:
        """The current target number of threads."""
        return self._shared.growth.size

    @property
    def decisions(self) -> list[tuple[float, int, int]]:
        """The latest changes of `size`: (time by `time.monotonic()`, from, to)."""
        return list(self._shared.decisions)

    def start(self) -> None:
        shared = self._shared
        if shared.slots or os.getpid() != self._process:
            return
        shared.follow()
        shared.monitor = threading.Thread(target=_watch, args=(shared,), name="forebay-growth", daemon=True)
        shared.monitor.start()

    def stop(self) -> list[str]:
        """Waits, once, for the threads of a closed source. Returns descriptions of the user code
        that did not return in time.
        """
        if os.getpid() != self._process or self._shared.over.is_set():
            return []  # a forked child has no threads
        shared = self._shared
        shared.over.set()
        slots = shared.present()
        deadline = time.monotonic() + STUCK_AFTER_S
        for thread in [shared.monitor, *(slot.thread for slot in slots)]:
            if thread is not None and thread is not threading.current_thread() and thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
        return [text for text in map(_stuck, slots) if text]


class _Shared:
    def __init__(self, source: Source, growth: Growth, held: LockHeld | None, name: str,
                 begin: Callable[[], None] | None) -> None:
        self.source, self.growth, self.held, self.name, self.begin = source, growth, held, name, begin
        self.over = threading.Event()
        self.lock = threading.RLock()  # garbage collection may close a loader of this pool on a thread that holds the lock
        self.slots: dict[int, Slot] = {}
        self.monitor: threading.Thread | None = None
        self.completed = 0  # calls of slots that ended
        self.decisions: collections.deque[tuple[float, int, int]] = collections.deque(maxlen=_MOST_DECISIONS)

    def present(self) -> list[Slot]:
        with self.lock:
            return list(self.slots.values())

    def follow(self) -> None:
        """Starts missing threads. Surplus threads end by themselves."""
        with self.lock:
            for index in range(self.growth.size):
                if index in self.slots or self.over.is_set():
                    continue
                slot = Slot(index)
                slot.thread = threading.Thread(target=_serve, args=(self, slot), name=f"{self.name}-{index}", daemon=True)
                try:
                    slot.thread.start()
                except RuntimeError:  # the system has no more threads, so continue with these
                    if not self.slots:
                        raise
                    self.growth.limit(len(self.slots))
                    return
                self.slots[index] = slot

    def follow_another(self, growth: Growth) -> None:
        self.growth = growth
        self.follow()

    def may_end(self, slot: Slot) -> bool:
        """Returns whether this thread is surplus, and then removes it from the pool."""
        with self.lock:
            if slot.index < self.growth.size:
                return False
            del self.slots[slot.index]
            self.completed += slot.completed
            return True


def _serve(shared: _Shared, slot: Slot) -> None:
    slot.native_id = threading.get_native_id()
    if shared.begin is not None:
        shared.begin()
    source = shared.source
    while True:
        job = source.take(slot, TAKE_TIMEOUT_S)
        if job is not None:
            slot.busy_since_s = time.monotonic()
            try:
                job()
            except BaseException:  # a bug; the thread must survive and release the call, or its caller would wait forever
                import traceback

                log().error("a worker thread failed outside of user code; please report this\n%s", traceback.format_exc())
            slot.completed += 1
            slot.busy_since_s = 0.0
            slot.what = None
            del job  # also releases the sample, before waiting for the next job
        elif source.closed:
            slot.own.clear()
            return
        if slot.index >= shared.growth.size and shared.may_end(slot):
            slot.own.clear()
            return


def _stuck(slot: Slot) -> str:
    what, since_s = slot.what, slot.busy_since_s
    if not slot.thread or not slot.thread.is_alive() or slot.thread is threading.current_thread() or what is None:
        return ""
    return f"{what()} for {time.monotonic() - since_s:.0f} s"


# Monitoring


def _watch(shared: _Shared) -> None:
    cores = len(os.sched_getaffinity(0))
    tick_s, watch, last = _TICK_S, LockWatch(), _Look()
    trial: MoveTrial | None = None
    while True:
        if shared.over.wait(tick_s) or shared.source.closed:
            return
        sample = last.sample(shared, cores)
        before = shared.growth.size
        after = shared.growth.look(sample)
        if after != before:
            shared.decisions.append((time.monotonic(), before, after))
            shared.follow()
        if shared.held is not None and trial is not None and (faster := trial.look(sample, before)) is not None:
            if not faster:
                shared.follow_another(shared.held.back())
            shared.held = trial = None
        elif shared.held is not None and trial is None and watch.look(sample, before):
            elsewhere = shared.held()
            if elsewhere is None:
                shared.held = None
            else:
                shared.follow_another(elsewhere)
                trial = MoveTrial(watch.rate)
        if sample.busy == 0:
            tick_s = min(2 * tick_s, _IDLE_TICK_S)
        elif after != before or (shared.growth.waits and sample.busy >= before - before // 8):
            tick_s = _TICK_S
        else:
            tick_s = min(1.5 * tick_s, _CALM_TICK_S)


class _Look:
    """Differences between two samples of a pool."""

    def __init__(self) -> None:
        self.at_s = time.perf_counter()
        self.cpu_s = time.process_time()

    def sample(self, shared: _Shared, cores: int) -> Sample:
        lock_taken = _lock_taken() if any(slot.busy_since_s for slot in shared.present()) else 0.0
        with shared.lock:
            slots = shared.present()
            completed = shared.completed + sum(slot.completed for slot in slots)
        now_s, cpu_s = time.perf_counter(), time.process_time()
        seconds = max(now_s - self.at_s, 1e-6)
        process_cores = (cpu_s - self.cpu_s) / seconds
        self.at_s, self.cpu_s = now_s, cpu_s
        busy = [slot for slot in slots if slot.busy_since_s]
        running, queued = _shares(busy[:: max(1, len(busy) // _SAMPLED_THREADS)], now_s)
        if running is None:  # no schedstat: use the process as a whole
            running, queued = min(1.0, process_cores / max(len(busy), 1)), 0.0
        return Sample(now_s=now_s, completed=completed, busy=len(busy), waiting=max(0.0, 1 - running - queued),
                      lock_taken=lock_taken, process_cores=process_cores, call_cores=running * len(busy), cores=cores)


def _schedstat(native_id: int) -> tuple[int, int] | None:
    """Returns CPU and run-queue nanoseconds of a thread of this process."""
    try:
        with open(f"/proc/self/task/{native_id}/schedstat", "rb", buffering=0) as file:
            run_ns, queue_ns = file.read().split()[:2]
        return int(run_ns), int(queue_ns)
    except (OSError, ValueError):
        return None


def _lock_taken() -> float:
    """Returns the share of a few attempts in which this thread, after a short sleep and on a core,
    had to wait for the lock. Python without that lock, or while it is off, has none to wait for.
    """
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return 0.0
    me, taken = threading.get_native_id(), 0
    for _ in range(_ATTEMPTS):
        before = _schedstat(me)
        began_s = time.perf_counter()
        time.sleep(_NAP_S)
        late_s = time.perf_counter() - began_s - _NAP_S
        after = _schedstat(me)
        in_line_s = (after[1] - before[1]) / 1e9 if before and after else 0.0
        taken += late_s - in_line_s > _LATE_S
    return taken / _ATTEMPTS


def _shares(slots: list[Slot], now_s: float) -> tuple[float | None, float]:
    """Returns the shares of their time since the last sample that these threads ran, and waited for
    a core.
    """
    ran = queued = seconds = 0.0
    for slot in slots:
        counted = _schedstat(slot.native_id)
        if counted is None:
            continue
        run_ns, queue_ns = counted
        if slot.seen is not None and now_s > slot.seen[0]:
            seconds += now_s - slot.seen[0]
            ran += (run_ns - slot.seen[1]) / 1e9
            queued += (queue_ns - slot.seen[2]) / 1e9
        slot.seen = (now_s, run_ns, queue_ns)
    if seconds == 0:
        return (0.5, 0.5) if slots and slots[0].seen else (None, 0.0)
    return min(1.0, ran / seconds), min(1.0, queued / seconds)


# A copy of the data set for each thread

_uncopied: set[type] = set()


def own_copy(dataset: Any) -> Any:
    """Returns a shallow copy for one thread.

    A file handle that the copy opens later is its own, as it would be after a fork. PyTorch data
    sets that a data set wraps (`Subset`, `ConcatDataset`) are copied, too. Containers and arrays
    hold no lazy state and are shared. An object that cannot be copied is shared, with a warning.
    """
    kind = type(dataset)
    if kind.__module__ in ("builtins", "numpy", "collections") or hasattr(dataset, "__array_interface__"):
        return dataset
    try:
        made = copy.copy(dataset)
    except Exception as error:
        if kind not in _uncopied:
            _uncopied.add(kind)
            warnings.warn(
                f"the data set {kind.__module__}.{kind.__qualname__} cannot be copied ({type(error).__name__}: {error}), so all "
                "threads use the same object: it must be safe to call from several threads, or get a __copy__",
                RuntimeWarning, stacklevel=2)
        return dataset
    for name, value in list(getattr(made, "__dict__", {}).items()):
        inner = _inner_copy(value)
        if inner is not value:
            made.__dict__[name] = inner
    return made


def _inner_copy(value: Any) -> Any:
    if _is_torch_dataset(value):
        return own_copy(value)
    if type(value) in (list, tuple) and 0 < len(value) <= 1000 and all(map(_is_torch_dataset, value)):
        return type(value)(map(own_copy, value))
    if type(value) is dict and 0 < len(value) <= 1000 and all(map(_is_torch_dataset, value.values())):
        return {key: own_copy(one) for key, one in value.items()}
    return value


def inner_datasets(dataset: Any) -> list[Any]:
    """Returns the PyTorch data sets that a data set wraps."""
    found: list[Any] = []
    for value in list(getattr(dataset, "__dict__", {}).values()):
        several = type(value) in (list, tuple, dict) and 0 < len(value) <= 1000
        inner = list(value.values() if type(value) is dict else value) if several else [value]
        found += inner if all(map(_is_torch_dataset, inner)) else []
    return found


def _is_torch_dataset(value: Any) -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(value, data.Dataset)
