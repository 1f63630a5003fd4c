"""The interface of all ways to show progress."""

from __future__ import annotations

from typing import Protocol

from .figures import Figures


class Display(Protocol):
    """A place that shows the figures of one pass over an epoch.

    `period_s` is the shortest time between two calls of `show`. `live` says whether the figures
    are also shown before the first batch.
    """

    period_s: float
    live: bool

    def show(self, figures: Figures) -> None:
        """Shows the figures. They replace those before, or follow them if the place is a log."""

    def end(self) -> None:
        """Leaves the figures as they are. What is written next is written below them."""
