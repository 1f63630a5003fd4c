"""Runs functions of a loader in worker processes, all on one pool."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable, Mapping

from .._typing import TYPE_CHECKING, Any, NamedTuple
from ..errors import WorkerDied

if TYPE_CHECKING:
    from .pool import ProcessPool


_ON_ITS_WAY_S = 2.0


class InProcesses:
    """A step's function that is to run in worker processes. It is only a mark until a loader opens.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name = function.name


class Movable:
    """A step's function that runs on threads first. If the threads take turns for the lock, it may
    move to worker processes.
    """

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name = function.name


class _Call(NamedTuple):
    """The attributes of a call that a step's function uses in the worker. Random generators are
    created there from the key.
    """

    key: tuple[int, int, int, int]
    random_index: int
    fields: Any  # of a sample or a batch, or a list of samples
    item: int  # index in a data set; unused by other functions

    def input(self) -> Any:
        return self.fields


class _MakeSteps:
    """Creates a worker's target, a function of a step's number and a call that returns the answer.
    """

    def __init__(self, functions: Mapping[int, Any]) -> None:
        self.functions = tuple(functions.items())

    def __call__(self) -> Callable[..., Any]:
        functions = dict(self.functions)

        def run(step: int, *call: Any) -> Any:
            return functions[step](_Call(*call))

        return run


class _Remote:
    """A step's function as the loader's threads call it."""

    def __init__(self, pool: ProcessPool, step: int, name: str) -> None:
        self._pool = pool
        self._step = step
        self.name = name

    def __call__(self, call: Any) -> Any:
        try:
            fields = call.input() if self._step > 0 else {}
            return self._pool.call(None, self._step, call.key, call.random_index, fields, getattr(call, "item", -1))
        except WorkerDied as error:
            error.sample, error.key, error.operator = call.sample, call.name, self.name
            raise


def _end_idle(pool: ProcessPool) -> None:
    # A thread that took the function before the move back may be about to call a process, which
    # must still exist.
    time.sleep(_ON_ITS_WAY_S)
    pool.wait_idle()
    pool.close()


class LoaderProcesses:
    """The worker processes of one loader, and its functions, with proxies for those that run in
    processes.
    """

    def __init__(self, functions: Mapping[int, Any], count: int) -> None:
        """Starts the processes for marked functions. InvalidArgument if a function or data set
        cannot be sent to a process.
        """
        marked = {step: function for step, function in functions.items() if isinstance(function, InProcesses)}
        self._movable = {step: function for step, function in functions.items() if isinstance(function, Movable)}
        self.functions = {step: function.function if isinstance(function, Movable) else function
                          for step, function in functions.items()}
        self._wanted = count
        self._pool: ProcessPool | None = None
        self._moved: ProcessPool | None = None
        self._closed = False
        if marked:
            self._pool = self._pool_of(marked)
            self._call_in(self._pool, marked)

    def _pool_of(self, marked: Mapping[int, InProcesses | Movable]) -> ProcessPool:
        from .pool import ProcessPool

        names = ", ".join(function.name for function in marked.values())
        return ProcessPool(_MakeSteps({step: function.function for step, function in marked.items()}), self._wanted, names)

    def _call_in(self, pool: ProcessPool, marked: Mapping[int, InProcesses | Movable]) -> None:
        self.functions.update({step: _Remote(pool, step, function.name) for step, function in marked.items()})

    @property
    def movable(self) -> str:
        """The names of functions that may move but have not moved; empty if there are none."""
        return ", ".join(function.name for function in self._movable.values()) if self._moved is None else ""

    def move(self) -> None:
        """Moves the movable functions to worker processes, from the next call on.

        Raises the error if they cannot be sent to a process or created there, or no process can be
        started; they then stay on threads.
        """
        pool = self._pool_of(self._movable)
        try:
            pool.wait_ready()
        except BaseException:
            pool.close(0)
            raise
        self._moved = pool
        if self._closed:  # closed in the meantime
            pool.close(0)
            return
        self._call_in(pool, self._movable)

    def move_back(self) -> None:
        """Moves the functions back to threads, from the next call on. Calls in progress finish in
        the processes, which then end.
        """
        self.functions.update({step: function.function for step, function in self._movable.items()})
        pool = self._moved
        if pool is not None:
            threading.Thread(target=_end_idle, args=(pool,), name="forebay-moved-back", daemon=True).start()

    @property
    def count(self) -> int:
        """The number of processes; 0 if no function runs in one."""
        return sum(len(pool) for pool in (self._pool, self._moved) if pool is not None)

    @property
    def all(self) -> bool:
        """Whether all functions run in processes."""
        return bool(self.functions) and all(isinstance(one, _Remote) for one in self.functions.values())

    def close(self, timeout_s: float) -> None:
        """Ends the processes. Returns descriptions of those that were still in user code after
        `timeout_s` and were killed.
        """
        self._closed = True
        for pool in (self._pool, self._moved):
            if pool is not None and (killed := pool.close(timeout_s)):
                warnings.warn(
                    f"killed: {pool.name} did not return within {timeout_s:.0f} s in {len(killed)} worker process(es)",
                    RuntimeWarning,
                    stacklevel=3,
                )
