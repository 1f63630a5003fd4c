"""The functions of a loader that run in worker processes, on one pool for all of them."""

from __future__ import annotations

import threading
import time
import warnings
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple

from ..errors import WorkerDied

if TYPE_CHECKING:
    from .pool import ProcessPool


_ON_ITS_WAY_S = 2.0


class InProcesses:
    """A step's function that is to run in worker processes. Until a loader opens it is nothing but a mark."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name = function.name


class Movable:
    """A step's function that runs on threads until they turn out to take turns; then it may go to worker processes."""

    def __init__(self, function: Any) -> None:
        self.function = function
        self.name = function.name


class _Call(NamedTuple):
    """What a step's function looks at in a call, in the worker. Random generators are made there, from the key."""

    key: tuple[int, int, int, int]
    random_index: int
    fields: dict[str, Any]

    def sample(self) -> dict[str, Any]:
        return self.fields


class _MakeSteps:
    """Gives a worker its target: from a step's number and a call to the answer."""

    def __init__(self, functions: Mapping[int, Any]) -> None:
        self.functions = tuple(functions.items())

    def __call__(self) -> Callable[..., dict[str, Any]]:
        functions = dict(self.functions)

        def run(step: int, *call: Any) -> dict[str, Any]:
            return functions[step](_Call(*call))

        return run


class _Remote:
    """A step's function as the loader's threads call it."""

    def __init__(self, pool: ProcessPool, step: int, name: str) -> None:
        self._pool = pool
        self._step = step
        self.name = name

    def __call__(self, call: Any) -> dict[str, Any]:
        try:
            fields = call.sample() if self._step > 0 else {}
            return self._pool.call(None, self._step, call.key, call.random_index, fields)
        except WorkerDied as error:
            error.sample, error.key, error.operator = call.key[2], call.name, self.name
            raise


def _end_idle(pool: ProcessPool) -> None:
    # A thread that took the function before it went back may still be on its way into a process: it finds one.
    time.sleep(_ON_ITS_WAY_S)
    pool.wait_idle()
    pool.close()


class LoaderProcesses:
    """The worker processes of one loader, and its functions with those that run there replaced."""

    def __init__(self, functions: Mapping[int, Any], count: int) -> None:
        """Errors: InvalidArgument where a function or data set cannot be sent to a process."""
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
        """The names of those that may be moved, and have not been; empty where there are none."""
        return ", ".join(function.name for function in self._movable.values()) if self._moved is None else ""

    def move(self) -> None:
        """Runs what may be moved in worker processes from the next call on. Any error where it cannot be sent there, or not made there, or no process
        can be started: then it stays."""
        pool = self._pool_of(self._movable)
        try:
            pool.wait_ready()
        except BaseException:
            pool.close(0)
            raise
        self._moved = pool
        if self._closed:  # meanwhile
            pool.close(0)
            return
        self._call_in(pool, self._movable)

    def move_back(self) -> None:
        """On threads from the next call on. Calls that are in a process end there, and then the processes."""
        self.functions.update({step: function.function for step, function in self._movable.items()})
        pool = self._moved
        if pool is not None:
            threading.Thread(target=_end_idle, args=(pool,), name="forebay-moved-back", daemon=True).start()

    @property
    def count(self) -> int:
        """How many there are: 0 where no function is in one."""
        return sum(len(pool) for pool in (self._pool, self._moved) if pool is not None)

    @property
    def all(self) -> bool:
        """Whether every function runs there."""
        return bool(self.functions) and all(isinstance(one, _Remote) for one in self.functions.values())

    def close(self, timeout_s: float) -> None:
        """Ends them; says which were still in user code after `timeout_s` and were killed."""
        self._closed = True
        for pool in (self._pool, self._moved):
            if pool is not None and (killed := pool.close(timeout_s)):
                warnings.warn(
                    f"killed: {pool.name} did not return within {timeout_s:.0f} s in {len(killed)} worker process(es)",
                    RuntimeWarning,
                    stacklevel=3,
                )
