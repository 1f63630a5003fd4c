"""The sources of pipelines. Each function describes a data set and touches no storage."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from . import _core
from ._appending import plain_args
from ._epochs import EpochGate, epoch_setters
from ._numpy import np
from ._pool import log
from ._table_args import NULL_MASK, is_name, names_of, table_args, types_of
from ._typing import Any
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
    "megatron",
    "parquet",
    "text",
    "webdataset",
]


def images(
    root: str | os.PathLike[str], split_by: str = "folder", classes: Sequence[str] | Mapping[str, int] | None = None
) -> Pipeline:
    """Describes a folder of pictures with one sub-folder per class.

    Fields:
        image: bytes, encoded until `.decode_image()`.
        label: int64, the number of the class. Classes are the sub-folders sorted by name.
        key: str, the path below the root.

    A sample's id is the rank of its key in byte order. Files that end in jpg, jpeg, jpe, jfif, png,
    webp or bmp are read as pictures. Hidden files are ignored. Other files are ignored too, with
    one `DataWarning` if they look like data (TIFF, GIF, archives). A broken link with the name of a
    picture is a sample that raises NotFound when it is read.

    Args:
        root: a folder, or a URL.
        split_by: "folder": each folder in the root is a class. "none": all pictures below the root,
            at any depth, without `label`.
        classes: names of the class folders in the order of their labels, for example
            `loader.classes` of the training loader, or a dict from names to labels (0 to n - 1,
            each once). A class without a folder keeps its label. Other folders are ignored, with a
            `DataWarning`. None: all sub-folders, sorted by name; labels then differ between roots
            that have different class folders.

    Errors when a loader is opened: NotFound if the folder is missing or has no pictures, and for a
    broken link that may be a class; InvalidArgument if pictures lie beside class folders;
    Unsupported if a class has files but none that can be read.
    """
    return _source("images", root=os.fspath(root), split_by=split_by, classes=_class_names(classes))


def files(pattern_or_list: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], *, follow: bool = False) -> Pipeline:
    """Describes files that are delivered as they are.

    Fields: `bytes` and `key` (str).

    Args:
        pattern_or_list: a pattern, which may contain `*`, `?`, `[a-z]`, `**`, `{a,b}` and
            `{000..099}` (ids are assigned by key in byte order), or a list of file names (ids are
            positions in the list).
        follow: makes an endless source that also delivers files that appear later, each as soon as
            it is complete (docs/reference/streams.md). Only for local folders.
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
    """Describes objects that are listed in a file, one per row: CSV, TSV, a text list (.txt, .lst),
    JSONL or Parquet.

    Fields: `bytes` of the object, `key` (str, its path as listed), and every other column under its
    own name. A sample's id is its row number.

    A text column becomes numbers only if printing the numbers reproduces the file's text. Whole
    numbers become int64 (uint64 if one is 2**63 or more) if none has a plus sign, leading zeros or
    blanks. Floats become float64 if all are in their shortest form or all have the same number of
    decimals. "true" and "false" become bool. All other columns are str, so "00501", "+4912", "1e5"
    and "1_000" stay unchanged. `types=` overrides this rule. JSONL and Parquet values keep their
    types; a JSON whole number that does not fit into 64 bits is Corrupt.

    Args:
        url: the list; the ending of its name decides the format. Fields of a text list are
            separated by tabs or blanks, as in "n01440764/a.JPEG 0".
        root: the folder that the paths are relative to; by default the folder that contains the
            list.
        path: the column that holds the paths. In JSON lines each may be a list of paths, and `bytes`
            is a list then, too.
        header: False: the first line is a row, and `columns` gives the names. For CSV, TSV and text
            lists.
        columns: column names of a list without a header, one for each field of a line.
        types: column → type ("string", "bool", "int8" to "uint64", "float16" to "float64", or a
            NumPy dtype). Numbers of such a column may have blanks, plus signs and leading zeros.

    Errors when a loader is opened: InvalidArgument if a column is missing or the first line looks
    like a row instead of a header; Corrupt, with the line, if a line has a different number of
    fields, a number is empty, or a value is not of its type in `types`.
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
    """Describes text files; each line or each file is a sample.

    Fields: `text` (str) and `key` (str). The key is the path below the given folder or below the
    first wildcard; the key of a line ends in its line number, as in "emma.txt:17". A line ends at
    "\\n" or "\\r\\n", which is not part of it. Empty lines are samples, and so is a last line
    without a line ending. A byte order mark at the beginning of a file is skipped. A sample's id is
    its line number over all files in byte order of their keys.

    Lines are read in slices of about 1 MiB, so `.shuffle()` works block by block. Opening a loader
    reads through the files once to find the line positions. For files of 8 MiB and more the
    positions are cached in ~/.cache/forebay/lines until the file changes.

    Args:
        pattern: a folder (the *.txt and *.text files below it), a file, a pattern, which may
            contain `*`, `?`, `[a-z]`, `**` and `{000..099}`, or a list of file names. For by="file"
            as in `files`.
        by: "line" or "file".
        follow: makes an endless source that also delivers lines that are written later, each as
            soon as it is complete (docs/reference/streams.md). Only for local files; each file is a
            partition.

    A line or file that is not UTF-8, or a line of more than 16 MiB, is Corrupt, with file and line.
    Errors when a loader is opened: NotFound if nothing matches, Unsupported for compressed files.
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
    """Describes JSON records, one per line, or the elements of a JSON list.

    Fields: one per member. Members of objects get dotted names (`user.age`). Lists of numbers or of
    bools are ragged fields, lists of strings are lists of str. A value of any other kind is a str
    with its JSON text. A line that is not an object is a record with the single member `value`.
    Blank lines are skipped. A sample's id is its record number over all files in byte order of
    their keys.

    If a file is one JSON list, on one line or indented, its elements are the samples. Values that
    span several lines are one sample each. UTF-16 files with a byte order mark are read as well.

    Args:
        pattern: a folder (the *.jsonl, *.ndjson and *.jsonlines files below it), a file, a pattern
            as in `text`, or a list of file names.
        fields: the members to read, with their types: "bool", "int64", "uint64", "float64", "text",
            "json" (any value, as its text), "bool[]", "int64[]", "float64[]", "text[]". By default
            all members of the first thousand records, with types that fit all of these records;
            members that only later records have are ignored.
        null: how to treat a member that is null or missing. "error": its record is bad. A value:
            replaces it in fields of the value's kind. A dict gives values by field.
        nan: how to treat NaN, Infinity and -Infinity, which Python writes although JSON does not
            have them. "error": the record is bad. "keep": they are values of float64 fields.
            "null": they are null.
        follow: makes an endless source that also delivers records that are written later, each as
            soon as its line is complete (docs/reference/streams.md). Only for local files, each of
            which is a partition. Requires fields=.

    A record that is not JSON, or has a value whose type is not that of its field, is Corrupt, with
    file and line. Errors when a loader is opened: those of `text`; Corrupt if none of the first
    records is JSON and no fields are given.
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
    """Describes arrays in memory, or `.npy` files, which are memory-mapped. The first axis counts
    samples.

    Fields: one per argument, of shape `array.shape[1:]` with at most seven axes. NumPy arrays and
    torch tensors may be bool, integers, float16, bfloat16 (also of ml_dtypes), float32 or float64.
    Text arrays (dtypes `U` and `S`) give one str per sample; a batch holds them as a list of str. A
    sample's id is its index. InvalidArgument, which names an alternative, for other types and for
    masked arrays with masked elements.

    Arrays are not copied, so they must not change while a loader runs. Arrays that are not
    C-contiguous are copied once, by this call. A file that is truncated while a loader runs raises
    `Unavailable`, which names the file.
    """
    values = [_array(name, value) for name, value in fields.items()]
    return Pipeline(_core.Description.arrays(list(fields), values))


def Dataset(dataset: Any, workers: str = "threads", version: str | None = None, *, epoch: bool | None = None) -> Pipeline:
    """Describes a Python object with `__len__` and `__getitem__`, such as a
    `torch.utils.data.Dataset`.

    `dataset[i]` may return a dict of fields, a tuple or list (fields "0", "1", ...) or a single
    value (field "0"). A field is a number, str, bytes, a list of str or of bytes, or a NumPy array
    or torch tensor of bool, integers, float16, bfloat16, float32 or float64. Members of a dict
    inside a sample become fields with dotted names: an (image, target) of torchvision's detection
    data sets has the fields "0", "1.boxes" and "1.labels". Arrays whose first axis differs from
    sample to sample, such as boxes (n, 4), become (values, offsets); see docs/reference/shapes.md.

    Several threads or processes call `dataset[i]` at the same time, ahead of the batches, so the
    result must depend on i alone. The object's own `state_dict()`, if any, is not part of the
    loader's state.

    The result may also depend on the epoch: if the object, or a PyTorch data set that it wraps, has
    `set_epoch(epoch)`, the loader calls it with `loader.epoch` on each copy of the object before
    the epoch's first item. You need not call it yourself; your call has no effect. Items are then
    read only after their epoch has begun, so each epoch begins with a wait for its first batch.
    `.map(fn, epoch=True)` has no such wait.

    Args:
        dataset: the object; this call asks for its length.
        workers: "threads": Python threads, for data sets that wait for files or compute in NumPy,
            Pillow or torch. "processes": as many worker processes as the loader's `threads`, for
            code that holds the interpreter lock. Each process gets the object as it was when the
            loader was opened; opening raises InvalidArgument if the object cannot be pickled.
            "auto": threads first, and worker processes if the threads turn out to take turns for
            the lock, as for `.map()`. These processes get the object as it is at that moment.
        version: a name for the data's content, part of the pipeline's fingerprint. Change it
            whenever the content changes, and use different names for different data sets of one
            type. Given a version, `.cache()` also keeps samples on disk for later runs; without
            one, only in memory for the lifetime of the loader.
        epoch: whether items depend on the epoch. None: they do if there is a `set_epoch`. False:
            `set_epoch` is never called, items are read ahead of the epoch, and a `.cache()` may
            follow. True: InvalidArgument if there is no `set_epoch`.
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
    """Logs, once for each type, what its set_epoch() costs."""
    name = function_name(kind)
    if name not in _told_of_epochs:
        _told_of_epochs.add(name)
        log().warning("Dataset(%s): it has set_epoch(), which is called for each epoch, so no item is read before its epoch has begun, and each "
                      "epoch begins with a wait for its first batch; .map(fn, epoch=True) has no such wait, and Dataset(..., epoch=False) reads "
                      "ahead where items do not follow the epoch", name)


