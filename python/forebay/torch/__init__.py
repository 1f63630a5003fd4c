"""A drop-in for `torch.utils.data.DataLoader`: the same constructor, the same batches in the same
order, optional worker threads, and `state_dict` / `load_state_dict`.

To migrate, change one import:

    from forebay.torch import DataLoader
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError("forebay.torch needs PyTorch: pip install torch") from _error

from ._loader import DataLoader

__all__ = ["DataLoader"]
