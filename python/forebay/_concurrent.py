"""Objects that several threads use at the same time, with or without Python's global lock."""

from __future__ import annotations

import threading
import weakref

from ._typing import TYPE_CHECKING, Generic

if TYPE_CHECKING:
    from typing import TypeVar

    One = TypeVar("One")
else:
    One = object


class WeakRegistry(Generic[One]):
    """Weak references to objects. Any thread may add one while others list them: a `weakref.WeakSet`
    that is iterated meanwhile raises RuntimeError.
    """

    def __init__(self) -> None:
        self._references: set[weakref.ref[One]] = set()

    def add(self, one: One) -> None:
        self._references.add(weakref.ref(one, self._references.discard))

    def alive(self) -> list[One]:
        """Returns the objects that still exist."""
        references = self._references.copy()  # in one step, unlike an iteration
        return [one for one in (reference() for reference in references) if one is not None]


class Numbers:
    """The numbers from 0 on, each of which one caller of `next()` gets. An `itertools.count` may give
    a number twice where Python runs without its global lock.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0

    def __iter__(self) -> Numbers:
        return self

    def __next__(self) -> int:
        with self._lock:
            number = self._next
            self._next += 1
            return number
