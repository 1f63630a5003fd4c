"""The common part of the iterators of all kinds of workers: when a batch counts as delivered."""

from __future__ import annotations

import weakref
from typing import Any


class Passes:
    """A mixin for PyTorch's iterators. Their `_next_data()` stores in `_progress.coming` the
    position after the batch.

    A batch counts as delivered from the last line of `__next__` on. If anything interrupts before
    that (Ctrl-C, an exception of a handler or of the data set), the state repeats the batch. A loop
    that continues with the same iterator has skipped it, as in PyTorch.
    """

    _progress: Any
    _following: Any = None  # the iterator of the next epoch

    def _of_loader(self, loader: Any) -> None:
        self._loader = weakref.ref(loader)

    def __next__(self) -> Any:
        if self._following is not None:
            return next(self._following)
        progress = self._progress
        progress.given = progress.coming
        progress.order.forget(progress.given.order)
        try:
            data = super().__next__()  # type: ignore[misc]
        except StopIteration:
            progress.finished = True
            self._begin_next_epoch()
            return next(self)
        progress.given = progress.coming  # must be last: no signal is handled between this line and the loop
        return data

    def _begin_next_epoch(self) -> None:
        """Begins the next epoch if this pass was resumed with nothing left of it; otherwise raises
        StopIteration.
        """
        loader = self._loader()
        if loader is None or not self._progress.nothing_left:
            raise StopIteration
        following = loader._begin(self._progress.state_behind(loader))
        if following is not self:  # persistent workers restart in place
            self._following = following
