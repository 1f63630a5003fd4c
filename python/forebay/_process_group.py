"""The default process group of torch.distributed, if the program has one. PyTorch is not imported
for it.
"""

from __future__ import annotations

import sys


def place() -> tuple[int, int] | None:
    """Returns (rank, number of ranks); None without a group."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed.get_rank(), distributed.get_world_size()
