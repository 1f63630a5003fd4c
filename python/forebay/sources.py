"""Where samples come from. Each function describes a data set and touches no storage."""

from __future__ import annotations

import os
from typing import Any, Mapping, Sequence

import numpy as np

from . import _core
from ._appending import plain_args
from ._epochs import EpochGate, epoch_setters
from ._pool import log
from ._table_args import NULL_MASK, is_name, names_of, table_args, types_of
from ._values import MOST_AXES, array_of, numbers_of
from ._workers import DatasetItems, function_name, run_by
from .errors import InvalidArgument
from .pipeline import Pipeline

__all__ = [
    "NULL_MASK",
    "Dataset",
    "arrays",
    "arrow",
    "files",
    "hdf5",
    "images",
    "jsonl",
    "manifest",
    "materialized",
    "parquet",
    "text",
    "webdataset",
]


def images(
    root: str | os.PathLike[str], split_by: str = "folder", classes: Sequence[str] | Mapping[str, int] | None = None
) -> Pipeline:
    """A folder of pictures with one sub-folder per class.

    Fields: `image` (bytes, encoded until `.decode_image()`), `label` (int64, number of the class; classes are the
    sub-folders sorted by name) and `key` (str, path below the root). A sample's id is the rank of its key in byte order.
    Pictures are files that end in jpg, jpeg, jpe, jfif, png, webp or bmp. Hidden files are left out; so are others, with one
    `DataWarning` where they look like data (TIFF, GIF, archives). A dead link with the name of a picture is a sample that is NotFound.

    Args:
        root: a folder, or a URL.
        split_by: "folder": each folder in the root is a class. "none": all pictures below the root, at any depth, without `label`.
        classes: names of the class folders in the order of their labels, such as `loader.classes` of training, or a dict from
            names to labels (0 to n - 1, each once). A class without a folder keeps its label; other folders are left out, with a `DataWarning`.
            None: all sub-folders, sorted by name, so that labels differ between folders with other classes.

    Errors when a loader is opened: NotFound for a missing folder, for one without pictures, and for a dead link that may be a class;
    InvalidArgument for pictures beside class folders; Unsupported for a class with files of which none is read.
    """
    return _source("images", root=os.fspath(root), split_by=split_by, classes=_class_names(classes))


def files(pattern_or_list: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, follow: bool = False) -> Pipeline:
    """Files as they are.

    Fields: `bytes` and `key` (str).

    Args:
        pattern_or_list: a pattern, which may hold `*`, `?`, `[a-z]`, `**`, `{a,b}` and `{000..099}` (ids by key in byte
            order), or a list of files by name (ids by place in the list).
        follow: a source without an end: files that appear later, too, each once it is whole (docs/streams.md). Local folders.
    """
    if isinstance(pattern_or_list, (str, os.PathLike)):
        return _source("files", pattern_or_list=os.fspath(pattern_or_list), follow=follow or None)
    if follow:
        raise InvalidArgument("files: follow=True wants one pattern, which files that come later can match")
    return _source("files", pattern_or_list=[os.fspath(one) for one in pattern_or_list])


def manifest(
    url: str | os.PathLike[str],
    root: str | os.PathLike[str] | None = None,
    path: str = "path",
    header: bool = True,
    columns: Sequence[str] | None = None,
    types: Mapping[str, Any] | None = None,
) -> Pipeline:
    """Objects listed in a file, a row each: CSV, TSV, a text list (.txt, .lst), JSONL or Parquet.

    Fields: `bytes` of the object, `key` (str, its path as listed), and every other column under its own name.
    A sample's id is the number of its row.

    A column of text is numbers only where printing the numbers gives the file's text again: whole numbers (int64, or uint64 where one is 2**63 or
    more) without plus signs, leading zeros or blanks; floats (float64) in their shortest form or all with the same number of decimals; true and
    false (bool). All others are str, so "00501", "+4912", "1e5" and "1_000" stay as they are. `types=` says otherwise. Values of JSONL and Parquet
    keep their types; whole numbers of JSON that 64 bits do not hold are Corrupt.

    Args:
        url: the list, by the ending of its name. The fields of a text list are separated by tabs or by blanks, as in "n01440764/a.JPEG 0".
        root: what the paths are relative to; by default the folder that the list is in.
        path: the column that holds the paths.
        header: False: the first line is a row, and `columns` gives the names. CSV, TSV and text lists.
        columns: names of the columns of a list without a header, one for each field of a line.
        types: column → type ("string", "bool", "int8" to "uint64", "float16" to "float64", or a NumPy dtype). Numbers may then be written with blanks,
            plus signs and leading zeros.

    Errors when a loader is opened: InvalidArgument where a column is missing or the first line looks like a row and not like a header; Corrupt, with
    the line, for another number of fields, for an empty number and for a value that is not of its type in `types`.
    """
    return _source(
        "manifest",
        url=os.fspath(url),
        root=None if root is None else os.fspath(root),
        path=path,
        header=None if header else False,
        columns=None if columns is None else [columns] if isinstance(columns, str) else list(columns),
        types=types_of("manifest", types),
    )


