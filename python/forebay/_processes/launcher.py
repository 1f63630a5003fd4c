"""The program's side of the fork server: starts the server on first use, and worker processes
through it.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from ..errors import Unavailable

_SERVER_GRACE_S = 2.0

_ONE_THREAD_EACH = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


def environment() -> dict[str, str]:
    """Returns the environment for workers.

    There are as many workers as cores, so numerical libraries in them use one thread each, unless
    the program's environment sets another number.
    """
    return {**dict.fromkeys(_ONE_THREAD_EACH, "1"), **os.environ}


class Process:
    """A worker process. Its parent is the fork server."""

    def __init__(self, number: int, report: int) -> None:
        self.number = number
        self._report = report
        self._text = b""
        self._told: dict[str, Any] = {}
        self._reading = threading.Lock()

    def pid(self, timeout_s: float) -> int | None:
        """Returns the process id. None if the process could not be started, or its id is not known
        in time.
        """
        self._wait_for(("process", "not_started"), timeout_s)
        return self._told.get("process")

    def exit_code(self, timeout_s: float) -> int | None:
        """Returns the exit code as subprocess.Popen does: negative for a signal. None while the
        process runs, or if its end was not seen.
        """
        self._wait_for(("exit", "not_started"), timeout_s)
        return self._told.get("exit")

    @property
    def ended(self) -> bool:
        """Whether the process is known to have ended."""
        return not self._told.keys().isdisjoint(("exit", "not_started", "lost"))

    @property
    def why_not_started(self) -> str:
        return self._told.get("not_started", "")

    def kill(self) -> None:
        """Kills the process at once, whatever it is doing."""
        _launcher.kill(self.number)

    def close(self) -> None:
        with self._reading:
            if self._report >= 0:
                os.close(self._report)
                self._report = -1
                self._told["lost"] = True

    def _wait_for(self, what: tuple[str, ...], timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        with self._reading:
            while self._report >= 0 and self._told.keys().isdisjoint((*what, "lost")):
                poll = select.poll()
                poll.register(self._report, select.POLLIN)
                if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
                    return
                self._read()

    def _read(self) -> None:
        received = os.read(self._report, 1 << 12)
        if not received:
            self._told["lost"] = True  # the fork server has ended, and its workers with it
        *lines, self._text = (self._text + received).split(b"\n")
        for line in lines:
            self._told.update(json.loads(line))


class _Launcher:
    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()  # a pool that is garbage-collected during a start ends its workers
        self._control: socket.socket | None = None
        self._server: subprocess.Popen | None = None
        self._started = 0

    def start(self, channel: int, target: int) -> Process:
        """Starts a worker process that communicates over `channel` and loads its target from the
        file `target`.
        """
        with self._lock:
            self._started += 1
            number = self._started
            report, report_end = os.pipe2(os.O_CLOEXEC)
            try:
                self._request({"fork": number}, [channel, target, report_end])
            except BaseException:
                os.close(report)
                raise
            finally:
                os.close(report_end)
        return Process(number, report)

    def kill(self, number: int) -> None:
        with self._lock:
            if self._control is not None:
                try:
                    socket.send_fds(self._control, [json.dumps({"kill": number}).encode()], [])
                except OSError:
                    pass  # the server has ended, and its workers with it

    def _request(self, request: dict[str, Any], fds: list[int]) -> None:
        message = json.dumps(request).encode()
        if self._control is not None:
            try:
                socket.send_fds(self._control, [message], fds)
                return
            except OSError:  # the server was killed
                self._stop()
        self._control, self._server = _start_server()
        socket.send_fds(self._control, [message], fds)

    def stop(self) -> None:
        with self._lock:
            self._stop()

    def _stop(self) -> None:
        if self._control is None or self._server is None:
            return
        self._control.close()
        try:
            self._server.wait(_SERVER_GRACE_S)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait(_SERVER_GRACE_S)
        self._control = self._server = None

    def after_fork(self) -> None:
        # The child starts its own server if it needs one. This one continues for the parent.
        if self._control is not None and self._server is not None:
            self._control.close()
            self._server.returncode = 0  # not a child of this process: nothing to wait for
        self._reset()


def _start_server() -> tuple[socket.socket, subprocess.Popen]:
    if not sys.executable:
        raise Unavailable("workers='processes' needs a Python interpreter to start, and sys.executable names none")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    folders = [os.fspath(folder) for folder in sys.path]
    code = (
        f"import sys; sys.path[:] = {folders!r}; "
        f"from forebay._processes.fork_server import main; main({theirs.fileno()}, {os.getpid()})"
    )
    flags = subprocess._args_from_interpreter_flags()
    # Ctrl-C must not reach the server before it ignores the signal. A blocked signal stays blocked
    # across the start.
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        server = subprocess.Popen(
            [sys.executable, *flags, "-c", code],
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
            env=environment(),
        )
    except OSError as error:
        raise Unavailable(f"the process that workers are forked from did not start: {error}") from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        theirs.close()
    return ours, server


_launcher = _Launcher()
start = _launcher.start
os.register_at_fork(after_in_child=_launcher.after_fork)
atexit.register(_launcher.stop)
