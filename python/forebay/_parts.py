"""Classes whose methods stand in several private modules, by topic, each the body of a base of theirs."""

from __future__ import annotations

import sys
from types import FunctionType


def own(cls: type, *named: type) -> None:
    """Makes the methods of the class's parts its own for everybody who looks: in `help()`, in errors of wrong arguments, in pickles.

    The parts' modules get the class, and what else their annotations name, so that these can be evaluated.
    """
    for part in cls.__mro__[1:-1]:
        for name, method in vars(part).items():
            while isinstance(method, FunctionType):
                method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
                method = getattr(method, "__wrapped__", None)  # behind a decorator
        vars(sys.modules[part.__module__]).update({one.__name__: one for one in (cls, *named)})
