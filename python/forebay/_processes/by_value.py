"""Pickles user code for a worker process, also where that process could not import it.

What a module that can be imported has at top level travels as its name. Functions and classes of the program itself (of a
script, a notebook, `python -c`), lambdas and inner functions travel by value: their code, and of the globals only those that
the code uses. So a worker never runs the program's own file again, and no `if __name__ == "__main__"` is needed. The state of
such a global is that of the moment it was pickled.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import importlib
import marshal
import sys
import types
from typing import Any, Callable, Iterator

from .content_pickler import ContentPickler

_HEAP_TYPE = 1 << 9  # of type.__flags__: made by Python code, not by an extension
_OF_EVERY_CLASS = {"__dict__", "__weakref__", "__module__", "__qualname__", "__abstractmethods__", "_abc_impl", "__doc__"}
_SENTINELS = {
    id(getattr(dataclasses, name)): name
    for name in ("MISSING", "KW_ONLY", "_HAS_DEFAULT_FACTORY", "_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR")
    if hasattr(dataclasses, name)
}


class CodePickler(ContentPickler):
    """A pickler for what is sent to a worker at its start. Read by plain `pickle.loads` there."""

    def reducer_override(self, value: Any) -> Any:
        reduce = _REDUCERS.get(type(value))
        if reduce is not None:
            return reduce(value)
        if isinstance(value, type):
            return _reduce_class(value) if travels_by_value(value) else NotImplemented
        if id(value) in _SENTINELS:
            return getattr, (dataclasses, _SENTINELS[id(value)])
        return super().reducer_override(value)


# What can be imported


def _can_be_imported(value: Any) -> bool:
    if not _is_importable(value.__module__):
        return False
    found: Any = sys.modules[value.__module__]
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is value


def travels_by_value(cls: type) -> bool:
    """Whether this class of the user's goes along with its instances."""
    made_here = not _is_importable(cls.__module__) or "<locals>" in cls.__qualname__ or _is_namedtuple(cls)
    return made_here and bool(cls.__flags__ & _HEAP_TYPE) and not _can_be_imported(cls)


def _is_namedtuple(cls: type) -> bool:
    return cls.__bases__ == (tuple,) and hasattr(cls, "_fields")


def _is_importable(name: str | None) -> bool:
    module = sys.modules.get(name or "")
    if module is None or name == "__main__":
        return False
    # A module without a spec was made by hand, as a notebook's or a debugger's is.
    return module is builtins or getattr(module, "__spec__", None) is not None


# Functions


def _globals_used(code: types.CodeType) -> set[str]:
    names = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _globals_used(constant)
    return names


def parts_of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """(description, value) of everything that travels with a function."""
    for name, value in _globals_sent(function).items():
        yield f"the global '{name}'", value
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        for value in _content(cell):
            yield f"the variable '{name}' around it", value
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield "a default argument", value


def _globals_sent(function: types.FunctionType) -> dict[str, Any]:
    if _is_importable(function.__module__):
        return {}  # the worker imports the module
    names = _globals_used(function.__code__)
    return {name: function.__globals__[name] for name in sorted(names) if name in function.__globals__}


