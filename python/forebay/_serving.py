"""The server for pipelines with user functions: `share=` starts it where a pipeline has some.

It is the engine's server (`src/serve`) in an interpreter. Loaders, batches and groups are those of
the program `forebay`; here the functions are loaded, and threads answer the loaders' calls.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import threading
import weakref
from collections.abc import Callable

from . import _core
from ._options import _converter
from ._processes.content_pickler import ContentPickler, load
from ._processes.failure import Failure, not_sendable
from ._processes.worker import contents_of
from ._typing import Any
from ._user_exceptions import text_of
from ._user_pipelines import OTHERWISE, description_of
from ._workers import Calls, Workers, default_workers
from .errors import InvalidArgument

_TAKE_S = 1.0


def main(folder: str) -> None:
    """Runs the server in the working folder of its clients, until the last of them has gone."""
    parser = argparse.ArgumentParser()
    parser.add_argument("verb", choices=["serve"])
    parser.add_argument("--listen-at", type=int)
    parser.add_argument("--linger", type=int)
    parser.add_argument("--socket")
    given = parser.parse_args()
    sys.argv[1:] = []
    try:
        os.chdir(folder)
    except OSError:
        pass  # it does not exist any more
    _core.serve(given.socket, given.listen_at, given.linger, _load)
    sys.stderr.flush()
    os._exit(0)  # threads may still be in functions


class _Loaded:
    """A pipeline with its functions, once for all clients that have an equal one."""

    def __init__(self, steps: Any, functions: dict[int, Any], output: str) -> None:
        self.description = description_of(steps)
        self.functions = functions
        self.convert = _converter(output)

    def begin(self, core: _core.ServedLoader) -> Callable[[], None]:
        """Begins to answer the calls of a loader. Returns a function that ends that."""
        ended = threading.Event()
        threading.Thread(target=_answer_calls, args=(core, self, ended), name="forebay-served", daemon=True).start()
        return ended.set


_loaded: weakref.WeakValueDictionary[str, _Loaded] = weakref.WeakValueDictionary()
_loading = threading.Lock()


def _load(source: str) -> tuple[_core.Description, Any, Callable[[_core.ServedLoader], Callable[[], None]]]:
    given = json.loads(source)
    with _loading:
        loaded = _loaded.get(given["identity"])
        if loaded is None:
            loaded = _loaded[given["identity"]] = _read(given["file"], given["lengths"])
    return loaded.description, loaded.convert, loaded.begin


def _read(file: str, lengths: list[int]) -> _Loaded:
    try:
        contents = contents_of(os.open(file, os.O_RDONLY | os.O_CLOEXEC), lengths)
    except OSError as error:
        raise InvalidArgument(
            f"share=: the server cannot read the functions from the memory of the client ({error}); processes that share an "
            f"engine need one view of /proc (one container); use {OTHERWISE} for this pipeline"
        ) from None
    try:
        return _Loaded(*load(contents))
    except BaseException as error:  # what an import raises, SystemExit too
        raise InvalidArgument(
            f"share=: the functions of this pipeline cannot be loaded in another process: {text_of(error)}; use {OTHERWISE} for it"
        ) from error


def _answer_calls(core: _core.ServedLoader, loaded: _Loaded, ended: threading.Event) -> None:
    # Most loaders of a group only note a position and call nothing. They get no threads and no
    # worker processes.
    call = None
    while call is None and not ended.is_set():
        call = ended.wait() if core.closed else core.take_call(_TAKE_S)
    if ended.is_set():
        return
    workers = Workers(core, loaded.functions, default_workers(), len(os.sched_getaffinity(0)), calls=PortableCalls)
    workers.start()
    workers.answer(call)
    ended.wait()
    workers.stop()


class PortableCalls(Calls):
    """Calls whose exceptions and objects are for other processes: they leave as pickles."""

    def _keep(self, what: Any, hand_over: Callable[[_core.HeldObject], None]) -> None:
        hand_over(_core.portable_object(_pickle(what)))

    def _failure(self, error: BaseException, note: str) -> Any:
        return Failure.of(error), note


def _pickle(value: Any) -> bytes:
    stream = io.BytesIO()
    try:
        ContentPickler(stream, protocol=5).dump(value)
    except BaseException as error:
        raise not_sendable(value, error, "the server that makes the batches", OTHERWISE) from error
    return stream.getvalue()
