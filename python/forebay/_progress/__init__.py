"""The progress of an epoch, shown on a terminal, in a notebook or in a log: `Loader(progress=True)`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Iterator

from .log import Log
from .notebook import Notebook
from .progress import Progress
from .terminal import Terminal

if TYPE_CHECKING:
    from ..loader import Loader, _Pass
    from .display import Display


def shown(loader: Loader[Any], batches: _Pass[Any]) -> Iterator[Any]:
    """Returns the batches as an iterator that shows its progress.

    Only rank 0 shows any, and nothing is shown without a stderr.
    """
    display = _display()
    return batches if loader.rank or display is None else Progress(loader, batches, display)


def _display() -> Display | None:
    if _in_notebook():
        return Notebook()
    if sys.stderr is None:
        return None
    return Terminal(sys.stderr) if sys.stderr.isatty() else Log(sys.stderr)


def _in_notebook() -> bool:
    """Whether this is the kernel of a notebook. A program that has not imported IPython is not one.
    """
    ipython = sys.modules.get("IPython")
    return ipython is not None and getattr(ipython.get_ipython(), "kernel", None) is not None
