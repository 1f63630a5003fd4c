"""One pass over a DataLoader, on threads, in worker processes, or on the caller's thread."""

from __future__ import annotations

import functools
import itertools
import os
import warnings
import weakref
from collections import deque
from typing import Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe, _DatasetKind
from torch.utils.data.dataloader import _BaseDataLoaderIter, _sharding_worker_init_fn, _SingleProcessDataLoaderIter

from .._pool import STUCK_AFTER_S, Pool
from . import _worker_info
from ._feed import Feed, Task
from ._workers import ProcessWorker, Recipe, ShardMaker, pinned

_live: weakref.WeakSet[WorkersIterator] = weakref.WeakSet()


class MainThreadIterator(_SingleProcessDataLoaderIter):
    """`num_workers=0`: PyTorch's own loop, whose position can be saved."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        self._progress = loader._progress
        self._sampler_iter = self._progress.skip(self._sampler_iter)
        for _ in range(self._progress.to_read_again):
            self._next_data()

    def _next_index(self) -> Any:
        index = super()._next_index()
        self._progress.drawn(index)
        return index

    def _next_data(self) -> Any:
        try:
            data = super()._next_data()
        except StopIteration:
            self._progress.finish()
            raise
        except BaseException:
            self._progress.delivered()  # PyTorch goes on with the next batch, too
            raise
        self._progress.delivered()
        return data


class WorkersIterator(_BaseDataLoaderIter):
    """`num_workers` > 0. Draws from the sampler and the generator when PyTorch's own does, so that both stay in step:
    `prefetch_factor * num_workers` batches ahead, one more for each that is delivered."""

    def __init__(self, loader: Any) -> None:
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise ValueError(f"prefetch_factor is {loader.prefetch_factor}; it must be at least 1")
        _worker_info.install()
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._epoch = -1
        self._process = os.getpid()
        self._shut_down = False
        self._tasks: deque[Task] = deque()
        recipe = self._recipe(loader)
        self._by_item = (
            loader._dataset_kind == _DatasetKind.Map and loader._auto_collation
            and not getattr(self._dataset, "__getitems__", None) and loader._worker_kind == "threads"
        )  # fmt: skip
        self._processes, make_worker = loader._make_workers(recipe)
        pin = functools.partial(pinned, device=self._pin_memory_device) if self._pin_memory else None
        growth = loader._growth = loader._growth.again()  # of its own: several iterators may run at once
        own_batches = self._processes is not None or self._dataset_kind == _DatasetKind.Iterable
        self._feed = Feed(recipe, growth, make_worker, own_batches, pin)
        self._pool = Pool(self._feed, growth, loader._hint, "forebay-worker", self._thread_begin())
        _live.add(self)
        self._reset(loader, first_iter=True)

    def _recipe(self, loader: Any) -> Recipe:
        init_fn = loader.worker_init_fn
        if isinstance(self._dataset, (IterDataPipe, MapDataPipe)):
            init_fn = functools.partial(_sharding_worker_init_fn, init_fn, self._world_size, self._rank)
        return Recipe(self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last, init_fn,
                      loader.num_workers, self._base_seed, self._shared_seed)

    def _thread_begin(self) -> Any:
        if not self._pin_memory:
            return _worker_info.one_torch_thread
        device = torch.accelerator.current_device_index()

        def begin() -> None:
            _worker_info.one_torch_thread()
            torch.accelerator.set_device_index(device)

        return begin

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._check_process()
        super()._reset(loader, first_iter)
        self._feed.drop_all()
        self._epoch += 1
        self._progress = loader._progress
        self._sampler_iter = self._progress.skip(self._sampler_iter)
        begin = self._progress.yielded
        self._numbers = itertools.count(begin)
        self._next_worker = itertools.cycle(range(self._num_workers))
        for _ in range(begin % self._num_workers):
            next(self._next_worker)
        self._active = [True] * self._num_workers
        self._tasks.clear()
        for _ in range(self._ahead):
            self._put()
        self._pool.start()
        for _ in range(self._progress.to_read_again):
            self._next_data()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("this DataLoader iterator belongs to the process that made it, and its threads did not come along "
                               "through fork(); iterate over the DataLoader anew in each process")

    def _put(self) -> None:
        error = None
        index = None
        try:
            index = self._next_index()
        except StopIteration:
            return
        except Exception as raised:  # arrives in its place, after the batches before it
            error = raised
        worker = next((one for one in itertools.islice(self._next_worker, self._num_workers) if self._active[one]), None)
        if worker is None:
            return
        task = Task(next(self._numbers), worker, self._epoch, self._shared_seed, index, self._by_item and error is None)
        if error is None:
            self._progress.drawn(index)
        self._tasks.append(task)
        if error is not None:
            task.error, task.done = error, True
        else:
            self._feed.add(task)

    def _next_data(self) -> Any:
        self._check_process()
        while self._tasks:
            task = self._tasks[0]
            if not self._active[task.worker]:
                self._tasks.popleft()
                continue
            self._feed.wait(task, self._timeout)
            self._tasks.popleft()
            if task.ended:
                self._active[task.worker] = False
                self._put()
                continue
            self._put()
            self._progress.delivered()
            if task.error is None:
                return task.result
            error, task.error = task.error, None
            try:
                raise error
            finally:
                del error, task  # or the traceback would hold itself
        self._progress.finish()
        if not self._persistent_workers:
            self._close()
        raise StopIteration

    def _close(self) -> None:
        if self._shut_down:
            return
        self._shut_down = True
        self._tasks.clear()
        self._feed.close()
        if self._processes is not None and os.getpid() == self._process:
            self._processes.close(STUCK_AFTER_S)
        for stuck in self._pool.stop():
            warnings.warn(f"left running: {stuck} and did not return within {STUCK_AFTER_S:.0f} s", RuntimeWarning, stacklevel=3)

    _shutdown_workers = _close  # what PyTorch calls it, and some frameworks with it

    def __del__(self) -> None:
        if hasattr(self, "_pool"):
            self._close()


def make_processes(recipe: Recipe, name: str) -> tuple[Any, Any]:
    """Worker processes, and what makes a thread's access to one of them."""
    from .._processes import ProcessPool

    pool = ProcessPool(ShardMaker(recipe), recipe.num_workers, name)
    return pool, functools.partial(ProcessWorker, pool)


def close_all() -> None:
    """Before the interpreter goes: threads must not come back to it later."""
    for iterator in list(_live):
        iterator._close()
