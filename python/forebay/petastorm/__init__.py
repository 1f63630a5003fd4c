"""petastorm's `make_batch_reader` on Forebay's engine, for Parquet stores of plain columns.

    from forebay.petastorm import make_batch_reader

    with make_batch_reader("file:///data/train", num_epochs=2, seed=7) as reader:
        for group in reader:  # a namedtuple of arrays
            step(group.price, group.label)

It differs from petastorm on purpose: the same seed gives the same order for any number of threads,
every epoch has another order, every row occurs once in every epoch, shards differ by at most one
row, and `filters` apply to rows. Dates are datetime64, too. Columns that petastorm omits are
included: structs as one field per member (`point.x` is the field `point_x`), and times of day
(timedelta64).
"""

from __future__ import annotations

from typing import Any, Sequence

from ._arguments import TransformSpec, check_unused, loader_options, order_seed, sharding, source
from ._reader import Reader, Settings

__all__ = ["Reader", "TransformSpec", "make_batch_reader"]


def make_batch_reader(
    dataset_url_or_urls: str | Sequence[str],
    schema_fields: Sequence[str] | None = None,
    reader_pool_type: str = "thread",
    workers_count: int = 10,
    results_queue_size: int = 50,
    seed: int | None = None,
    shuffle_rows: bool = False,
    shuffle_row_groups: bool = True,
    shuffle_row_drop_partitions: int = 1,
    predicate: Any = None,
    rowgroup_selector: Any = None,
    num_epochs: int | None = 1,
    cur_shard: int | None = None,
    shard_count: int | None = None,
    shard_seed: int | None = None,
    cache_type: str | None = "null",
    cache_location: str | None = None,
    cache_size_limit: int | None = None,
    cache_row_size_estimate: int | None = None,
    cache_extra_settings: dict[str, Any] | None = None,
    hdfs_driver: str = "libhdfs3",
    transform_spec: Any = None,
    filters: Any = None,
    storage_options: dict[str, Any] | None = None,
    zmq_copy_buffers: bool = True,
    filesystem: Any = None,
    convert_early_to_numpy: bool = False,
    *,
    memory: int | str = "auto",
) -> Reader:
    """Returns a reader whose items are namedtuples of arrays, one per row group.

    A field of numbers is an array of its type, (rows,) or (rows, *shape). Text is an array of
    `str`, bytes an array of objects. Lists are (rows, length), or an array of arrays if their
    lengths differ; lists of text or bytes hold objects, with None for a null string. Dates and
    timestamps are datetime64 in the column's own unit (dates: "D"), in UTC. If values are null,
    integers become float64 with NaN, floats have NaN, dates and times NaT, and all others are
    arrays of objects with None.

    Args:
        dataset_url_or_urls: a folder or a list of files: paths, `file://`, `s3://`, `http://` or
            `https://`.
        schema_fields: regular expressions; a column is read if one of them matches its whole name
            (for a member of a struct: `point.x` or `point_x`).
        reader_pool_type: "thread", "process" or "dummy"; all three use the engine's threads
            ("dummy": one).
        workers_count: the most threads that decode; more than the number of cores are not used.
        results_queue_size: no effect: `memory` limits prefetching in bytes.
        seed: seed of the order. None: a different one each time; shards, which must agree on an
            order, use 0.
        shuffle_rows: mixes the rows of a row group. To mix several row groups use
            `fb.parquet(...).shuffle(block=8)`.
        shuffle_row_groups: mixes the row groups differently in every epoch.
        shuffle_row_drop_partitions: only 1.
        predicate: an object with `get_fields()` and `do_include(frame)`, which gets a
            pandas.DataFrame of these fields and returns which rows to keep. If all these fields are
            partition folders it gets a dict of single values instead, once for each row group, and
            returns whether to keep the group.
        rowgroup_selector: only None; `filters` skip row groups by their statistics.
        num_epochs: number of passes over all rows; None: endless.
        cur_shard, shard_count: the number of this reader, and the number of readers. Under
            `shuffle_row_groups` a shard has its own row groups, except for those at its two ends.
            All shards must get the same `seed`, or none.
        shard_seed: only None: `seed` decides.
        cache_type: "null" or None; "local-disk" keeps decoded row groups in `cache_location`
            (shared by all Forebay readers), `cache_size_limit` bytes in total.
        cache_row_size_estimate: no effect: sizes are known.
        cache_extra_settings: None or empty.
        hdfs_driver: no effect: HDFS is not supported.
        transform_spec: petastorm's TransformSpec, or the one of this module. Its function gets a
            pandas.DataFrame of a row group and returns one; it runs on the iterating thread.
            Members of structs and lists of lists are then read only if `schema_fields`,
            `selected_fields` or `edit_fields` names them.
        filters: [(column, op, value), ...], all of which must hold, or a list of such lists, one of
            which must hold. They apply to every row. A member of a struct is named `point.x` here.
        storage_options: those of the loader, or s3fs's `key`, `secret`, `token`, `anon`,
            `endpoint_url`.
        zmq_copy_buffers: no effect: ZeroMQ is not used.
        filesystem: only None.
        convert_early_to_numpy: no effect: it is always done.
        memory: as in `fb.Loader`; petastorm does not have it.

    Errors: ValueError where petastorm raises it; InvalidArgument, which names an alternative, for
    arguments that cannot be honoured; the loader's own when the data set is opened.
    """
    check_unused(
        shuffle_row_drop_partitions=shuffle_row_drop_partitions,
        rowgroup_selector=rowgroup_selector,
        shard_seed=shard_seed,
        cache_extra_settings=cache_extra_settings,
        filesystem=filesystem,
        results_queue_size=results_queue_size,
        num_epochs=num_epochs,
    )
    rank, world_size = sharding(cur_shard, shard_count)
    settings = Settings(
        shuffle_row_groups=bool(shuffle_row_groups),
        shuffle_rows=bool(shuffle_rows),
        num_epochs=num_epochs,
        predicate=predicate,
        transform_spec=transform_spec,
        cache=(cache_type, cache_location, cache_size_limit),
        options=loader_options(reader_pool_type, workers_count, order_seed(seed, world_size), storage_options)
        | {"rank": rank, "world_size": world_size, "memory": memory},
    )
    return Reader(source(dataset_url_or_urls, filters), schema_fields, settings)
