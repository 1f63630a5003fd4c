"""Pickles user code with cloudpickle for worker processes, including code that a worker cannot
import.

Functions and classes that can be imported are pickled by name. Functions and classes of the program
itself (of a script, a notebook, `python -c`), lambdas and inner functions are pickled by value:
their code, and only those globals that the code uses. So a worker never runs the program's own file
again, and `if __name__ == "__main__"` is not needed. Globals have their state at the moment of
pickling. This module adds what cloudpickle lacks: names in the worker's `__main__`, and a few
objects of the standard library.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import io
import sys
import types
from typing import Any, Callable

import cloudpickle

from .content_pickler import ContentPickler


class CodePickler(ContentPickler, cloudpickle.Pickler):
    """A pickler for the data that a worker gets at its start. Plain `pickle.loads` reads it there.
    """

    def reducer_override(self, value: Any) -> Any:
        reduced = super().reducer_override(value)
        if reduced is NotImplemented:
            reduced = cloudpickle.Pickler.reducer_override(self, value)
            if isinstance(reduced, tuple) and getattr(value, "__module__", None) == "__main__":
                make, args, *rest = reduced
                return _make_named, (value.__qualname__, make, args), *rest
        return reduced

    dispatch_table = collections.ChainMap({}, cloudpickle.Pickler.dispatch_table)


def travels_by_value(cls: type) -> bool:
    """Returns whether this class is pickled by value together with its instances, instead of by
    name.
    """
    return CodePickler(io.BytesIO(), protocol=5).reducer_override(cls) is not NotImplemented


def _make_named(qualname: str, make: Callable[..., Any], args: tuple) -> Any:
    value = make(*args)
    # Its own name makes objects that a worker returns (an instance, an exception) refer to the
    # class in the program.
    if qualname.isidentifier():
        setattr(sys.modules["__main__"], qualname, value)
    return value


# Objects of the standard library that cloudpickle mistakes for others, or refuses


def _reduce_code(code: types.CodeType) -> Any:
    # cloudpickle leaves the file out, and tracebacks of workers would have neither it nor any line.
    make, args = cloudpickle.cloudpickle._code_reduce(code)
    return _make_code, (make, args, code.co_filename)


def _make_code(make: Callable[..., types.CodeType], args: tuple, file: str) -> types.CodeType:
    return make(*args).replace(co_filename=file)


def _reduce_lru_cache(cached: Any) -> Any:
    if cached.__module__ != "__main__" and "<locals>" not in cached.__qualname__:
        return cached.__qualname__
    return _make_lru_cache, (cached.cache_parameters(), cached.__wrapped__)


def _make_lru_cache(parameters: dict[str, Any], function: Callable) -> Callable:
    return functools.lru_cache(**parameters)(function)


def _reduce_cached_property(value: functools.cached_property) -> Any:  # holds a lock up to Python 3.11
    return functools.cached_property, (value.func,), {"attrname": value.attrname}


def _refuse(file: io.TextIOWrapper) -> Any:  # a copy of its content would not be a file
    raise TypeError(f"cannot pickle '{type(file).__name__}' object")


CodePickler.dispatch_table.update({
    types.CodeType: _reduce_code,
    functools._lru_cache_wrapper: _reduce_lru_cache,
    functools.cached_property: _reduce_cached_property,
    io.TextIOWrapper: _refuse,
    type(dataclasses.MISSING): lambda _: "MISSING",  # dataclasses compares it by `is`
})
