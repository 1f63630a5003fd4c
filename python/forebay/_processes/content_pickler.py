"""Pickles without the contents of arrays and tensors, so that these are copied only once, by the
caller.
"""

from __future__ import annotations

import io
import operator
import pickle
import sys
import types
from typing import Any, Sequence

_OUT_OF_BAND_BYTES = 1 << 10


class ContentPickler(pickle.Pickler):
    """A pickler that handles torch's tensors, whose own pickles copy the content. Nothing here
    imports torch.
    """

    def reducer_override(self, value: Any) -> Any:
        torch = sys.modules.get("torch")
        if torch is not None and type(value) is torch.Tensor:
            return _reduce_tensor(torch, value)
        return NotImplemented


class ReturnPickler(ContentPickler):
    """A pickler for what returns to a program. The program's own classes and functions are pickled
    by their names.

    Plain pickles would want the class to be what `__main__` has under its name in this process. But
    a server has loaded a class of one script for several clients, and `__main__` has the last.
    """

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, (type, types.FunctionType)) and value.__module__ == "__main__":
            if all(map(str.isidentifier, value.__qualname__.split("."))):  # no lambda, and nothing inside of a function
                return _of_main, (value.__qualname__,)
        return super().reducer_override(value)


def _of_main(qualname: str) -> Any:
    return operator.attrgetter(qualname)(sys.modules["__main__"])


def pickled(value: Any, pickler: type[pickle.Pickler]) -> list[memoryview]:
    """Returns `value` as a pickle, followed by the contents that are not in it."""
    buffers: list[memoryview] = []

    def leave(buffer: pickle.PickleBuffer) -> bool:
        content = buffer.raw()
        if len(content) < _OUT_OF_BAND_BYTES:
            return True  # stays in the pickle
        buffers.append(content)
        return False

    stream = io.BytesIO()
    pickler(stream, protocol=5, buffer_callback=leave).dump(value)
    return [stream.getbuffer(), *buffers]


def load(contents: Sequence[memoryview]) -> Any:
    """Returns the value that `pickled` was given. Arrays share the memory of `contents`."""
    return pickle.loads(contents[0], buffers=contents[1:])


def _reduce_tensor(torch: Any, tensor: Any) -> Any:
    if tensor.layout != torch.strided or tensor.is_quantized or tensor.device.type == "meta":
        return NotImplemented
    plain = tensor.detach().resolve_conj().resolve_neg().cpu().contiguous()
    content = plain.view(-1).view(torch.uint8).numpy() if plain.numel() else b""
    return _tensor, (pickle.PickleBuffer(content), plain.dtype, tuple(plain.shape), tensor.requires_grad)


def _tensor(content: Any, dtype: Any, shape: tuple[int, ...], requires_grad: bool) -> Any:
    import torch

    if not len(content):
        tensor = torch.empty(shape, dtype=dtype)
    else:
        tensor = torch.frombuffer(_writable(content), dtype=torch.uint8).view(dtype).view(shape)
    return tensor.requires_grad_() if requires_grad else tensor


def _writable(content: Any) -> Any:
    view = memoryview(content)
    return bytearray(view) if view.readonly else view
