"""The side of those who need servers: starts a keeper, has their addresses, and lets them go."""
import json
import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

from servers.brokers import Nats, NatsTls, Redis, RedisTls
from servers.ceph import Ceph
from servers.faults import Faults
from servers.swift import Swift
from servers.web import Web

TESTS = Path(__file__).resolve().parent.parent
START_LIMIT_S = 150.0
STOP_LIMIT_S = 60.0
STARTS = 3  # with other ports each time: somebody else may have taken one in between
KINDS = (Ceph, Swift, Web, Faults, Redis, Nats, RedisTls, NatsTls)


class ServersFailed(Exception):
    """A server is installed and did not start, or is wanted and unknown."""


def names() -> list[str]:
    return [kind.name for kind in KINDS]


def _kind(name: str):
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ServersFailed(f"there is no server named {name} (there are: {', '.join(names())})")


def absent(name: str) -> str | None:
    """Why a server cannot start here, with the way out; None if it can."""
    kind = _kind(name)
    missing = [program for program in kind.programs if not shutil.which(program)]
    missing += [str(file) for file in getattr(kind, "files", []) if not Path(file).exists()]
    if missing:
        return f"{name} needs {', '.join(missing)} (as root: tools/system_packages servers)"
    return None


def is_running(name: str) -> bool:
    """Whether an outer wrapper has started it."""
    return all(os.environ.get(variable) for variable in _kind(name).VARIABLES)


class Servers:
    """Servers that run from `start()` to `stop()`; `variables` are what the tests look at. Also a context manager."""

    def __init__(self, wanted: list[str] | None = None) -> None:
        self.wanted = [name for name in (names() if wanted is None else wanted) if not is_running(name)]
        self.variables: dict[str, str] = {}
        self.processes: dict[str, int] = {}  # what a server is called -> its process
        self._keeper: subprocess.Popen | None = None

    def start(self) -> "Servers":
        """Raises ServersFailed where one is missing or does not start; then none is left running."""
        for name in self.wanted:
            if why := absent(name):
                raise ServersFailed(f"SERVERS ABSENT: {why}")
        for left in reversed(range(STARTS if self.wanted else 0)):
            try:
                self._start_keeper()
                break
            except ServersFailed:
                if not left:
                    raise
        return self

    def _start_keeper(self) -> None:
        env = os.environ | {"PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1"}
        self._keeper = subprocess.Popen([sys.executable, "-m", "servers.keeper", *self.wanted], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=env, start_new_session=True)
        try:
            answer = self._answer()
            self.variables, self.processes = answer["variables"], answer["processes"]
        except BaseException:
            self.stop()
            raise

    def _answer(self) -> dict:
        deadline, text = time.monotonic() + START_LIMIT_S, b""
        while not text.endswith(b"\n"):
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._keeper.stdout], [], [], left)[0]:
                raise ServersFailed(f"the servers {', '.join(self.wanted)} did not start within {START_LIMIT_S:.0f} s")
            part = os.read(self._keeper.stdout.fileno(), 65536)
            if not part:
                raise ServersFailed("the keeper of the servers ended without an answer")
            text += part
        answer = json.loads(text)
        if "error" in answer:
            raise ServersFailed(answer["error"])
        return answer

    def stop(self) -> None:
        """Bounded; a keeper that does not end is killed, and the kernel then ends its servers."""
        keeper, self._keeper = self._keeper, None
        if not keeper:
            return
        keeper.stdin.close()
        try:
            keeper.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            keeper.kill()
            keeper.wait(STOP_LIMIT_S)
        keeper.stdout.close()

    def __enter__(self) -> "Servers":
        return self.start()

    def __exit__(self, *_) -> None:
        self.stop()
