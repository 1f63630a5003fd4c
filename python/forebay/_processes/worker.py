"""The code that runs in a worker process: creates the target once, then answers calls one after
another.
"""

from __future__ import annotations

import builtins
import contextlib
import itertools
import mmap
import os
import socket
import sys
import types
from typing import Any, Callable, Iterator, NamedTuple, Sequence

from ..errors import Unavailable
from .channel import Channel, Closed
from .content_pickler import load
from .failure import Failure, not_sendable


class WorkerInfo(NamedTuple):
    """Identifies a worker process."""

    index: int
    count: int
    name: str


class Setup(NamedTuple):
    """The first message to a worker: the settings of the program that it adopts."""

    info: WorkerInfo
    target_lengths: tuple[int, ...]
    sys_path: list[str]
    folder: str | None
    argv: list[str]
    environment: dict[str, str]
    main: dict[str, Any]


_current: WorkerInfo | None = None


def current_worker() -> WorkerInfo | None:
    """Returns the worker process in which this code runs, numbered from 0; None in the program
    itself.
    """
    return _current


def serve(connection: socket.socket, target: int) -> int:
    """Answers calls until the program closes the connection. Returns the exit status."""
    with contextlib.closing(Channel(connection, keep=True)) as channel, contextlib.suppress(Closed):
        try:
            function = _begin(channel.receive(), target)
        except Closed:
            raise
        except BaseException as error:
            channel.send((False, Failure.of(error)))
            return 1
        finally:
            _flush()
        channel.send((True, None))
        _Answers(channel, function).run()
    return 0


def _begin(setup: Setup, target: int) -> Callable:
    global _current
    _current = setup.info
    sys.path[:] = setup.sys_path
    sys.argv[:] = setup.argv
    os.environ.clear()
    os.environ.update(setup.environment)
    with contextlib.suppress(OSError, TypeError):  # a folder that no longer exists
        os.chdir(setup.folder)
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    main.__dict__.update(setup.main, __builtins__=builtins)  # imports from C look for `__builtins__`
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()  # otherwise all workers would draw the same numbers, from the fork server's state
    make_target, init = load(contents_of(target, setup.target_lengths))
    if init is not None:
        init(setup.info.index)
    return make_target()


def contents_of(fd: int, lengths: Sequence[int]) -> list[memoryview]:
    """Returns what `to_memory` wrote to a file, in the form that `load` takes. Closes the file."""
    # A private mapping: all processes share the data set's memory until one of them changes its own
    # copy.
    size = sum(lengths)
    whole = memoryview(mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE))
    os.close(fd)
    ends = list(itertools.accumulate(lengths))
    return [whole[end - length : end] for end, length in zip(ends, lengths)]


class _Answers:
    def __init__(self, channel: Channel, function: Callable) -> None:
        self._channel = channel
        self._function = function
        self._iterators: dict[int, Iterator] = {}

    def run(self) -> None:
        while True:
            try:
                request, *args = self._channel.receive()
                answer = True, getattr(self, f"_{request}")(*args)
            except Closed:
                raise
            except BaseException as error:  # SystemExit too: the training loop should get it
                answer = False, Failure.of(error)
            _flush()
            self._send(answer)
            del answer  # released before waiting for the next request, because it may be large

    def _send(self, answer: tuple[bool, Any]) -> None:
        try:
            self._channel.send(answer)
        except Closed:
            raise
        except Unavailable as error:  # the machine's fault, not the sample's
            self._channel.send((False, Failure.of(error)))
        except BaseException as error:
            self._channel.send((False, Failure.of(not_sendable(answer[1], error))))

    def _call(self, *args: Any) -> Any:
        return self._function(*args)

    def _iterate(self, number: int, *args: Any) -> None:
        self._iterators[number] = iter(self._function(*args))

    def _next(self, number: int, count: int) -> tuple[list[Any], bool, Failure | None]:
        """Returns (items, whether there may be more, the failure that ended it)."""
        items: list[Any] = []
        iterator = self._iterators[number]
        try:
            items += itertools.islice(iterator, count)
        except BaseException as error:
            self._leave(number)
            return items, False, Failure.of(error)
        if len(items) < count:
            self._leave(number)
        return items, len(items) == count, None

    def _leave(self, number: int) -> None:
        self._iterators.pop(number, None)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
