"""Translates petastorm's arguments into Forebay's, or raises an error that names an alternative."""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass
from typing import Any, Callable, Sequence
from urllib.parse import unquote, urlsplit

from .._table_args import NULL_MASK
from ..errors import InvalidArgument
from ..pipeline import Pipeline
from ..sources import parquet


@dataclass
class TransformSpec:
    """A transformation of the rows of a group: `func(frame)` gets a pandas.DataFrame and returns
    one.

    Args:
        func: the function; None if fields are only removed or selected.
        edit_fields: fields that `func` adds or changes: (name, NumPy type, shape, nullable).
        removed_fields: names of fields to drop.
        selected_fields: names of the fields to keep, in this order; cannot be combined with
            `removed_fields`.
    """

    func: Callable[[Any], Any] | None = None
    edit_fields: Sequence[tuple[Any, ...]] | None = None
    removed_fields: Sequence[str] | None = None
    selected_fields: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if self.removed_fields is not None and self.selected_fields is not None:
            raise ValueError("TransformSpec: give removed_fields or selected_fields, not both")
        self.edit_fields = list(self.edit_fields or [])
        self.removed_fields = list(self.removed_fields or [])


_S3FS = {"key": "access_key_id", "secret": "secret_access_key", "token": "session_token", "anon": "anonymous", "endpoint_url": "endpoint"}


def _refuse(name: str, value: Any, instead: str) -> InvalidArgument:
    return InvalidArgument(f"make_batch_reader: {name}={value!r} cannot be honoured; {instead}")


def check_unused(
    *,
    shuffle_row_drop_partitions: Any,
    rowgroup_selector: Any,
    shard_seed: Any,
    cache_extra_settings: Any,
    filesystem: Any,
    results_queue_size: Any,
    num_epochs: Any,
) -> None:
    if shuffle_row_drop_partitions != 1:
        raise _refuse("shuffle_row_drop_partitions", shuffle_row_drop_partitions,
                      "use fb.parquet(...).shuffle(block=8), which mixes the rows of several row groups and reads each once")
    if rowgroup_selector is not None:
        raise _refuse("rowgroup_selector", rowgroup_selector, "use filters=, which leave out row groups by their statistics")
    if shard_seed is not None:
        raise _refuse("shard_seed", shard_seed, "use seed=, which decides the shards, too")
    if cache_extra_settings:
        raise _refuse("cache_extra_settings", cache_extra_settings, "the cache here has a place and a limit, nothing else")
    if filesystem is not None:
        raise _refuse("filesystem", filesystem, "give the URL, and storage_options= for what the storage needs")
    if not isinstance(results_queue_size, int) or results_queue_size < 1:
        raise ValueError(f"results_queue_size is {results_queue_size!r}; it must be a positive integer")
    if num_epochs is not None and (not isinstance(num_epochs, int) or num_epochs < 1):
        raise ValueError(f"num_epochs is {num_epochs!r}; it must be a positive integer, or None for no end")


def sharding(cur_shard: Any, shard_count: Any) -> tuple[int, int]:
    if cur_shard is None and shard_count is None:
        return 0, 1
    if not isinstance(cur_shard, int) or not isinstance(shard_count, int) or not 0 <= cur_shard < shard_count:
        raise ValueError(f"cur_shard={cur_shard!r} and shard_count={shard_count!r}: give both as integers, the first below the second")
    return cur_shard, shard_count


def order_seed(seed: int | None, shard_count: int) -> int:
    """Returns the seed of the order. Shards without a seed must agree on one order, or they would
    share rows.
    """
    if seed is not None:
        return seed
    return secrets.randbits(63) if shard_count == 1 else 0


def loader_options(pool: Any, workers: Any, seed: int, storage: dict[str, Any] | None) -> dict[str, Any]:
    if pool not in ("thread", "process", "dummy"):
        raise ValueError(f"Unknown reader_pool_type: {pool}; it can be 'thread', 'process' or 'dummy'")
    if not isinstance(workers, int) or workers < 1:
        raise ValueError(f"workers_count is {workers!r}; it must be a positive integer")
    return {
        "seed": seed,
        "threads": 1 if pool == "dummy" else min(workers, len(os.sched_getaffinity(0))),
        "storage_options": {_S3FS.get(name, name): value for name, value in (storage or {}).items()},
    }


def source(urls: Any, filters: Any) -> Pipeline:
    """Returns the data set with all its columns."""
    several = not isinstance(urls, (str, os.PathLike))
    paths = [_path(url) for url in urls] if several else _path(urls)
    conditions = None if filters is None else _conditions(filters)
    return parquet(paths, filter=conditions, null=NULL_MASK)


def _path(url: Any) -> str:
    text = os.fspath(url)
    parts = urlsplit(text)
    if parts.scheme == "file":
        return unquote(parts.path)
    if parts.scheme in ("", "s3", "http", "https"):
        return text.rstrip("/") if parts.scheme == "s3" else text
    if parts.scheme in ("s3a", "s3n"):
        return "s3" + text[len(parts.scheme):].rstrip("/")
    raise _refuse("dataset_url_or_urls", text, "file://, s3://, http:// and https:// are read; mount the storage or copy the data")


def _conditions(filters: Any) -> list[Any]:
    if not isinstance(filters, (list, tuple)):
        raise _refuse("filters", filters, "give [(column, op, value), ...], or a list of such lists")
    return [_condition(one) if isinstance(one, tuple) else _conditions(one) for one in filters]


def _condition(one: tuple) -> tuple:
    if len(one) != 3:
        raise ValueError(f"filters: {one!r} is no (column, op, value)")
    column, op, value = one
    return column, "==" if op == "=" else op, value
