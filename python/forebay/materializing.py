"""Materialization: runs the steps of a pipeline whose output is the same in every epoch once, and
writes the output in a common format.
"""

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
    """The result of `materialize()`.

    Attributes:
        pipeline: reads the output and runs the steps after the cut; its batches equal those of the
            original pipeline.
        cut: the last step that was run.
        samples: samples in the data set.
        shards: files of the whole output.
        written: samples that this call wrote; fewer if some were already there.
        reused: samples of these that were copied from existing output, without running the steps
            (`update=True`).
        bytes: size of all finished files.
        seconds: duration of this call.
        complete: False while other ranks have shards to write; the output cannot be read before it
            is complete.
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
    """Runs the steps up to the cut once for all samples and writes their output, to a folder or a
    bucket, in files that other programs can read.

    `fb.materialized(url)` reads the output in place of these steps. Ids, order, fingerprint and
    values are those of the original, and so is a digest. The exception is `format="jpeg"` without
    `restart_markers`, which is a data set of its own. The call may be stopped, or killed, at any
    moment; repeating it continues. Equal calls write equal files.

    Args:
        pipeline: as for a Loader. Steps after the cut are not run. Its functions before the cut are
            run once.
        url: a local folder, which is created if needed, or s3://bucket/prefix.
        cut: the last step to run: its name, "last" (the last step whose output is the same in every
            epoch), or "best": the cut that `profile()` finds fastest in files, which takes a
            minute.
        format: "arrow": Arrow IPC files ("Feather 2"), with a column `id`. "parquet", for tables:
            Parquet files with a column `id`. "wds", for samples: tar files that readers of
            WebDataset open, with pixels as PNG. "jpeg": such tar files with pictures as JPEG. JPEG
            is lossy, so the output has its own fingerprint and version, and states of the original
            are refused.
        compression: for tables "lz4" or "zstd". Samples that are read one by one are not
            compressed.
        quality: for "jpeg", 1 to 100; 90 by default.
        limit: for "jpeg": pictures are scaled down until neither side has more pixels than this.
        restart_markers: for "jpeg": JPEGs keep their coefficients and get a restart marker after
            each row of blocks; other pictures stay unchanged. Each JPEG is decoded and compared.
            The pixels are the same, so the output counts as the original, as with other formats.
            `.decode_image()` must follow the cut.
        shards: number of files, as far as the row groups of a table allow it; "auto" chooses files
            of 64 MiB.
        update: existing finished output may be of an earlier version of the data. Unchanged samples
            are copied from it, the steps are run for the rest, and the result equals that of a new
            folder. The old output can be read until the new one is finished. In a bucket the new
            files are in their own folder below `url`.
        rank, world_size: this call writes every world_size-th file; call it once for each rank, on
            any host that can access the folder. By default taken from Ray Train, or torchrun, Slurm
            or MPI variables, as a Loader does; otherwise this call writes all files.
        engine: "ray": shards are Ray tasks, on the existing cluster (as `ray.init()` finds it) or
            on one that is started here. If a worker or host dies, another one writes its shard.
            Functions and data sets of the pipeline are sent with Ray's serialization.
        workers: with engine="ray": number of shards that are written at a time; by default as many
            as Ray has cores for, each with `threads` (1 by default).
        url_options: options of the store of `url`; by default `storage_options`.
        progress: a function that is called from time to time with `samples_done`, `samples`,
            `shards_done`, `shards`, `bytes` and `seconds`; with engine="ray" after each shard, and
            without `bytes`.
        options: options of the Loader: `threads`, `memory`, `storage_options`, ….

    Errors: those of the Loader; InvalidArgument for an unknown cut, for `.take()`, `.filter()` and
    `filter=` before it, and for a folder with other content; Unsupported for fields that the format
    cannot hold, and for other URLs; Unavailable if the folder cannot be written: finished files
    stay.
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
    """Returns an opener whose loaders see all samples, whatever the rank of this process."""
    return Opener(pipeline, {**options, "rank": 0, "world_size": 1}, movable=True)


def materialized_by(pipeline: Pipeline, told: dict[str, Any]) -> Materialized:
    places = told.pop("places")
    functions = {places[step]: function for step, function in pipeline._functions.items() if places[step] is not None}
    return Materialized(Pipeline(told.pop("description"), functions), **told)