def materialized(url: str | os.PathLike[str], original: str = "check") -> Pipeline:
    """Describes the output of `materialize`. It replaces the steps that were run and has the ids,
    order and fingerprint of the original.

    Args:
        url: the folder that was written, or a copy of it: local, S3 or HTTP.
        original: "check": the original data set must be unchanged if it can be opened. "trust": the
            original is not opened.

    Errors when a loader is opened: NotFound if there is no finished output, StateMismatch if the
    original has changed, Corrupt for damaged files. A damaged sample is Corrupt when it is read.
    """
    return _source("materialized", url=os.fspath(url), original=None if original == "check" else original)


def hdf5(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    fields: Mapping[str, str],
    window: int | None = None,
    stride: int | None = None,
) -> Pipeline:
    """Describes rows of HDF5 data sets, or windows over them.

    A sample is one row of the named data sets (along their first axis; all data sets of a file have
    the same number of rows), or `window` rows together in an array whose first axis is the row. A
    window lies within one file. A sample's id is the number of its row, or of its window, over all
    files in byte order of their keys.

    The engine's own threads fetch and decode each chunk once, several chunks at a time. Supported
    filters are deflate, shuffle, lzf and fletcher32. Numbers keep their type: big-endian numbers
    are converted to the byte order of the machine, h5py's bool is bool, and other enumerations are
    their integers. Texts are str, and values of varying length are ragged fields. Values of varying
    length are read when the loader is opened, up to 64 MiB per file.

    Args:
        pattern: a folder (the *.h5, *.hdf5, *.hdf, *.he5, *.h5ad and *.nc files below it), a file,
            a pattern, which may contain `*`, `?`, `[a-z]`, `**` and `{000..099}`, or a list of file
            names. Local, S3 or HTTP.
        fields: field → its place in every file: a data set ("/group/data"), a member of a compound
            type ("/table.member"), or an attribute ("/data@attribute"; "@attribute" of the file
            itself), which is the same for all rows of a file.
        window: rows per sample; by default a sample is a single row without the window axis.
        stride: rows between the beginnings of two windows; by default the window's length, so that
            windows do not overlap.

    Errors when a loader is opened: NotFound if nothing matches or a file lacks a field (the message
    lists what it has), Corrupt for damaged files, InvalidArgument if the data sets of a file differ
    in their number of rows or files differ in types, Unsupported for other filters (szip, nbit,
    scaleoffset, plugins), for types that a batch cannot hold, and for values in other files
    (external, virtual), which are not opened.
    """
    paths = {str(name): str(fields[name]) for name in sorted(fields)}
    return _source("hdf5", pattern=names_of(pattern), fields=paths, window=window, stride=stride)


