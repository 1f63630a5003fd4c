"""Converts fields of a whole batch that user code returns to the engine's forms: arrays of all
rows, (values, offsets), lists of str or of bytes, and lists of lists of these.
"""

from __future__ import annotations

from collections.abc import Mapping

from ._numpy import np
from ._typing import Any
from ._values import MOST_AXES, array_of, numbers_of


def batch_fields_of(returned: Any, what: str) -> tuple[dict[str, Any], int]:
    """Returns the fields of a batch that `what` returned, and the number of rows of all of them.

    TypeError for anything but a dict of such fields, ValueError if the numbers of rows differ.
    """
    if not isinstance(returned, Mapping):
        hint = ": did it forget to return the batch?" if returned is None else "; .collate(fn) may return any object"
        raise TypeError(f"{what} returned {type(returned).__name__}, not a dict of fields{hint}")
    fields: dict[str, Any] = {}
    rows: dict[str, int] = {}
    for name, value in returned.items():
        if not isinstance(name, str):
            raise TypeError(f"names of fields are text; got {name!r} of type {type(name).__name__}")
        fields[name], rows[name] = _field(name, value)
    if len(set(rows.values())) > 1:
        told = ", ".join(f"'{name}' has {count}" for name, count in rows.items())
        raise ValueError(f"{what} returned fields of different numbers of rows: {told}; give all the same")
    if not fields:
        raise ValueError(f"{what} returned no fields")
    return fields, next(iter(rows.values()))


def _field(name: str, value: Any) -> tuple[Any, int]:
    """Returns a field in the engine's form, and its number of rows."""
    if isinstance(value, tuple):
        return _ragged(name, value)
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "USTO":
        value = value.tolist()
    if isinstance(value, list) and (strings := _strings(name, value)) is not None:
        return strings, len(strings)
    what = f"the field '{name}'"
    if isinstance(value, (str, bytes, Mapping)):
        raise TypeError(f"{what} of a batch is of type {type(value).__name__}; give a list with one for each row")
    try:
        array = numbers_of(what, value, array_of(what, value))
    except TypeError as error:
        if not isinstance(value, list):
            raise
        raise TypeError(f"{error}. Rows of different lengths are given as (values, offsets)") from error
    if array.ndim == 0:
        raise TypeError(f"{what} of a batch is a single number; give one for each row: np.full(rows, x)")
    if array.ndim > MOST_AXES + 1:
        raise TypeError(f"{what} has {array.ndim} axes; {MOST_AXES + 1} are the most in a batch: reshape it")
    return array, array.shape[0]


def _ragged(name: str, value: tuple[Any, ...]) -> tuple[Any, int]:
    what = f"the field '{name}'"
    if len(value) != 2:
        raise TypeError(f"{what} is a tuple of {len(value)}; a tuple is (values, offsets), and rows are an array or a list")
    values = numbers_of(what, value[0], array_of(what, value[0]))
    offsets = array_of(f"the offsets of {what}", value[1])
    right = offsets.ndim == 1 and offsets.dtype.kind in "iu" and len(offsets) > 0 and values.ndim > 0
    if not right or offsets[0] != 0 or offsets[-1] != len(values) or np.any(np.diff(offsets.astype(np.int64)) < 0):
        raise ValueError(f"{what}: (values, offsets) are values of all rows, end to end, and rows + 1 whole numbers from 0 to "
                         f"len(values) that do not fall; got {offsets.size} offsets of {offsets.dtype} for values of shape {values.shape}")
    return (values, offsets.astype(np.int64, copy=False)), len(offsets) - 1


def _strings(name: str, rows: list[Any]) -> list[Any] | None:
    """Returns rows that are str or bytes, or lists of these, as plain lists. None if they are
    numbers. An empty list, and a list of empty lists, stays as it is: the engine knows what the
    field was.
    """
    nested = bool(rows) and all(isinstance(row, (list, tuple)) for row in rows)
    items = [item for row in rows for item in row] if nested else rows
    if not items:
        return [[] for _ in rows]
    kind = next((kind for kind in (str, bytes) if isinstance(items[0], kind)), None)
    if kind is None:
        return None
    if bad := [item for item in items if not isinstance(item, kind)]:
        raise TypeError(f"the field '{name}' has a row of type {type(bad[0]).__name__} among {kind.__name__}; give {kind.__name__} alone")
    return [[kind(item) for item in row] for row in rows] if nested else [kind(row) for row in rows]
