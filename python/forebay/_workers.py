"""Threads that run user Python code for the engine.

The engine's threads never touch the interpreter. Work for a user function waits in the loader as a
call. The daemon threads made here take the calls, run the function and return the answer. They hold
the native loader and the functions but never the public `Loader`, so dropping the `Loader` still
closes everything.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping

from . import _core
from ._batch_values import batch_fields_of
from ._concurrent import Numbers
from ._epochs import EpochGate, epoch_setters
from ._growth import Growth
from ._numpy import np
from ._pool import STUCK_AFTER_S, Pool, Slot, log, own_copy
from ._processes.functions import InProcesses, LoaderProcesses, Movable
from ._typing import Any
from ._user_exceptions import can_leave_a_loop, is_of_sample, text_of, with_note
from ._values import fields_of
from .errors import InvalidArgument, UserFailure


def function_name(function: Callable) -> str:
    """Returns a name that is the same in every process: "module.function", never an address."""
    inner = getattr(function, "func", None)  # functools.partial
    if inner is not None and callable(inner):
        return f"partial of {function_name(inner)}"
    named = function if hasattr(function, "__qualname__") else type(function)
    return f"{named.__module__}.{named.__qualname__}"


def run_by(workers: str, what: str, function: Any) -> Any:
    """Wraps a step's function for its `workers=`."""
    if workers == "processes":
        return InProcesses(function)
    if workers == "auto":
        return Movable(function)
    if workers != "threads":
        raise InvalidArgument(f"{what}: workers is {workers!r}; it can be 'threads', 'processes' or 'auto'")
    return function


def random_generator(key: tuple[int, int, int, int], random_index: int) -> np.random.Generator:
    """Returns a generator that depends only on (seed, epoch, id, occurrence) and the index of the
    step among the random steps.

    Its counter begins at (0, random_index, occurrence, id), so no two generators ever share
    numbers.
    """
    seed, epoch, sample, occurrence = key
    counter = np.array([0, random_index, occurrence, sample], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(counter=counter, key=np.array([seed, epoch], dtype=np.uint64)))


class MapFunction:
    """The function of `.map(fn)`: makes a new sample from a sample."""

    def __init__(self, function: Callable, random: bool, epoch: bool = False) -> None:
        self.function = function
        self.random = random
        self.epoch = epoch
        self.name = f".map({function_name(function)})"

    def __call__(self, call: _core.SampleCall) -> dict[str, Any]:
        rng = (random_generator(call.key, call.random_index),) if self.random else ()
        epoch = {"epoch": call.key[1]} if self.epoch else {}
        return fields_of(self.function(call.input(), *rng, **epoch), self.name)


class BatchFunction:
    """The function of `.map_batch(fn)`: makes fields of the fields of a batch."""

    def __init__(self, function: Callable, random: bool) -> None:
        self.function = function
        self.random = random
        self.name = f".map_batch({function_name(function)})"

    def __call__(self, call: _core.BatchCall) -> tuple[dict[str, Any], int]:
        rng = (random_generator(call.key, call.random_index),) if self.random else ()
        return batch_fields_of(self.function(call.input(), *rng), self.name)


class CollateFunction:
    """The function of `.collate(fn)`: makes the object that the loader delivers of samples."""

    def __init__(self, function: Callable, random: bool) -> None:
        self.function = function
        self.random = random
        self.name = f".collate({function_name(function)})"

    def __call__(self, call: _core.BatchCall) -> Any:
        rng = (random_generator(call.key, call.random_index),) if self.random else ()
        batch = self.function(call.input(), *rng)
        if batch is None:
            raise TypeError(f"{self.name} returned None: did it forget to return the batch?")
        return batch


class FilterFunction:
    """The function of `.filter(fn)`: returns whether to keep a sample."""

    def __init__(self, function: Callable) -> None:
        self.function = function
        self.name = f".filter({function_name(function)})"

    def __call__(self, call: _core.SampleCall) -> dict[str, Any]:
        keep = self.function(call.input())
        if keep is None:
            raise TypeError(f"{self.name} returned None: return True for the samples to keep and False for the others")
        return {"keep": np.asarray(bool(keep))}


def map_function(fn: Callable, *, random: bool, workers: str, epoch: bool) -> Any:
    """Returns the function of a step `.map(fn)`, wrapped for its `workers=`."""
    _check_callable(fn, "map")
    return run_by(workers, ".map", MapFunction(fn, bool(random), bool(epoch)))


def map_batch_function(fn: Callable, *, random: bool, workers: str) -> Any:
    """Returns the function of a step `.map_batch(fn)`, wrapped for its `workers=`."""
    _check_callable(fn, "map_batch")
    return run_by(workers, ".map_batch", BatchFunction(fn, bool(random)))


