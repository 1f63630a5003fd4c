"""What is known of a field before any sample is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "float32", "float64"]
NUMBERS = INTEGERS + FLOATS
DTYPES = ["bool", *NUMBERS]


def always_fits(before: str, after: str) -> bool:
    """Whether a cast can fail, by the types alone."""
    if after not in INTEGERS or before == "bool":
        return True
    if before in FLOATS:
        return False
    given, holds = np.iinfo(before), np.iinfo(after)
    return holds.min <= given.min and given.max <= holds.max


class Illegal(Exception):
    """The pipeline breaks a documented rule, so nothing is promised of it."""


@dataclass(frozen=True)
class Type:
    kind: str  # "numbers", "text", "bytes", or of lists of them "texts" and "blobs"
    dtype: str = ""
    shape: tuple[int | None, ...] = ()  # None: differs from row to row
    told: bool = True  # false: made by user code, so the engine learns it from the sample
    picture: bool = False  # an image operator made it or worked on it
    chw: bool = False
    laid_out: bool = False  # by .layout
    normalized: bool = False
    exact: bool = True  # false: random, or known to within a tolerance
    safe: bool = True  # false: some rows may be bad
    padded: bool = False
    encoded: bool = False  # bytes that are a picture

    @property
    def listed(self) -> bool:
        """Lists of strings."""
        return self.kind in ("texts", "blobs")

    @property
    def ragged(self) -> bool:
        return self.kind == "numbers" and self.shape == (None,)

    @property
    def fixed(self) -> bool:
        return self.kind == "numbers" and None not in self.shape

    @property
    def channels(self) -> int | None:
        return 1 if len(self.shape) == 2 else self.shape[0 if self.chw else 2]

    @property
    def looks_like_picture(self) -> bool:
        """What image operators take: (h, w), (h, w, c) or (c, h, w)."""
        if self.kind != "numbers" or self.padded or len(self.shape) not in (2, 3) or 0 in self.shape:
            return False
        return len(self.shape) == 2 or (self.channels is not None and 1 <= self.channels <= 4)


Schema = dict[str, Type]


def numbers(dtype: str, shape: tuple = (), **more) -> Type:
    return Type("numbers", dtype, tuple(shape), **more)


def names_of(value) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def need(condition: bool, why: str) -> None:
    if not condition:
        raise Illegal(why)


def chosen(schema: Schema, names) -> list[str]:
    names = names_of(names)
    need(bool(names) and len(set(names)) == len(names), "each field once")
    for name in names:
        need(name in schema, f"no field {name}")
    return names
