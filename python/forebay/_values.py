"""Converts values that user code returns to the engine's types: C-contiguous arrays, str, bytes,
and lists of str or of bytes.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import _bfloat16
from ._numpy import np
from ._typing import TYPE_CHECKING, Any

MOST_AXES = 7  # of one sample's field

_PLAIN = {int, float, bool, str, bytes}

if TYPE_CHECKING:
    Field = np.ndarray | str | bytes | list[str] | list[bytes]

_FIELDS = (
    "a field is a number, str, bytes, a list of str or of bytes, or a NumPy array or torch tensor of bool, int8 to int64, uint8 to "
    "uint64, float16, bfloat16, float32 or float64"
)


def fields_of(returned: Any, what: str) -> dict[str, Field]:
    """Returns the fields of a sample that `what` returned. Members of nested dicts become fields
    with dotted names, as members of Parquet structs do.
    """
    if not isinstance(returned, Mapping):
        hint = ": did it forget to return the sample?" if returned is None else ""
        raise TypeError(f"{what} returned {type(returned).__name__}, not a dict of fields{hint}")
    fields: dict[str, Field] = {}
    _add_members(fields, "", returned)
    return fields


def _add_members(fields: dict[str, Field], path: str, members: Mapping[Any, Any]) -> None:
    for name, value in members.items():
        if not isinstance(name, str):
            where = f" in '{path[:-1]}'" if path else ""
            raise TypeError(f"names of fields are text; got {name!r} of type {type(name).__name__}{where}")
        if isinstance(value, Mapping):
            _add_members(fields, f"{path}{name}.", value)
        elif path + name in fields:
            raise TypeError(f"the field '{path}{name}' is there twice: under that name, and as a member of a dict; rename one of them")
        else:
            fields[path + name] = to_field(path + name, value)


def to_field(name: str, value: Any) -> Field:
    """Converts one value. If its type is not supported, TypeError names the field, the supported
    types and a remedy.
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    strings = _strings(name, value)
    if strings is not None:
        return strings
    what = f"the field '{name}'"
    array = numbers_of(what, value, array_of(what, value))
    if array.ndim > MOST_AXES:
        raise TypeError(f"the field '{name}' has {array.ndim} axes; {MOST_AXES} are the most: reshape it")
    return array


def numbers_of(what: str, value: Any, array: np.ndarray) -> np.ndarray:
    """Converts `array`, made from `value`, to a type of the engine in native byte order. bfloat16
    becomes `_bfloat16.bits_type()`.

    TypeError, whose text begins with `what`, for other types.
    """
    bits = _bfloat16.of_numpy(array)
    if bits is not None:
        return bits
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise TypeError(f"{what} is {_described(value, array)}; {_FIELDS}: {_instead(value, array)}")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def array_of(what: str, value: Any) -> np.ndarray:
    """Returns the value as a C-contiguous array of any type.

    TypeError, whose text begins with `what`, if it cannot be converted or would lose a mask.
    """
    _refuse_masked(what, value)
    try:
        if hasattr(value, "detach"):  # a torch tensor, possibly with gradients or on another device
            value = value.detach().cpu()
            bits = _bfloat16.of_torch(value)
            if bits is not None:
                return bits
        return np.asarray(value, order="C")
    except MemoryError:
        raise
    except Exception as error:  # raised by NumPy, torch, or the value's own __array__
        way = "pad its rows to one length, or give each as a field of its own" if isinstance(value, (list, tuple)) else "convert it before"
        raise TypeError(f"{what} is {_described(value)}, which makes no array ({error}); {_FIELDS}: {way}") from error


def _refuse_masked(what: str, value: Any) -> None:
    """Raises if a mask would be lost: a plain array keeps neither NumPy's masks nor Arrow's nulls.
    """
    if isinstance(value, (list, tuple)):
        # Types first, because lists of thousands of numbers are common.
        if not set(map(type, value)) <= _PLAIN:
            for item in value:
                _refuse_masked(what, item)
        return
    if isinstance(value, np.ma.MaskedArray):
        missing = int(np.count_nonzero(np.ma.getmaskarray(value)))
        if missing:
            raise TypeError(
                f"{what} is a masked array with {missing} of {value.size} elements masked, and batches have no masks: give x.filled(value), "
                "and the mask, where it is needed, as a field of its own: ~numpy.ma.getmaskarray(x), called `<name>_valid` as fb.NULL_MASK calls it"
            )
    elif isinstance(missing := getattr(value, "null_count", None), int) and missing > 0:
        raise TypeError(f"{what} has {missing} nulls, which a plain array would lose: give x.fill_null(value), and x.is_valid() as a field of its own")


def _strings(name: str, value: Any) -> list[str] | list[bytes] | None:
    """Returns the value as a list of str or of bytes, if it is a list, a tuple or an array of one
    axis that begins with a string, else None.

    An empty list stays an empty list: the engine knows whether the field held strings before.
    """
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "USTO":
        _refuse_masked(f"the field '{name}'", value)
        value = value.tolist()
    if not isinstance(value, (list, tuple)):
        return None
    if not value:
        return []
    if not isinstance(value[0], (str, bytes)):
        return None
    kind = str if isinstance(value[0], str) else bytes
    for item in value:
        if not isinstance(item, kind):
            raise TypeError(f"the field '{name}' is a list of {kind.__name__} with an element of type {type(item).__name__}; "
                            f"give {kind.__name__} alone")
    return list(map(kind, value))


def _described(value: Any, array: np.ndarray | None = None) -> str:
    kind = f"of type {type(value).__name__}"
    if isinstance(value, (list, tuple)) and value:
        kind += f" of {type(value[0]).__name__}"
    elements = getattr(value if array is None else array, "dtype", None)
    told = elements is not None and (hasattr(value, "dtype") or isinstance(value, (list, tuple)))
    return f"{kind} with elements {elements}" if told else kind


def _instead(value: Any, array: np.ndarray) -> str:
    """Returns a remedy for a type that the engine does not have."""
    kind = array.dtype.kind
    if kind == "c":
        return f"give real and imaginary part side by side: a.view('float{4 * array.dtype.itemsize}').reshape(*a.shape, 2), torch.view_as_real(t)"
    if kind in "mM":
        return "give dates and durations as integers: a.astype('int64')"
    if kind == "f":
        return "a.astype('float64')"
    if kind in "SUT":
        return "a list of str for each row of text; join the others, or give each row as a field of its own"
    if array.dtype.names:
        return "give each member as a field of its own: {'" + array.dtype.names[0] + "': a['" + array.dtype.names[0] + "'], ...}"
    if kind == "V" and array.dtype.type is not np.void:  # small types of ml_dtypes
        return "a.astype('float32')"
    if kind == "V":
        return "say what its bytes are: a.view('uint8'), or, where it was bfloat16 before it was saved, a.view(ml_dtypes.bfloat16)"
    if value is None:
        return "give a value, or leave the field out of all samples"
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        return "make a field of each member: {'boxes': np.array([one['bbox'] for one in target], 'float32').reshape(-1, 4), ...}"
    return "make numbers of it, or a str or bytes (pickle.dumps)"