def text(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], by: str = "line", *, follow: bool = False
) -> Pipeline:
    """Text files, a line or a file a sample.

    Fields: `text` (str) and `key` (str): the path below the folder given, or below the first wildcard; of a line with its number, as in
    "emma.txt:17". A line ends at "\\n" or "\\r\\n", which are no part of it; empty lines are samples, and so is a last line without an end. A byte
    order mark at the beginning of a file is left out. A sample's id is the number of its line over all files in byte order of their keys.

    Lines are read in slices of about a MiB, so `.shuffle()` is blockwise. Where they begin is found once, when a loader is opened, by reading through
    the files; of files of 8 MiB and more it is kept in ~/.cache/forebay/lines for as long as they do not change.

    Args:
        pattern: a folder (the *.txt and *.text files below it), a file, or a pattern, which may hold `*`, `?`, `[a-z]`, `**` and `{000..099}`; or a
            list of files by name. With by="file" as in `files`.
        by: "line" or "file".
        follow: a source without an end: lines that are written later, too, each once it is whole (docs/streams.md). Local files; each is a partition.

    A line or a file that is not UTF-8, and a line of more than 16 MiB, is Corrupt, with file and line. Errors when a loader is opened: NotFound where
    nothing matches, Unsupported for compressed files.
    """
    if follow and by != "line":
        raise InvalidArgument('text: follow=True gives lines; of whole files: fb.files(pattern, follow=True)')
    return _source("text", pattern=names_of(pattern), by=None if by == "line" else by, follow=follow or None)


def jsonl(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    fields: Mapping[str, str] | None = None,
    null: Any = "error",
    nan: str = "error",
    *,
    follow: bool = False,
) -> Pipeline:
    """Records of JSON: one a line, or the elements of a list.

    Fields: one per member; members of objects by dotted names (`user.age`), lists of numbers or of true and false as ragged fields, lists of strings
    as lists of str. What has no such type is a str with the JSON text of the value. A line that is no object is a record with the one member `value`.
    Lines of blanks are passed over. A sample's id is the number of its record over all files in byte order of their keys.

    A file that is one JSON list has its elements as samples, in one line or indented; values that go over several lines are a sample each. Files in
    UTF-16 with a byte order mark are read as well.

    Args:
        pattern: a folder (the *.jsonl, *.ndjson and *.jsonlines files below it), a file, or a pattern as in `text`; or a list of files by name.
        fields: the members to take, with their types: "bool", "int64", "uint64", "float64", "text", "json" (any value, as its text), "bool[]",
            "int64[]", "float64[]", "text[]". Without it, all members that the first thousand records have, with the types that fit all of these;
            members that only later records have are passed over.
        null: what becomes of a member that is null or missing. "error": its record is bad. A value: it stands there, in fields of its kind; a dict
            gives values by field.
        nan: what becomes of NaN, Infinity and -Infinity, which Python writes and JSON does not have. "error": the record is bad. "keep": they are
            values of float64 fields. "null": they are null.
        follow: a source without an end: records that are written later, too, each once its line is whole (docs/streams.md). Local files; each is a
            partition. It needs fields=.

    A record that is no JSON, or has a value of another type than its field, is Corrupt, with file and line. Errors when a loader is opened: those of
    `text`; Corrupt where none of the first records is JSON and no fields are given.
    """
    args = table_args("jsonl", None, None, null)
    given = None if fields is None else {str(name): str(kind) for name, kind in fields.items()}
    if follow and given is None:
        raise InvalidArgument("jsonl: follow=True needs fields=: what records will have is not known before they are written")
    if follow and "null" in args:
        raise InvalidArgument("jsonl: null= is not for files that are followed; a record without one of its fields is bad, see on_error=")
    if follow and nan != "error":
        raise InvalidArgument("jsonl: nan= is not for files that are followed; such a record is bad, see on_error=")
    nan_said = None if nan == "error" else nan
    return _source("jsonl", pattern=names_of(pattern), fields=given, nan=nan_said, follow=follow or None, **args)


