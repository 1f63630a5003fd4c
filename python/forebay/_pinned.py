"""Batches in memory that PyTorch has pinned, for `Loader(pin_memory=True)`."""

from __future__ import annotations

import torch.utils.dlpack
from torch.utils.data._utils import pin_memory

from . import _core
from ._typing import Any


class PinnedMemory:
    """Lends the engine pinned memory of PyTorch, and makes the tensors of batches in it.

    PyTorch knows when copies from a block have ended, so a block that the user has had goes back to
    PyTorch and is never filled again by the engine.
    """

    def __init__(self) -> None:
        self.blocks = _core.LentBlocks()

    @classmethod
    def of_accelerator(cls) -> PinnedMemory | None:
        """Returns None if there is no accelerator: memory is then never pinned, as in PyTorch."""
        return cls() if torch.accelerator.is_available() else None

    def allocate(self, size: int) -> torch.Tensor:
        """Returns `size` bytes of pinned memory."""
        return torch.empty(size, dtype=torch.uint8, pin_memory=True)

    def pin(self, value: Any) -> Any:
        """Returns the value with all tensors in it pinned. Pinned ones are not copied."""
        return pin_memory.pin_memory(value)

    def refill(self) -> None:
        """Lends the blocks that the engine lacked since the last call, and one for each that the
        user has had.
        """
        for size in self.blocks.exchange():
            block = self.allocate(size)
            self.blocks.lend(block.data_ptr(), size, block)

    def tensor(self, array: Any) -> torch.Tensor:
        """Returns a tensor over the block of this array of a batch, so that PyTorch finds the block
        when the tensor is copied. An array that is elsewhere is copied to pinned memory.
        """
        tensor: torch.Tensor = torch.utils.dlpack.from_dlpack(array)
        block = self.blocks.hand_over(tensor.data_ptr())
        if block is None:
            return self.pin(tensor)
        return block[: tensor.nbytes].view(tensor.dtype).view(tensor.shape)
