"""Endless sources. Each function describes one and touches nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from . import _core
from ._appending import plain_args
from ._feeding import Opener, UserStream
from ._numpy import np
from ._typing import Any
from ._workers import function_name
from .errors import InvalidArgument
from .pipeline import Pipeline

__all__ = ["stream"]


def stream(
    url_or_factory: str | os.PathLike[str] | Callable[..., Any],
    fields: Mapping[str, Any] | None = None,
    partition: int | Sequence[Any] | None = None,
    *,
    format: str | None = None,  # noqa: A002
    start: str = "beginning",
    on_trimmed: str = "error",
) -> Pipeline:
    """Describes an endless source of records: a broker's log, or your own iterable.

    A log has partitions, each a sequence of records with offsets. The loader merges them into one
    stream; a global batch is its next records. A sample's id is its number in that stream. See
    docs/reference/streams.md.

    Args:
        url_or_factory: "redis://host:port/0/NAME", "nats://host:port/STREAM" or
            "kafka://host:port/TOPIC"; over TLS "rediss://" and "tls://" (NATS). Redis names may
            contain `{000..003}` for several streams, which are the partitions. Certificates and
            credentials are `storage_options=` of the loader. Or a function: `factory(offset)`
            returns an iterable, or an async iterable, of dicts (field → value) that begins at that
            offset, which is 0 at first. Given `partition=`, it is called as `factory(offset,
            partition)`, once for each partition, each on its own thread.
        fields: fields of a record's payload: name → "bytes", "text", "int64", … or (dtype, shape).
            Not for a factory, whose records bring their own fields.
        partition: for a factory: the names or numbers of the partitions. For Kafka: the number of
            the partition to read, or a list of them; all partitions by default. Not for other
            addresses: a Redis URL names the streams, and NATS has one.
        format: format of the payloads: "bytes" (field `bytes`, and `key`), "text" (field `text`, and
            `key`), "json", or "fields" (entries of Redis). The default with `fields=` is "fields"
            for Redis and "json" otherwise; without `fields=` it is "bytes".
        start: "beginning", or "now": only records that arrive after the loader was first used (its
            first batch, length or state was requested). A state continues where it was saved, even
            if it was saved before the first batch.
        on_trimmed: "error", or "skip": records that the log deleted before they were read are
            skipped, with a warning.

    Errors when a loader runs: NotFound for records that the log has deleted. If a log cannot be
    reached, the loader waits for it and logs a message after 30 s.
    """
    if start not in ("beginning", "now"):
        raise InvalidArgument(f"stream: start is {start!r}; it can be 'beginning' or 'now'")
    if on_trimmed not in ("error", "skip"):
        raise InvalidArgument(f"stream: on_trimmed is {on_trimmed!r}; it can be 'error' or 'skip'")
    options = {"start": None if start == "beginning" else start, "on_trimmed": None if on_trimmed == "error" else on_trimmed}
    if isinstance(url_or_factory, (str, os.PathLike)):
        args = {"url": os.fspath(url_or_factory), "fields": None if fields is None else _fields(fields),
                "partition": partition if partition is None or isinstance(partition, int) else list(partition), "format": format, **options}
        return Pipeline(_core.Description.source("stream", plain_args("stream", args)))
    if not callable(url_or_factory):
        raise TypeError(f"stream: give an address, or a function of the offset, not {type(url_or_factory).__name__}; "
                        "of an iterable that always begins anew: lambda offset: itertools.islice(iterable, offset, None)")
    if fields is not None or format is not None:
        raise InvalidArgument("stream: fields= and format= are for payloads of brokers; records of a function have the fields that they have")
    if start != "beginning":
        raise InvalidArgument('stream: start="now" is for brokers; a function begins where it likes')
    if isinstance(partition, (int, str)):
        raise TypeError(f"stream: partition={partition!r} is one; of a function give a list of them")
    iterable = UserStream(url_or_factory, partition)
    names = None if partition is None else [str(one) for one in partition]
    args = plain_args("stream", {"partition": names})
    return Pipeline(_core.iterable(Opener(iterable), args, function_name(url_or_factory)), {0: iterable})


def _fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the fields as descriptions hold them: a type, or [type, [dimensions]]."""
    if not isinstance(fields, Mapping):
        raise TypeError(f'stream: fields= is {fields!r}; give a dictionary of names and types, as in {{"x": "int64"}}')
    plain = {}
    for name, field in fields.items():
        plain[str(name)] = [_type(field[0]), list(field[1])] if isinstance(field, (tuple, list)) else _type(field)
    return plain


def _type(field: Any) -> str:
    """Returns the name of a type, such as "int64", also for np.int64 and np.dtype("int64")."""
    if isinstance(field, np.dtype) or isinstance(field, type) and issubclass(field, np.generic):
        return np.dtype(field).name
    return str(field)