def arrays(**fields: np.ndarray | str | os.PathLike[str]) -> Pipeline:
    """Arrays in memory, or `.npy` files, which are memory-mapped. The first axis is the sample.

    Fields: one per argument, of shape `array.shape[1:]`, which may have seven axes: NumPy arrays and torch tensors of bool, integers, float16, bfloat16
    (also of ml_dtypes), float32 and float64; text (dtypes `U` and `S`) as lists of str, one a sample. A sample's id is its index.
    InvalidArgument, with what to do instead, for other types and for masked arrays with something masked.

    Arrays are read where they are, so they must not change while a loader runs; those that are not C-contiguous are copied
    once, here. A file that becomes shorter meanwhile is an `Unavailable` that names it.
    """
    values = [_array(name, value) for name, value in fields.items()]
    return Pipeline(_core.Description.arrays(list(fields), values))


def Dataset(dataset: Any, workers: str = "threads", version: str | None = None, *, epoch: bool | None = None) -> Pipeline:
    """Any Python object with `__len__` and `__getitem__`, such as a `torch.utils.data.Dataset`.

    `dataset[i]` may return a dict of fields, a tuple or list (fields "0", "1", ...) or a single value (field "0"). A field
    is a number, str, bytes, a list of str or of bytes, or a NumPy array or torch tensor of bool, integers, float16, bfloat16, float32 or
    float64. Members of dicts inside a sample are fields with dotted names: an (image, target) of torchvision's detection data sets has
    the fields "0", "1.boxes" and "1.labels". Arrays whose first axis differs from sample to sample, such as boxes (n, 4), become
    (values, offsets); see docs/shapes.md.

    It is called several at a time, ahead of the batches, so what it returns must depend on i alone: a `state_dict()` that the object has
    is not part of the loader's. Or on i and the epoch: where the object, or a PyTorch data set that it wraps, has `set_epoch(epoch)`,
    that is called before the epoch's first item, with `loader.epoch`, on each copy of the object. (Your own call of it is not needed,
    and changes nothing.) Then no item is read before its epoch has begun, so each epoch begins with a wait for its first batch;
    `.map(fn, epoch=True)` has no such wait.

    Args:
        dataset: the object; its length is asked for here.
        workers: "threads": on threads of Python's, for data sets that wait for files or compute in NumPy, Pillow or torch.
            "processes": in worker processes, as many as the loader's `threads`, for code that holds the interpreter lock. Each
            has the object as it was when the loader was opened; InvalidArgument there if it cannot be pickled. "auto": on threads, and in
            worker processes once they turn out to take turns for the lock, as for `.map()`; those have the object as it is then.
        version: names what the data set gives: say another one whenever that changes, and for each data set of its type another. Part
            of the pipeline's fingerprint. With it a `.cache()` keeps samples on disk, too, for later runs; without it in memory, for as
            long as the loader lives.
        epoch: whether items follow the epoch. None: where there is a `set_epoch`. False: it is never called, items are read ahead of the
            epoch, and a `.cache()` may stand behind. True: InvalidArgument where there is no `set_epoch`.
    """
    setters = epoch_setters(dataset)
    if epoch and not setters:
        raise InvalidArgument(f"Dataset: epoch=True, and {type(dataset).__name__} has no set_epoch(epoch) to call; give it one, or use .map(fn, epoch=True)")
    follows = bool(setters) and epoch is not False
    if follows:
        _tell_of_epochs(type(dataset))
    items = run_by(workers, "Dataset", DatasetItems(dataset, EpochGate() if follows else None))
    try:
        size = len(dataset)
    except TypeError:
        raise InvalidArgument(f"Dataset: {type(dataset).__name__} has no length; __len__ and __getitem__ are needed") from None
    if not hasattr(dataset, "__getitem__"):
        raise InvalidArgument(f"Dataset: {type(dataset).__name__} has no __getitem__")
    args = plain_args("Dataset", {"size": size, "version": version, "epoch": follows or None})
    return Pipeline(_core.Description.source("dataset", args, function_name(type(dataset))), {0: items})


