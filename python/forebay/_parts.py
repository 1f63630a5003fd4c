"""Classes whose methods are spread over several private modules by topic; each module defines one
base class.
"""

from __future__ import annotations

import sys
from types import FunctionType

from ._typing import Generic


def own(cls: type, *named: type) -> None:
    """Attributes the methods of the bases of `cls` to `cls` itself, in `help()`, in errors of wrong
    arguments, and in pickles.

    The modules of the bases get the class, and other names that their annotations use, so that
    these can be evaluated.
    """
    for part in cls.__mro__[1:-1]:
        if part is Generic:
            continue
        for name, method in vars(part).items():
            while isinstance(method, FunctionType):
                method.__module__, method.__qualname__ = cls.__module__, f"{cls.__qualname__}.{name}"
                method = getattr(method, "__wrapped__", None)  # the function inside a decorator
        vars(sys.modules[part.__module__]).update({one.__name__: one for one in (cls, *named)})
