"""Says which part of an object cannot be pickled, and what to do about it."""

from __future__ import annotations

import functools
import itertools
import types
from typing import Any, Iterator

from .by_value import CodePickler, parts_of_class, parts_of_function, travels_by_value
from .content_pickler import pickled

_MAX_DEPTH = 12
_MAX_PARTS = 1000


def explain(value: Any, error: BaseException) -> str:
    """A sentence for people: the innermost part that cannot be pickled, how it is reached, and the ways out."""
    path, culprit = _innermost(value)
    reached = f"{', '.join(path)}: " if path else ""
    return (
        f"it cannot be sent to a worker process: {reached}an object of type {type(culprit).__qualname__} cannot be pickled "
        f"({error}); make it in the worker, on first use, leave it out of the state (__getstate__), or use workers='threads'"
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
        for how, part in parts_of_function(value):
            yield f"{how} of the function '{value.__qualname__}'", part
    elif isinstance(value, types.MethodType):
        yield f"the object of the method '{value.__qualname__}'", value.__self__
    elif isinstance(value, functools.partial):
        yield "", value.func
        for part in (*value.args, *value.keywords.values()):
            yield "an argument of the functools.partial", part
    elif isinstance(value, type) and travels_by_value(value):
        for how, part in parts_of_class(value):
            yield f"{how} of the class '{value.__qualname__}'", part
    elif isinstance(value, dict):
        for key, part in value.items():
            yield f"the element {key!r} of the dict", part
    elif isinstance(value, (tuple, list, set, frozenset)):
        for part in value:
            yield "" if isinstance(value, tuple) else f"an element of the {type(value).__name__}", part
    elif not isinstance(value, type):
        if travels_by_value(type(value)):
            yield "", type(value)
        ours = type(value).__module__.startswith("forebay.")
        for name, part in _state(value).items():
            yield "" if ours else f"the attribute '{name}' of {type(value).__qualname__}", part


def _state(value: Any) -> dict[str, Any]:
    own = getattr(type(value), "__getstate__", None)
    if own is None or own is getattr(object, "__getstate__", None):
        return getattr(value, "__dict__", {})
    try:
        state = own(value)
    except Exception:
        return {}
    return state if isinstance(state, dict) else {}
