"""Where samples come from. Each function describes a data set and touches no storage."""

from __future__ import annotations

import datetime
import math
import os
from typing import Any, Sequence

import numpy as np

from . import _core
from ._workers import DatasetItems, function_name, run_by
from .errors import InvalidArgument
from .pipeline import Pipeline

__all__ = ["NULL_MASK", "Dataset", "arrays", "arrow", "files", "images", "manifest", "parquet"]


def images(root: str | os.PathLike[str], split_by: str = "folder") -> Pipeline:
    """A folder of pictures with one sub-folder per class.

    Fields: `image` (bytes, encoded until `.decode_image()`), `label` (int64, number of the class; classes are the
    sub-folders sorted by name) and `key` (str, path below the root). A sample's id is the rank of its key in byte order.
    Hidden files and files that are not pictures are left out.

    Args:
        root: a folder, or a URL.
        split_by: "folder", the only way so far.

    Errors when a loader is opened: NotFound for a missing folder, InvalidArgument for one without pictures.
    """
    return _source("images", root=os.fspath(root), split_by=split_by)


def files(pattern_or_list: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> Pipeline:
    """Files as they are.

    Fields: `bytes` and `key` (str).

    Args:
        pattern_or_list: a pattern, which may hold `*`, `?`, `[a-z]`, `**`, `{a,b}` and `{000..099}` (ids by key in byte
            order), or a list of files by name (ids by place in the list).
    """
    if isinstance(pattern_or_list, (str, os.PathLike)):
        return _source("files", pattern_or_list=os.fspath(pattern_or_list))
    return _source("files", pattern_or_list=[os.fspath(one) for one in pattern_or_list])


def manifest(
    url: str | os.PathLike[str], root: str | os.PathLike[str] | None = None, path: str = "path"
) -> Pipeline:
    """Objects listed in a CSV or JSONL file, a line each.

    Fields: `bytes` of the object, `key` (str, its path as listed), and every other column under its own name.
    A sample's id is the number of its line.

    Args:
        url: the list.
        root: what the paths are relative to; by default the folder that the list is in.
        path: the column that holds the paths.
    """
    return _source("manifest", url=os.fspath(url), root=None if root is None else os.fspath(root), path=path)


def arrays(**fields: np.ndarray | str | os.PathLike[str]) -> Pipeline:
    """Arrays in memory, or `.npy` files, which are memory-mapped. The first axis is the sample.

    Fields: one per argument, of shape `array.shape[1:]`. A sample's id is its index.

    Arrays are read where they are, so they must not change while a loader runs; those that are not C-contiguous are copied
    once, here.
    """
    values = [_array(name, value) for name, value in fields.items()]
    return Pipeline(_core.Description.arrays(list(fields), values))


def Dataset(dataset: Any, workers: str = "threads") -> Pipeline:
    """Any Python object with `__len__` and `__getitem__`, such as a `torch.utils.data.Dataset`.

    `dataset[i]` may return a dict of fields, a tuple or list (fields "0", "1", ...) or a single value (field "0"). A field
    is a number, str, bytes, a NumPy array or a torch tensor. It is called several at a time.

    Args:
        dataset: the object; its length is asked for here.
        workers: "threads": on threads of Python's, for data sets that wait for files or compute in NumPy, Pillow or torch.
            "processes": in worker processes, as many as the loader's `threads`, for code that holds the interpreter lock. Each
            has the object as it was when the loader was opened; InvalidArgument there if it cannot be pickled.
    """
    items = run_by(workers, "Dataset", DatasetItems(dataset))
    try:
        size = len(dataset)
    except TypeError:
        raise InvalidArgument(f"Dataset: {type(dataset).__name__} has no length; __len__ and __getitem__ are needed") from None
    if not hasattr(dataset, "__getitem__"):
        raise InvalidArgument(f"Dataset: {type(dataset).__name__} has no __getitem__")
    return Pipeline(_core.Description.source("dataset", {"size": size}, function_name(type(dataset))), {0: items})


def parquet(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    filter: Sequence[Any] | None = None,
    null: Any = "error",
) -> Pipeline:
    """Parquet files as one table.

    Fields: one per column; the members of a struct by dotted names (`user.age`), lists as ragged fields. Folders called
    `name=value` below the folder given, or below the first wildcard, are columns too: int64 where all values are integers,
    else str. A sample's id is the number of its row over all files in byte order of their keys, whatever the filter.

    Args:
        pattern: a folder (the *.parquet files below it), a file, or a pattern, which may hold `*`, `?`, `[a-z]`, `**` and
            `{000..099}`; or a list of files by name.
        columns: those to read, in this order; a struct's name stands for its members.
        filter: rows to keep: a list of conditions (column, op, value), all of which must hold; or a list of such lists, one of
            which must. The op is one of ==, !=, <, <=, >, >=, "in", "not in" (with a list of values). A null matches nothing. Times
            are compared with a date, a datetime, or text such as "2026-01-31". Decided when a loader is opened: by folders, then
            by statistics, and only where these leave it open by reading the columns that it names.
        null: what becomes of a null. "error": its row is bad. A value: it stands there, in columns of its kind; a dict gives
            values by column. `fb.NULL_MASK`: zero or an empty text stands there, and a bool field `<name>_valid` comes with it.

    Errors when a loader is opened: NotFound where nothing matches, Corrupt for damaged files, InvalidArgument where files differ in
    columns or types (all differences at once) and for unknown columns and wrong values, Unsupported for columns that have no
    place in a batch and where the package pyarrow, which reads tables, is not installed.
    """
    return _source("parquet", pattern=_names(pattern), **_table_args("parquet", columns, filter, null))


def arrow(
    pattern_or_table: Any, columns: Sequence[str] | None = None, filter: Sequence[Any] | None = None, null: Any = "error"
) -> Pipeline:
    """Arrow files ("Feather 2"), or a table in memory: what has `__arrow_c_stream__`, such as tables and record batches of
    pyarrow, data frames of pandas and Polars, and results of DuckDB; or a list of them.

    Files are as in `parquet`. A table in memory is taken here, mostly without copying it, and can be read any number of times; it
    must not change while a loader runs. A sample's id is its row.

    Args:
        pattern_or_table: files as in `parquet`, or the table.
        columns, null: as in `parquet`.
        filter: as in `parquet`; of a table in memory only with `null=fb.NULL_MASK`.
    """
    args = _table_args("arrow", columns, filter, null)
    if _is_name(pattern_or_table) or (
        isinstance(pattern_or_table, (list, tuple)) and all(_is_name(one) for one in pattern_or_table)
    ):
        return _source("arrow", pattern=_names(pattern_or_table), **args)
    tables = [pattern_or_table] if hasattr(pattern_or_table, "__arrow_c_stream__") else pattern_or_table
    if not isinstance(tables, (list, tuple)) or not all(hasattr(one, "__arrow_c_stream__") for one in tables):
        raise InvalidArgument(
            f"arrow: a {type(pattern_or_table).__name__} is no table; give a pattern, a list of files, an object with "
            "__arrow_c_stream__ (pyarrow, pandas, Polars, DuckDB), or a list of such objects"
        )
    return Pipeline(_core.Description.arrow_streams([one.__arrow_c_stream__() for one in tables], args))


class _NullMask:
    """What `fb.NULL_MASK` is: nulls become zero or an empty text, and a bool field `<name>_valid` comes with the column."""

    def __repr__(self) -> str:
        return "forebay.NULL_MASK"


NULL_MASK = _NullMask()


def _is_name(value: Any) -> bool:
    return isinstance(value, (str, os.PathLike))


def _names(pattern: Any) -> str | list[str]:
    return os.fspath(pattern) if _is_name(pattern) else [os.fspath(one) for one in pattern]


def _table_args(source: str, columns: Any, filter: Any, null: Any) -> dict[str, Any]:
    args: dict[str, Any] = {}
    if columns is not None:
        args["columns"] = [columns] if isinstance(columns, str) else list(columns)
    if filter is not None:
        args["filter"] = _filter(source, filter)
    if isinstance(null, _NullMask):
        args["null"] = {"mask": True}
    elif isinstance(null, dict):
        args["null"] = {"by_column": {name: _value(f"{source}: null of '{name}'", value) for name, value in null.items()}}
    elif not (isinstance(null, str) and null == "error"):
        args["null"] = _value(f"{source}: null", null)
    return args


def _filter(source: str, filter: Any) -> Any:
    """Tuples and lists as lists, values as JSON has them; what is wrong with the form is found by check()."""
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


def _value(what: str, value: Any) -> Any:
    if isinstance(value, np.datetime64):
        return str(value)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, datetime.date):  # datetimes too
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}
    if isinstance(value, (bool, int, float, str)):
        return value
    raise InvalidArgument(f"{what} is of type {type(value).__name__}; give a bool, a number, a text or a date")


def _source(name: str, **args: Any) -> Pipeline:
    return Pipeline(_core.Description.source(name, {key: value for key, value in args.items() if value is not None}))


def _array(name: str, value: Any) -> np.ndarray | str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise InvalidArgument(f"arrays: '{name}' has elements of type {array.dtype}; numbers of at most 64 bits are needed")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
