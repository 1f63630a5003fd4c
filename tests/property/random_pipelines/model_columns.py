"""Column operators on the model's rows."""

from __future__ import annotations

import math

import numpy as np

from .fields import FLOATS, INTEGERS, always_fits, names_of
from .values import Bad, Known
from .xxh3 import xxh3_64


# `min` and `max` are arguments of clip.
builtin_min, builtin_max = min, max


def _each(row, names):
    """The named fields that are not bad."""
    for name in names_of(names):
        if isinstance(row.fields[name], Known):
            yield name, row.fields[name]


def to_integers(value: np.ndarray, dtype: str, half_to_even: bool = False) -> np.ndarray:
    """Toward zero; what does not fit is the nearest that does, NaN is 0."""
    ends = np.iinfo(dtype)

    def one(x):
        if x != x:
            return 0
        if math.isinf(x):
            return ends.max if x > 0 else ends.min
        return min(max(round(x) if half_to_even else int(x), ends.min), ends.max)

    flat = [one(x) for x in value.reshape(-1).tolist()]
    return np.array(flat, dtype=dtype).reshape(value.shape)


def _fits(it: Known, dtype: str) -> bool | None:
    """Whether an integer type holds all elements; None where nobody knows. Pictures and other numbers are rounded differently."""
    ends, sure = np.iinfo(dtype), True
    for x in it.value.reshape(-1).tolist():
        slack = 0 if it.exact else it.tolerance * builtin_max(1, abs(x))
        if not math.isfinite(x):
            if it.exact:
                return False
            sure = None
        elif x <= ends.min - 1 - slack or x >= ends.max + 1 + slack:
            return False
        elif not ends.min + slack <= x <= ends.max - slack:
            sure = None
    return sure


def cast(row, dtype, field="image", errors="raise"):
    for name, it in _each(row, field):
        before = it.value.dtype.name
        fits = True if errors == "saturate" or always_fits(before, dtype) else _fits(it, dtype)
        if not fits:
            row.fields[name] = Bad(frozenset({"Unsupported"}), sure=fits is not None)
            continue
        with np.errstate(all="ignore"):
            made = to_integers(it.value, dtype) if dtype in INTEGERS and before != "bool" else it.value.astype(dtype)
        tolerance = it.tolerance
        if not it.exact:
            if dtype == "bool":
                tolerance = math.inf
            elif dtype in INTEGERS and before in FLOATS:
                # Bound to what the element may be off by; large ones are only known relatively.
                tolerance = tolerance + 1 if np.isfinite(it.value).all() else math.inf
            elif dtype == "float16":
                tolerance += 1e-3
        elif dtype in INTEGERS and before in FLOATS and it.value.ndim >= 2:
            tolerance = 1.0  # pictures round half to even
        row.fields[name] = it.of(made, tolerance)


def clip(row, field, min=None, max=None):  # noqa: A002
    for name, it in _each(row, field):
        dtype, value = it.value.dtype.name, it.value
        if dtype in INTEGERS:
            ends = np.iinfo(dtype)
            low, high = ((min if min is not None else ends.min), (max if max is not None else ends.max))
            flat = [builtin_min(builtin_max(x, low), high) for x in value.reshape(-1).tolist()]
            made = to_integers(np.array([int(x) for x in flat], dtype=object).reshape(value.shape), dtype)
        else:
            made = value
            if min is not None:
                made = np.where(made < np.dtype(dtype).type(min), np.dtype(dtype).type(min), made)
            if max is not None:
                made = np.where(made > np.dtype(dtype).type(max), np.dtype(dtype).type(max), made)
        row.fields[name] = it.of(np.asarray(made, dtype))


def log1p(row, field):
    for name, it in _each(row, field):
        dtype = "float64" if it.value.dtype == np.float64 else "float32"
        with np.errstate(all="ignore"):
            made = np.log1p(it.value.astype("float64")).astype(dtype)
        row.fields[name] = it.of(made, 1e-6 if it.exact else math.inf)


def _bucket(key: bytes, buckets: int, salt: int) -> int:
    return xxh3_64(key, salt) * buckets >> 64


def hash_bucket(row, buckets, field, salt=0):
    for name, it in _each(row, field):
        if isinstance(it.value, (str, bytes)):
            key = it.value.encode("utf-8", "surrogateescape") if isinstance(it.value, str) else it.value
            if len(key) <= 240 and it.exact:
                row.fields[name] = Known(np.array(_bucket(key, buckets, salt), "int64"))
            else:
                row.fields[name] = Known(np.array(0, "int64"), math.inf)
            continue
        flat = [_bucket((x & 2**64 - 1).to_bytes(8, "little"), buckets, salt) for x in map(int, it.value.reshape(-1).tolist())]
        row.fields[name] = it.of(np.array(flat, "int64").reshape(it.value.shape), 0 if it.exact else math.inf)


def fill_null(row, value, field):
    for name in names_of(field):
        rows = row.fields.pop(f"{name}_valid", None)
        items = row.fields.pop(f"{name}_items_valid", None)
        it = row.fields[name]
        bad = [x for x in (rows, items, it) if isinstance(x, Bad)]
        if bad:
            row.fields[name] = bad[0]
            continue
        if isinstance(it.value, (str, bytes)):
            filled = value.encode() if isinstance(it.value, bytes) else value
            made = it.value if rows is None or rows.value else filled
        else:
            made, fill = it.value.copy(), np.asarray(value).astype(it.value.dtype)
            if rows is not None and not rows.value and not (made.ndim == 1 and made.size == 0):
                made[...] = fill
            if items is not None:
                made[~items.value] = fill
        sure = all(x is None or x.exact for x in (rows, items))
        row.fields[name] = it.of(made, it.tolerance if sure else math.inf)


def stack(row, fields, name):
    parts = [row.fields.pop(field) for field in names_of(fields)]
    bad = [part for part in parts if isinstance(part, Bad)]
    if bad:
        row.fields[name] = bad[0]
    else:
        row.fields[name] = Known(np.stack([part.value for part in parts]), builtin_max(part.tolerance for part in parts))


def pad(row, field, value=0, length=None):
    for name, it in _each(row, field):
        if len(it.value) > length:
            row.fields[name] = Bad(frozenset({"Unsupported"}))
            continue
        made = np.full(length, value, it.value.dtype)
        made[: len(it.value)] = it.value
        row.fields[name] = it.of(made)


def normalize_columns(row, mean, std, names):
    for place, name in enumerate(names):
        it = row.fields[name]
        if isinstance(it, Bad):
            continue
        m, s = (x[place if len(x) > 1 else 0] if isinstance(x, list) else x for x in (mean, std))
        with np.errstate(all="ignore"):
            made = ((it.value.astype("float64") - m) / s).astype("float32")
        row.fields[name] = it.of(made, 0 if it.exact else math.inf)
