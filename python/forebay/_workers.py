"""Threads that run the user's own Python for the engine.

The engine's threads never touch the interpreter. What a user's function has to do waits in the loader as a call; the
daemon threads made here take the calls, run the function and hand the answer back. They hold the native loader and the
functions but never the public `Loader`, so dropping that one still closes everything.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from typing import Any, Callable, Mapping

import numpy as np

from . import _core
from .errors import InvalidArgument, UserFailure, not_yet

_TAKE_TIMEOUT_S = 1.0  # only how often an idle thread looks around: closing wakes it at once
STUCK_AFTER_S = 5.0


def function_name(function: Callable) -> str:
    """A name that is the same in every process: "module.function", never an address."""
    inner = getattr(function, "func", None)  # functools.partial
    if inner is not None and callable(inner):
        return f"partial of {function_name(inner)}"
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def only_threads(workers: str, what: str) -> None:
    """Refuses what `workers=` cannot be yet."""
    if workers == "processes":
        raise not_yet(f"{what}(workers='processes')", "use workers='threads', the default")
    if workers != "threads":
        raise InvalidArgument(f"{what}: workers is {workers!r}; it can be 'threads'")


def random_generator(key: tuple[int, int, int, int], random_index: int) -> np.random.Generator:
    """A generator that depends on (seed, epoch, id, occurrence) and the step's place among the random steps, and on nothing
    else. Its counter begins at (0, random_index, occurrence, id), so no two generators ever share numbers."""
    seed, epoch, sample, occurrence = key
    counter = np.array([0, random_index, occurrence, sample], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=np.array([seed, epoch], dtype=np.uint64)))


def to_field(name: object, value: Any) -> np.ndarray | str | bytes:
    """A value that user code returned, as the engine takes it: a C-contiguous array, str or bytes."""
    if not isinstance(name, str):
        raise TypeError(f"names of fields are text; got {name!r} of type {type(name).__name__}")
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if hasattr(value, "detach"):  # a torch tensor, perhaps one with gradients or on another device
        value = value.detach().cpu()
    array = np.asarray(value, order="C")
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(
            f"the field '{name}' is {_describe(value, array)}; "
            "a field is a number, str, bytes, a NumPy array of numbers or a torch tensor"
        )
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _describe(value: Any, array: np.ndarray) -> str:
    kind = f"of type {type(value).__name__}"
    return f"{kind} with elements {array.dtype}" if isinstance(value, (np.ndarray, list, tuple)) else kind


def _returned(mapping: Any, what: str) -> dict[str, Any]:
    if not isinstance(mapping, Mapping):
        hint = ": did it forget to return the sample?" if mapping is None else ""
        raise TypeError(f"{what} returned {type(mapping).__name__}, not a dict of fields{hint}")
    return {name: to_field(name, value) for name, value in mapping.items()}


class MapFunction:
    """`.map(fn)`: a new sample from a sample."""

    def __init__(self, function: Callable, random: bool) -> None:
        self.function = function
        self.random = random
        self.name = f".map({function_name(function)})"

    def __call__(self, call: _core.ForeignCall) -> dict[str, Any]:
        if self.random:
            result = self.function(call.sample(), random_generator(call.key, call.random_index))
        else:
            result = self.function(call.sample())
        return _returned(result, self.name)


class FilterFunction:
    """`.filter(fn)`: whether a sample is kept."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.name = f".filter({function_name(function)})"

    def __call__(self, call: _core.ForeignCall) -> dict[str, Any]:
        keep = self.function(call.sample())
        if keep is None:
            raise TypeError(f"{self.name} returned None: return True for the samples to keep and False for the others")
        return {"keep": np.asarray(bool(keep))}


class DatasetItems:
    """`fb.Dataset(obj)`: `obj[id]` as a sample."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.name = f"Dataset({function_name(type(dataset))})"

    def __call__(self, call: _core.ForeignCall) -> dict[str, Any]:
        item = self.dataset[call.key[2]]
        if isinstance(item, (tuple, list)):
            item = {str(i): value for i, value in enumerate(item)}
        elif not isinstance(item, Mapping):
            item = {"0": item}
        return _returned(item, self.name)


class _State:
    """What the threads of one loader share."""

    def __init__(self, core: _core.Loader, functions: dict[int, Any]) -> None:
        self.core = core
        self.functions = functions
        self.failures = _core.Failures()
        self.exceptions: dict[int, BaseException] = {}
        self.tokens = itertools.count()
        self.running: dict[int, tuple[str, str, float]] = {}  # thread → function, sample, since when

    def forget_dropped(self) -> None:
        for token in self.failures.take_dropped():
            self.exceptions.pop(token, None)


class Workers:
    """The threads of one loader. Nothing runs before `start()`."""

    def __init__(self, core: _core.Loader, functions: dict[int, Any], count: int) -> None:
        self._state = _State(core, functions)
        self._count = count
        self._threads: list[threading.Thread] = []
        self._process = os.getpid()

    def start(self) -> None:
        if self._threads or not self._state.functions:
            return
        for i in range(self._count):
            thread = threading.Thread(target=_serve, args=(self._state,), name=f"forebay-python-{i}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def exception(self, failure: UserFailure) -> BaseException:
        """The exception that a user's function raised, with its traceback."""
        return self._state.exceptions[failure.token]

    def stop(self) -> list[str]:
        """Waits for the threads of a closed loader. Says what user code did not return in time."""
        if os.getpid() != self._process:
            return []  # threads do not live on in a forked child
        deadline = time.monotonic() + STUCK_AFTER_S
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        stuck = [self._stuck(thread) for thread in self._threads if thread.is_alive()]
        self._threads = []
        self._state.forget_dropped()
        return [text for text in stuck if text]

    def _stuck(self, thread: threading.Thread) -> str:
        running = self._state.running.get(thread.ident or 0)
        if running is None or thread is threading.current_thread():
            return ""
        function, sample, since = running
        return f"{function} has been working on {sample} for {time.monotonic() - since:.0f} s"


def _serve(state: _State) -> None:
    while True:
        call = state.core.take_call(_TAKE_TIMEOUT_S)
        if call is not None:
            _answer(state, call)
            del call  # and with it the sample, before waiting for the next one
        elif state.core.closed:
            return


def _answer(state: _State, call: _core.ForeignCall) -> None:
    function = state.functions[call.step]
    thread = threading.get_ident()
    state.running[thread] = (function.name, call.name, time.monotonic())
    try:
        call.finish(function(call))
    except BaseException as error:  # SystemExit too: it is the training loop that should see it
        _fail(state, call, function.name, error)
    finally:
        del state.running[thread]


def _fail(state: _State, call: _core.ForeignCall, name: str, error: BaseException) -> None:
    state.forget_dropped()
    if hasattr(error, "add_note"):
        error.add_note(f"in {name} at sample {call.key[2]}: {call.name}")
    token = next(state.tokens)
    state.exceptions[token] = error
    call.fail(f"{type(error).__name__}: {error}", token, state.failures)
