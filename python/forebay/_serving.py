"""The server for pipelines with user functions: `share=` starts it where a pipeline has some.

It is the engine's server (`src/serve`) in an interpreter. Loaders, batches and groups are those of
the program `forebay`; here the functions are loaded, and threads answer the loaders' calls.
"""

from __future__ import annotations

import argparse
import functools
import io
import json
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Sequence

from . import _core
from ._options import _converter
from ._pool import log
from ._processes.content_pickler import ReturnPickler, load
from ._processes.failure import Failure, not_sendable
from ._processes.identity import File, changed
from ._processes.worker import contents_of
from ._typing import Any
from ._user_exceptions import text_of
from ._user_pipelines import OTHERWISE, description_of, file_number
from ._workers import Calls, Workers, default_workers
from .errors import InvalidArgument, Unavailable

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
    _become_a_server(given.listen_at)
    try:
        os.chdir(folder)
    except OSError:
        pass  # it does not exist any more
    _core.serve(given.socket, given.listen_at, given.linger, _load)
    sys.stderr.flush()
    os._exit(0)  # threads may still be in functions


def _become_a_server(listening: int) -> None:
    os.dup2(2, 1)  # the log
    sys.stdout.reconfigure(line_buffering=True)
    os.set_inheritable(listening, False)  # a program that a function starts must not keep the socket open
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Python's own handler runs only between statements of this thread
    os.environ["JAX_PLATFORMS"] = "cpu"  # otherwise JAX takes most of a trainer's GPU memory


class _Loaded:
    """A pipeline, once for all clients that have an equal one. Each loader gets functions of its own:
    unrelated loaders must not share what functions and data sets keep in variables. The contents of
    arrays are shared.
    """

    def __init__(self, contents: Sequence[memoryview]) -> None:
        self._contents = contents
        steps, _, output = load(contents)
        self.description = description_of(steps)
        self.convert = _converter(output)

    def functions(self) -> dict[int, Any]:
        return load(self._contents)[1]

    def begin(self, threads: int | None, core: _core.ServedLoader) -> Callable[[], None]:
        """Begins to answer the calls of a loader. Returns a function that ends that."""
        ended = threading.Event()
        answer = threading.Thread(target=_answer_calls, args=(core, self, threads, ended), name="forebay-served", daemon=True)
        answer.start()
        return ended.set


_loaded: weakref.WeakValueDictionary[str, _Loaded] = weakref.WeakValueDictionary()
_loading = threading.Lock()


def _load(source: str) -> tuple[_core.Description, Any, Callable[[_core.ServedLoader], Callable[[], None]]]:
    given = json.loads(source)
    with _loading:
        loaded = _loaded.get(given["identity"])
        if loaded is None:
            loaded = _read(given["file"], given["number"], given["lengths"])
            _check_modules(given["modules"])
            _loaded[given["identity"]] = loaded
    return loaded.description, loaded.convert, functools.partial(loaded.begin, given["threads"])


def _read(file: str, number: list[int], lengths: list[int]) -> _Loaded:
    try:
        opened = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        if file_number(opened) != number:  # the client has closed its file, or has its number in another container
            os.close(opened)
            raise FileNotFoundError(f"{file} is another file")
        contents = contents_of(opened, lengths)
    except OSError as error:
        raise InvalidArgument(
            f"share=: the server cannot read the functions from the memory of the client ({error}); processes that share an "
            f"engine need one view of /proc (one container); use {OTHERWISE} for this pipeline"
        ) from None
    try:
        return _Loaded(contents)
    except BaseException as error:  # what an import raises, SystemExit too
        raise InvalidArgument(
            f"share=: the functions of this pipeline cannot be loaded in another process: {text_of(error)}; use {OTHERWISE} for it"
        ) from error


def _check_modules(files: list[File]) -> None:
    """InvalidArgument if this process has imported other versions of the program's files than the
    client.
    """
    if file := next(filter(changed, files), None):
        raise InvalidArgument(
            f"share=: {file[0]} was changed after this program had imported it, so that the server has other code; start the program "
            f"again, or use {OTHERWISE}"
        )


def _answer_calls(core: _core.ServedLoader, loaded: _Loaded, threads: int | None, ended: threading.Event) -> None:
    # Most loaders of a group only note a position and call nothing. They get no threads and no
    # worker processes.
    call = None
    while call is None and not ended.is_set():
        call = ended.wait() if core.closed else core.take_call(_TAKE_S)
    if ended.is_set():
        return
    try:
        workers = _workers_of(core, loaded, threads)
    except BaseException as error:  # processes or threads cannot be started
        _fail_calls(core, call, error, ended)
        return
    workers.answer(call)
    ended.wait()
    for stuck in workers.stop():
        log().warning("%s", stuck)


def _workers_of(core: _core.ServedLoader, loaded: _Loaded, threads: int | None) -> Workers:
    workers = Workers(
        core, loaded.functions(), threads or default_workers(), threads or len(os.sched_getaffinity(0)), calls=PortableCalls
    )
    try:
        workers.start()
    except BaseException:
        workers.stop()
        raise
    return workers


def _fail_calls(core: _core.ServedLoader, call: Any, error: BaseException, ended: threading.Event) -> None:
    """Fails this call and all later ones of a loader."""
    why = Unavailable(f"share=: the server cannot run the functions of this pipeline: {text_of(error)}")
    why.__cause__ = error
    calls = PortableCalls(core, {})
    while not ended.is_set():
        if call is not None:
            calls.fail(call, "share=", why)
        call = ended.wait() if core.closed else core.take_call(_TAKE_S)


class PortableCalls(Calls):
    """Calls whose exceptions and objects are for other processes: they leave as pickles."""

    def _keep(self, what: Any, hand_over: Callable[[_core.HeldObject], None]) -> None:
        hand_over(_core.portable_object(_pickle(what)))

    def _failure(self, error: BaseException, note: str) -> Any:
        return Failure.of(error), note


def _pickle(value: Any) -> bytes:
    stream = io.BytesIO()
    try:
        ReturnPickler(stream, protocol=5).dump(value)
    except BaseException as error:
        raise not_sendable(value, error, "the server that makes the batches", OTHERWISE) from error
    return stream.getvalue()
