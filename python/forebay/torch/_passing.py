"""What the iterators of all kinds of workers have in common: when a batch counts as the loop's."""

from __future__ import annotations

import weakref
from typing import Any


class Passes:
    """Mixed into PyTorch's iterators, whose `_next_data()` says in `_progress.coming` what the loop has behind the batch.

    A batch counts from the last line of `__next__` on. Whatever interrupts before it (Ctrl-C, a handler's exception, an exception of
    the data set), the state has the batch again. A loop that goes on with the same iterator has left it behind, as in PyTorch.
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
        progress.given = progress.coming  # nothing behind it: no signal is looked at between here and the loop
        return data

    def _begin_next_epoch(self) -> None:
        """Where a pass was resumed and nothing was left of it. StopIteration for all others."""
        loader = self._loader()
        if loader is None or not self._progress.nothing_left:
            raise StopIteration
        following = loader._begin(self._progress.state_behind(loader))
        if following is not self:  # persistent workers begin again in place
            self._following = following