def megatron(prefix: str | os.PathLike[str], by: str = "document") -> Pipeline:
    """Describes an indexed data set of Megatron-LM: the tokens of `prefix`.bin, which `prefix`.idx
    divides into sequences and documents.

    Fields:
        tokens: a row of the data set's own type (uint16 or int32, as Megatron writes them; also
            uint8, int8, int16, int64, float32 and float64), ragged: documents differ in length.
        mode: int8, only for `by="sequence"`, and only if the index has modes (multimodal data sets).

    A sample's id is the number of its document, or of its sequence. The index is read and checked
    when a loader is opened and takes 12 bytes of memory per sample. Tokens are read sample by sample,
    as ranges of the .bin file: from local disks, S3 and HTTP. Nothing is copied or converted
    beforehand.

    Args:
        prefix: the path of both files without `.bin` and `.idx`, which is what Megatron's
            `--data-path` takes. Local, S3 or HTTP.
        by: "document": all sequences of a document, joined, are a sample. "sequence": each sequence
            is one.

    Errors when a loader is opened: NotFound if one of the files is missing; Corrupt if the index is
    truncated, has negative lengths, or has sequences that lie outside the .bin file; Unsupported for
    other versions of the format, and for documents whose sequences do not follow each other in the
    .bin file; InvalidArgument if there is no token.
    """
    return _source("megatron", prefix=os.fspath(prefix), by=by)


