"""Values as the model has them: with how well they are known."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Iterable

import numpy as np

DATA_ERRORS = frozenset({"Corrupt", "Unsupported", "NotFound"})
"""What may be wrong with a sample, beside the user's own exceptions."""


def is_strings(value: Any) -> bool:
    """str, bytes, or a list of such."""
    if isinstance(value, list):
        return all(isinstance(item, (str, bytes)) for item in value)
    return isinstance(value, (str, bytes))


@dataclass(frozen=True)
class Known:
    """An array, a str, bytes or a list of these two; elements of an array within `tolerance`, infinite where only type and shape are known."""

    value: Any
    tolerance: float = 0.0
    form: str = ""  # of a picture: "hw", "hwc" or "chw"; without one "hw" or "hwc" by its axes
    laid_out: bool = False  # by .layout

    def __post_init__(self) -> None:
        if not is_strings(self.value):  # NumPy makes scalars of arrays without axes
            object.__setattr__(self, "value", np.asarray(self.value))

    def of(self, value: Any, tolerance: float | None = None) -> Known:
        """Another value in its place."""
        return replace(self, value=value, tolerance=self.tolerance if tolerance is None else tolerance)

    @property
    def exact(self) -> bool:
        return self.tolerance == 0


@dataclass(frozen=True)
class Bad:
    """A field that cannot be had: its row is bad if anybody looks at it."""

    errors: frozenset[str] = DATA_ERRORS
    sure: bool = True  # false: an engine that computes less than the whole row may not notice


@dataclass
class Row:
    fields: dict[str, Known | Bad] = field(default_factory=dict)
    perhaps_bad: bool = False  # of a step that an engine may leave out

    def copy(self) -> Row:
        return Row(dict(self.fields), self.perhaps_bad)

    @property
    def bad(self) -> bool:
        return any(isinstance(value, Bad) and value.sure for value in self.fields.values())

    @property
    def doubtful(self) -> bool:
        """It may be bad or not."""
        return not self.bad and (self.perhaps_bad or any(isinstance(value, Bad) for value in self.fields.values()))

    @property
    def errors(self) -> frozenset[str]:
        return errors_of(self.fields.values())


def errors_of(values: Iterable[Known | Bad]) -> frozenset[str]:
    return frozenset().union(*(value.errors for value in values if isinstance(value, Bad)))


def opaque(dtype: str, shape: tuple) -> Known:
    return Known(np.zeros(shape, dtype), math.inf)


def differs(expected: Known, got: Any) -> str | None:
    """What is wrong with a delivered value."""
    want = expected.value
    if is_strings(want):
        if type(got) is not type(want):
            return f"a {type(got).__name__}, not a {type(want).__name__}"
        return None if got == want or not expected.exact else f"{got!r}, not {want!r}"
    if not isinstance(got, np.ndarray):
        return f"a {type(got).__name__}, not an array"
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{got.dtype} {got.shape}, not {want.dtype} {want.shape}"
    if expected.tolerance == math.inf:
        return None
    if expected.exact or want.dtype == bool:
        same = (got == want) | ((got != got) & (want != want))
    else:
        # Halves and logarithms are known relatively.
        wide, mine = want.astype("float64"), got.astype("float64")
        with np.errstate(invalid="ignore"):
            close = np.abs(wide - mine) <= expected.tolerance * np.maximum(1, np.abs(wide))
        same = close | (wide == mine) | (np.isnan(wide) & np.isnan(mine))
    if same.all():
        return None
    place = np.unravel_index(int(np.argmin(same)), same.shape) if same.shape else ()
    more = "" if expected.exact else f" (± {expected.tolerance:g})"
    return f"{got[place]!r} at {list(map(int, place))}, not {want[place]!r}{more}"
