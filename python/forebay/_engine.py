"""The limits of the engine that all loaders of a process share."""

from __future__ import annotations

from . import _core
from ._options import _bytes, _integer


def engine(threads: int | str = "auto", memory: int | str = "auto") -> None:
    """Sets the resources that all loaders of this process share. Call it before the first of them
    is opened.

    Args:
        threads: compute threads, from 1 on. "auto": all cores that the process may use, even if
            their number changes. A loader's own `threads=` limits how many of them work for it at
            once.
        memory: bytes, as a number or "8GiB", that loaders may hold between storage and you. "auto":
            a quarter of the memory of the machine or the control group. A loader's own `memory=` is
            its part of it. The budgets of caches are separate.

    InvalidArgument while a loader of this process is open. A later loader that asks for more than
    these limits raises InvalidArgument, too.
    """
    most = None if threads == "auto" else max(-1, min(_integer("threads", threads), 2**31 - 1))
    _core.engine(most, None if memory == "auto" else _bytes("memory", memory))