def collate_function(fn: Callable, *, random: bool, workers: str) -> Any:
    """Returns the function of a step `.collate(fn)`, wrapped for its `workers=`."""
    _check_callable(fn, "collate")
    return run_by(workers, ".collate", CollateFunction(fn, bool(random)))


def filter_function(fn: Callable) -> FilterFunction:
    """Returns the function of a step `.filter(fn)`."""
    _check_callable(fn, "filter")
    return FilterFunction(fn)


def _check_callable(fn: Any, name: str) -> None:
    if not callable(fn):
        raise InvalidArgument(f"{name}: {fn!r} is not a function")


class DatasetItems:
    """The function of `fb.Dataset(obj)`: returns `obj[id]` as a sample."""

    def __init__(self, dataset: Any, gate: EpochGate | None = None) -> None:
        self.dataset = dataset
        self.name = f"Dataset({function_name(type(dataset))})"
        self._gate = gate  # None: items do not depend on the epoch
        self._told = [0]
        self._setters: list[Callable[[int], Any]] | None = None

    def for_thread(self) -> DatasetItems:
        """Returns a version with a copy of the data set for one thread, or self if it cannot be
        copied.
        """
        copy = own_copy(self.dataset)
        return self if copy is self.dataset else DatasetItems(copy, self._gate)

    def __call__(self, call: _core.SampleCall) -> dict[str, Any]:
        if self._gate is None:
            return self._item(call.item)
        if self._setters is None:
            self._setters = epoch_setters(self.dataset)
        with self._gate.epoch(call.key[1], self._setters, self._told):
            return self._item(call.item)

    def _item(self, index: int) -> dict[str, Any]:
        item = self.dataset[index]
        if isinstance(item, (tuple, list)):
            item = {str(i): value for i, value in enumerate(item)}
        elif not isinstance(item, Mapping):
            item = {"0": item}
        return fields_of(item, self.name)


class Calls:
    """The calls of one loader. A pool's threads take and answer them."""

    def __init__(self, core: _core.Loader, functions: dict[int, Any]) -> None:
        self.core = core
        self.functions = functions
        self.kept = _core.KeptObjects()
        # By token, until the engine has let go of them or the training loop takes them: exceptions,
        # with the note that is added when one is raised, and batches of `.collate`.
        self.objects: dict[int, Any] = {}
        self.tokens = Numbers()

    @property
    def closed(self) -> bool:
        return self.core.closed

    def take(self, slot: Slot, timeout_s: float) -> Callable[[], None] | None:
        call = self.core.take_call(timeout_s)
        if call is None:
            return None
        function = self._function(slot, call.step)
        slot.what = lambda: f"{function.name} has been working on {call.place}"
        return lambda: self._answer(call, function)

    def answer(self, call: Any, slot: Slot) -> None:
        self._answer(call, self._function(slot, call.step))

    def _function(self, slot: Slot, step: int) -> Any:
        # Looked up for each call, because the function may have moved.
        function = self.functions[step]
        if not hasattr(function, "for_thread"):
            return function
        if step not in slot.own:
            slot.own[step] = function.for_thread()
        return slot.own[step]

    def _answer(self, call: Any, function: Any) -> None:
        try:
            finish(call, function(call), self._keep)
        except BaseException as error:  # SystemExit too: the training loop should get it
            self.fail(call, function.name, error)

    def fail(self, call: Any, name: str, error: BaseException) -> None:
        error = can_leave_a_loop(error, name)
        note = f"in {name} at {call.place}"
        self._keep(self._failure(error, note), lambda held: call.fail(text_of(error), held, is_of_sample(error)))

    def _failure(self, error: BaseException, note: str) -> Any:
        """Returns what is kept of an exception."""
        return error, note

    def _keep(self, what: Any, hand_over: Callable[[_core.HeldObject], None]) -> None:
        """Keeps an object until the engine drops its token, which `hand_over` gives to it."""
        self.forget_dropped()
        token = next(self.tokens)
        self.objects[token] = what
        try:
            hand_over(self.kept.hold(token))
        except BaseException:
            del self.objects[token]  # a traceback holds the call, which counts as failed when nothing holds it
            raise

    def forget_dropped(self) -> None:
        for token in self.kept.take_dropped():
            self.objects.pop(token, None)


def portable_exception(failure: UserFailure) -> BaseException:
    """Returns the exception that a user function raised in a server."""
    told, note = _unpickled(failure.exception)
    return with_note(told.exception("in the server that makes the batches"), note)


