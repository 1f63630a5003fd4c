"""Steps that work on columns of numbers and of text, in bulk where the source has them so."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Sequence

from ._appending import Appending, _number, _one_or_list
from .errors import InvalidArgument

if TYPE_CHECKING:
    from .pipeline import Pipeline


class ColumnSteps(Appending):
    """What a Pipeline has for columns, tensors and series."""

    __slots__ = ()

    def cast(self, dtype: Any, *, field: str | Sequence[str] = "image", errors: str = "raise") -> Pipeline:
        """Changes the element type of pictures, numbers, tensors and lists.

        As NumPy's `astype` converts: to floats the nearest value, to integers toward zero (pictures: rounded half to even), to bool
        what is not 0. What NumPy leaves to the processor, or lets wrap around, makes the sample bad: a value that an integer type cannot
        hold, and NaN. `on_error=` of the Loader says what becomes of it. A float type holds every number, the largest as infinity.

        Args:
            dtype: "float32", "uint8", ..., or a NumPy type.
            field: a field or a list of fields.
            errors: "raise", or "saturate": what an integer type cannot hold becomes the nearest that it can, and NaN 0.
        """
        return self._then("cast", dtype=_dtype_name(dtype), field=_one_or_list(field), errors=errors)

    def clip(
        self,
        min: float | None = None,  # noqa: A002 (NumPy's names)
        max: float | None = None,  # noqa: A002
        *,
        field: str | Sequence[str],
    ) -> Pipeline:
        """Numbers below `min` become `min`, those above `max` become `max`. Shape and type stay; NaN stays NaN.

        Args:
            min: the smallest number that comes out; no limit if not given.
            max: the largest. A column of integers takes whole numbers; a limit beyond its type does not limit.
            field: a column of numbers or a list of columns; lists and tensors go element by element.

        `check()` tells of limits that a column's type cannot hold, of min above max, and of columns that hold no numbers.
        """
        return self._then("clip", min=_limit(min, -math.inf), max=_limit(max, math.inf), field=_one_or_list(field))

    def log1p(self, field: str | Sequence[str]) -> Pipeline:
        """`ln(1 + x)`: float64 of float64, else float32; NaN below -1, -inf for -1.

        Made of additions, multiplications and divisions alone, so that every processor gives the same bits: within 1 unit in
        the last place of the true value as float32, within 2 as float64. Integers above 2^53 are rounded to float64 before.

        Args:
            field: a column of numbers or a list of columns; lists and tensors go element by element.
        """
        return self._then("log1p", field=_one_or_list(field))

    def hash_bucket(self, buckets: int, field: str | Sequence[str], salt: int = 0) -> Pipeline:
        """Text, bytes or integers to int64 in [0, buckets): equal values always to equal buckets.

        The bucket is `xxh3_64(value, seed=salt) * buckets >> 64`, where value is the UTF-8 text, the bytes, or the integer as eight
        little-endian bytes (two's complement; smaller types and bool are widened first).

        Args:
            buckets: how many, at least 1.
            field: a column or a list of columns; lists and tensors go element by element, text and bytes as a whole.
            salt: the seed of xxh3: another one lets other values share a bucket.
        """
        return self._then("hash_bucket", buckets=buckets, field=_one_or_list(field), salt=salt)

    def fill_null(self, value: bool | float | str | bytes, field: str | Sequence[str]) -> Pipeline:
        """Puts a value where a table had nulls, and drops the masks: for columns read with `null=fb.NULL_MASK`.

        Args:
            value: what stands where `<field>_valid` or, for elements of lists and tensors, `<field>_items_valid` is false: a number
                that the column's type can hold, a bool, or a text (for columns of bytes: UTF-8 bytes). A list that is null stays an
                empty one.
            field: a column with a mask, or a list of them.
        """
        return self._then("fill_null", value=_fill(value), field=_one_or_list(field))

    def stack(self, fields: str | Sequence[str], name: str) -> Pipeline:
        """Columns side by side in one field: k columns of shape s become one of shape (k, *s), and go.

        Args:
            fields: the columns, in the order they shall have; of one type and one shape. `check()` says which to `.cast` before.
            name: the new field. It stands behind the others.
        """
        return self._then("stack", fields=_one_or_list(fields), name=name)

    def window(self, n: int, field: str | Sequence[str], stride: int | None = None) -> Pipeline:
        """Windows over the first axis of a sample: (length, ...) becomes (windows, n, ...).

        What is left at the end, shorter than a window, goes. Windows over a whole data set, of which each is a sample, are the
        source's: `fb.hdf5(..., window=n)`.

        Args:
            n: elements of a window.
            field: a column of numbers of known shape, or a list of columns.
            stride: from the beginning of one window to that of the next; `n` by default, so that no element is in two.
        """
        return self._then("window", n=n, field=_one_or_list(field), stride=stride)

    def aggregate(
        self,
        functions: str | Sequence[str],
        field: str | Sequence[str],
        *,
        every: int | None = None,
        axis: int = 0,
        times: str | None = None,
    ) -> Pipeline:
        """Numbers made of a series: `<field>_<function>` beside the field, the same bits on every machine.

        `sum`, `mean`, `std` (of the population, as NumPy's), `rms` (the root of the mean of squares), `min`, `max`, and `cusum`, the running sum
        of deviations from the mean, which is as long as its series. Computed in float64, each series in eight interleaved parts, which are added up
        in a fixed order; given as float64 for float64 and integers, float32 for the smaller floats; `min` and `max` in the field's type. NaN goes through.

        Args:
            functions: one of these, or several.
            field: a column of numbers or a list of columns: tensors along `axis`, lists as a whole.
            every: makes one number of each so many elements, in place of one of the whole axis, whose length it must divide.
            axis: the axis of a sample that the series lie along; -1 is the last.
            times: a field of the same shape whose elements these are multiplied with before: `<field>_<times>_<function>`, as float64. The mean of
                voltage times current is the active power.
        """
        names = _one_or_list(functions)
        return self._then("aggregate", functions=names, field=_one_or_list(field), every=every, axis=axis, times=times)


def _dtype_name(dtype: Any) -> str:
    if isinstance(dtype, str):
        return dtype
    import numpy as np

    return np.dtype(dtype).name


def _limit(value: Any, none: float) -> Any:
    return None if value == none else _scalar(value)


def _fill(value: Any) -> Any:
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
    # Whole numbers are whole in every face; JSON has no words for those that are not finite.
    if not math.isfinite(value):
        return str(value)
    return int(value) if value == math.floor(value) and abs(value) <= 2**53 else value
