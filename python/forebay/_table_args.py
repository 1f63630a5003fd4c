"""Converts user arguments of tables to their form in descriptions."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping

from ._numpy import np
from ._typing import Any
from .errors import InvalidArgument


class NullMask:
    """The type of `fb.NULL_MASK`: nulls become zero or an empty text, and a bool field
    `<name>_valid` accompanies the column.
    """

    def __repr__(self) -> str:
        return "forebay.NULL_MASK"


NULL_MASK = NullMask()


def is_name(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def names_of(pattern: Any) -> str | list[str]:
    return os.fspath(pattern) if is_name(pattern) else [os.fspath(one) for one in pattern]


def types_of(source: str, types: Any) -> dict[str, str] | None:
    """Returns `types=` as a description holds it: dtypes and Python types by their names, which the
    engine checks.
    """
    if not types:
        return None
    if not isinstance(types, Mapping):
        raise InvalidArgument(f'{source}: types: a {type(types).__name__} is no mapping; write {{"column": "int64"}}')
    return {str(column): _type_word(kind) for column, kind in types.items()}


def _type_word(kind: Any) -> str:
    if isinstance(kind, str):
        return kind
    if isinstance(kind, np.dtype) or (isinstance(kind, type) and issubclass(kind, np.generic)):
        name = np.dtype(kind).name
        return {"str": "string", "bytes": "bytes", "object": "object"}.get(name, name)
    words = {str: "string", bytes: "bytes", int: "int64", float: "float64", bool: "bool"}
    return words.get(kind, str(kind)) if isinstance(kind, type) else str(kind)


def table_args(source: str, columns: Any, filter: Any, null: Any, types: Any = None) -> dict[str, Any]:
    args: dict[str, Any] = {}
    if types := types_of(source, types):
        args["types"] = types
    if columns is not None:
        args["columns"] = [columns] if isinstance(columns, str) else list(columns)
    if filter is not None:
        args["filter"] = _filter(source, filter)
    if isinstance(null, NullMask):
        args["null"] = {"mask": True}
    elif isinstance(null, dict) and not null:
        pass  # no column has a value: the same as "error"
    elif isinstance(null, dict):
        args["null"] = {"by_column": {name: _null(f"{source}: null of '{name}'", value) for name, value in null.items()}}
    elif not (isinstance(null, str) and null == "error"):
        args["null"] = _null(f"{source}: null", null)
    return args


def _filter(source: str, filter: Any) -> Any:
    """Converts tuples and lists to lists, and values to their JSON form. check() reports what is
    wrong with the form.
    """
    if isinstance(filter, (list, tuple)):
        if len(filter) == 3 and isinstance(filter[0], str) and isinstance(filter[1], str):
            what = f"{source}: filter: the value for '{filter[0]}'"
            several = filter[2]
            if isinstance(several, (set, frozenset)):
                several = sorted(several, key=lambda value: (type(value).__name__, value))
            if isinstance(several, (list, tuple, range, np.ndarray)):
                return [filter[0], filter[1], [_value(what, value) for value in several]]
            return [filter[0], filter[1], _value(what, several)]
        return [_filter(source, one) for one in filter]
    if isinstance(filter, str):
        return filter
    raise InvalidArgument(
        f'{source}: filter: a {type(filter).__name__} is no list of conditions; write [("price", ">=", 3.5)], or a list of '
        "such lists of which one must hold"
    )


def _null(what: str, value: Any) -> Any:
    if isinstance(value, NullMask):
        return {"mask": True}
    return {"bytes": bytes(value).hex()} if isinstance(value, (bytes, bytearray)) else _value(what, value)


def _value(what: str, value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    import datetime  # takes longer to import than this module

    if isinstance(value, datetime.date):  # includes datetime
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise InvalidArgument(f"{what} is {value}; whole numbers here lie between -2**63 and 2**63 - 1")
    if isinstance(value, (bool, int, float, str)):
        return value
    raise InvalidArgument(f"{what} is of type {type(value).__name__}; give a bool, a number, a text or a date")
