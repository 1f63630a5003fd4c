"""The steps of a pipeline that give the same in each epoch, run once and written in a format that others read, too."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from . import _core, _ray_train
from ._options import _count, _count_or_auto, plain_options
from ._trying import Opener, numbers_of
from .errors import InvalidArgument
from .pipeline import Pipeline

__all__ = ["Materialized", "materialize"]


@dataclass(frozen=True)
class Materialized:
    """What was written.

    Attributes:
        pipeline: reads it, with the steps behind the cut: the same batches as the pipeline that was given.
        cut: the step behind which it was cut.
        samples: of the data set.
        shards: files of all of it.
        written: samples by this call; fewer where something was there already.
        reused: of those: taken from what was there, without running the steps (`update=True`).
        bytes: of all files that are done.
        seconds: that this call took.
        complete: False where other ranks have shards to write yet; there is nothing to read before.
    """

    pipeline: Pipeline
    cut: str
    samples: int
    shards: int
    written: int
    reused: int
    bytes: int
    seconds: float
    complete: bool


def materialize(
    pipeline: Pipeline,
    url: str | os.PathLike[str],
    cut: str = "best",
    format: str = "arrow",
    compression: str | None = None,
    quality: int | None = None,
    limit: int | None = None,
    restart_markers: bool = False,
    shards: int | str = "auto",
    update: bool = False,
    rank: int | None = None,
    world_size: int | None = None,
    engine: str | None = None,
    workers: int | None = None,
    url_options: Mapping[str, Any] | None = None,
    progress: Callable[[Mapping[str, Any]], object] | None = None,
    **options: Any,
) -> Materialized:
    """Runs the steps before the cut once for all samples and writes what they give, here or in a bucket, in files that others read, too.

    `fb.materialized(url)` reads it in place of these steps: ids, order, fingerprint and values are those of the original, so a digest is, too
    (but for `format="jpeg"` without `restart_markers`, which is a data set of its own).
    It may be stopped, or killed, at any moment; the same call goes on. Equal calls write equal files.

    Args:
        pipeline: as for a Loader. Steps behind the cut are not run. Its functions before the cut are run once.
        url: a local folder, made if it is not there; or s3://bucket/prefix.
        cut: behind which step: its name, "last" (the last one that gives the same each epoch), or "best": the one that `profile()` finds fastest
            in files, which takes a minute.
        format: "arrow": Arrow IPC files ("Feather 2"), with a column `id`; "parquet", for tables: Parquet files with it; "wds", for samples: tar files that
            readers of WebDataset open, in which pixels are PNG; "jpeg": such tar files in which pictures are JPEG. That loses something, so
            it has a fingerprint and a version of its own, and states of the original are refused.
        compression: of tables "lz4" or "zstd". Samples that are read one by one are written as they are.
        quality: of "jpeg", 1 to 100; 90 if not given.
        limit: of "jpeg": pictures are made smaller until no side has more pixels.
        restart_markers: of "jpeg": JPEGs keep their coefficients and get a restart marker behind each row of blocks; other pictures stay as they
            are. Each is decoded and compared, so pixels are the same, and this is the original, as with other formats. `.decode_image()` has to
            follow the cut.
        shards: how many files, as far as a table's row groups allow it; "auto" is as many as give 64 MiB each.
        update: what is finished there may be of an earlier version of the data. What has not changed since is taken from it, the steps are run for the rest, and
            the result is what a new folder would have. Until it is finished the old one can be read. In a bucket the new files lie in a folder of
            their own below `url`.
        rank, world_size: this call writes every world_size-th file; call it once for each rank, on any host that has the folder. By default
            from Ray Train, or torchrun, Slurm or MPI variables, as a Loader finds them; else this call writes all.
        engine: "ray": shards are tasks of Ray, on the cluster that there is (as `ray.init()` finds it) or on one started here; what a worker
            or a host that dies was writing is written by another. Functions and data sets of the pipeline are sent as Ray sends such.
        workers: with engine="ray": so many shards at a time; by default as many as Ray has cores for, each with `threads` (1 unless given).
        url_options: of the store that `url` is in; by default `storage_options`.
        progress: called now and then with `samples_done`, `samples`, `shards_done`, `shards`, `bytes` and `seconds`; with engine="ray" after each
            shard, and without `bytes`.
        options: of the Loader: `threads`, `memory`, `storage_options`, ….

    Errors: those of the Loader; InvalidArgument for a cut that there is not, for `.take()`, `.filter()` and `filter=` before it, and for a folder that holds
    something else; Unsupported for fields that the format cannot hold, and for other URLs; Unavailable where the folder
    cannot be written: what is done stays.
    """
    if not isinstance(pipeline, Pipeline):
        raise TypeError(f"materialize() takes a Pipeline, not {type(pipeline).__name__}")
    for name, number in (("quality", quality), ("limit", limit)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or not 1 <= number < 1 << 31):
            raise InvalidArgument(f"{name} is {number!r}; it is a whole number from 1 on")
    arguments = {
        **numbers_of(options),
        "url_options": plain_options(options.get("storage_options") if url_options is None else url_options),
        "cut": cut,
        "format": format,
        "compression": compression or "",
        "quality": quality,
        "limit": limit,
        "restart_markers": bool(restart_markers),
        "update": bool(update),
        "shards": _count_or_auto("shards", shards),
    }
    if engine is not None:
        if engine != "ray":
            raise InvalidArgument(f"engine is {engine!r}; it is None or 'ray'")
        if rank is not None or world_size is not None:
            raise InvalidArgument("rank= and world_size= share the work among calls; with engine='ray' one call has all of it")
        from ._ray import write_on_ray

        told = write_on_ray(pipeline, os.fsdecode(url), arguments, options, _count("workers", workers, least=1), progress)
        return materialized_by(pipeline, told)
    if workers is not None:
        raise InvalidArgument("workers= is for engine='ray'")
    if rank is None and world_size is None and (place := _ray_train.place()):
        rank, world_size, _ = place
    told = _core.materialize(
        pipeline._description,
        os.fsdecode(url),
        **arguments,
        open=whole_opener(pipeline, options),
        progress=progress,
        rank=_count("rank", rank),
        world_size=_count("world_size", world_size, least=1),
    )
    return materialized_by(pipeline, told)


def whole_opener(pipeline: Pipeline, options: Mapping[str, Any]) -> Opener:
    """Its loaders see all samples, whatever rank this process is."""
    return Opener(pipeline, {**options, "rank": 0, "world_size": 1}, movable=True)


def materialized_by(pipeline: Pipeline, told: dict[str, Any]) -> Materialized:
    places = told.pop("places")
    functions = {places[step]: function for step, function in pipeline._functions.items() if places[step] is not None}
    return Materialized(Pipeline(told.pop("description"), functions), **told)
