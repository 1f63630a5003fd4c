"""What a loader and its worker processes tell each other, beside what PyTorch's do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from torch.utils.data._utils import pin_memory

from . import _generators


@dataclass
class Start:
    """Where a worker begins, as `state` of a saved state has it, and how often it says where it is."""

    every: int = 1  # batches of its own; 0: never
    tracked: bool = False
    state: dict[str, Any] = field(default_factory=dict)
    finished: bool = False  # the state is of an epoch's end
    again: Any = None  # the index that gives a batch of an iterable data set


class Delivered:
    """A batch, and where the data set stands behind it: its state, as bytes, or a mark of what it gave so far."""

    __slots__ = ("data", "state", "mark")

    def __init__(self, data: Any, state: bytes | None, mark: int | None) -> None:
        self.data, self.state, self.mark = data, state, mark

    def pin_memory(self, device: Any = None) -> Delivered:
        return Delivered(pin_memory.pin_memory(self.data, device), self.state, self.mark)


@dataclass
class Report:
    """Where a worker stands between two epochs."""

    worker: int
    dataset_state: bytes | None
    generators: _generators.Globals


class Ask:
    """For a `Report`."""
