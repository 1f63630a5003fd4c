"""The batches in progress on worker threads: indices in, collated batches out, each as soon as it
is done.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from typing import Any, Callable, Iterable

from .._growth import Growth
from .._pool import Slot, log
from .._workers import function_name
from ._workers import Recipe, ThreadWorker

_PIECE_S = 0.001  # items that take less time than this are fetched several at a time
_LONG_WAIT_S = 30.0


class Task:
    """One batch in progress. The consumer reads `result` and `error` once `done` is set."""

    __slots__ = ("number", "worker", "index", "pieces", "next", "left", "values", "failed_at", "error", "result", "done",
                 "dropped", "running")

    def __init__(self, number: int, worker: int, index: Any, by_item: bool) -> None:
        self.number = number
        self.worker = worker
        self.index = list(index) if by_item else index
        self.pieces = len(self.index) if by_item else -1  # -1: fetched in one call
        self.next = 0
        self.left = max(1, abs(self.pieces))
        self.values: list[Any] | None = [None] * self.pieces if by_item else None
        self.failed_at = self.left
        self.error: BaseException | None = None
        self.result: Any = None
        self.done = self.dropped = False
        self.running: dict[int, float] = {}  # first item of a piece → its start time

    def fail(self, at: int, error: BaseException) -> None:
        """Keeps the failure that a sequential loop over the items would have met first."""
        if self.error is None or at < self.failed_at:
            self.failed_at, self.error = at, error

    def where(self, item: int) -> str:
        return f"index {self.index[item]!r}" if self.pieces > 0 else f"{self.index!r}"[:200]


class Feed:
    """State that the threads of one iterator share with it. Any thread takes any item; those of the
    oldest batch go first.
    """

    def __init__(self, recipe: Recipe, growth: Growth, pin: Callable[[Any], Any] | None) -> None:
        self.closed = False
        self._recipe = recipe
        self._name = function_name(type(recipe.dataset))
        self._growth = growth
        self._pin = pin
        self._lock = threading.RLock()
        self._ready = threading.Condition(self._lock)
        self._arrived = threading.Condition(self._lock)
        self._queue: deque[Task] = deque()
        self._item_s = 1.0

    # Called by the consumer

    def add(self, task: Task) -> None:
        with self._lock:
            self._queue.append(task)
            self._ready.notify(task.left)

    def drop_all(self) -> None:
        """Drops the tasks that have not begun. Results of running tasks are discarded."""
        with self._lock:
            for task in self._queue:
                task.dropped = True
            self._queue.clear()

    def close(self) -> None:
        with self._lock:
            self.closed = True
            self._queue.clear()
            for condition in (self._ready, self._arrived):
                condition.notify_all()

    def wait(self, oldest: Task, any_of: Iterable[Task], timeout_s: float) -> Task:
        """Returns the first of `any_of` that is done, or `oldest` once it is done.

        RuntimeError after `timeout_s` (0: never), or if the iterator is closed meanwhile.
        """
        began_s, told = time.monotonic(), False
        with self._lock:
            while not oldest.done:
                done = next((task for task in any_of if task.done), None)
                if done is not None:
                    return done
                if self.closed:
                    raise RuntimeError("this DataLoader iterator was closed while it was waited for; make a new one")
                waited_s = time.monotonic() - began_s
                if timeout_s > 0 and waited_s >= timeout_s:
                    raise RuntimeError(f"DataLoader timed out after {timeout_s} seconds: {self._awaited(oldest)}; "
                                       "give a larger timeout=, or 0 to wait as long as it takes")
                if not told and waited_s >= _LONG_WAIT_S:
                    told = True
                    log().warning("waiting for %.0f s: %s", waited_s, self._awaited(oldest))
                next_s = timeout_s - waited_s if timeout_s > 0 else _LONG_WAIT_S
                self._arrived.wait(next_s if told else min(next_s, max(0.01, _LONG_WAIT_S - waited_s)))
        return oldest

    def _awaited(self, task: Task) -> str:
        running = sorted(task.running.copy().items(), key=lambda one: one[1])[:1]
        if not running:
            return f"batch {task.number} has not been begun, the threads are busy with earlier ones"
        (item, since_s), = running
        return f"batch {task.number} waits for {self._name}, at {task.where(item)} for {time.monotonic() - since_s:.1f} s"

    # Called by the threads

    def take(self, slot: Slot, timeout_s: float) -> Callable[[], None] | None:
        with self._lock:
            if not self._queue and not self.closed:
                self._ready.wait(timeout_s)
            if not self._queue or self.closed:
                return None
            task = self._queue[0]
            first, count = task.next, self._share(task)
            task.next += count
            if task.next >= task.pieces:
                self._queue.popleft()
        slot.what = lambda: f"{self._name} has been working on {task.where(first)}"
        return lambda: self._run(slot, task, first, count)

    def _share(self, task: Task) -> int:
        left = task.pieces - task.next
        if left <= 1:
            return left if task.pieces >= 0 else 1
        return max(1, min(int(_PIECE_S / max(self._item_s, 1e-7)), left // self._growth.size))

    def _run(self, slot: Slot, task: Task, first: int, count: int) -> None:
        if task.dropped or self.closed:
            return
        task.running[first] = began_s = time.monotonic()
        item = first
        try:
            worker = slot.own.get("worker")
            if worker is None:
                worker = slot.own["worker"] = ThreadWorker(self._recipe, slot.index)
            worker.begin(task.worker)
            if task.values is None:
                task.result = worker.fetch(task.index)
            else:
                dataset, values, index = worker.dataset, task.values, task.index
                for item in range(first, first + count):
                    if item > task.failed_at:
                        break
                    values[item] = dataset[index[item]]
        except BaseException as error:  # SystemExit too: the training loop should get it
            self._note(error, task, item)
            with self._lock:
                task.fail(item, error)
        if count > 0:
            self._item_s += 0.1 * ((time.monotonic() - began_s) / count - self._item_s)
        del task.running[first]
        with self._lock:
            task.left -= max(1, count)
            last = task.left == 0
        if last:
            self._finish(task)

    def _finish(self, task: Task) -> None:
        try:
            if task.error is None:
                if task.values is not None:
                    task.result = self._recipe.collate_fn(task.values)
                if self._pin is not None:
                    task.result = self._pin(task.result)
        except BaseException as error:
            self._note(error, task, None)
            task.error = error
        task.values = None
        with self._lock:
            task.done = True
            self._arrived.notify_all()

    def _note(self, error: BaseException, task: Task, item: int | None) -> None:
        if hasattr(error, "add_note"):
            place = "collating" if item is None else f"{self._name} at {task.where(item)},"
            error.add_note(f"in {place} batch {task.number}, DataLoader worker {task.worker}")
