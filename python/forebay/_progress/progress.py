"""The iterator that shows its progress."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Callable

from .figures import Figures

if TYPE_CHECKING:
    from ..loader import Loader, _Pass
    from .display import Display


class Progress:
    """The batches of one pass over an epoch. Each `next()` may show how far the pass has come.

    The display ends with the epoch, with an error, or when the iterator is dropped, as by a `break`.
    A display that cannot be written to is not used any more; the batches go on.
    """

    def __init__(
        self, loader: Loader[Any], batches: _Pass[Any], display: Display, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._loader, self._batches, self._clock = loader, batches, clock
        self._display: Display | None = display
        self._begun_s = self._shown_s = clock()
        self._epoch, self._total = loader.epoch, _length(loader)
        self._delivered = self._here = self._samples = 0
        loader._core.limit()  # the next call counts from here
        if display.live:
            self._show(Figures(self._epoch, 0, self._total))

    def __iter__(self) -> Progress:
        return self

    def __next__(self) -> Any:
        try:
            batch = self._batches.next_batch()
        except BaseException:
            self.close()
            raise
        self._here += 1
        self._delivered = batch.step + 1
        self._samples += len(batch) - batch.padding
        display, now_s = self._display, self._clock()
        if display is not None and now_s - self._shown_s >= display.period_s:
            self._show(self._figures(now_s))
        return self._batches.taken(batch)

    def close(self) -> None:
        """Shows the last figures and ends the display. Closing again does nothing."""
        if self._display is None:
            return
        if self._here:
            self._show(self._figures(self._clock()))
        self._use(lambda display: display.end())
        self._display = None

    def __del__(self) -> None:
        if hasattr(self, "_samples"):  # missing if the loader raised
            self.close()

    def _figures(self, now_s: float) -> Figures:
        limit, wait = ("trainer", 0.0) if self._loader.closed else self._loader._core.limit()
        return Figures(self._epoch, self._delivered, self._total, self._here, self._samples, now_s - self._begun_s, limit, wait)

    def _show(self, figures: Figures) -> None:
        self._shown_s = self._clock()
        self._use(lambda display: display.show(figures))

    def _use(self, action: Callable[[Display], None]) -> None:
        if self._display is None:
            return
        try:
            action(self._display)
        except (OSError, ValueError):  # ValueError: the stream is closed
            self._display = None


def _length(loader: Loader[Any]) -> int | None:
    try:
        return len(loader)
    except TypeError:
        return None  # an endless stream
