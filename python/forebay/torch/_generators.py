"""States of random generators: read, restored, and converted to text for a saved state."""

from __future__ import annotations

import base64
import random
from typing import Any, Mapping

import numpy as np
import torch


def encoded(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def decoded(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)


def of_loader(loader: Any) -> dict[str, torch.Generator]:
    """Returns the generators that decide the order, each once, as far as they are visible from
    outside.
    """
    places = {
        "loader": loader.generator,
        "batch_sampler": getattr(loader.batch_sampler, "generator", None),
        "sampler": getattr(loader.sampler, "generator", None),
        "inner_sampler": getattr(getattr(loader.batch_sampler, "sampler", None), "generator", None),
    }
    found: dict[str, torch.Generator] = {}
    for name, generator in places.items():
        if isinstance(generator, torch.Generator) and all(generator is not other for other in found.values()):
            found[name] = generator
    return found


Globals = tuple[Any, Any, torch.Tensor]  # states of Python's, NumPy's and PyTorch's generators


def globals_now() -> Globals:
    """Returns the states of the three generators of the whole process."""
    return random.getstate(), np.random.get_state(), torch.get_rng_state()


def set_globals(states: Globals) -> None:
    random.setstate(states[0])
    np.random.set_state(states[1])
    torch.set_rng_state(states[2])


def globals_as_text(states: Globals) -> dict[str, Any]:
    (version, words, gauss), (kind, keys, place, has_gauss, cached), of_torch = states
    return {
        "python": [version, base64.b64encode(np.array(words, dtype="<u4").tobytes()).decode(), gauss],
        "numpy": [kind, base64.b64encode(np.asarray(keys, dtype="<u4").tobytes()).decode(), place, has_gauss, cached],
        "torch": encoded(of_torch),
    }


def globals_from_text(texts: Mapping[str, Any]) -> Globals:
    version, words, gauss = texts["python"]
    kind, keys, place, has_gauss, cached = texts["numpy"]
    return (
        (version, tuple(np.frombuffer(base64.b64decode(words), dtype="<u4").tolist()), gauss),
        (kind, np.frombuffer(base64.b64decode(keys), dtype="<u4"), place, has_gauss, cached),
        decoded(texts["torch"]),
    )  # fmt: skip
