"""Worker processes for user Python code whose threads would wait for the interpreter's lock."""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from typing import Any, Callable, Iterator

from .._concurrent import Numbers, WeakRegistry
from ..errors import Cancelled, InvalidArgument, Unavailable, WorkerDied
from . import launcher
from .by_value import CodePickler
from .channel import Channel, Closed
from .content_pickler import load, pickled
from .failure import Failure
from .unpicklable import explain
from .worker import Setup, WorkerInfo

_REPORT_TIMEOUT_S = 5.0
_EXIT_GRACE_S = 1.0


class _Worker:
    """The program's end of one worker process."""

    def __init__(self, index: int) -> None:
        self.index = index
        self.busy = False
        self.channel: Channel | None = None
        self.process: launcher.Process | None = None
        self.ready = False  # whether its target exists
        self.generation = 0  # counts starts: an iterator does not outlive its process

    def start(self, setup: Setup, target: int) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.channel = Channel(ours, keep=False)
            self.process = launcher.start(theirs.fileno(), target)
        self.generation += 1
        try:
            self.channel.send(setup)
        except Closed:
            pass  # it has already ended; the first call finds out why

    def forget(self) -> None:
        if self.channel is not None:
            self.channel.close()
        if self.process is not None:
            self.process.close()
        self.channel = self.process = None
        self.ready = False


