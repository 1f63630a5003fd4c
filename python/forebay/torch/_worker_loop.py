"""The code that runs in a worker process: PyTorch's worker loop, plus reports of the data set's
position.
"""

from __future__ import annotations

import copy
import pickle
import queue
import random
from typing import Any

import numpy as np
import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import IterDataPipe, _DatasetKind
from torch.utils.data._utils import MP_STATUS_CHECK_INTERVAL, signal_handling, worker

from ..errors import StateMismatch
from . import _generators
from ._main_thread import OTHER_ITEMS, shorter
from ._marks import marked
from ._messages import Ask, Delivered, Report, Start
from ._order import has_state
from ._progress import load_dataset_state


def work(given: dict[str, Any], start: Start) -> None:
    """Runs for the whole life of the process. `given`: the arguments of PyTorch's worker loop, by
    name.
    """
    try:
        Worker(given, start).serve()
    except KeyboardInterrupt:
        pass  # the main process raises it
    if given["done_event"].is_set():
        given["data_queue"].cancel_join_thread()
        given["data_queue"].close()


class Worker:
    """The data set of a worker process."""

    def __init__(self, given: dict[str, Any], start: Start) -> None:
        self.__dict__.update(given)  # dataset, index_queue, data_queue, done_event, collate_fn and so on
        self._start = start
        self._iterable = self.dataset_kind == _DatasetKind.Iterable
        self._where = f"in DataLoader worker process {self.worker_id}"
        self._failure: ExceptionWrapper | None = None
        self._ended = False
        self._set_up_process()
        try:
            if self.init_fn is not None:
                self.init_fn(self.worker_id)
            self._begin(start.state)
        except Exception:
            self._failure = ExceptionWrapper(where=self._where)

    def _set_up_process(self) -> None:
        signal_handling._set_worker_signal_handlers()
        torch.multiprocessing._set_thread_name("pt_data_worker")
        torch.set_num_threads(1)
        seed = self.base_seed + self.worker_id
        random.seed(seed)
        torch.manual_seed(seed)
        np.random.seed(worker._generate_state(self.base_seed, self.worker_id))
        self._share_seed(self.shared_seed)
        worker._worker_info = worker.WorkerInfo(id=self.worker_id, num_workers=self.num_workers, seed=seed, dataset=self.dataset)

    def _share_seed(self, seed: int | None) -> None:
        if isinstance(self.dataset, IterDataPipe):
            generator = torch.Generator()
            generator.manual_seed(seed)
            self.dataset = torch.utils.data.graph_settings.apply_random_seed(self.dataset, generator)

    # An epoch

    def _begin(self, saved: dict[str, Any]) -> None:
        """Restores the state of the data set, then that of its iterator, then reads again the items
        since.
        """
        if "generators" in saved:
            _generators.set_globals(_generators.globals_from_text(saved["generators"]))
        load_dataset_state(self.dataset, saved)
        position = {} if self._start.finished else saved.get("fetcher_state") or {}
        self._since = self._mark = self._batches = 0
        # The last batch was incomplete, so the next call ends the epoch.
        self._through = bool(position.get("fetcher_ended")) and "again" not in saved
        self._reader = None
        if self._through:
            return
        self._new_fetcher()
        if position.get("dataset_iter_state") is not None and has_state(self._reader):
            self._reader.load_state_dict(copy.deepcopy(position["dataset_iter_state"]))
        if "again" in saved and not self._start.finished:
            self._read_again(saved["again"])

    def _new_fetcher(self) -> None:
        self._fetcher = _DatasetKind.create_fetcher(
            self.dataset_kind, self.dataset, self.auto_collation, self.collate_fn, self.drop_last)
        self._reader = getattr(self._fetcher, "dataset_iter", None)
        self._has_state = has_state(self.dataset) or (self._iterable and has_state(self._reader))

    def _read_again(self, repeat: dict[str, Any]) -> None:
        indices = repeat.get("indices")
        for done in range(repeat["batches"]):
            data = None
            try:
                data = self._fetcher.fetch(self._start.again if indices is None else indices[done])
            except StopIteration:
                raise StateMismatch(shorter(repeat["batches"], done)) from None
            except Exception:  # raised before the state was saved, so it is expected
                pass
            if self._iterable and not self._has_state:
                self._count(data)
            self._since += 1
        if repeat.get("mark") is not None and self._mark != repeat["mark"]:
            raise StateMismatch(OTHER_ITEMS)

    def _count(self, data: Any) -> None:
        if data is not None:
            self._mark = marked(self._mark, self._batches, data)
        self._batches += 1

    # Calls

    def serve(self) -> None:
        watchdog = worker.ManagerWatchdog()
        while watchdog.is_alive():
            try:
                request = self.index_queue.get(timeout=MP_STATUS_CHECK_INTERVAL)
            except queue.Empty:
                continue
            if request is None:
                return
            if isinstance(request, worker._ResumeIteration):
                self._resume(request)
            elif isinstance(request, Ask):
                self._report()
            elif not self.done_event.is_set() and not self._ended:
                number, index = request
                self.data_queue.put((number, self._answer(index)))

    def _resume(self, request: Any) -> None:
        self._report()
        self.data_queue.put((request, None))
        self._ended = False
        try:
            self._share_seed(request.seed)
            self._begin({})
        except Exception:
            self._failure = ExceptionWrapper(where=self._where)

    def _report(self) -> None:
        try:
            state = pickle.dumps(self.dataset.state_dict()) if self._start.tracked and has_state(self.dataset) else None
        except Exception:
            state, self._failure = None, ExceptionWrapper(where=self._where)
        self.data_queue.put((None, Report(self.worker_id, state, _generators.globals_now())))

    def _answer(self, index: Any) -> Any:
        if self._failure is not None:
            failure, self._failure = self._failure, None
            return failure
        try:
            if self._through:
                raise StopIteration
            return self._with_place(self._fetcher.fetch(index))
        except StopIteration:
            if self._iterable:
                self._ended = True
                return worker._IterableDatasetStopIteration(self.worker_id)
            return ExceptionWrapper(where=self._where)
        except Exception:
            return ExceptionWrapper(where=self._where)

    def _with_place(self, data: Any) -> Any:
        if not self._start.tracked:
            return data
        if not self._has_state:
            if not self._iterable:
                return data
            self._count(data)
            return Delivered(data, None, self._mark)
        self._since += 1
        if self._start.every == 0 or self._since % self._start.every:
            return data
        return Delivered(data, pickle.dumps(self._place()), None)

    def _place(self) -> dict[str, Any]:
        state: dict[str, Any] = {"dataset_state": None, "fetcher_state": None}
        if self._reader is not self.dataset and has_state(self.dataset):
            state["dataset_state"] = self.dataset.state_dict()
        if self._iterable:
            position = self._reader.state_dict() if has_state(self._reader) else None
            state["fetcher_state"] = {"dataset_iter_state": position, "fetcher_ended": self._fetcher.ended}
        return state
