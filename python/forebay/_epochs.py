"""Data sets whose items depend on the epoch: `set_epoch()` is called before the first item of each
epoch.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from ._pool import inner_datasets
from ._typing import Any


def epoch_setters(dataset: Any) -> list[Callable[[int], Any]]:
    """Returns `set_epoch` of the data set, or else of the data sets that it wraps. The list is
    empty if items do not depend on the epoch.
    """
    own = getattr(dataset, "set_epoch", None)
    if callable(own):
        return [own]
    return [setter for inner in inner_datasets(dataset) for setter in epoch_setters(inner)]


class EpochGate:
    """Admits the items of one epoch at a time, requested by any number of threads.

    Threads have shallow copies of the data set, which share nested objects. So the first item of
    another epoch waits until no item of the previous one is in progress. Each copy then gets the
    new epoch before its next item.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._epoch: int | None = None
        self._turn = 0
        self._running = 0

    @contextlib.contextmanager
    def epoch(self, epoch: int, setters: list[Callable[[int], Any]], told: list[int]) -> Iterator[None]:
        """Waits for the epoch's turn. `told`: the turn in which this copy last got its epoch."""
        with self._changed:
            while self._running and self._epoch != epoch:
                self._changed.wait()
            if self._epoch != epoch:
                self._epoch, self._turn = epoch, self._turn + 1
            if told[0] != self._turn:
                for setter in setters:
                    setter(epoch)
                told[0] = self._turn
            self._running += 1
        try:
            yield
        finally:
            with self._changed:
                self._running -= 1
                self._changed.notify_all()

    def __reduce__(self) -> Any:
        return EpochGate, ()  # a worker process has its own data set
