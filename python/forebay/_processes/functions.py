"""The functions of a loader that run in worker processes, on one pool for all of them."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple

if TYPE_CHECKING:
    from .pool import ProcessPool


class InProcesses:
    """A step's function that is to run in worker processes. Until a loader opens it is nothing but a mark."""

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
        from .pool import WorkerDied

        try:
            fields = call.sample() if self._step > 0 else {}
            return self._pool.call(None, self._step, call.key, call.random_index, fields)
        except WorkerDied as error:
            error.sample, error.key, error.operator = call.key[2], call.name, self.name
            raise


class LoaderProcesses:
    """The worker processes of one loader, and its functions with those that run there replaced."""

    def __init__(self, functions: Mapping[int, Any], count: int) -> None:
        """Errors: InvalidArgument where a function or data set cannot be sent to a process."""
        marked = {step: function for step, function in functions.items() if isinstance(function, InProcesses)}
        self.functions = dict(functions)
        self._pool: ProcessPool | None = None
        if not marked:
            return
        names = ", ".join(function.name for function in marked.values())
        from .pool import ProcessPool

        target = _MakeSteps({step: function.function for step, function in marked.items()})
        self._pool = ProcessPool(target, count, names)
        for step, function in marked.items():
            self.functions[step] = _Remote(self._pool, step, function.name)

    @property
    def count(self) -> int:
        """How many there are: 0 where no function asks for them."""
        return 0 if self._pool is None else len(self._pool)

    @property
    def all(self) -> bool:
        """Whether every function runs there."""
        return self._pool is not None and all(isinstance(one, _Remote) for one in self.functions.values())

    def close(self, timeout_s: float) -> None:
        """Ends them; says which were still in user code after `timeout_s` and were killed."""
        if self._pool is None:
            return
        if killed := self._pool.close(timeout_s):
            warnings.warn(
                f"killed: {self._pool.name} did not return within {timeout_s:.0f} s in {len(killed)} worker process(es)",
                RuntimeWarning,
                stacklevel=3,
            )
