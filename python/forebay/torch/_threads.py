"""A pass over a data set that many threads may call at once."""

from __future__ import annotations

import copy
import functools
import os
import warnings
from collections import deque
from typing import Any, Mapping

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from .._concurrent import WeakRegistry
from .._pool import STUCK_AFTER_S, Pool
from .._workers import function_name
from ..errors import InvalidArgument
from . import _worker_info
from ._feed import Feed, Task
from ._order import has_state
from ._passing import Passes
from ._progress import Given, load_dataset_state
from ._tracebacks import RaisesFree
from ._workers import Recipe, pinned

_live: WeakRegistry[ThreadsIterator] = WeakRegistry()


class ThreadsIterator(RaisesFree, Passes, _BaseDataLoaderIter):
    """The iterator for `thread_safe=True`.

    It draws from the sampler and the generator when PyTorch's own iterator does, so both stay in
    step: `prefetch_factor * num_workers` batches ahead, and one more for each delivered batch.
    """

    def __init__(self, loader: Any) -> None:
        if loader.prefetch_factor <= 0:
            raise AssertionError(f"prefetch_factor is {loader.prefetch_factor}; it must be at least 1")
        self._of_loader(loader)
        super().__init__(loader)
        _worker_info.install()
        self._ahead = loader.prefetch_factor * loader.num_workers
        self._in_order = loader.in_order
        self._process = os.getpid()
        self._shut_down = False
        self._tasks: deque[Task] = deque()
        recipe = Recipe(self._dataset, self._auto_collation, self._collate_fn, loader.num_workers, self._base_seed)
        self._by_item = loader._auto_collation and not getattr(self._dataset, "__getitems__", None)
        pin = functools.partial(pinned, device=self._pin_memory_device) if self._pin_memory else None
        growth = loader._growth = loader._growth.again()  # its own copy: several iterators may run at once
        self._feed = Feed(recipe, growth, pin)
        self._pool = Pool(self._feed, growth, loader._hint, "forebay-worker", self._thread_begin())
        _live.add(self)
        self._reset(loader, first_iter=True)

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
        self._progress = progress = loader._making
        progress.order.begin()
        super()._reset(loader, first_iter)
        progress.order.attach(self._sampler_iter)
        self._feed.drop_all()
        self._tasks.clear()
        self._data = SharedData(self._dataset, progress.saved) if has_state(self._dataset) else None
        progress.begin(self._data)
        for _ in range(self._ahead):
            self._put()
        self._pool.start()

    def _next_index(self) -> Any:
        return self._progress.order.next()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError("this DataLoader iterator belongs to the process that made it, and its threads did not come along "
                               "through fork(); iterate over the DataLoader anew in each process")

    def _put(self) -> None:
        error = None
        index = None
        order = self._progress.order
        try:
            index = self._next_index()
        except StopIteration:
            return
        except Exception as raised:  # delivered in its place, after the batches before it
            error = raised
        number = order.numbers_drawn - 1 if error is None else -1
        task = Task(number, max(number, 0) % self._num_workers, index, self._by_item and error is None)
        self._tasks.append(task)
        if error is not None:
            task.error, task.done = error, True
        else:
            self._feed.add(task)

    def _next_data(self) -> Any:
        self._check_process()
        if not self._tasks:
            if not self._persistent_workers:
                self._close()
            raise StopIteration
        task = self._feed.wait(self._tasks[0], () if self._in_order else self._tasks, self._timeout)
        self._tasks.remove(task)
        self._put()
        if self._data is not None:
            self._data.ahead = bool(self._tasks)
        if task.number >= 0:
            progress = self._progress
            progress.coming = Given(progress.given.order.with_batch(task.number))
        if task.error is None:
            return task.result
        error, task.error = task.error, None
        try:
            raise error
        finally:
            del error, task  # otherwise the traceback would refer to itself

    @staticmethod
    def _freed(error: BaseException) -> BaseException:
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code.co_name in ("__next__", "_next_data"):
            traceback = traceback.tb_next
        return error.with_traceback(traceback)

    def _close(self) -> None:
        if self._shut_down or os.getpid() != self._process:  # after a fork, the child has neither the threads nor what they hold
            return
        self._tasks.clear()
        self._feed.close()
        stuck_ones = self._pool.stop()
        self._shut_down = True  # last, so that after an interrupt the end of the iterator repeats the shutdown
        for stuck in stuck_ones:
            warnings.warn(f"left running: {stuck} and did not return within {STUCK_AFTER_S:.0f} s", RuntimeWarning, stacklevel=3)

    _shutdown_workers = _close  # PyTorch's name for it, which some frameworks call

    def __del__(self) -> None:
        if hasattr(self, "_pool"):
            self._close()


class SharedData:
    """The single data set that all threads use, if it has a state.

    The state belongs to a batch only while no thread works ahead of it: before the first batch and
    after the last.
    """

    def __init__(self, dataset: Any, saved: Mapping[str, Any] | None) -> None:
        if saved and not saved.get("finished"):
            load_dataset_state(dataset, saved)
        self._dataset = dataset
        self._before = copy.deepcopy(dataset.state_dict())
        self.ahead: bool | None = None  # None: no batch has been delivered

    def state(self, given: Given, finished: bool) -> dict[str, Any]:
        if self.ahead and not finished:
            name = function_name(type(self._dataset))
            raise InvalidArgument(
                f"state_dict: {name} has a state of its own, which threads have changed ahead of the batch that was delivered, so it is the state of no "
                "batch. Save at the end of an epoch; or leave thread_safe= out: worker processes send the state of each batch; or take state_dict() "
                f"from {name}, if what it returns does not matter here")
        before = self.ahead is None and not finished
        return {"dataset_state": copy.deepcopy(self._before if before else self._dataset.state_dict()), "workers": 0}


def close_all() -> None:
    """Closes all iterators before the interpreter exits: threads must not return to it later."""
    for iterator in _live.alive():
        iterator._close()
