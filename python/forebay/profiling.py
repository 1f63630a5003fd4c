"""Profiling: tries on a part of the samples which steps of a pipeline to run once and cache, and
which in every epoch.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import Any, Mapping, Sequence

from . import _core, _trying
from ._options import _bytes, _count, _count_or_auto
from ._trying import Opener, moved, numbers_of, seconds_of
from .diagnosis import PartCost
from .errors import InvalidArgument
from .pipeline import Pipeline

__all__ = ["Estimate", "Profile", "Strategy", "profile"]

_UNITS = {"": 1.0, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


@dataclass(frozen=True)
class Estimate:
    """An estimated value with its 95 % interval, `low` to `high`. Both are None if the data give no
    interval.
    """

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Strategy:
    """One way to run the pipeline: which steps run once, and where their output is cached. Later
    steps run in every epoch.

    Attributes:
        name: description in words.
        tier: "memory", "disk", "files" (as `materialize()` writes them) or "nothing".
        compression: "lz4", "zstd" or None.
        bytes: cache size of all samples.
        preparation_seconds: duration of the epoch that fills the cache; for files, the time to
            write them before the first epoch.
        samples_per_second: speed of the epochs after it.
        fits: share of the samples for which this host has space, 0 to 1. The speed assumes that the
            other samples are computed in every epoch.
        pays_after_epochs: epochs after which the strategy has saved its own cost; None if it never
            does.
        score: score by the weights, 0 to 1.
        pareto: whether no other strategy is better in speed, space or preparation and at least as
            good in the others.
        pipeline: the pipeline with its `.cache(...)`; for files, the pipeline that reads them after
            `command` was run.
        command: the command that writes the files of all samples, to be run first with
            PIPELINE.json for the pipeline; None for other tiers. In Python it is
            `fb.materialize(pipeline, FOLDER, cut=…)`.
    """

    name: str
    tier: str
    compression: str | None
    bytes: Estimate
    preparation_seconds: Estimate
    samples_per_second: Estimate
    fits: float
    pays_after_epochs: float | None
    score: float
    pareto: bool
    pipeline: Pipeline
    command: str | None


@dataclass(frozen=True)
class Profile:
    """The result of `profile()`. Print it for a summary.

    Attributes:
        best: the strategy with the best score; among those within 3 % of it the one that takes the
            least space.
        strategies: all strategies that were tried, the best first; one of them caches nothing.
        samples: number of samples that were tried, of `size`.
        parts: those of a pipeline over many data sets, the costliest first; `data["parts"]` has what
            was tried of each by itself. Empty for one data set.
        others: strategies that were not tried, and why.
        data: the whole result as a dict (docs/reference/profile.md).
    """

    strategies: tuple[Strategy, ...]
    samples: int
    size: int
    parts: tuple[PartCost, ...]
    others: tuple[str, ...]
    data: Mapping[str, Any]
    _found: _core.Profile
    _pipeline: Pipeline

    @property
    def best(self) -> Strategy:
        return self.strategies[0]

    def predict(
        self, cores: int | None = None, latency: float | str | None = None, bandwidth: float | str | None = None
    ) -> Profile:
        """Rates the same strategies for another host or another store, by the same weights.

        In the model a sample takes the longer of two times: its processing on the host (CPU seconds
        divided by cores, plus the measured time that was neither computing nor reading) and its
        reads from the store. CPU seconds, bytes and reads were counted while each strategy ran. The
        intervals have the measured widths; the error of the model may be larger.

        Args:
            cores: cores of that host; by default as many as here.
            latency: latency of the store that holds the data set: seconds, or a text such as
                "20ms".
            bandwidth: bytes per second of that store, or a text such as "100MB".

        InvalidArgument for numbers that are not above 0.
        """
        there = self._found.predict(
            cores=_count("cores", cores, 1),
            latency_seconds=None if latency is None else _duration(latency, "latency"),
            bytes_per_second=None if bandwidth is None else float(_bytes("bandwidth", bandwidth)),
        )
        return _told(there, self._pipeline)

    def __str__(self) -> str:
        return self._found.to_text()

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the text that `print()` shows; with `path` also writes an HTML page there.

        The page is one file that opens without a network. Unavailable, or NotFound, if it cannot be
        written.
        """
        if path is not None:
            self._found.write_report(os.fsdecode(path))
        return str(self)