def _content(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # not assigned yet
        return ()


def _reduce_function(function: types.FunctionType) -> Any:
    if _can_be_imported(function):
        return NotImplemented
    state = {
        "globals": _globals_sent(function),
        "cells": [_content(cell) for cell in function.__closure__ or ()],
        "defaults": function.__defaults__,
        "kwdefaults": function.__kwdefaults__,
        "attributes": function.__dict__,
    }
    made_from = (marshal.dumps(function.__code__), function.__module__, function.__name__, function.__qualname__)
    return _make_function, made_from, state, None, None, _fill_function


def _make_function(code: bytes, module: str, name: str, qualname: str) -> types.FunctionType:
    unpacked = marshal.loads(code)
    cells = tuple(types.CellType() for _ in unpacked.co_freevars)
    function = types.FunctionType(unpacked, _module(module).__dict__, name, None, cells)
    function.__module__, function.__qualname__ = module, qualname
    _be_found(function)
    return function


def _fill_function(function: types.FunctionType, state: dict[str, Any]) -> None:
    function.__globals__.update(state["globals"])
    for cell, content in zip(function.__closure__ or (), state["cells"]):
        for value in content:
            cell.cell_contents = value
    function.__defaults__, function.__kwdefaults__ = state["defaults"], state["kwdefaults"]
    function.__dict__.update(state["attributes"])


def _module(name: str | None) -> types.ModuleType:
    name = name or "__main__"
    if name not in sys.modules:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError:
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__dict__["__builtins__"] = builtins
    return sys.modules[name]


def _be_found(value: Any) -> None:
    # Under its own name, so that what a worker sends back (an instance, an exception) names the class in the program.
    if value.__qualname__.isidentifier():
        setattr(_module(value.__module__), value.__qualname__, value)


# Classes


def parts_of_class(cls: type) -> Iterator[tuple[str, Any]]:
    """(description, value) of everything that travels with a class."""
    for name, value in _attributes(cls).items():
        yield f"its attribute '{name}'", value


def _attributes(cls: type) -> dict[str, Any]:
    slots = getattr(cls, "__slots__", ())
    slots = {slots} if isinstance(slots, str) else set(slots)
    return {
        name: value
        for name, value in cls.__dict__.items()
        if name not in _OF_EVERY_CLASS | slots and not isinstance(value, types.GetSetDescriptorType)
    }


def _reduce_class(cls: type) -> Any:
    names = (cls.__name__, cls.__qualname__, cls.__module__, cls.__doc__)
    if issubclass(cls, enum.Enum):
        members = [(name, member._value_) for name, member in cls.__members__.items()]
        return _make_enum, (type(cls), cls.__bases__, names, members), _written_by_hand(cls), None, None, _fill_class
    if _is_namedtuple(cls):
        made_from = (names, cls._fields, cls._field_defaults)
        return _make_namedtuple, made_from, _written_by_hand(cls), None, None, _fill_class
    made_from = (type(cls), cls.__bases__, names, cls.__dict__.get("__slots__"))
    return _make_class, made_from, _attributes(cls), None, None, _fill_class


def _written_by_hand(cls: type) -> dict[str, Any]:
    kinds = (types.FunctionType, property, staticmethod, classmethod)
    attributes = {name: value for name, value in _attributes(cls).items() if isinstance(value, kinds)}
    return {
        name: value
        for name, value in attributes.items()
        if getattr(getattr(value, "fget", value), "__module__", None) == cls.__module__
    }


def _named(names: tuple[str, str, str, str | None]) -> dict[str, Any]:
    return {"__qualname__": names[1], "__module__": names[2], "__doc__": names[3]}


def _make_class(metaclass: type, bases: tuple[type, ...], names: tuple, slots: Any) -> type:
    namespace = _named(names) | ({} if slots is None else {"__slots__": slots})
    cls = metaclass(names[0], bases, namespace)
    _be_found(cls)
    return cls


def _make_namedtuple(names: tuple, fields: tuple[str, ...], defaults: dict[str, Any]) -> type:
    from collections import namedtuple

    cls = namedtuple(names[0], fields, defaults=list(defaults.values()), module=names[2])
    cls.__qualname__ = names[1]
    _be_found(cls)
    return cls


def _make_enum(metaclass: type, bases: tuple[type, ...], names: tuple, members: list[tuple[str, Any]]) -> type:
    namespace = metaclass.__prepare__(names[0], bases)
    for name, value in (*_named(names).items(), *members):
        if value is not None:
            namespace[name] = value
    cls = metaclass(names[0], bases, namespace)
    _be_found(cls)
    return cls


def _fill_class(cls: type, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        try:
            setattr(cls, name, value)
        except (AttributeError, TypeError):  # read-only, and made by the metaclass
            continue
    for name, value in attributes.items():
        if hasattr(type(value), "__set_name__") and not isinstance(value, type):
            value.__set_name__(cls, name)
    if hasattr(cls, "__abstractmethods__"):
        import abc

        abc.update_abstractmethods(cls)


_REDUCERS: dict[type, Callable[[Any], Any]] = {
    types.FunctionType: _reduce_function,
    types.ModuleType: lambda module: (_module, (module.__name__,)),
    types.MappingProxyType: lambda proxy: (_make_mapping_proxy, (dict(proxy),)),
    property: lambda value: (property, (value.fget, value.fset, value.fdel, value.__doc__)),
    staticmethod: lambda value: (staticmethod, (value.__func__,)),
    classmethod: lambda value: (classmethod, (value.__func__,)),
    functools.cached_property: lambda value: (functools.cached_property, (value.func,)),
    functools._lru_cache_wrapper: lambda value: _reduce_lru_cache(value),
}


def _make_mapping_proxy(values: dict) -> types.MappingProxyType:  # which has no name that pickle could find
    return types.MappingProxyType(values)


def _reduce_lru_cache(cached: Any) -> Any:
    if _can_be_imported(cached):
        return NotImplemented
    return _make_lru_cache, (cached.cache_parameters(), cached.__wrapped__)


def _make_lru_cache(parameters: dict[str, Any], function: Callable) -> Callable:
    return functools.lru_cache(**parameters)(function)
