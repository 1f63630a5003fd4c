"""What fetches on a worker thread: the user's data set, or a process that has it."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

import torch
from torch.utils.data import _DatasetKind
from torch.utils.data._utils import pin_memory, worker

from .._pool import own_copy
from . import _worker_info


class Recipe(NamedTuple):
    """What a worker needs to know; travels to worker processes."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable
    drop_last: bool
    init_fn: Callable[[int], None] | None
    num_workers: int
    base_seed: int
    shared_seed: int | None

    def fetcher(self, dataset: Any) -> Any:
        return _DatasetKind.create_fetcher(self.kind, dataset, self.auto_collation, self.collate_fn, self.drop_last)

    def seeded(self, shared_seed: int | None) -> Any:
        """The data set, a data pipe's with the epoch's shared seed."""
        if not isinstance(self.dataset, torch.utils.data.IterDataPipe):
            return self.dataset
        generator = torch.Generator()
        generator.manual_seed(shared_seed)
        return torch.utils.data.graph_settings.apply_random_seed(self.dataset, generator)


class Ended(Exception):
    """A worker's part of an iterable data set is over."""


class ThreadWorker:
    """One thread's own data set. `worker_init_fn` runs before the first item, with `get_worker_info()` answering."""

    def __init__(self, recipe: Recipe, thread: int) -> None:
        self.recipe = recipe
        self.dataset = own_copy(recipe.dataset)
        self._rng = _worker_info.generators(recipe.base_seed, thread)
        self._infos: dict[int, worker.WorkerInfo] = {}
        self._epoch = -1
        self._init_error: BaseException | None = None
        self._answer_as(thread % recipe.num_workers)
        try:
            if recipe.init_fn is not None:
                recipe.init_fn(thread % recipe.num_workers)
        except BaseException as error:
            self._init_error = error

    def _answer_as(self, worker_id: int) -> None:
        info = self._infos.get(worker_id)
        if info is None:
            seed = self.recipe.base_seed + worker_id
            info = worker.WorkerInfo(worker_id, self.recipe.num_workers, seed, self.dataset, self._rng, "thread")
            self._infos[worker_id] = info
        _worker_info.set_info(info)

    def begin(self, task: Any) -> None:
        if self._init_error is not None:
            raise self._init_error
        self._answer_as(task.worker)
        if task.epoch != self._epoch:
            self._epoch = task.epoch
            self._fetcher = self.recipe.fetcher(self.dataset)

    def fetch(self, index: Any) -> Any:
        try:
            return self._fetcher.fetch(index)
        except StopIteration:
            if self.recipe.kind == _DatasetKind.Iterable:
                raise Ended from None
            raise


class ProcessWorker:
    """Asks the worker process of the same number."""

    def __init__(self, pool: Any, worker_id: int) -> None:
        self._pool = pool
        self._worker_id = worker_id

    def begin(self, task: Any) -> None:
        self._epoch, self._shared_seed = task.epoch, task.shared_seed

    def fetch(self, index: Any) -> Any:
        ended, data = self._pool.call(self._worker_id, self._worker_id, self._epoch, self._shared_seed, index)
        if ended:
            raise Ended
        return data


class ShardMaker:
    """Makes the `Shard` of a worker process, there."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe

    def __call__(self) -> Shard:
        return Shard(self.recipe)


class Shard:
    """A worker process's data set: seeds and `get_worker_info()` as in one of PyTorch's."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._epoch = -1
        self._ready = False

    def __call__(self, worker_id: int, epoch: int, shared_seed: int | None, index: Any) -> tuple[bool, Any]:
        if not self._ready:
            self._set_up(worker_id, shared_seed)
        if epoch != self._epoch:
            self._epoch = epoch
            self._fetcher = self._recipe.fetcher(self._recipe.seeded(shared_seed))
        try:
            return False, self._fetcher.fetch(index)
        except StopIteration:
            if self._recipe.kind == _DatasetKind.Iterable:
                return True, None
            raise

    def _set_up(self, worker_id: int, shared_seed: int | None) -> None:
        import random

        import numpy as np

        recipe = self._recipe
        torch.set_num_threads(1)
        seed = recipe.base_seed + worker_id
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(worker._generate_state(recipe.base_seed, worker_id))
        dataset = recipe.seeded(shared_seed)
        _worker_info.install()
        _worker_info.set_info(worker.WorkerInfo(id=worker_id, num_workers=recipe.num_workers, seed=seed, dataset=dataset))
        if recipe.init_fn is not None:
            recipe.init_fn(worker_id)
        self._ready = True


def pinned(data: Any, device: str | None) -> Any:
    """The batch in memory from which a device can copy by itself."""
    return pin_memory.pin_memory(data, device)
