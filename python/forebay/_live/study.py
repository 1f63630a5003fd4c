"""Studies that are started from a live page."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any

from .. import _trying
from ..errors import Cancelled

if TYPE_CHECKING:
    from ..loader import Loader

STUDIES = ("diagnose", "profile")
_STOPS_WITHIN_S = 30.0  # a study asks between two waits for batches, which end after 30 s


class Study:
    """At most one study at a time, on a thread of its own. The result of the last is kept.

    `idle` is not set while one runs: the loader then delivers nothing, so that the study has the
    machine to itself.
    """

    def __init__(self) -> None:
        self.idle = threading.Event()
        self.idle.set()
        self._starting = threading.Lock()
        self._stopped = False
        self._thread: threading.Thread | None = None
        self._begun_s = 0.0
        self._status: dict[str, Any] = {"state": "none", "seconds": 0.0}

    def start(self, what: str, loader: Loader) -> bool:
        """Starts `fb.diagnose` or `fb.profile` on the loader's pipeline and options. False if a
        study is running.
        """
        with self._starting:
            if self._stopped or not self.idle.is_set():
                return False
            self.idle.clear()
            self._begun_s = time.monotonic()
            self._status = {"what": what, "state": "running"}
            self._thread = threading.Thread(target=self._run, args=(what, loader), name=f"forebay {what}", daemon=True)
            self._thread.start()
            return True

    def status(self) -> dict[str, Any]:
        """Returns `state` ("none", "running", "done", "failed"), `what`, `seconds`, and `page` or
        `error`.
        """
        return {"seconds": time.monotonic() - self._begun_s, **self._status}

    def stop(self) -> None:
        """Ends a running study, whose result is dropped, and allows no further one."""
        with self._starting:
            self._stopped = True
            thread = self._thread
        self.idle.set()
        if thread is not None and thread is not threading.current_thread():
            thread.join(_STOPS_WITHIN_S)

    def _check(self) -> None:
        if self._stopped:
            raise Cancelled("the loader is closed")

    def _run(self, what: str, loader: Loader) -> None:
        _trying.poll.set(self._check)
        try:
            outcome = {"state": "done", "page": json.loads(_found(what, loader)._found.live_json())}
        except Exception as error:  # shown on the page, whatever the user's functions raise
            outcome = {"state": "failed", "error": str(error) or type(error).__name__}
        self._status = {"what": what, "seconds": time.monotonic() - self._begun_s, **outcome}
        self.idle.set()


def _found(what: str, loader: Loader) -> Any:
    from ..profiling import profile

    return loader.diagnose() if what == "diagnose" else profile(loader.pipeline, **loader._given)
