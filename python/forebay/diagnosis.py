"""What holds a pipeline up, what to change, and what that gains: found out by trying."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Callable, Mapping

from . import _core, _trying
from ._trying import Opener, can_move, moved, numbers_of, seconds_of
from .pipeline import Pipeline

__all__ = ["Diagnosis", "Remedy", "diagnose"]


@dataclass(frozen=True)
class Remedy:
    """A change that was tried and gains.

    Attributes:
        change: what to do, in words.
        gain: times as fast, with this change and without it in turns: the median of three rounds.
        gain_low, gain_high: the least and the most of them.
        cache_bytes: what a cache of all samples takes; 0 for other changes.
        options: `threads`, `requests` and `memory` for the Loader.
        pipeline: with the change.
    """

    change: str
    gain: float
    gain_low: float
    gain_high: float
    cache_bytes: int
    options: Mapping[str, Any]
    pipeline: Pipeline


@dataclass(frozen=True)
class Diagnosis:
    """What was found; `print()` it.

    Attributes:
        limit: what the consumer waits for most: "trainer", "storage", "requests", "memory", "cache", "compute", "cores" or
            "user_code".
        wait_share: of the time, that it waited for that.
        next_limit: what that is with the first remedy, or None.
        samples_per_second: of the pipeline as it is; the median of three windows.
        trainer_samples_per_second: what the consumer could take, or None.
        remedies: the best first.
        others: changes that do not gain, or could not be tried, and why.
        verified_gain: what the first remedy gains where it was made and measured again (`verify=True`), or None.
        data: all of it, as a dict (docs/diagnosis.md).
    """

    limit: str
    wait_share: float
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
        """What `print()` shows; with `path` an HTML page of it, with the ranges of all gains, is written there, too.

        The page is one file that opens without a network. Unavailable, or NotFound, where it cannot be written.
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
    """Finds out what holds `pipeline` up, by running it for some seconds, and what a change gains, by trying each in turns with it.

    Args:
        pipeline: as for a Loader. Its functions are run; its own caches on disk are filled as far as it comes.
        step: what the trainer takes for a batch, in milliseconds, or a function that is called after each batch. None takes batches as fast as they
            come.
        budget: seconds after which no further change is tried.
        verify: makes the first change and measures its gain once more, over all samples; a cache is filled by a whole epoch before, on disk as well.
        options: of the Loader.

    A cache is tried in memory, with as many samples as fit into 800 MB and some seconds, from its second epoch on.
    Errors: those of the Loader; Unavailable where no batch comes for 30 s.
    """
    import json  # here, so that importing the package stays light

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