_told_of_epochs: set[str] = set()


def _tell_of_epochs(kind: type) -> None:
    """Once for each type what its set_epoch() costs."""
    name = function_name(kind)
    if name not in _told_of_epochs:
        _told_of_epochs.add(name)
        log().warning("Dataset(%s): it has set_epoch(), which is called for each epoch, so no item is read before its epoch has begun, and each "
                      "epoch begins with a wait for its first batch; .map(fn, epoch=True) has no such wait, and Dataset(..., epoch=False) reads "
                      "ahead where items do not follow the epoch", name)


def materialized(url: str | os.PathLike[str], original: str = "check") -> Pipeline:
    """What `materialize` wrote: in place of the steps that were run, with the ids, order and fingerprint of the original.

    Args:
        url: the folder that was written, or a copy of it: local, S3 or HTTP.
        original: "check": where the data set that it was made of can be opened, it must not have changed since; "trust": it is not looked at.

    Errors when a loader is opened: NotFound where nothing finished is there, StateMismatch where the original has changed, Corrupt for
    damaged files; a damaged sample is Corrupt when it is read.
    """
    return _source("materialized", url=os.fspath(url), original=None if original == "check" else original)


def hdf5(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    fields: Mapping[str, str],
    window: int | None = None,
    stride: int | None = None,
) -> Pipeline:
    """Rows of data sets of HDF5 files, or windows over them.

    A sample is a row of the data sets named (their first axis; all of a file have as many rows), or `window` rows together, in an array
    whose first axis they are. A window lies within one file. A sample's id is the number of its row, or window, over all files in byte
    order of their keys.

    Chunks are fetched and decoded once, several at a time, by the engine's own threads: deflate, shuffle, lzf and fletcher32. Numbers keep their
    type (big-endian ones become those of the machine, h5py's bool bool, other enumerations their integers); texts are str, values of varying
    length ragged fields. Those of varying length are read when the loader is opened, up to 64 MiB a file.

    Args:
        pattern: a folder (the *.h5, *.hdf5, *.hdf, *.he5, *.h5ad and *.nc files below it), a file, or a pattern, which may hold `*`, `?`, `[a-z]`,
            `**` and `{000..099}`; or a list of files by name. Local, S3 or HTTP.
        fields: for each field where it is in every file: a data set ("/group/data"), a member of a compound ("/table.member"), or an attribute
            ("/data@attribute"; "@attribute" of the file itself), which is the same for all rows of a file.
        window: how many rows a sample has; without it each row is one.
        stride: how many rows lie between the beginnings of two windows; by default as many as a window has, so that none is in two.

    Errors when a loader is opened: NotFound where nothing matches, or a file lacks a field (with what it has), Corrupt for damaged
    files, InvalidArgument where data sets of a file differ in rows or files in types, Unsupported for other filters (szip, nbit,
    scaleoffset, plugins), for types without a place in a batch, and for values in other files (external, virtual), which are not opened.
    """
    paths = {str(name): str(fields[name]) for name in sorted(fields)}
    return _source("hdf5", pattern=names_of(pattern), fields=paths, window=window, stride=stride)


