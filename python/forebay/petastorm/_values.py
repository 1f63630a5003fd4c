"""Converts fields of row groups to the values that petastorm's users expect."""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, namedtuple
from typing import Any, Mapping, NamedTuple, Sequence

import numpy as np


class SchemaField(NamedTuple):
    """A field, like petastorm's UnischemaField. `shape` is that of one row, with None where lengths
    differ; `codec` is always None.
    """

    name: str
    numpy_dtype: Any
    shape: tuple[int | None, ...]
    codec: None = None
    nullable: bool = True


class Column(NamedTuple):
    """How a field is read: its name in the table, the masks that say where it is null, the NumPy
    type of times, and whether folder names hold it.
    """

    source: str
    masks: tuple[str, ...] = ()
    time: str = ""
    of_folder: bool = False


class Schema:
    """The fields of a reader's items, by name and as attributes."""

    def __init__(self, fields: Sequence[SchemaField]) -> None:
        self.fields: OrderedDict[str, SchemaField] = OrderedDict((field.name, field) for field in fields)
        # Names that are not valid in Python are replaced by positional names, as in petastorm.
        self._tuple = namedtuple("inferred_schema_view", list(self.fields), rename=True)

    def __getattr__(self, name: str) -> SchemaField:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(f"the reader has no field {name!r}; it has {', '.join(self.__dict__.get('fields', ()))}") from None

    def make_namedtuple(self, /, **values: Any) -> Any:
        """Returns a tuple of one value per field."""
        return self._tuple(*(values[name] for name in self.fields))

    def __repr__(self) -> str:
        return f"Schema({list(self.fields.values())})"


def numpy_type(word: str, time: str) -> Any:
    return {"text": np.str_, "bytes": np.bytes_}.get(word) or np.dtype(time or word).type


def python_names(columns: Sequence[str]) -> dict[str, str]:
    """Returns valid names for a namedtuple by column: `point.x` is `point_x`, unless another column
    has that name.
    """
    made = {column: re.sub(r"\W", "_", column) for column in columns}
    several = {name for name, count in Counter(made.values()).items() if count > 1}
    return {column: column if name in several else name for column, name in made.items()}


def in_rows(values: Any) -> Any:
    """Returns a field of a batch in a form that can be indexed by row: an array, a list of arrays,
    or a list of str or bytes. Lists of strings are arrays of objects.
    """
    if isinstance(values, list) and values and isinstance(values[0], list):
        return [_objects(row) for row in values]
    if not isinstance(values, tuple):
        return values
    flat, offsets = values
    return [flat[a:b] for a, b in zip(offsets.tolist(), offsets[1:].tolist())]


def join(pieces: Sequence[Any]) -> Any:
    """Joins rows of several batches into one field."""
    if isinstance(pieces[0], np.ndarray):
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    return [row for piece in pieces for row in piece]


def masks_of(field: str) -> tuple[str, str]:
    """Returns the names of the masks of `null=fb.NULL_MASK`: which rows are valid, and which
    elements of lists and tensors.
    """
    return f"{field}_valid", f"{field}_items_valid"


def finished(values: Any, rows: Any, items: Any, dtype: Any, time: str) -> np.ndarray:
    """Returns the array for the user. `rows`, `items`: which of them are valid; None if all are."""
    if time:
        values = values.view(time) if isinstance(values, np.ndarray) else [row.view(time) for row in values]
    if items is not None:
        values = _holes(values, items)
    if rows is not None and not np.all(rows):
        return _with_nulls(values, np.asarray(rows))
    if isinstance(values, np.ndarray):
        return values
    if dtype is np.str_ and not (values and isinstance(values[0], np.ndarray)):
        return np.array(values, dtype=np.str_)
    if values and isinstance(values[0], np.ndarray) and len({len(row) for row in values}) == 1:
        return np.stack(values)
    return _objects(values)


def _holes(values: Any, items: Any) -> Any:
    if isinstance(values, np.ndarray):
        return values if np.all(items) else _nan(values, np.asarray(items))
    if all(np.all(there) for there in items):
        return values
    return [_nan(row, np.asarray(there)) for row, there in zip(values, items)]  # the same type in all rows


def _nan(values: np.ndarray, there: np.ndarray) -> np.ndarray:
    made = values.astype(values.dtype if values.dtype.kind in "fmMO" else np.float64)
    made[~there] = {"m": "NaT", "M": "NaT", "O": None}.get(made.dtype.kind, np.nan)
    return made


def _with_nulls(values: Any, rows: np.ndarray) -> np.ndarray:
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufmM":
        return _nan(values, rows)
    return _objects([value if there else None for value, there in zip(values, rows)])


def _objects(values: Sequence[Any]) -> np.ndarray:
    made = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):  # one by one, because NumPy would otherwise interpret them as nested sequences
        made[row] = value
    return made


def take(values: Any, rows: np.ndarray) -> Any:
    """Returns the rows with these indices."""
    return values[rows] if isinstance(values, np.ndarray) else [values[row] for row in rows]


def frame_of(fields: Mapping[str, np.ndarray]) -> Any:
    """Returns a pandas.DataFrame. A field of several axes becomes a column of arrays."""
    try:
        import pandas
    except ImportError as error:
        from ..errors import InvalidArgument

        raise InvalidArgument("make_batch_reader: predicate= and transform_spec= work on pandas.DataFrames: pip install pandas, "
                              "or use .filter and .map of fb.parquet(...)") from error
    return pandas.DataFrame({name: list(values) if values.ndim > 1 else values for name, values in fields.items()})


def array_of(column: Any, shape: tuple[int | None, ...], dtype: Any, time: str) -> np.ndarray:
    """Converts a column of a DataFrame as its field of the schema requires. `time`: the type of an
    existing time column.
    """
    values = column.to_numpy()
    if not shape and np.dtype(dtype).kind in "mM":
        exact = time or ("datetime64[ns]" if values.dtype.kind == "O" else values.dtype)
        return column.to_numpy(dtype=exact)  # times with a time zone: UTC
    if shape:
        stacked = np.stack([np.asarray(row) for row in values]) if len(values) else np.empty((0,) + tuple(n or 0 for n in shape))
        fixed = None not in shape
        stacked = stacked.reshape((len(values), *shape)) if fixed else stacked
        return stacked if issubclass(np.dtype(dtype).type, np.character) else stacked.astype(dtype, copy=False)
    if issubclass(np.dtype(dtype).type, np.str_):
        return values.astype(np.str_)
    return values