def _unpickled(content: Any) -> Any:
    import pickle  # only clients of a server need it

    return pickle.loads(content)


def finish(call: Any, answer: Any, keep: Callable[[Any, Callable], None]) -> None:
    """Gives the answer of a function to the engine, in the form that the call wants."""
    if isinstance(call, _core.SampleCall):
        call.finish(answer)
    elif call.wants_object:
        keep(answer, call.finish_object)
    else:
        call.finish(*answer)


def default_workers() -> int:
    # More threads than cores: user code often waits for files, and otherwise the threads take turns
    # anyway.
    return min(8, 2 * len(os.sched_getaffinity(0)))


class Workers:
    """The threads of one loader. Nothing runs before `start()`.

    The pool begins with `count` threads and grows while user code waits for something outside the
    process; see `Growth`. Each thread works on its own copy of a data set.
    """

    def __init__(
        self, core: _core.Loader | _core.ServedLoader, functions: dict[int, Any], count: int, processes: int | None = None,
        calls: type[Calls] = Calls,
    ) -> None:
        # Sizes are not chosen yet while a filter is being evaluated.
        processes = processes or core.stats()["threads"] or len(os.sched_getaffinity(0))
        self._processes = LoaderProcesses(functions, processes)
        self._calls = calls(core, self._processes.functions)
        here = [function.name for function in functions.values() if not isinstance(function, (InProcesses, Movable))]
        # The pool must not refer back to this object: dropping the loader drops this object, which
        # closes everything.
        self._where = _Whereabouts(self._processes, count, _Hint(here))
        self._pool = Pool(self._calls, self._where.growth(), self._where)

    def start(self) -> None:
        if self._calls.functions:
            self._pool.start()

    def answer(self, call: _core.SampleCall | _core.BatchCall) -> None:
        """Answers a call that was taken before the threads began, on this thread."""
        self._calls.answer(call, Slot(0))

    def decisions(self) -> list[tuple[float, int, int]]:
        """Returns `Pool.decisions`."""
        return self._pool.decisions

    def moves(self) -> list[tuple[float, str, str]]:
        """Returns the moves of functions with workers="auto": (time by `time.monotonic()`, from,
        to).
        """
        return list(self._where.moves)

    def exception(self, failure: UserFailure) -> BaseException:
        """Returns the exception that a user function raised, with its traceback and a note on
        where.
        """
        if isinstance(failure.exception, int):
            return with_note(*self._calls.objects[failure.exception])
        return portable_exception(failure)

    def taken(self, batch: _core.Batch[Any]) -> Any:
        """Returns what the training loop gets for a batch: the object that `.collate` made of it,
        or the batch itself.
        """
        held = batch._object
        if held is None:
            return batch
        return self._calls.objects.pop(held) if isinstance(held, int) else _unpickled(held)

    def stop(self) -> list[str]:
        """Waits, once, for the threads of a closed loader. Returns descriptions of the user code
        that did not return in time.
        """
        self._processes.close(STUCK_AFTER_S)
        stuck = self._pool.stop()
        self._calls.forget_dropped()
        return stuck


class _Whereabouts:
    """Decides where the functions of a loader run, and how many threads that takes. The pool calls
    it when functions hold the interpreter lock.
    """

    def __init__(self, processes: LoaderProcesses, threads: int, hint: _Hint) -> None:
        self._processes, self._threads, self._hint = processes, threads, hint
        self.moves: list[tuple[float, str, str]] = []

    def growth(self) -> Growth:
        # One thread per worker process; more would only wait for a process.
        processes = self._processes.count
        return Growth(processes, cap=processes) if self._processes.all else Growth(max(self._threads, processes))

    def __call__(self) -> Growth | None:
        """Moves all movable functions to processes."""
        self._hint()
        names = self._processes.movable
        if not names:
            return None
        try:
            self._processes.move()
        except Exception as error:  # the run continues on threads, whatever the reason
            log().warning("%s: holds Python's lock, and stays on threads: %s", names, error)
            return None
        self.moves.append((time.monotonic(), "threads", "processes"))
        return self.growth()

    def back(self) -> Growth:
        self._processes.move_back()
        self.moves.append((time.monotonic(), "processes", "threads"))
        return self.growth()


_hinted: set[str] = set()


class _Hint:
    """Warns once per process that functions of a loader hold the interpreter lock."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def __call__(self) -> None:
        names = ", ".join(sorted(set(self.names) - _hinted))
        if names:
            _hinted.update(self.names)
            log().warning(
                "%s: computes while it holds Python's lock, so threads take turns and other cores idle; "
                "workers='processes' would use them", names)
