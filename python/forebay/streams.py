"""Sources without an end. Each function describes one and touches nothing."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, Sequence

import numpy as np

from . import _core
from ._appending import plain_args
from ._feeding import Opener, UserStream
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
    """Records without an end: of a broker's log, or of an iterable of your own.

    A log has partitions, each a sequence of records with offsets. The loader merges them into one stream; a global batch is its next
    records. A sample's id is its number in that stream. See docs/streams.md.

    Args:
        url_or_factory: "redis://host:port/0/NAME", "nats://host:port/STREAM" or "kafka://host:port/TOPIC"; over TLS "rediss://" and "tls://" (NATS).
            Names of Redis may hold `{000..003}`, for several streams that are the partitions. Certificates and who asks: `storage_options=` of the
            loader. Or a function: `factory(offset)` gives an iterable, or an async iterable, of dicts (field → value) that
            begins at that offset, 0 at first; with `partition=` it is called `factory(offset, partition)`, once for each, on a thread each.
        fields: of a record's payload: name → "bytes", "text", "int64", … or (dtype, shape). Not for a factory, whose records have what they have.
        partition: of a factory: the partitions' names or numbers. Of Kafka: the number of the topic's partition that is read, or a list of them; all if
            not given. Not for other addresses: Redis' URL names the streams, and NATS has one.
        format: of payloads: "bytes" (field `bytes`, and `key`), "json", or "fields" (entries of Redis, and the one of `fields=`).
        start: "beginning", or "now": only what comes after the loader was opened for the first time (its first batch, length or state was asked for). A state goes on where
            it was made, also one of before the first batch.
        on_trimmed: "error", or "skip": what the log has forgotten before it was read is left out, with a warning.

    Errors when a loader runs: NotFound for records that the log has forgotten; a log that cannot be reached is waited for, and named in the log
    after 30 s.
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
    """As descriptions hold them: a type, or [type, [dimensions]]."""
    if not isinstance(fields, Mapping):
        raise TypeError(f'stream: fields= is {fields!r}; give a dictionary of names and types, as in {{"x": "int64"}}')
    plain = {}
    for name, field in fields.items():
        plain[str(name)] = [_type(field[0]), list(field[1])] if isinstance(field, (tuple, list)) else _type(field)
    return plain


def _type(field: Any) -> str:
    """"int64" of np.int64 and np.dtype("int64"), too."""
    if isinstance(field, np.dtype) or isinstance(field, type) and issubclass(field, np.generic):
        return np.dtype(field).name
    return str(field)
