"""Fetching on a worker thread."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from torch.utils.data import _DatasetKind
from torch.utils.data._utils import pin_memory, worker

from . import _worker_info


class Recipe(NamedTuple):
    """Values that the threads of a pass share."""

    dataset: Any
    auto_collation: bool
    collate_fn: Callable
    num_workers: int
    base_seed: int


class ThreadWorker:
    """One thread's view of the data set: the same object for all threads, with a
    `get_worker_info()` that answers.
    """

    def __init__(self, recipe: Recipe, thread: int) -> None:
        self.dataset = recipe.dataset
        self._recipe = recipe
        self._rng = _worker_info.generators(recipe.base_seed, thread)
        self._infos: dict[int, worker.WorkerInfo] = {}
        self._fetcher = _DatasetKind.create_fetcher(_DatasetKind.Map, recipe.dataset, recipe.auto_collation, recipe.collate_fn, False)

    def begin(self, worker_id: int) -> None:
        """From now on `get_worker_info()` on this thread names the worker to which PyTorch would
        have given the batch.
        """
        info = self._infos.get(worker_id)
        if info is None:
            seed = self._recipe.base_seed + worker_id
            info = worker.WorkerInfo(worker_id, self._recipe.num_workers, seed, self.dataset, self._rng, "thread")
            self._infos[worker_id] = info
        _worker_info.set_info(info)

    def fetch(self, index: Any) -> Any:
        return self._fetcher.fetch(index)


def pinned(data: Any, device: str | None) -> Any:
    """Returns the batch in pinned memory, from which a device can copy directly."""
    return pin_memory.pin_memory(data, device)
