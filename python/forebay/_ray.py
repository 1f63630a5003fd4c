"""Materialization on a Ray cluster: one task per shard, retried if a worker or its host dies.

A worker process opens the pipeline once and keeps it for later tasks of the same job, so the data
set is not listed again for each shard. All workers write to one place. Finished shards are recorded
there, so no shard is written twice.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from typing import Any, Callable, Iterable, Mapping

from . import _core
from ._options import _count_or_auto
from .errors import Error, InvalidArgument
from .pipeline import Pipeline

_TRIES = 5  # tries per shard whose worker dies, because the shard itself may kill its workers

Progress = Callable[[Mapping[str, Any]], object]


def _import_ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise InvalidArgument(f"engine='ray' needs Ray: pip install 'forebay[ray]' ({error})") from None
    return ray


# Serialization


def _packed(pipeline: Pipeline, ray: Any) -> bytes:
    """Returns the pipeline for a worker: steps as JSON, functions in Ray's serialization of user
    code.
    """
    steps = pipeline._description.portable_steps()
    try:
        return ray.cloudpickle.dumps((steps, dict(pipeline._functions)))
    except Exception as error:
        names = ", ".join(str(getattr(function, "name", function)) for function in pipeline._functions.values())
        raise InvalidArgument(f"Ray cannot send what this pipeline holds ({names}) to its workers: {error}") from error


def _unpacked(packed: bytes, ray: Any) -> Pipeline:
    steps, functions = ray.cloudpickle.loads(packed)
    from ._user_pipelines import description_of

    return Pipeline(description_of(steps), functions)


# In a worker

_opened: dict[str, Any] = {}  # the job that this process works on


def _write_shard(job: Mapping[str, Any], shard: int) -> int:
    """Writes one shard. This is the Ray task."""
    if job["name"] not in _opened:
        _opened.clear()
        _opened[job["name"]] = _open(job)
    _opened[job["name"]].write(shard)
    return shard


def _open(job: Mapping[str, Any]) -> Any:
    # Relative paths and user modules are resolved as in the process that started the job.
    if os.path.isdir(job["folder"]):
        os.chdir(job["folder"])
    sys.path += [place for place in job["modules"] if place not in sys.path]
    return _materializer(_unpacked(job["pipeline"], _import_ray()), job["url"], job["arguments"], job["options"])


def _materializer(pipeline: Pipeline, url: str, arguments: Mapping[str, Any], options: Mapping[str, Any]) -> Any:
    from .materializing import whole_opener

    return _core.Materializer(pipeline._description, url, **arguments, open=whole_opener(pipeline, options))


# In the program


def write_on_ray(pipeline: Pipeline, url: str, arguments: Mapping[str, Any], options: Mapping[str, Any], workers: int | None,
                 progress: Progress | None) -> dict[str, Any]:
    """Writes all shards, then returns the same report as `_core.materialize`."""
    ray = _import_ray()
    began = time.monotonic()
    packed = _packed(pipeline, ray)
    url = url if "://" in url else os.path.abspath(url)
    here = _materializer(pipeline, url, arguments, options)
    left = here.left()
    if left:
        threads = _count_or_auto("threads", options.get("threads", "auto")) or 1
        # The local materializer has recorded the best cut and the number of shards.
        job = {"name": os.urandom(16).hex(), "folder": os.getcwd(), "modules": sys.path, "pipeline": packed, "url": url,
               "arguments": {**arguments, "threads": threads}, "options": {**options, "threads": threads}}
        with _Cluster(ray):
            _run(ray, job, left, threads, workers, _Told(progress, here, left, began))
    told = here.end()
    if not told["complete"]:
        raise Error("not all shards that Ray's tasks wrote are there; do all hosts write to the same place?")
    return {**told, "written": here.samples(left), "reused": here.reused(left), "seconds": time.monotonic() - began}


class _Cluster:
    """The cluster that this program is already connected to, or else the one that `ray.init()`
    finds or starts, for the duration of the job.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self._mine = not ray.is_initialized()

    def __enter__(self) -> None:
        if self._mine:
            self._ray.init(log_to_driver=False, configure_logging=False, include_dashboard=False)

    def __exit__(self, *_: Any) -> None:
        if self._mine:
            self._ray.shutdown()


class _Told:
    """Reports progress to the user's function."""

    def __init__(self, progress: Progress | None, work: Any, left: list[int], began: float) -> None:
        self._progress, self._work, self._began = progress, work, began
        self._samples, self._samples_done = work.samples(left), 0
        self._shards_done = work.shards() - len(left)

    def one_more(self, shard: int) -> None:
        self._shards_done += 1
        self._samples_done += self._work.samples([shard])
        if self._progress is not None:
            self._progress({"samples_done": self._samples_done, "samples": self._samples, "shards_done": self._shards_done,
                            "shards": self._work.shards(), "seconds": time.monotonic() - self._began})


def _run(ray: Any, job: Mapping[str, Any], left: Iterable[int], threads: int, workers: int | None, told: _Told) -> None:
    task = ray.remote(_write_shard).options(num_cpus=threads, max_retries=_TRIES, name="forebay.materialize")
    sent = ray.put(job)
    most = workers or max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)
    waiting, under_way = iter(left), []
    try:
        while True:
            under_way += [task.remote(sent, shard) for shard in itertools.islice(waiting, most - len(under_way))]
            if not under_way:
                return
            done, under_way = ray.wait(under_way, num_returns=1)
            told.one_more(_take(ray, done[0]))
    finally:
        for one in under_way:
            ray.cancel(one, force=True)


def _take(ray: Any, done: Any) -> int:
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as error:
        raise (error.cause if isinstance(error.cause, BaseException) else error) from None
    except ray.exceptions.RayError as error:
        raise Error(f"a shard could not be written: its worker died {_TRIES + 1} times ({error}); what is done stays, "
                    "and the same call goes on") from error


# For the command line


def main(text: str) -> int:
    """Runs `forebay materialize --engine ray`. `text` is the job as JSON; exit codes are the
    program's.
    """
    from .materializing import materialize

    job = json.loads(text)
    options = {name: job[name] for name in ("threads", "memory") if job[name] is not None}
    shown = sys.stderr.isatty() and not job["json"]

    def progress(now: Mapping[str, Any]) -> None:
        if shown:
            print(f"\rwriting {now['shards_done']} of {now['shards']} shards, {now['seconds']:.0f} s", end="", file=sys.stderr)

    try:
        made = materialize(Pipeline.from_json(job["pipeline"]), job["url"], cut=job["cut"], format=job["format"],
                           compression=job["compression"] or None, quality=job["quality"], limit=job["limit"], update=job["update"],
                           restart_markers=job["restart_markers"], shards="auto" if job["shards"] is None else job["shards"], engine="ray", workers=job["workers"],
                           url_options=job["url_options"], storage_options=job["storage_options"], progress=progress, **options)
    except KeyboardInterrupt:
        return 130
    except (Error, OSError) as error:
        print(json.dumps({"error": {"code": getattr(error, "code", ""), "message": str(error)}}) if job["json"]
              else f"\nforebay: {error}", file=sys.stdout if job["json"] else sys.stderr)
        return 1
    if job["apply"]:
        with open(job["apply"], "w", encoding="utf-8") as file:
            file.write(made.pipeline.to_json() + "\n")
    if job["json"]:
        print(json.dumps({name: getattr(made, name) for name in
                          ("bytes", "complete", "cut", "reused", "samples", "seconds", "shards", "written")}))
    else:
        print(f"{made.samples} samples behind {made.cut} in {made.shards} files, {made.bytes} bytes, in {made.seconds:.1f} s")
    return 0
