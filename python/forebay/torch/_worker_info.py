"""`torch.utils.data.get_worker_info()` inside Forebay's threads.

PyTorch keeps the answer in a global of the worker process. Users hold references to the function
itself (`from torch.utils.data import get_worker_info`), often from before this module was imported.
So the function's code is replaced by code that asks the thread first. Nothing changes for other
threads and processes.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from typing import Any

import torch
from torch.utils.data._utils import collate, worker

_of_thread = threading.local()
_lock = threading.Lock()


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # a thread that does not exist in the child may have held it


def _answer() -> Any:
    info = getattr(_of_thread, "info", None)
    # PyTorch's collate functions move a worker's tensors into shared memory, to send them to
    # another process. Threads need no such copy.
    if info is not None and sys._getframe(2).f_globals is collate.__dict__:
        return None
    return info


def _get_worker_info():  # runs with the globals of torch.utils.data._utils.worker
    info = _forebay_worker_info()  # noqa: F821
    return _worker_info if info is None else info  # noqa: F821


def install() -> None:
    """Makes `get_worker_info()` aware of threads."""
    with _lock:
        if not hasattr(worker, "_forebay_worker_info"):
            worker._forebay_worker_info = _answer
            worker.get_worker_info.__code__ = _get_worker_info.__code__


def set_info(info: worker.WorkerInfo | None) -> None:
    """Sets the answer of `get_worker_info()` on this thread."""
    _of_thread.info = info


def generators(base_seed: int, thread: int) -> worker._RNG:
    """Returns generators for one thread: Python's, PyTorch's and NumPy's, seeded as PyTorch seeds
    the worker process of that number.
    """
    import numpy as np

    seed = base_seed + thread
    generator = torch.Generator()
    generator.manual_seed(seed)
    return worker._RNG(random.Random(seed), generator, np.random.default_rng(worker._generate_state(base_seed, thread)))


def one_torch_thread() -> None:
    """Limits PyTorch's own operators to this thread, as in a worker process.

    `set_num_threads` affects the calling thread and threads that are created later; the latter
    effect is undone.
    """
    with _lock:
        count = torch.get_num_threads()
        if count > 1:
            torch.set_num_threads(1)
            others = threading.Thread(target=torch.set_num_threads, args=(count,))
            others.start()
            others.join()
