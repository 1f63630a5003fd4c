"""Diagnosis: finds what limits the speed of a pipeline, and measures which changes help."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from . import _core, _trying
from ._trying import Opener, can_move, moved, numbers_of, seconds_of
from .pipeline import Pipeline

__all__ = ["Diagnosis", "PartCost", "Remedy", "diagnose"]


@dataclass(frozen=True)
class Remedy:
    """A change that was tried and is faster.

    Attributes:
        change: the change in words.
        gain: speed-up with this change, measured in turns with and without it: the median of three
            rounds.
        gain_low, gain_high: the lowest and the highest of the three.
        cache_bytes: size of a cache of all samples; 0 for other changes.
        options: `threads`, `requests` and `memory` for the Loader.
        pipeline: the pipeline with the change.
    """

    change: str
    gain: float
    gain_low: float
    gain_high: float
    cache_bytes: int
    options: Mapping[str, Any]
    pipeline: Pipeline


@dataclass(frozen=True)
class PartCost:
    """What a part of a pipeline over many data sets costs: it was run by itself, with the steps
    behind it.

    Attributes:
        name: "web", or "web/en" for a part of a part.
        sample_share: its share of the samples, 0 to 1.
        samples_per_second: speed of the part by itself, or None if it was not measured.
        time_share: its share of the time, 0 to 1, by these speeds and the shares of the samples.
    """

    name: str
    sample_share: float
    samples_per_second: float | None
    time_share: float


@dataclass(frozen=True)
class Diagnosis:
    """The result of `diagnose()`. Print it for a summary.

    Attributes:
        limit: the cause of most of the consumer's waits: "trainer", "storage", "requests",
            "memory", "cache", "compute", "cores" or "user_code".
        wait_share: share of the time that the consumer waited for it.
        parts: those of a pipeline over many data sets, the costliest first. Empty for others, and
            if the trainer is the limit.
        next_limit: the limit with the first remedy applied, or None.
        samples_per_second: speed of the unchanged pipeline; the median of three windows.
        trainer_samples_per_second: the highest speed that the consumer could take, or None.
        remedies: the best first.
        others: changes that do not gain, or could not be tried, and why.
        verified_gain: gain of the first remedy when it was applied and measured again
            (`verify=True`), or None.
        data: the whole result as a dict (docs/reference/diagnosis.md).
    """

    limit: str
    wait_share: float
    parts: tuple[PartCost, ...]
    next_limit: str | None
    samples_per_second: float
    trainer_samples_per_second: float | None
    remedies: tuple[Remedy, ...]
    others: tuple[str, ...]
    verified_gain: float | None
    data: Mapping[str, Any]
    _found: _core.Diagnosis

    def __str__(self) -> str:
        return self._found.to_text()

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns the text that `print()` shows; with `path` also writes an HTML page with the
        ranges of all gains there.

        The page is one file that opens without a network. Unavailable, or NotFound, if it cannot be
        written.
        """
        if path is not None:
            self._found.write_report(os.fsdecode(path))
        return str(self)


def diagnose(
    pipeline: Pipeline,
    step: float | Callable[[], Any] | None = None,
    *,
    budget: float = 50.0,
    verify: bool = False,
    **options: Any,
) -> Diagnosis:
    """Finds what limits `pipeline` by running it for some seconds, and measures each change in
    turns with it.

    Args:
        pipeline: as for a Loader. Its functions are run, and its own caches on disk are filled with
            the samples that are read.
        step: time that the trainer takes for a batch, in milliseconds, or a function that is called
            after each batch. None takes batches as fast as they come.
        budget: seconds after which no further change is tried.
        verify: applies the first change and measures its gain once more, over all samples. A cache,
            also one on disk, is filled by a whole epoch before.
        options: options of the Loader.

    A cache is tried in memory, with as many samples as fit into 800 MB and some seconds. It is
    measured from its second epoch on. Errors: those of the Loader; Unavailable if no batch arrives
    for 30 s.
    """
    import json  # imported here so that importing the package stays fast

    if not isinstance(pipeline, Pipeline):
        raise TypeError(f"diagnose() takes a Pipeline, not {type(pipeline).__name__}")
    found = _core.diagnose(
        pipeline._description,
        **numbers_of(options),
        step=_step(step),
        open=Opener(pipeline, options),
        budget_seconds=seconds_of("budget", budget),
        verify=bool(verify),
        can_use_processes=any(map(can_move, pipeline._functions.values())),
        pace=_trying.pace,
        poll=_trying.poll.get(),
    )
    data = json.loads(found.to_json())
    remedies = [
        Remedy(*(told[key] for key in ("change", "gain", "gain_low", "gain_high", "cache_bytes", "options")),
               pipeline=Pipeline(description, moved(pipeline._functions, places, processes)))
        for told, (description, places, processes) in zip(data["remedies"], found.remedies(pipeline._description), strict=True)
    ]
    following = data["next_limiter"]
    return Diagnosis(
        limit=data["limiter"]["limit"],
        wait_share=data["limiter"]["wait_share"],
        parts=tuple(PartCost(**part) for part in data["parts"]),
        next_limit=following and following["limit"],
        samples_per_second=data["samples_per_second"],
        trainer_samples_per_second=data["trainer_samples_per_second"],
        remedies=tuple(remedies),
        others=tuple(data["others"]),
        verified_gain=data["verified"] and data["verified"]["gain"],
        data=data,
        _found=found,
    )


def _step(step: Any) -> Any:
    return step if step is None or callable(step) else seconds_of("step", step)