def parquet(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    filter: Sequence[Any] | None = None,
    null: Any = "error",
    types: Mapping[str, Any] | None = None,
    *,
    follow: bool = False,
) -> Pipeline:
    """Parquet files as one table.

    Fields: one per column; the members of a struct by dotted names (`user.age`), lists as ragged fields, lists of strings as
    lists of lists of str or bytes. Folders called `name=value` below the folder given, or below the first wildcard, are columns
    too: int64 where all values are integers, else str. A sample's id is the number of its row over all files in byte order of their keys, whatever the filter.

    Args:
        pattern: a folder (the *.parquet files below it), a file, or a pattern, which may hold `*`, `?`, `[a-z]`, `**` and
            `{000..099}`; or a list of files by name.
        columns: those to read, in this order; a struct's name stands for its members.
        filter: rows to keep: a list of conditions (column, op, value), all of which must hold; or a list of such lists, one of
            which must. The op is one of ==, !=, <, <=, >, >=, "in", "not in" (with a list of values). A null matches nothing. Times
            are compared with a date, a datetime, or text such as "2026-01-31". Decided when a loader is opened: by folders, then
            by statistics, and only where these leave it open by reading the columns that it names.
        null: what becomes of a null. "error": its row is bad. A value: it stands there, in columns of its kind (bytes that are not
            UTF-8: in binary ones). `fb.NULL_MASK`: zero or an empty text stands there, and a bool field `<name>_valid` comes with it. A dict gives
            values, or `fb.NULL_MASK`, by column; a struct's name stands for its members. A column that a file lacks is null in its rows.
        types: column -> type to read it as: "bool", "int8" to "uint64", "float16" to "float64", "string", "bytes", "datetime64[D]" and [s], [ms], [us],
            [ns], "timedelta64[s]" to [ns]; of lists the type of their elements. A value that the type does not hold exactly makes its row Corrupt; only
            decimals and floats are rounded, where a float is asked for. Without it the files' types are united (docs/tables.md).
        follow: a source without an end: the rows of files that appear later, too, file after file in the order in which they appear, each once it is
            whole (docs/streams.md). One pattern, or a folder; local files. The columns are those of the first file, which must be there. A file of
            other columns is Corrupt, as one that is damaged: see on_error=. A filter is decided file by file.

    Errors when a loader is opened: NotFound where nothing matches, Corrupt for damaged files, InvalidArgument where types of files
    cannot be united (all differences at once) and for unknown columns and wrong values, Unsupported for columns that have no
    place in a batch and where the package pyarrow, which reads tables, is not installed.
    """
    if follow and not is_name(pattern):
        raise InvalidArgument("parquet: follow=True wants one pattern, which files that come later can match")
    return _source("parquet", pattern=names_of(pattern), follow=follow or None, **table_args("parquet", columns, filter, null, types))


def arrow(
    pattern_or_table: Any,
    columns: Sequence[str] | None = None,
    filter: Sequence[Any] | None = None,
    null: Any = "error",
    types: Mapping[str, Any] | None = None,
    *,
    follow: bool = False,
) -> Pipeline:
    """Arrow files ("Feather 2"), or a table in memory: what has `__arrow_c_stream__`, such as tables and record batches of
    pyarrow, data frames of pandas and Polars, and results of DuckDB; or a list of them.

    Files are as in `parquet`. A table in memory is taken here, mostly without copying it, and can be read any number of times; it
    must not change while a loader runs. A sample's id is its row.

    Args:
        pattern_or_table: files as in `parquet`, or the table.
        columns, null, types: as in `parquet`.
        filter: as in `parquet`; of a table in memory only with `null=fb.NULL_MASK`.
        follow: as in `parquet`; of files.
    """
    args = plain_args("arrow", table_args("arrow", columns, filter, null, types))
    if is_name(pattern_or_table) or (
        isinstance(pattern_or_table, (list, tuple)) and all(is_name(one) for one in pattern_or_table)
    ):
        if follow and not is_name(pattern_or_table):
            raise InvalidArgument("arrow: follow=True wants one pattern, which files that come later can match")
        return _source("arrow", pattern=names_of(pattern_or_table), follow=follow or None, **args)
    if follow:
        raise InvalidArgument("arrow: follow=True is for files, and this is a table in memory")
    tables = [pattern_or_table] if hasattr(pattern_or_table, "__arrow_c_stream__") else pattern_or_table
    if not isinstance(tables, (list, tuple)) or not all(hasattr(one, "__arrow_c_stream__") for one in tables):
        raise InvalidArgument(
            f"arrow: a {type(pattern_or_table).__name__} is no table; give a pattern, a list of files, an object with "
            "__arrow_c_stream__ (pyarrow, pandas, Polars, DuckDB), or a list of such objects"
        )
    return Pipeline(_core.Description.arrow_streams([one.__arrow_c_stream__() for one in tables], args))


