"""Progress below the cell of a notebook."""

from __future__ import annotations

from typing import Any

from .figures import Figures


class Notebook:
    """One display of the cell, which is updated at most ten times a second."""

    period_s = 0.1
    live = True

    def __init__(self) -> None:
        self._handle: Any = None

    def show(self, figures: Figures) -> None:
        if self._handle is not None:
            self._handle.update(figures)
            return
        from IPython.display import display

        self._handle = display(figures, display_id=True)

    def end(self) -> None:
        pass
