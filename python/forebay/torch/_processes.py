"""A pass over worker processes: PyTorch's own machinery with a worker loop of ours, so that the position can be saved."""

from __future__ import annotations

import copy
import inspect
import pickle
import weakref
from typing import Any, Mapping, NamedTuple

import torch
from torch.utils.data import _DatasetKind
from torch.utils.data._utils import worker
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from . import _generators
from ._messages import Ask, Delivered, Report, Start
from ._order import has_state
from ._tracebacks import RaisesFree
from ._worker_loop import work

_ARGUMENTS = tuple(inspect.signature(worker._worker_loop).parameters)


class _Numbered(NamedTuple):
    """A batch on its way through PyTorch's loop."""

    task: int
    data: Any


class ProcessesIterator(RaisesFree, _MultiProcessingDataLoaderIter):
    """PyTorch's own: processes, queues, shared memory, seeds, order and exceptions are its. What is added goes along with the
    indices on their way there, and with the batches on their way back."""

    def __init__(self, loader: Any) -> None:
        saved = loader._progress.saved or {}
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        tracked = self._iterable or has_state(loader.dataset)
        every = loader.snapshot_every_n_steps or 0
        again = [None] * loader.batch_size if loader._auto_collation and loader.batch_size else None
        self._saved_seed = saved.get("seed")
        self._data = WorkersData(self, loader.num_workers, loader.persistent_workers, tracked, saved)
        starts = [Start(every, tracked, part.text(self._iterable), bool(saved.get("finished")), again) for part in self._data.parts]
        context = loader.multiprocessing_context or torch.multiprocessing
        super().__init__(_View(loader, _Context(context, starts, saved.get("shared_seed"))))

    @property
    def _base_seed(self) -> int:
        """A saved state's in place of the one that was drawn."""
        return self._drawn_seed if self._saved_seed is None else self._saved_seed

    @_base_seed.setter
    def _base_seed(self, seed: int) -> None:
        self._drawn_seed = seed

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._progress = progress = loader._progress
        progress.data = data = self._data
        progress.order.begin()
        data.seed = self._base_seed
        if first_iter:
            data.shared_seed = self._shared_seed if progress.saved is None else progress.saved.get("shared_seed")
        else:
            data.begin_again()
        self._turn: int | None = data.turn
        self._tasks: dict[int, tuple[int, Any]] = {}
        super()._reset(loader, first_iter)
        if not first_iter:
            data.shared_seed = self._shared_seed

    # The way there

    def _next_index(self) -> Any:
        order = self._progress.order
        order.attach(self._sampler_iter)
        self._index = super()._next_index() if order.iterable else order.next()
        return self._index

    def _try_put_index(self) -> None:
        if self._turn is not None:
            for _ in range(self._turn):
                next(self._worker_queue_idx_cycle)
            self._turn = None
        task = self._send_idx
        super()._try_put_index()
        if self._send_idx > task:
            self._tasks[task] = (self._progress.order.numbers_drawn - 1, self._index)

    # The way back

    def _get_data(self) -> Any:
        while True:
            task, data = super()._get_data()
            if isinstance(data, Report):
                self._data.reported(data)
            elif isinstance(data, worker._IterableDatasetStopIteration):
                self._data.parts[data.worker_id].ended = True
                return task, data
            else:
                return task, _Numbered(task, data) if isinstance(task, int) else data

    def _process_data(self, numbered: Any, worker_id: int) -> Any:
        number, index = self._tasks.pop(numbered.task)
        data = numbered.data
        self._data.delivered(worker_id, index, data)
        order = self._progress.order
        if order.iterable:
            order.position += 1
        else:
            order.delivered(number)
        return super()._process_data(data.data if isinstance(data, Delivered) else data, worker_id)

    def _next_data(self) -> Any:
        try:
            return super()._next_data()
        except StopIteration:
            self._progress.finished = True
            raise

    @staticmethod
    def _freed(error: BaseException) -> BaseException:
        # All frames are of PyTorch's loop: what a worker raised has its traceback as text.
        seen: list[BaseException] = []
        following: BaseException | None = error
        while following is not None and following not in seen:
            seen.append(following)
            following.__traceback__ = None
            following = following.__cause__ or following.__context__
        return error

    def ask(self) -> None:
        """Between two epochs: where the workers stand, into `_data`."""
        if self._shutdown:
            return
        for one in self._index_queues:
            one.put(Ask())
        wanted = self._num_workers
        while wanted:
            _, data = super()._get_data()
            if isinstance(data, Report):
                self._data.reported(data)
                wanted -= 1

    def __del__(self) -> None:
        if hasattr(self, "_workers"):
            super().__del__()