class ProcessPool:
    """A fixed number of worker processes that each hold a target and answer calls.

    `make_target` is pickled once, and called once in each worker to create the target: a function
    or another callable. Objects that it refers to (a data set, for example) are in memory once for
    all workers, until one of them changes them. `init(index)` is called in each worker before that.
    Inside a worker, `current_worker()` returns which one it is. Nothing is seeded: `random` and
    `numpy.random` start differently in each worker.

    Results are returned as pickles whose arrays and torch tensors are in shared memory. They stay
    valid as long as they are referenced. Workers share the program's standard output and error; the
    program handles Ctrl-C.

    All methods may be called from any thread. A pool belongs to the process that created it, not to
    its forks.

    Errors: InvalidArgument if `make_target` or `init` cannot be pickled; Unavailable if no process
    can be started.
    """

    def __init__(
        self,
        make_target: Callable[[], Callable],
        count: int,
        name: str,
        init: Callable[[int], None] | None = None,
    ) -> None:
        if count < 1:
            raise InvalidArgument(f"{name}: {count} worker processes; at least one is needed")
        self.name = name
        self._owner = os.getpid()
        self._closed = False
        self._changed = threading.Condition()
        self._numbers = Numbers()
        try:
            self._target, self._lengths = to_memory((make_target, init))
        except Exception as error:
            raise InvalidArgument(f"{name}: {explain((make_target, init), error)}") from error
        self._workers = [_Worker(index) for index in range(count)]
        _pools.add(self)
        try:
            for worker in self._workers:
                worker.start(self._setup(worker.index), self._target)
        except BaseException:
            self.close(0)
            raise

    def __len__(self) -> int:
        return len(self._workers)

    @property
    def pids(self) -> list[int | None]:
        """Process ids by worker; None for one that did not start."""
        return [w.process.pid(_REPORT_TIMEOUT_S) if w.process else None for w in self._workers]

    def wait_ready(self) -> None:
        """Waits until each worker has created its target. Raises the errors of `call`, and
        WorkerDied if a worker ends while it does so.
        """
        for index in range(len(self._workers)):
            worker = self._take(index)
            try:
                if not worker.ready:
                    self._await_ready(worker)
            except Closed:
                raise self._ended(worker) from None
            finally:
                self._release(worker)

    def wait_idle(self) -> None:
        """Waits until no worker is in a call, or the pool is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or not any(worker.busy for worker in self._workers))

    def call(self, worker: int | None, *args: Any) -> Any:
        """Returns `target(*args)`, run in a worker process; with `None` in the next free one. Waits
        for a free worker and for the answer.

        Errors: the exception of the user's code, with its own type and the traceback from the
        worker as a note (ExceptionInWorker if the type cannot leave the worker); WorkerDied, after
        which a new process replaces the worker and the call is not repeated; Cancelled if the pool
        is closed meanwhile; InvalidArgument for arguments that cannot be pickled.
        """
        taken = self._take(worker)
        try:
            return self._ask(taken, "call", *args)
        finally:
            self._release(taken)

    def iterate(self, worker: int, *args: Any, batch: int = 1) -> Iterator[Any]:
        """Yields the items of `iter(target(*args))`, which lives in that worker. `batch` items are
        fetched at a time.

        Items created before an exception are delivered before it. Between fetches the worker is
        free for other calls. Raises the same errors as `call`.
        """
        number = next(self._numbers)
        taken = self._take(worker)
        try:
            self._ask(taken, "iterate", number, *args)
            generation = taken.generation
        finally:
            self._release(taken)
        more = True
        try:
            while more:
                items, more, failure = self._pull(worker, number, batch, generation)
                yield from items
                del items
                if failure is not None:
                    raise failure.exception(self._where(worker))
        finally:
            if more:
                self._leave(worker, number, generation)

    def close(self, timeout_s: float = 5.0) -> list[int]:
        """Ends all workers. Waiting calls get Cancelled.

        A worker that is still in user code after `timeout_s` is killed; the result holds the
        indices of these workers. Closing twice is allowed, and so is closing in a forked child,
        where it ends nothing.
        """
        if os.getpid() != self._owner:
            return []
        with self._changed:
            if self._closed:
                return []
            self._closed = True
            self._changed.notify_all()
            channels = [worker.channel for worker in self._workers if worker.channel is not None]
            processes = {worker.index: worker.process for worker in self._workers if worker.process is not None}
            os.close(self._target)
        for channel in channels:
            channel.shut_down()
        killed = _end(processes, timeout_s)
        with self._changed:
            for process in processes.values():
                process.close()
            for worker in self._workers:
                if not worker.busy and worker.channel is not None:
                    worker.channel.close()
        return killed

    def __enter__(self) -> ProcessPool:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_workers"):
            self.close(0)

    def __reduce__(self):
        raise TypeError("a ProcessPool cannot be pickled: it owns processes")

    # Assigning workers

    def _take(self, index: int | None) -> _Worker:
        self._must_be_open()
        with self._changed:
            while True:
                self._must_be_open()
                candidates = self._workers if index is None else [self._workers[index]]
                for worker in candidates:
                    if not worker.busy:
                        worker.busy = True
                        return worker
                self._changed.wait()

    def _release(self, worker: _Worker) -> None:
        with self._changed:
            worker.busy = False
            if self._closed and worker.channel is not None:
                worker.channel.close()  # close() could not, because the channel was in use
            self._changed.notify_all()

    def _must_be_open(self) -> None:
        if os.getpid() != self._owner:
            raise InvalidArgument(
                f"{self.name}: its worker processes belong to process {self._owner}, from which this one was forked; "
                "open a new one here"
            )
        if self._closed:
            raise Cancelled(f"{self.name}: its worker processes were closed")

    # Calls

    def _ask(self, worker: _Worker, *request: Any) -> Any:
        try:
            if not worker.ready:
                self._await_ready(worker)
            assert worker.channel is not None
            _send(worker.channel, request, self.name)
            contents = worker.channel.receive_pickled()
        except Closed:
            raise self._ended(worker) from None
        except _NotSent as error:
            raise error.reason from None
        except BaseException:
            self._replace(worker)  # its next message would answer an earlier request
            raise
        good, value = load(contents)
        if not good:
            raise value.exception(self._where(worker.index))
        return value

    def _await_ready(self, worker: _Worker) -> None:
        with self._changed:
            self._must_be_open()
            if worker.channel is None:
                worker.start(self._setup(worker.index), self._target)
        assert worker.channel is not None
        good, value = worker.channel.receive()
        if not good:  # the worker then ended; the next call tries again
            raise value.exception(self._where(worker.index))
        worker.ready = True

    def _where(self, index: int) -> str:
        return f"in worker process {index} of {self.name}"

    def _pull(self, index: int, number: int, batch: int, generation: int) -> tuple[list[Any], bool, Failure | None]:
        worker = self._take(index)
        try:
            if worker.generation != generation or worker.channel is None:
                raise WorkerDied(f"worker process {index} of {self.name} ended, and the iterator in it is gone")
            return self._ask(worker, "next", number, batch)
        finally:
            self._release(worker)

    def _leave(self, index: int, number: int, generation: int) -> None:
        if os.getpid() != self._owner or self._closed:
            return
        worker = self._workers[index]
        with self._changed:
            if worker.busy or worker.generation != generation or worker.channel is None:
                return
            worker.busy = True
        try:
            self._ask(worker, "leave", number)
        finally:
            self._release(worker)

    # Ends of workers

    def _ended(self, worker: _Worker) -> Exception:
        if self._closed:
            return Cancelled(f"{self.name}: its worker processes were closed")
        process, worker_was = worker.process, self._where(worker.index)[3:]
        assert process is not None
        code = process.exit_code(_REPORT_TIMEOUT_S)
        pid = process.pid(0)
        self._replace(worker)
        if process.why_not_started:
            return WorkerDied(f"{worker_was} could not be started: {process.why_not_started}")
        error = WorkerDied(f"{worker_was} (process {pid}) {_how(code)}")
        error.exit_code = code
        return error

    def _replace(self, worker: _Worker) -> None:
        if worker.process is not None and not worker.process.ended:
            worker.process.kill()
        worker.forget()  # the next call starts a new one

    def _setup(self, index: int) -> Setup:
        main = vars(sys.modules["__main__"])
        return Setup(
            info=WorkerInfo(index, len(self._workers), self.name),
            target_lengths=self._lengths,
            sys_path=[os.fspath(folder) for folder in sys.path],
            folder=_folder(),
            argv=list(sys.argv),
            environment=launcher.environment(),
            main={name: main.get(name) for name in ("__file__", "__package__")},
        )

    def _after_fork(self) -> None:
        # In the child: close its copies of the sockets, so that the workers notice when the parent
        # ends.
        for worker in self._workers:
            if worker.channel is not None:
                worker.channel.close()


class _NotSent(Exception):
    def __init__(self, reason: BaseException) -> None:
        self.reason = reason


def _send(channel: Channel, request: tuple, name: str) -> None:
    try:
        channel.send(request)
    except Closed:
        raise
    except Unavailable as error:  # the machine's fault, not the sample's
        raise _NotSent(error) from error
    except Exception as error:
        raise _NotSent(InvalidArgument(f"{name}: {explain(request[1:], error)}")) from error


def to_memory(target: Any) -> tuple[int, tuple[int, ...]]:
    """Returns a memory file with the pickle of `target` followed by the contents of its arrays, and
    the lengths of these parts. Raises the errors of pickling.
    """
    contents = pickled(target, CodePickler)
    fd = os.memfd_create("forebay-target", os.MFD_CLOEXEC)
    with open(fd, "wb", closefd=False) as file:
        file.writelines(contents)
    return fd, tuple(len(content) for content in contents)


def _end(processes: dict[int, launcher.Process], timeout_s: float) -> list[int]:
    deadline = time.monotonic() + timeout_s
    killed = []
    for index, process in processes.items():
        process.exit_code(max(0.0, deadline - time.monotonic()))
        if not process.ended:
            process.kill()
            killed.append(index)
    for index in killed:
        processes[index].exit_code(_REPORT_TIMEOUT_S)
    return killed


def _how(code: int | None) -> str:
    if code is None:
        return "ended, and how is not known: the process that it was forked from ended too"
    if code >= 0:
        return f"ended with exit code {code} in the middle of a call"
    name = signal.Signals(-code).name if -code in signal.valid_signals() else f"signal {-code}"
    why = ": by the kernel because memory ran out, or by somebody" if code == -signal.SIGKILL else ""
    return f"was killed by {name}{why}"


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


# Pools that are open when the process forks or ends.
_pools: WeakRegistry[ProcessPool] = WeakRegistry()


def _after_fork() -> None:
    for pool in _pools.alive():
        pool._after_fork()


@atexit.register  # registered after that of `launcher`, so it runs first
def _close_all() -> None:
    for pool in _pools.alive():
        pool.close(_EXIT_GRACE_S)


os.register_at_fork(after_in_child=_after_fork)
