"""The process that worker processes are forked from.

It is started once per program, from a fresh interpreter. It keeps a single thread and imports only
NumPy and Forebay: no engine, no torch, no CUDA, no locks that another thread holds. Forking it is
safe and takes milliseconds.

It watches the program's process and ends with it, however the program ends. Its workers end with
it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import selectors
import signal
import socket
from typing import Any

_NICENESS = 3  # training takes precedence over loading, as with compute threads
_LARGEST_REQUEST_BYTES = 1 << 12
_PR_SET_PDEATHSIG = 1


def main(control: int, program: int) -> None:
    """Serves the program with process id `program` over the socket `control`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program handles Ctrl-C
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
    _end_with_parent(os.getppid() != program)
    import cloudpickle  # noqa: F401  what every worker needs, once for all
    import numpy  # noqa: F401

    gc.collect()
    gc.freeze()
    _Server(socket.socket(fileno=control), program).run()


def _end_with_parent(orphan: bool) -> None:
    if orphan:
        os._exit(0)


class _Server:
    """Handles requests. They are {"fork": number} with three descriptors, and {"kill": number}.

    The descriptors are a worker's channel, the file from which it loads its target, and a pipe for
    reports of its process id and its end.
    """

    def __init__(self, control: socket.socket, program: int) -> None:
        self._control = control
        self._workers: dict[int, tuple[int, int]] = {}  # number → process id, pipe
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, self._on_request)
        self._watched = _watch(program)
        if self._watched is not None:
            self._selector.register(self._watched, selectors.EVENT_READ, _leave)
        self._wake_in, self._wake_out = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._selector.register(self._wake_in, selectors.EVENT_READ, self._on_child)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake_out, warn_on_full_buffer=False)

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                key.data()

    def _on_request(self) -> None:
        try:
            message, fds, _, _ = socket.recv_fds(self._control, _LARGEST_REQUEST_BYTES, 3)
        except OSError:
            _leave()
        if not message:
            _leave()
        request = json.loads(message)
        if "fork" in request:
            self._fork(request["fork"], *fds)
        elif request["kill"] in self._workers:
            os.kill(self._workers[request["kill"]][0], signal.SIGKILL)

    def _fork(self, number: int, channel: int, target: int, report: int) -> None:
        server = os.getpid()
        try:
            process = os.fork()
        except OSError as error:
            _tell(report, {"not_started": str(error)})
            process = -1
        if process == 0:
            self._become_worker(server, channel, target, report)
        os.close(channel)
        os.close(target)
        if process < 0:
            return
        self._workers[number] = process, report
        _report(report, {"process": process})

    def _become_worker(self, server: int, channel: int, target: int, report: int) -> None:
        status = 1
        try:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            _end_with_parent(os.getppid() != server)
            os.nice(_NICENESS)
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            self._selector.close()
            self._control.close()
            pipes = [pipe for _, pipe in self._workers.values()]
            for fd in (self._wake_in, self._wake_out, self._watched, report, *pipes):
                if fd is not None:
                    os.close(fd)
            from .worker import serve

            status = serve(socket.socket(fileno=channel), target)
        finally:
            os._exit(status)

    def _on_child(self) -> None:
        os.read(self._wake_in, 1 << 10)
        by_process = {process: number for number, (process, _) in self._workers.items()}
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            if process in by_process:
                _, report = self._workers.pop(by_process[process])
                _tell(report, {"exit": os.waitstatus_to_exitcode(status)})


def _leave() -> None:
    os._exit(0)  # the kernel kills the workers, because their parent is gone


def _watch(program: int) -> int | None:
    try:
        return os.pidfd_open(program)
    except OSError:  # an old kernel: rely on the end of the control socket
        return None


def _report(report: int, what: dict[str, Any]) -> None:
    try:
        os.write(report, json.dumps(what).encode() + b"\n")
    except OSError:
        pass  # nobody reads the report any more


def _tell(report: int, what: dict[str, Any]) -> None:
    _report(report, what)
    os.close(report)
