"""Progress in a file or a pipe."""

from __future__ import annotations

from typing import TextIO

from .figures import Figures


class Log:
    """A line every 30 seconds, and one at the end of each epoch."""

    period_s = 30.0
    live = False

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def show(self, figures: Figures) -> None:
        self._stream.write(f"{figures}\n")
        self._stream.flush()

    def end(self) -> None:
        pass
