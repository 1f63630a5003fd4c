"""bfloat16 in Python. NumPy has no such type: the package ml_dtypes adds one, and torch has its
own.

Inside Forebay the bits are passed as an array of `bits_type()`, which can be pickled and needs
neither package.
"""

from __future__ import annotations

import functools
import sys

from ._numpy import np
from ._typing import Any
from .errors import Unsupported


@functools.cache
def bits_type() -> np.dtype:
    """Returns the type of arrays that hold the bits."""
    return np.dtype([("bfloat16", np.uint16)])


@functools.cache
def numpy_type() -> np.dtype | None:
    """Returns the type of ml_dtypes, or None if that package is not installed."""
    try:
        import ml_dtypes
    except ImportError:
        return None
    return np.dtype(ml_dtypes.bfloat16)


def of_bits(bits: np.ndarray, field: str) -> np.ndarray:
    """Returns uint16 bits as users see them: an array of ml_dtypes' type over the same memory."""
    dtype = numpy_type()
    if dtype is None:
        raise Unsupported(
            f"the field '{field}' is bfloat16, a type that NumPy has with the package ml_dtypes alone: pip install ml_dtypes; "
            f"or open the loader with output=\"torch\", or put .cast(\"float32\", field=\"{field}\") before this step"
        )
    return bits.view(dtype)


def of_torch(tensor: Any) -> np.ndarray | None:
    """Returns a torch tensor of bfloat16 on the CPU as an array of `bits_type()`. None for
    tensors of other types.
    """
    torch = sys.modules.get("torch")
    if torch is None or getattr(tensor, "dtype", None) is not torch.bfloat16:
        return None
    return tensor.contiguous().view(torch.int16).numpy().view(bits_type())


def of_numpy(array: np.ndarray) -> np.ndarray | None:
    """Returns a C-contiguous array of ml_dtypes' bfloat16 as an array of `bits_type()`. None for
    arrays of other types.
    """
    if array.dtype == bits_type():
        return array
    # Compared by name, because other packages may have their own type.
    return array.view(bits_type()) if array.dtype.name == "bfloat16" and array.dtype.itemsize == 2 else None


def bits_of(array: Any) -> np.ndarray:
    """Returns a uint16 view of an array of `bits_type()`. TypeError for everything else."""
    if getattr(array, "dtype", None) != bits_type():
        raise TypeError(f"an array of numbers is expected, and this is {type(array).__name__}")
    return array.view(np.uint16)
