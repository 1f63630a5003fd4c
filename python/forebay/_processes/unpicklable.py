"""Explains which part of an object cannot be pickled, and what to do about it."""

from __future__ import annotations

import contextlib
import functools
import itertools
import types
from typing import Any, Iterator

from .by_value import CodePickler, travels_by_value
from .content_pickler import pickled

_MAX_DEPTH = 12
_MAX_PARTS = 1000


def explain(value: Any, error: BaseException, process: str = "a worker process", otherwise: str = "workers='threads'") -> str:
    """Returns a sentence for people: the innermost part that cannot be pickled, the path to it, and
    the remedies.

    Args:
        process: names the process that needs it.
        otherwise: the option that leaves it in this process.
    """
    path, culprit = _innermost(value)
    reached = f"{', '.join(path)}: " if path else ""
    return (
        f"it cannot be sent to {process}: {reached}an object of type {type(culprit).__qualname__} cannot be pickled "
        f"({error}); make it there, on first use, leave it out of the state (__getstate__), or use {otherwise}"
    )


def _innermost(value: Any) -> tuple[list[str], Any]:
    path: list[str] = []
    seen = {id(value)}
    while len(path) < _MAX_DEPTH:
        for how, part in itertools.islice(_parts(value), _MAX_PARTS):
            if id(part) not in seen and _fails(part):
                seen.add(id(part))
                value = part
                if how:
                    path.append(how)
                break
        else:
            break
    return path, value


def _fails(value: Any) -> bool:
    try:
        pickled(value, CodePickler)
    except Exception:
        return True
    return False


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, types.FunctionType):
        for how, part in _parts_of_function(value):
            yield f"{how} of the function '{value.__qualname__}'", part
    elif isinstance(value, types.MethodType):
        yield f"the object of the method '{value.__qualname__}'", value.__self__
    elif isinstance(value, functools.partial):
        yield "", value.func
        for part in (*value.args, *value.keywords.values()):
            yield "an argument of the functools.partial", part
    elif isinstance(value, type):
        for name, part in vars(value).items():
            yield f"its attribute '{name}' of the class '{value.__qualname__}'", part
    elif isinstance(value, dict):
        for key, part in value.items():
            yield f"the element {key!r} of the dict", part
    elif isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield "" if isinstance(value, tuple) else f"an element of the {type(value).__name__}", part
    else:
        if travels_by_value(type(value)):
            yield "", type(value)
        ours = type(value).__module__.startswith("forebay.")
        for name, part in _state(value).items():
            yield "" if ours else f"the attribute '{name}' of {type(value).__qualname__}", part


def _parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    for name in sorted(_names(function.__code__) & function.__globals__.keys()):
        yield f"the global '{name}'", function.__globals__[name]
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        with contextlib.suppress(ValueError):  # not assigned yet
            yield f"the variable '{name}' around it", cell.cell_contents
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield "a default argument", value


def _names(code: types.CodeType) -> set[str]:
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return set(code.co_names).union(*map(_names, inner))


def _state(value: Any) -> dict[str, Any]:
    own = getattr(type(value), "__getstate__", None)
    if own is None or own is getattr(object, "__getstate__", None):
        return getattr(value, "__dict__", {})
    try:
        state = own(value)
    except Exception:
        return {}
    return state if isinstance(state, dict) else {}
