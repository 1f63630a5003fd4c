"""Messages between a loader and its worker processes, in addition to PyTorch's own."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch.utils.data._utils import pin_memory

from . import _generators


@dataclass
class Start:
    """The position at which a worker begins, in the form of `state` in a saved state, and how often
    it reports its position.
    """

    every: int = 1  # interval in batches of this worker; 0: never
    tracked: bool = False
    state: dict[str, Any] = field(default_factory=dict)
    finished: bool = False  # the state is from an epoch's end
    again: Any = None  # the index that repeats a batch of an iterable data set


class Delivered:
    """A batch, and the position of the data set after it: its state as bytes, or a checksum of the
    batches so far.
    """

    __slots__ = ("data", "state", "mark")

    def __init__(self, data: Any, state: bytes | None, mark: int | None) -> None:
        self.data, self.state, self.mark = data, state, mark

    def pin_memory(self, device: Any = None) -> Delivered:
        return Delivered(pin_memory.pin_memory(self.data, device), self.state, self.mark)


@dataclass
class Report:
    """The position of a worker between two epochs."""

    worker: int
    dataset_state: bytes | None
    generators: _generators.Globals


class Ask:
    """Asks a worker for a `Report`."""
