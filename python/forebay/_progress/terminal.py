"""Progress on a terminal."""

from __future__ import annotations

import os
from typing import TextIO

from .figures import Figures


class Terminal:
    """A line with a bar, which is drawn anew at most ten times a second."""

    period_s = 0.1
    live = True

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, figures: Figures) -> None:
        # The last column stays free, because some terminals begin a new line after it. The code
        # after the line erases what an earlier, longer line left.
        self._write(f"\r{figures.line(self._width() - 1)}\x1b[K")

    def end(self) -> None:
        self._write("\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()

    def _width(self) -> int:
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except OSError:
            columns = 0
        return columns or 80  # 0: a terminal that does not know its size
