"""Appends steps to a pipeline's description.

Arguments are converted to the form that C++ and JSON files use, so that equal pipelines have equal
fingerprints: arguments that are not given are omitted, and a list of one element is replaced by the
element. The methods of `_operators.py` convert each argument by its type in the catalog, with the
functions here.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from . import _core
from ._typing import TYPE_CHECKING, Any
from ._user_exceptions import encodable
from .errors import InvalidArgument

if TYPE_CHECKING:
    from .pipeline import Pipeline


class Appending:
    """The interface that operators use; Pipeline implements it."""

    __slots__ = ()

    def _then(self, name: str, /, **args: Any) -> Pipeline:
        raise NotImplementedError

    def _with_function(self, name: str, fn: Callable, function: Any, **args: Any) -> Pipeline:
        raise NotImplementedError


def plain_args(operator: str, args: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the given arguments as descriptions hold them. InvalidArgument for values that no
    description can hold.
    """
    plain = {name: _number(value) for name, value in args.items() if value is not None}
    for name, value in plain.items():
        _check_plain(f"{operator}: {name}", value)
    return plain


def _check_plain(what: str, value: Any) -> None:
    if isinstance(value, (list, tuple)):
        for one in value:
            _check_plain(what, one)
    elif isinstance(value, dict):
        for name, one in value.items():
            _check_plain(what, name)
            _check_plain(what, one)
    elif isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise InvalidArgument(f"{what} is {value}; whole numbers in a pipeline lie between -2**63 and 2**63 - 1")
    elif isinstance(value, str):
        if encodable(value) != value:
            raise InvalidArgument(f"{what} is {value!r}, which is no valid text")
    elif value is not None and not isinstance(value, float):
        raise InvalidArgument(
            f"{what} is of type {type(value).__name__}; a pipeline is described by numbers, text, and lists of them"
        )


def _number(value: Any) -> Any:
    # NumPy scalars are not int or float, but mean the same.
    if getattr(value, "shape", None) == ():
        return value.item()
    return [_number(one) for one in value] if isinstance(value, (list, tuple)) else value


def _one_or_list(value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    return value[0] if len(value) == 1 else list(value)


def _by_field(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def _float_by_field(name: str, value: float | Mapping[str, float]) -> float | dict[str, float]:
    if not isinstance(value, Mapping):
        return _float(name, value)
    return {field: _float(f"{name} of '{field}'", one) for field, one in sorted(value.items())}


def _range(name: str, value: float | tuple[float, float] | None) -> float | list[float] | None:
    return None if value is None else _numbers(name, value)


def _numbers(name: str, values: Any) -> float | list[float]:
    import numbers

    return _float(name, values) if isinstance(values, numbers.Real) else _one_or_list(_floats(name, values))


def _float(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{name} is {value!r:.100}; it must be a number that a float holds") from None


def _floats(name: str, values: Any) -> list[float]:
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError, OverflowError):
        raise InvalidArgument(f"{name} is {values!r}; it must be a list of numbers") from None


def _weights(name: str, weights: Any) -> str | list[float]:
    if isinstance(weights, str):
        return weights
    from ._numpy import np

    if isinstance(weights, Mapping) or np.ndim(weights) != 1:
        raise InvalidArgument(f"{name} is {weights!r:.100}; give the name of a field, or a list with one number for each sample")
    return _floats(name, np.asarray(weights).tolist())


def _pair(first: Any, second: Any, otherwise: str) -> tuple[Any, Any]:
    # Two arguments, or one that holds both.
    if second is not None:
        return first, second
    try:
        first, second = first
    except (TypeError, ValueError):
        raise InvalidArgument(otherwise) from None
    return first, second


def _dtype_name(dtype: Any) -> str:
    if isinstance(dtype, str):
        return dtype
    import numpy as np

    return np.dtype(dtype).name


def _limit(name: str, value: Any) -> Any:
    return None if value == (-math.inf if name == "min" else math.inf) else _scalar(value)


def _scalar_or_text(value: Any) -> Any:
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise InvalidArgument(f"fill_null: {value!r} is not UTF-8; use .map for other bytes") from None
    return _scalar(value)


def _scalar(value: Any) -> Any:
    value = _number(value)
    return _whole(value) if isinstance(value, float) else value


def _whole(value: float) -> float | int | str:
    # Whole numbers are written as integers in every language. JSON cannot express numbers that are
    # not finite.
    if not math.isfinite(value):
        return str(value)
    return int(value) if value == math.floor(value) and abs(value) <= 2**53 else value


def _values_by_field(values: Mapping[str, Any]) -> dict[str, list[int | str]]:
    plain = {}
    for name, wanted in values.items():
        many = isinstance(wanted, Iterable) and not isinstance(wanted, (str, bytes))
        plain[name] = [one if isinstance(one, str) else operator.index(one) for one in (wanted if many else [wanted])]
    return plain


def _hash_of(path: str | os.PathLike[str], given: str | None) -> str | None:
    return given if given is not None else _core.file_hash(encodable(os.fspath(path))) or None
