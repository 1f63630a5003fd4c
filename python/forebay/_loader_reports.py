"""What a loader says about how it runs."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any, Iterator, Mapping

from ._options import _bytes
from .errors import InvalidArgument

if TYPE_CHECKING:
    from . import _core as core
    from ._workers import Workers
    from .diagnosis import Diagnosis
    from .pipeline import Pipeline


class LoaderReports:
    """What a Loader has for whoever asks where the time went: counters, reports, traces, errors."""

    if TYPE_CHECKING:
        _begun_s: float
        _core: core.Loader
        _given: Mapping[str, Any]
        _pipeline: Pipeline
        _workers: Workers

        def _prepare(self) -> None: ...

    def stats(self) -> dict[str, Any]:
        """Counters since the loader was opened, as a plain dict: what stands in it is listed in docs/stats.md."""
        return self._core.stats()

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """What stats() means, in at most ten lines: what you waited for, the busiest steps, the one thing to change.

        Times are since the first batch was asked for. What a change could gain is an upper bound: without that wait, something else
        may be the slowest part.

        With `path` an HTML page with all figures is written there, too: one file that opens without a network. Unavailable, or NotFound,
        where it cannot be written.
        """
        if path is not None:
            self._core.write_report(os.fsdecode(path))
        return self._core.report()

    def tuning(self) -> list[dict[str, Any]]:
        """What was left to the engine and it changed while the loader ran, the oldest first: `seconds` (since the first batch was asked
        for), `what` ("threads", "requests", "user_threads": of your own functions, "workers": where those with `workers="auto"` run), `from`, `to`,
        `reason`. Of each at most the latest 64.

        What you gave a number for is never changed, and no change makes batches any different.
        """
        of_functions = [
            {"seconds": max(0.0, at_s - self._begun_s), "what": "user_threads", "from": before, "to": after,
             "reason": "calls wait for something outside, and more can wait beside them" if after > before
             else "fewer bring as many calls to their end"}
            for at_s, before, after in self._workers.decisions()
        ]
        of_functions += [
            {"seconds": max(0.0, at_s - self._begun_s), "what": "workers", "from": before, "to": after,
             "reason": "they hold Python's lock, so threads take turns" if after == "processes"
             else "worker processes bring no more calls to their end"}
            for at_s, before, after in self._workers.moves()
        ]
        return sorted(self.stats()["tuning"] + of_functions, key=lambda decision: decision["seconds"])

    def diagnose(self, *, budget: float = 50.0) -> Diagnosis:
        """`fb.diagnose` of this loader's pipeline and options, beside it, with a trainer as slow as the one that this loader has had.

        Asks for 10 batches at least that this loader has given: InvalidArgument before. Do not use the loader meanwhile.
        """
        from .diagnosis import diagnose

        stats = self.stats()
        if stats["batches"] < 10:
            raise InvalidArgument(f"diagnose(): {stats['batches']} batches were used so far; 10 tell how fast the trainer is")
        trainer_s = max(0.0, stats["elapsed_seconds"] - stats["consumer_wait_seconds"]) / stats["batches"]
        return diagnose(self._pipeline, 1000 * trainer_s, budget=budget, **self._given)

    @contextlib.contextmanager
    def trace(self, path: str | os.PathLike[str], *, limit: int | str = "100MB") -> Iterator[None]:
        """Writes what happens when, for https://ui.perfetto.dev: `with loader.trace("run.json"): …`.

        Compute threads with their tasks and operators (of one row in eight), reads and calls of your own functions, batches from begun to
        delivered, what the consumer waits for, memory by use; arrows lead from a read to the work on it and to its batch. Only what happens inside
        the `with` is written, and no more than `limit` bytes: the rest is left out, with a warning.

        Errors: InvalidArgument (a second trace of the same loader, a limit under 4 KiB), Unavailable (the file cannot be written).
        """
        self._prepare()
        self._core.begin_trace(os.fsdecode(path), _bytes("limit", limit))
        try:
            yield
        finally:
            self._core.end_trace()

    def warnings(self) -> list[dict[str, Any]]:
        """What opening the data set found and does not read, an entry for each cause: `kind` ("unread_files", "dead_links", …), `count`,
        `first` (a name), `message`. Each was given as a `DataWarning`, too."""
        return self._core.warnings()

    def errors(self) -> list[dict[str, Any]]:
        """Bad samples that were skipped or replaced on this rank: sample, key, operator, code, message, count."""
        return self._core.errors()