def webdataset(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    fields: Mapping[str, str] | Sequence[str] | None = None,
    *,
    optional: str | Sequence[str] = (),
    chunk: int | str = "8MiB",
    split: str = "first",
    index: str = "cache",
) -> Pipeline:
    """Tar shards, as the package `webdataset` has them: files that follow each other and have one base name are a sample.

    The base name is all before the first dot of the last path component, the extension all behind it, in small letters:
    `train/0001.seg.png` is the field `seg.png` of the sample `train/0001`. Hard and symbolic links stand for the files of the shard that they
    lead to.

    Fields: one per extension, by what stands behind its last dot: `txt`, `text`, `transcript`, `json`, `jsn` are str; `cls`, `cls2`,
    `class`, `count`, `index`, `inx`, `id` are int64; all others are bytes. And `key` (str), the base name. Pickles (`pyd`, `pickle`, `pkl`,
    `pth`, `pt`, `joblib`) are refused. A sample's id is its number over all shards, in byte order of their keys.

    Args:
        pattern: a folder (the *.tar files below it), a file, or a pattern, which may hold `*`, `?`, `[a-z]`, `**` and
            `{000..099}`; or a list of files by name.
        fields: field -> extensions, such as `{"image": "jpg;png", "label": "cls"}`: the first of them that a sample has. Or a list of
            extensions. By default all that there are, each under its own name.
        optional: fields that a sample may lack. It has no bytes, an empty text or 0 there, and a bool field `<name>_valid` comes with
            it. A sample that lacks another field is Corrupt, and `on_error=` says what becomes of it.
        chunk: bytes of samples that are read together. `.shuffle()` mixes several such chunks at a time.
        split: the dot that ends a sample's name: "first"; or "last" for names with periods: `Track 2.0.mp3` is the field `mp3` of the sample
            `Track 2.0`.
        index: where it is kept what is in the shards, so that later openings need not read their headers: "cache", in this host's folder of caches; or
            "beside", in `train-000.tar.tarindex` beside each shard, for all hosts that read a shared folder. One that is damaged, or of another
            state of its shard, is told with a warning and made anew.

    Errors when a loader is opened: NotFound where nothing matches; Corrupt for damaged shards and for paths that leave their folder;
    Unsupported for compressed shards, sparse files and pickles; InvalidArgument for fields that no shard has. Later, by `on_error=`:
    Corrupt for a sample that lacks a field, NotFound for a link to a file that is not in the shard. What belongs to no sample is told by a warning.
    """
    args: dict[str, Any] = {"pattern": names_of(pattern)}
    if fields is not None:
        args["fields"] = dict(fields) if isinstance(fields, Mapping) else list([fields] if isinstance(fields, str) else fields)
    if optional:
        args["optional"] = [optional] if isinstance(optional, str) else list(optional)
    if chunk != "8MiB":
        args["chunk"] = chunk
    if split != "first":
        args["split"] = split
    if index != "cache":
        args["index"] = index
    return _source("webdataset", **args)


def _class_names(classes: Sequence[str] | Mapping[str, int] | None) -> list[str] | None:
    """The names in the order of their labels."""
    if classes is None:
        return None
    if isinstance(classes, str):
        raise InvalidArgument(f"images: classes={classes!r} is one text; give a list of names")
    if not isinstance(classes, Mapping):
        return [str(name) for name in classes]
    names = {int(label): str(name) for name, label in classes.items()}
    if sorted(names) != list(range(len(classes))):
        raise InvalidArgument(
            f"images: the labels of classes= are expected to be 0 to {len(classes) - 1}, each once; found {sorted(int(one) for one in classes.values())}"
        )
    return [names[label] for label in range(len(names))]


def _source(name: str, **args: Any) -> Pipeline:
    return Pipeline(_core.Description.source(name, plain_args(name, args)))


def _characters(name: str, array: np.ndarray) -> tuple[np.ndarray]:
    """A text a sample, as numbers: (samples, characters)."""
    if array.ndim != 1:
        raise InvalidArgument(f"arrays: '{name}' is text of {array.ndim} axes; one text a sample is needed: give each column by itself")
    if array.dtype.kind == "T":
        array = np.array(array.tolist(), "U")
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    kind = "uint8" if array.dtype.kind == "S" else "uint32"
    characters = array.dtype.itemsize // np.dtype(kind).itemsize
    if characters == 0 or len(array) == 0:
        return (np.zeros((len(array), characters), kind),)
    return (array.view(kind).reshape(len(array), characters),)


def _array(name: str, value: Any) -> np.ndarray | tuple[np.ndarray] | str:
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    what = f"arrays: '{name}'"
    try:
        array = array_of(what, value)
        if array.dtype.kind in "SUT":
            return _characters(name, array)
        array = numbers_of(what, value, array)
    except TypeError as error:
        raise InvalidArgument(str(error)) from error
    if array.ndim > MOST_AXES + 1:
        raise InvalidArgument(
            f"arrays: '{name}' has {array.ndim} axes; it may have {MOST_AXES + 1}, of which the first is the sample: reshape it"
        )
    return array
