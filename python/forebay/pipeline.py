"""The pipeline: an immutable description of a data set and its operators. It touches no storage."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable, Mapping

from . import _core
from ._appending import plain_args
from ._operators import Operators
from ._parts import own
from ._pyarrow import find_pyarrow
from ._typing import TYPE_CHECKING, Any, NamedTuple
from ._user_exceptions import encodable
from ._workers import function_name
from .errors import Problem

__all__ = ["IMAGENET", "Normalization", "Pipeline"]


class Normalization(NamedTuple):
    """Mean and standard deviation of each channel, for values from 0 to 1."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


IMAGENET = Normalization(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
"""Of ImageNet's training pictures, red, green, blue."""


class Pipeline(Operators):
    """A source of samples and the operators after it.

    A pipeline is immutable: every method returns a new one. Nothing is read or checked before
    `check()` or before a `Loader` is opened. `print(pipeline)` shows one line per operator.

    Image operators work on the field `image` unless `field=` names another one. The fields of a
    list share one random draw, so a picture and its mask stay aligned.
    """

    __slots__ = ("_classes", "_description", "_functions")

    def __init__(self, description: _core.Description, functions: Mapping[int, Any] | None = None) -> None:
        if not isinstance(description, _core.Description):
            raise TypeError("a Pipeline begins with a source: fb.images, fb.files, fb.manifest, fb.arrays or fb.Dataset")
        self._description = description
        self._functions: dict[int, Any] = dict(functions or {})
        self._classes: tuple[str, ...] | None = None

    # Properties and formats

    @property
    def classes(self) -> list[str]:
        """Names of the classes in the order of their labels. Reads the listing on first use."""
        if self._classes is None:
            self._classes = tuple(self._description.classes())
        return list(self._classes)

    @property
    def fingerprint(self) -> str:
        """Hash, 32 hexadecimal digits, of everything that affects the samples. Batch size and
        caches do not.
        """
        return self._description.fingerprint()

    def check(self) -> list[Problem]:
        """Returns all problems of this pipeline, as (operator, message, remedy).
        Touches no storage.
        """
        return [Problem(*problem) for problem in self._description.check()]

    def to_json(self) -> str:
        """Returns this pipeline as JSON.

        InvalidArgument if it contains functions, data sets, or arrays or tables in memory, which
        have no JSON form. Arrays in `.npy` files are saved by their paths.
        """
        return self._description.to_json()

    @classmethod
    def from_json(cls, text: str) -> Pipeline:
        """Returns the pipeline that `to_json` wrote. InvalidArgument if the text is not such a
        pipeline.
        """
        return cls(_core.Description.from_json(text))

    if not TYPE_CHECKING:  # or checkers would accept every name

        def __getattr__(self, name: str) -> Any:
            # Called only for missing attributes. Given `name` and `obj`, Python adds its own
            # suggestion to a traceback.
            if name.startswith("_"):
                raise AttributeError(f"'Pipeline' object has no attribute '{name}'", name=name, obj=self)
            near = _core.suggest(encodable(name), [one for one in dir(type(self)) if not one.startswith("_")])
            hint = f"did you mean '.{near}'?" if near else "help(forebay.Pipeline) lists them"
            raise AttributeError(f"a Pipeline has no operator '{name}'; {hint}", name=name, obj=self)

    def __copy__(self) -> Pipeline:
        return self  # immutable

    def __deepcopy__(self, memo: dict[int, Any]) -> Pipeline:
        return self

    def __str__(self) -> str:
        return self._description.to_text()

    def __repr__(self) -> str:
        return self._description.to_text()

    def _repr_html_(self) -> str:
        from ._html import pipeline_html

        return pipeline_html(self)

    def __reduce__(self) -> tuple[Callable[[str], Pipeline], tuple[str]]:
        return Pipeline.from_json, (self.to_json(),)

    # Construction

    def _then(self, name: str, /, **args: Any) -> Pipeline:
        return Pipeline(self._description.append(name, plain_args(name, args)), self._functions)

    def _with_function(self, name: str, fn: Callable[..., Any], function: Any, **args: Any) -> Pipeline:
        description = self._description.append(name, plain_args(name, args), f"<{function_name(fn)}>")
        return Pipeline(description, {**self._functions, description.step_count() - 1: function})


def collates(pipeline: Pipeline) -> bool:
    """Returns whether batches are objects that a function of `.collate` makes."""
    return "collate" in pipeline._description.steps()


own(Pipeline, Normalization)

find_pyarrow()  # no table is opened but by a pipeline


@atexit.register  # before that of the module `loader`, which therefore runs first
def _be_quiet_about_threads() -> None:
    # Threads that cannot be stopped hold memory until the process ends. Do not report that as a
    # leak.
    if threading.active_count() > 1:
        _core.be_quiet_at_exit()
