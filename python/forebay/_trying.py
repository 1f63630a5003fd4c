"""Opens loaders over changed pipelines for diagnose(), profile() and materialize()."""

from __future__ import annotations

import math
import operator
from contextvars import ContextVar
from typing import Any, Callable, Mapping

from . import _core
from ._options import _bytes, _count_or_auto
from ._processes.functions import InProcesses, Movable
from ._workers import BatchFunction, CollateFunction, DatasetItems, MapFunction
from .errors import InvalidArgument
from .loader import Loader
from .pipeline import Pipeline


# Called now and then by studies that are begun in its context; ends them by raising.
poll: ContextVar[Callable[[], None] | None] = ContextVar("poll", default=None)

pace = 1.0  # factor on the usual measuring time; tests that do not check speeds use a small one

_GONE = 2**64 - 1  # the position of a step that was removed


class Opener:
    """Opens the loaders that are tried, with the functions of the pipeline at their new positions.
    """

    def __init__(self, pipeline: Pipeline, options: Mapping[str, Any], movable: bool = False) -> None:
        # A comparison requires that functions stay on threads or in processes; other work may move
        # them (`movable`).
        self._functions = {step: function if movable else _inner(function) for step, function in pipeline._functions.items()}
        self._options = {**options, "epochs": None}

    def __call__(
        self, description: _core.Description, threads: int | None, requests: int | None, memory: int | None, places: list[int],
        processes: bool,
    ) -> Loader:
        numbers = {"threads": threads, "requests": requests, "memory": memory}
        options = {**self._options, **{name: "auto" if number is None else number for name, number in numbers.items()}}
        loader = Loader(Pipeline(description, moved(self._functions, places, processes)), **options)
        loader._prepare()
        return loader


def moved(functions: Mapping[int, Any], places: list[int], processes: bool) -> dict[int, Any]:
    return {places[step]: InProcesses(_inner(function)) if processes and can_move(function) else function
            for step, function in functions.items() if places[step] < _GONE}


def can_move(function: Any) -> bool:
    return isinstance(_inner(function), (MapFunction, BatchFunction, CollateFunction, DatasetItems))


def _inner(function: Any) -> Any:
    return function.function if isinstance(function, Movable) else function


def numbers_of(options: Mapping[str, Any]) -> dict[str, int | None]:
    """Returns `threads`, `requests` and `memory` as the engine takes them; None is "auto"."""
    memory = options.get("memory", "auto")
    return {
        "threads": _count_or_auto("threads", options.get("threads", "auto")),
        "requests": _count_or_auto("requests", options.get("requests", "auto")),
        "memory": None if memory == "auto" else _bytes("memory", memory),
    }


def seconds_of(name: str, value: Any) -> float:
    try:
        number = float(value if isinstance(value, float) else operator.index(value))
    except TypeError:
        number = math.nan
    if not 0 <= number < 3.6e6:
        raise InvalidArgument(f"{name} is {value!r}; it must be a number from 0 to 3,600,000")
    return number
