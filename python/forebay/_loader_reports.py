"""Reports of a loader on its own run."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping

from ._options import _bytes
from ._typing import TYPE_CHECKING, Any
from .errors import InvalidArgument

if TYPE_CHECKING:
    from . import _core as core
    from ._live import LivePage
    from ._workers import Workers
    from .diagnosis import Diagnosis
    from .pipeline import Pipeline


class LoaderReports:
    """The methods of a Loader that report where its time went: counters, reports, traces, errors.
    """

    if TYPE_CHECKING:
        _begun_s: float
        _core: core.Loader
        _given: Mapping[str, Any]
        _page: LivePage | None
        _pipeline: Pipeline
        _workers: Workers

        def _prepare(self) -> None: ...

    def stats(self) -> dict[str, Any]:
        """Returns counters since the loader was opened, as a plain dict. They are listed in
        docs/reference/stats.md.
        """
        return self._core.stats()

    def report(self, path: str | os.PathLike[str] | None = None) -> str:
        """Returns a summary of stats() in at most ten lines: waits by cause, the busiest steps, and
        the one thing to change.

        Times count from the request for the first batch. The possible gain of a change is an upper
        bound: without that wait, another part may be the slowest.

        Given `path`, it also writes an HTML page with all figures, one file that opens without a
        network. Unavailable, or NotFound, if it cannot be written.
        """
        if path is not None:
            self._core.write_report(os.fsdecode(path))
        return self._core.report()

    def show(self, port: int = 0) -> LivePage:
        """Serves a live page over this loader, for browsers on this host, and returns it.

        The page shows speed, waits, threads, requests, memory and caches of the last seconds, the
        samples of the current batch, and the ranks of the job on this host that have a page, too.
        `diagnose()` and `fb.profile` can be started from it; the loader delivers nothing meanwhile.
        It loads nothing from a network. In a notebook it shows itself.

        It listens at 127.0.0.1 alone and answers only those who know the token in its address,
        `.url` of the result, which `forebay ui` prints, too. It ends with the loader, or with its
        `close()`. While it is open, this returns the same page again.

        Args:
            port: the port; 0 chooses a free one.

        Errors: InvalidArgument (the port cannot be used, the loader is closed), Unavailable (there
        is no folder of yours for the file by which `forebay ui` finds the page).
        """
        from ._live import LivePage

        if self._page is None or self._page.closed:
            if self.closed:
                raise InvalidArgument("show(): this loader is closed; open a new one")
            self._page = LivePage(self, port)
        return self._page

    def tuning(self) -> list[dict[str, Any]]:
        """Returns the automatic changes that the engine made while the loader ran, the oldest
        first.

        Each entry has `seconds` (since the request for the first batch), `what` ("threads",
        "requests", "user_threads": threads of your own functions, "workers": where functions with
        `workers="auto"` run), `from`, `to` and `reason`. At most the latest 64 of each kind are
        kept.

        Options for which you gave a number are never changed, and no change affects the content of
        batches.
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
        """Runs `fb.diagnose` on this loader's pipeline and options, in a separate loader, with a
        trainer as slow as this loader's consumer.

        Requires that this loader has delivered at least 10 batches; InvalidArgument otherwise. Do
        not use the loader meanwhile.
        """
        from .diagnosis import diagnose

        stats = self.stats()
        if stats["batches"] < 10:
            raise InvalidArgument(f"diagnose(): {stats['batches']} batches were used so far; 10 tell how fast the trainer is")
        trainer_s = max(0.0, stats["elapsed_seconds"] - stats["consumer_wait_seconds"]) / stats["batches"]
        return diagnose(self._pipeline, 1000 * trainer_s, budget=budget, **self._given)

    @contextlib.contextmanager
    def trace(self, path: str | os.PathLike[str], *, limit: int | str = "100MB") -> Iterator[None]:
        """Writes a trace for https://ui.perfetto.dev: `with loader.trace("run.json"): …`.

        The trace shows compute threads with their tasks and operators (of one row in eight), reads,
        calls of your own functions, batches from start to delivery, waits of the consumer, and
        memory by use. Arrows lead from a read to the work on its data and to its batch. Only
        events inside the `with` are written, at most `limit` bytes; further events are dropped,
        with a warning.

        Errors: InvalidArgument (a second trace of the same loader, a limit under 4 KiB),
        Unavailable (the file cannot be written).
        """
        self._prepare()
        self._core.begin_trace(os.fsdecode(path), _bytes("limit", limit))
        try:
            yield
        finally:
            self._core.end_trace()

    def warnings(self) -> list[dict[str, Any]]:
        """Returns the warnings about data that was found and is not read.

        There is one entry for each cause: `kind` ("unread_files", "dead_links", …), `count`,
        `first` (a name), `message`. Each was also given as a `DataWarning`.
        """
        return self._core.warnings()

    def errors(self) -> list[dict[str, Any]]:
        """Returns the bad samples that were skipped or replaced on this rank: sample, key,
        operator, code, message, count.
        """
        return self._core.errors()
