"""The limits of the engine that all loaders of a process share."""

from __future__ import annotations

from . import _core
from ._options import _bytes, _integer


def engine(threads: int | str = "auto", memory: int | str = "auto") -> None:
    """Sets what all loaders of this process may use together, before the first of them is opened.

    Args:
        threads: compute threads, from 1 on; "auto": all cores that the process may use, also where their number changes. A loader's own
            `threads=` is the most of them that work for it at once.
        memory: bytes, as a number or "8GiB", for what loaders hold between storage and the user; "auto": a quarter of the memory of the machine or
            the control group. A loader's own `memory=` is its part. The budgets of caches come on top.

    InvalidArgument while a loader of this process is open, and where a later loader asks for more than this.
    """
    most = None if threads == "auto" else max(-1, min(_integer("threads", threads), 2**31 - 1))
    _core.engine(most, None if memory == "auto" else _bytes("memory", memory))