def profile(
    pipeline: Pipeline,
    samples: int | str = "auto",
    time: float | str = "60s",
    weights: str | Mapping[str, float] | Sequence[float] = "throughput",
    files: str | os.PathLike[str] | None = "materialized",
    **options: Any,
) -> Profile:
    """Tries on a part of the samples which steps to run once and cache, and which in every epoch.

    If time allows, the best cache is confirmed by a run over all samples; its bytes and speed are
    then those of that run.

    Args:
        pipeline: as for a Loader. A `.cache()` in it is ignored. Its functions are run.
        samples: number of samples to try, spread over the data set. "auto" is 1 in 100 and at least
            1,000, as far as time allows, and all samples of a data set that takes a small part of
            the time.
        time: time after which nothing more is tried: seconds, or a text such as "90s" or "5min".
        weights: the aim. "throughput": speed; "deadline": preparation and speed; "storage":
            space and speed; or numbers for `preparation`, `storage` and `throughput`, as a dict or
            in this order. Each quantity is scaled to its measured range (PRESTO, arXiv 2202.08679).
        files: a folder or s3://bucket/prefix below which `materialize()` would write files; the
            files of each cut are in a folder with the name of its step. Nothing is written there.
            None: files are not tried, and `best.pipeline` runs as it is.
        options: options of the Loader.

    Errors: those of the Loader; InvalidArgument for arguments out of range; Unavailable if no batch
    arrives for 30 s.
    """
    if not isinstance(pipeline, Pipeline):
        raise TypeError(f"profile() takes a Pipeline, not {type(pipeline).__name__}")
    found = _core.profile(
        pipeline._description,
        **numbers_of(options),
        open=Opener(pipeline, options),
        open_whole=Opener(pipeline, {**options, "rank": 0, "world_size": 1}),
        samples=_count_or_auto("samples", samples),
        budget_seconds=_duration(time),
        weights=_weights(weights),
        files=None if files is None else os.fsdecode(files),
        pace=_trying.pace,
        poll=_trying.poll.get(),
    )
    return _told(found, pipeline)


def _told(found: _core.Profile, pipeline: Pipeline) -> Profile:
    import json  # imported here so that importing the package stays fast

    data = json.loads(found.to_json())
    strategies = tuple(
        _strategy(told, Pipeline(description, moved(pipeline._functions, places, False)))
        for told, (description, places) in zip(data["strategies"], found.strategies(pipeline._description), strict=True)
    )
    parts = tuple(PartCost(**{name: told[name] for name in PartCost.__dataclass_fields__}) for told in data["parts"])
    return Profile(strategies, data["samples"], data["size"], parts, tuple(data["others"]), data, found, pipeline)


def _strategy(told: Mapping[str, Any], pipeline: Pipeline) -> Strategy:
    figures = {name: Estimate(**told[name]) for name in ("bytes", "preparation_seconds", "samples_per_second")}
    same = {name: told[name] for name in ("name", "tier", "compression", "fits", "pays_after_epochs", "score", "pareto", "command")}
    return Strategy(**same, **figures, pipeline=pipeline)


def _duration(value: Any, name: str = "time") -> float:
    if not isinstance(value, str):
        return seconds_of(name, value)
    number = value.rstrip("abcdefghijklmnopqrstuvwxyz ")
    unit = _UNITS.get(value[len(number):].strip())
    try:
        return seconds_of(name, float(number) * (unit or math.nan))
    except ValueError:
        raise InvalidArgument(f"{name} is {value!r}; give seconds, or a text such as '90s' or '5min'") from None


def _weights(value: Any) -> tuple[float, float, float]:
    names = ("preparation", "storage", "throughput")
    if isinstance(value, str):
        found = _core.weights_named(value)
        if found is None:
            raise InvalidArgument(f"weights is {value!r}; it is 'throughput', 'deadline', 'storage', or three numbers")
        return found
    if isinstance(value, Mapping):
        unknown = sorted(set(value) - set(names))
        if unknown:
            raise InvalidArgument(f"weights has {unknown[0]!r}; there are {', '.join(names)}")
        value = [value.get(name, 0) for name in names]
    numbers = [float(number) for number in value]
    if len(numbers) != 3 or not all(0 <= number < math.inf for number in numbers) or sum(numbers) == 0:
        raise InvalidArgument(f"weights is {value!r}; give three numbers from 0 on, one of them above: {', '.join(names)}")
    return numbers[0], numbers[1], numbers[2]
