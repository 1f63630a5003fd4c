"""One server process: started so that it cannot outlive its keeper, watched while it starts, ended for certain."""
import ctypes
import os
import random
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

START_LIMIT_S = 60.0
COMMAND_LIMIT_S = 60.0
POLL_S = 0.05
LOG_LINES = 20
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


class StartFailed(Exception):
    """A server that did not start; the text says which, why, and how its log ends."""


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """In a child between fork and exec: the kernel sends it this signal when the thread that forked it ends."""
    _libc.prctl(PR_SET_PDEATHSIG, number)


_given: set[int] = set()  # nothing may listen on them yet


def free_ports(count: int) -> list[int]:
    """Loopback ports on which nothing listens, below the range that the kernel gives to outgoing connections. None that this process was given before;
    another one can be given the same: what starts servers on them tries again with others."""
    ports: list[int] = []
    while len(ports) < count:
        port = random.SystemRandom().randrange(20000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in _given:
            _given.add(port)
            ports.append(port)
    return ports


def answers(url: str) -> bool:
    """Whether an HTTP server answers there, with whatever status."""
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=2).close()
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def end_of(log: Path) -> str:
    try:
        lines = log.read_text(errors="replace").splitlines()[-LOG_LINES:]
    except OSError:
        lines = []
    return "\n".join(f"    {line}" for line in lines) or "    (empty)"


class Daemon:
    """A process in the foreground, its output in a log file. Start it on a thread that lives until it is to end."""

    def __init__(self, name: str, command: list, log: Path, env: dict[str, str] | None = None) -> None:
        self.name, self.log = name, log
        with open(log, "ab") as out:
            try:
                self.process = subprocess.Popen([str(part) for part in command], stdin=subprocess.DEVNULL, stdout=out,
                                                stderr=subprocess.STDOUT, env=env, start_new_session=True,
                                                preexec_fn=die_with_parent)
            except OSError as error:
                raise StartFailed(f"{name} did not start: {error}") from error

    def wait_until(self, ready: Callable[[], bool], what: str, stop: Callable[[], bool],
                   limit_s: float = START_LIMIT_S) -> None:
        """Returns once `ready()`; raises StartFailed when the process ends, `limit_s` are over or `stop()` says so."""
        deadline = time.monotonic() + limit_s
        while not ready():
            code = self.process.poll()
            if code is not None:
                raise self._failed(f"it ended with exit code {code}")
            if stop():
                raise StartFailed(f"{self.name}: its start was cancelled")
            if time.monotonic() > deadline:
                raise self._failed(f"{what} did not happen within {limit_s:.0f} s")
            time.sleep(POLL_S)

    def _failed(self, why: str) -> StartFailed:
        return StartFailed(f"{self.name} did not start: {why}. The end of its log ({self.log.name}):\n{end_of(self.log)}")

    def stop(self) -> None:
        """Nothing of a test server is worth a clean end: it keeps all it has in memory or in its temporary folder."""
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait(10)


def run(name: str, command: list, env: dict[str, str] | None = None, text: str | None = None) -> str:
    """What a command of a server's start prints; StartFailed with all its output unless it exits with 0 in time."""
    try:
        done = subprocess.run([str(part) for part in command], input=text or "", capture_output=True, text=True, env=env,
                              timeout=COMMAND_LIMIT_S, preexec_fn=die_with_parent)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StartFailed(f"{name} did not start: {error}") from error
    if done.returncode != 0:
        raise StartFailed(f"{name} did not start: {command[0]} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