class WorkersData:
    """Where each worker stands, as far as its batches were delivered."""

    def __init__(self, iterator: ProcessesIterator, count: int, persistent: bool, tracked: bool, saved: Mapping[str, Any]) -> None:
        self._iterator = weakref.ref(iterator)
        self._iterable = iterator._iterable
        self._persistent = persistent
        self._tracked = tracked
        snapshots = saved.get("_snapshot", {}).get("_worker_snapshots", {})
        fits = len(snapshots) == count
        self.parts = [_Part(snapshots[f"worker_{number}"] if fits else {}) for number in range(count)]
        self.turn = saved.get("turn", 0) % count  # the worker that is next
        self.seed: int | None = None
        self.shared_seed: int | None = None

    def begin_again(self) -> None:
        self.parts = [_Part({}) for _ in self.parts]
        self.turn = 0

    def reported(self, report: Report) -> None:
        self.parts[report.worker] = _Part({}, report.dataset_state, report.generators)

    def delivered(self, worker_id: int, index: Any, data: Any) -> None:
        self.turn = (worker_id + 1) % len(self.parts)
        if self._tracked:
            self.parts[worker_id].delivered(None if self._iterable else index, data)

    def state(self, finished: bool) -> dict[str, Any]:
        if finished and not self._persistent:
            return {"iterable": True} if self._iterable else {}  # the next workers begin anew
        if finished:
            iterator = self._iterator()
            if iterator is not None:
                iterator.ask()
        state: dict[str, Any] = {"iterable": True} if self._iterable else {}
        state.update(seed=self.seed, shared_seed=self.shared_seed, turn=0 if finished else self.turn)
        if finished or self._tracked:
            state["workers"] = len(self.parts)
            parts = {f"worker_{number}": part.text(self._iterable) for number, part in enumerate(self.parts)}
            state["_snapshot"] = {"_worker_snapshots": parts}  # torchdata's names
        return state


class _Part:
    """One worker's place: a state that it sent, and what was delivered since."""

    def __init__(self, saved: Mapping[str, Any], dataset_state: bytes | None = None,
                 generators: _generators.Globals | None = None) -> None:
        self._saved = saved
        self._dataset_state = dataset_state
        self._generators = generators
        self._state: bytes | None = None
        self.ended = False  # the worker said so; batches of it may still be on their way
        again = saved.get("again", {})
        self._batches: int = again.get("batches", 0)
        self._indices = list(again.get("indices", ()))
        self._mark: int | None = again.get("mark")

    def delivered(self, index: Any, data: Any) -> None:
        if isinstance(data, Delivered) and data.state is not None:
            self._state, self._batches = data.state, 0
            self._indices.clear()
            return
        self._batches += 1
        if index is not None:
            self._indices.append(index)
        if isinstance(data, Delivered):
            self._mark = data.mark

    def text(self, iterable: bool) -> dict[str, Any]:
        if self._state is not None:
            state = pickle.loads(self._state)
        else:
            state = {"dataset_state": None, "fetcher_state": None, **copy.deepcopy(dict(self._saved))}
            state.pop("again", None)
            if self._dataset_state is not None:
                state["dataset_state"] = pickle.loads(self._dataset_state)
            if self._generators is not None:
                state["generators"] = _generators.globals_as_text(self._generators)
        if iterable and state["fetcher_state"] is None:  # for those who look: on resume the batches tell it
            state["fetcher_state"] = {"dataset_iter_state": None, "fetcher_ended": self.ended and self._batches > 0}
        if self._batches:
            state["again"] = {"batches": self._batches}
            if self._indices:
                state["again"]["indices"] = list(self._indices)
            elif self._mark is not None:
                state["again"]["mark"] = self._mark
        return state


class _View:
    """A loader with another context."""

    def __init__(self, loader: Any, context: _Context) -> None:
        self._loader = loader
        self.multiprocessing_context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Context:
    """A context whose processes run our loop in place of PyTorch's."""

    def __init__(self, context: Any, starts: list[Start], shared_seed: int | None) -> None:
        self._context = context
        self._starts = starts
        self._shared_seed = shared_seed

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def Process(self, target: Any, args: tuple) -> Any:  # noqa: N802, PyTorch's name
        given = dict(zip(_ARGUMENTS, args, strict=True))
        if self._shared_seed is not None:
            given["shared_seed"] = self._shared_seed
        return self._context.Process(target=work, args=(given, self._starts[given["worker_id"]]))