def parquet(
    pattern: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    columns: Sequence[str] | None = None,
    filter: Sequence[Any] | None = None,
    null: Any = "error",
    types: Mapping[str, Any] | None = None,
    *,
    follow: bool = False,
) -> Pipeline:
    """Describes Parquet files as one table.

    Fields: one per column. Members of a struct get dotted names (`user.age`), lists are ragged
    fields, lists of strings are lists of lists of str or bytes. Folders named `name=value` below
    the given folder, or below the first wildcard, are columns too: int64 if all values are
    integers, otherwise str. A sample's id is its row number over all files in byte order of their
    keys, whatever the filter.

    Args:
        pattern: a folder (the *.parquet files below it), a file, a pattern, which may contain `*`,
            `?`, `[a-z]`, `**` and `{000..099}`, or a list of file names.
        columns: the columns to read, in this order. The name of a struct stands for its members.
        filter: the rows to read: a list of conditions (column, op, value), all of which must hold,
            or a list of such lists, one of which must hold. The op is one of ==, !=, <, <=, >, >=,
            "in", "not in" (with a list of values). A null matches nothing. Times are compared with
            a date, a datetime, or text such as "2026-01-31". The filter is evaluated when a loader
            is opened: by folder names, then by statistics, and only if these do not decide by
            reading the columns that it names.
        null: how to treat nulls. "error": the row is bad. A value: replaces nulls in columns of the
            value's kind (bytes that are not UTF-8: in binary columns). `fb.NULL_MASK`: zero or an
            empty text replaces nulls, and a bool field `<name>_valid` is added. A dict gives
            values, or `fb.NULL_MASK`, by column; the name of a struct stands for its members. A
            column that a file lacks is null in its rows.
        types: column → type to read it as: "bool", "int8" to "uint64", "float16" to "float64",
            "string", "bytes", "datetime64[D]" and [s], [ms], [us], [ns], "timedelta64[s]" to [ns];
            for lists the type of their elements. A row is Corrupt if the type cannot hold its value
            exactly; only decimals and floats are rounded, if a float type is requested. By default
            the types of the files are unified (docs/reference/tables.md).
        follow: makes an endless source that also delivers the rows of files that appear later, file
            by file in the order of appearance, each as soon as it is complete
            (docs/reference/streams.md). Takes one pattern, or a folder, of local files. The first
            file must exist and decides the columns. A file with other columns is Corrupt, as a
            damaged file is; see on_error=. The filter is evaluated file by file.

    Errors when a loader is opened: NotFound if nothing matches, Corrupt for damaged files,
    InvalidArgument if types of files cannot be unified (all differences at once) and for unknown
    columns and wrong values, Unsupported for columns that a batch cannot hold and if the package
    pyarrow, which reads tables, is not installed or is of a release that Forebay was not built for.
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
    """Describes Arrow files ("Feather 2"), or a table in memory.

    A table in memory is an object with `__arrow_c_stream__`, such as tables and record batches of
    pyarrow, data frames of pandas and Polars, and results of DuckDB, or a list of such objects.
    This call takes it, mostly without a copy, and it can be read any number of times. It must not
    change while a loader runs. A sample's id is its row number.

    Args:
        pattern_or_table: files as in `parquet`, or the table.
        columns, null, types: as in `parquet`.
        filter: as in `parquet`; for a table in memory only with `null=fb.NULL_MASK`.
        follow: as in `parquet`; for files only.
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
    """Describes tar shards in the convention of the package `webdataset`: consecutive files with
    the same base name are one sample.

    The base name is everything before the first dot of the last path component; the extension is
    the rest, in lower case. `train/0001.seg.png` is the field `seg.png` of the sample `train/0001`.
    Hard and symbolic links stand for the files of the shard that they point to.

    Fields: one per extension, with a type that follows from the part after its last dot: `txt`,
    `text`, `transcript`, `json`, `jsn` are str; `cls`, `cls2`, `class`, `count`, `index`, `inx`,
    `id` are int64; all others are bytes. The field `key` (str) is the base name. Pickles (`pyd`,
    `pickle`, `pkl`, `pth`, `pt`, `joblib`) are refused. A sample's id is its number over all
    shards, in byte order of their keys.

    Args:
        pattern: a folder (the *.tar files below it), a file, a pattern, which may contain `*`, `?`,
            `[a-z]`, `**` and `{000..099}`, or a list of file names.
        fields: field → extensions, such as `{"image": "jpg;png", "label": "cls"}`; the first
            extension that a sample has is used. Or a list of extensions. By default all extensions,
            each under its own name.
        optional: fields that a sample may lack. Their value is then empty bytes, an empty text or
            0, and a bool field `<name>_valid` is added. A sample that lacks any other field is
            Corrupt, and `on_error=` decides how it is treated.
        chunk: bytes of samples that are read together. `.shuffle()` mixes several such chunks at a
            time.
        split: the dot that ends a sample's name: "first", or "last" for names with periods: `Track
            2.0.mp3` is the field `mp3` of the sample `Track 2.0`.
        index: where to store the index of each shard, so that later openings need not read the
            shard's headers. "cache": in this host's cache folder. "beside": in
            `train-000.tar.tarindex` beside each shard, for all hosts that read a shared folder. An
            index that is damaged or out of date is rebuilt, with a warning.

    Errors when a loader is opened: NotFound if nothing matches; Corrupt for damaged shards and for
    paths that leave their folder; Unsupported for compressed shards, sparse files and pickles;
    InvalidArgument for fields that no shard has. Errors when a sample is read, subject to
    `on_error=`: Corrupt if it lacks a field, NotFound for a link to a file that is not in the
    shard. Files that belong to no sample are reported by a warning.
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
    """Returns the class names in the order of their labels."""
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
    """Returns one text per sample as numbers: (samples, characters)."""
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
