"""A pass over worker processes: PyTorch's own machinery with Forebay's worker loop, so that the
position can be saved.
"""

from __future__ import annotations

import copy
import functools
import inspect
import pickle
import weakref
from typing import Any, Mapping, NamedTuple

import torch
from torch.utils.data import _DatasetKind
from torch.utils.data._utils import worker
from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

from . import _generators, _messages
from ._messages import Ask, Report, Start
from ._order import Delivered, has_state
from ._passing import Passes
from ._progress import Given
from ._tracebacks import RaisesFree
from ._worker_loop import work

_ARGUMENTS = tuple(inspect.signature(worker._worker_loop).parameters)


class _Numbered(NamedTuple):
    """A batch on its way through PyTorch's loop."""

    task: int
    data: Any


class ProcessesIterator(RaisesFree, Passes, _MultiProcessingDataLoaderIter):
    """PyTorch's own iterator with positions.

    Processes, queues, shared memory, seeds, order and exceptions are PyTorch's. The additional data
    travel with the indices to the workers, and with the batches back.
    """

    def __init__(self, loader: Any) -> None:
        self._of_loader(loader)
        saved = loader._making.saved or {}
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        tracked = self._iterable or has_state(loader.dataset)
        every = loader.snapshot_every_n_steps or 0
        again = [None] * loader.batch_size if loader._auto_collation and loader.batch_size else None
        self._saved_seed = saved.get("seed")
        self._data = WorkersData(self, loader.num_workers, loader.persistent_workers, tracked, saved)
        finished = bool(saved.get("finished"))
        starts = [Start(every, tracked, part.text(self._iterable, False), finished, again) for part in self._data.begin.parts]
        context = loader.multiprocessing_context or torch.multiprocessing
        super().__init__(_View(loader, _Context(context, starts, saved.get("shared_seed"))))

    @property
    def _base_seed(self) -> int:
        """The seed: that of a saved state in place of the one that was drawn."""
        return self._drawn_seed if self._saved_seed is None else self._saved_seed

    @_base_seed.setter
    def _base_seed(self, seed: int) -> None:
        self._drawn_seed = seed

    def _reset(self, loader: Any, first_iter: bool = False) -> None:
        self._progress = progress = loader._making
        data = self._data
        progress.order.begin()
        data.seed = self._base_seed
        if first_iter:
            data.shared_seed = self._shared_seed if progress.saved is None else progress.saved.get("shared_seed")
        else:
            data.begin_again()
        self._turn: int | None = data.begin.turn
        self._tasks: dict[int, tuple[int, Any]] = {}
        super()._reset(loader, first_iter)
        if not first_iter:
            data.shared_seed = self._shared_seed
            data.begin = data.begin._replace(parts=data.as_reported(data.begin.parts))
        progress.begin(data, data.begin)

    # To the workers

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

    # From the workers

    def _get_data(self) -> Any:
        while True:
            task, data = super()._get_data()
            if isinstance(data, Report):
                self._data.reported(data)
            elif isinstance(data, worker._IterableDatasetStopIteration):
                self._data.ended.add(data.worker_id)
                return task, data
            else:
                return task, _Numbered(task, data) if isinstance(task, int) else data

    def _process_data(self, numbered: Any, worker_id: int) -> Any:
        number, index = self._tasks.pop(numbered.task)
        data = numbered.data
        progress = self._progress
        order, workers = progress.given
        order = Delivered(order.position + 1) if self._iterable else order.with_batch(number)
        progress.coming = Given(order, self._data.with_batch(workers, worker_id, index, data))
        return super()._process_data(data.data if isinstance(data, _messages.Delivered) else data, worker_id)

    @staticmethod
    def _freed(error: BaseException) -> BaseException:
        # All frames are of PyTorch's loop; the traceback of a worker's error is in its text.
        seen: list[BaseException] = []
        following: BaseException | None = error
        while following is not None and following not in seen:
            seen.append(following)
            following.__traceback__ = None
            following = following.__cause__ or following.__context__
        return error

    def ask(self) -> None:
        """Asks the workers between two epochs for their positions, and stores them in `_data`."""
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


class Workers(NamedTuple):
    """The position of each worker, counting the batches that the loop has received."""

    parts: tuple[_Part, ...]
    turn: int  # the worker whose turn is next


class WorkersData:
    """The known positions of the data sets of the workers."""

    def __init__(self, iterator: ProcessesIterator, count: int, persistent: bool, tracked: bool, saved: Mapping[str, Any]) -> None:
        self._iterator = weakref.ref(iterator)
        self._iterable = iterator._iterable
        self._persistent = persistent
        self._tracked = tracked
        snapshots = saved.get("_snapshot", {}).get("_worker_snapshots", {})
        fits = len(snapshots) == count
        parts = (_Part.of_saved(snapshots[f"worker_{number}"] if fits else {}) for number in range(count))
        self.begin = Workers(tuple(parts), saved.get("turn", 0) % count)
        self.ended: set[int] = set()  # workers that reported their end; batches of theirs may still be in flight
        self.reports: dict[int, Report] = {}  # reports of workers between two epochs
        self.seed: int | None = None
        self.shared_seed: int | None = None

    def begin_again(self) -> None:
        self.begin = Workers(tuple(_Part() for _ in self.begin.parts), 0)
        self.ended = set()
        self.reports.clear()

    def reported(self, report: Report) -> None:
        self.reports[report.worker] = report

    def as_reported(self, parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
        return tuple(_Part.of_report(self.reports[number]) if number in self.reports else part for number, part in enumerate(parts))

    def with_batch(self, workers: Workers, worker_id: int, index: Any, data: Any) -> Workers:
        parts = workers.parts
        if self._tracked:
            part = parts[worker_id].with_batch(None if self._iterable else index, data)
            parts = (*parts[:worker_id], part, *parts[worker_id + 1 :])
        return Workers(parts, (worker_id + 1) % len(parts))

    def state(self, given: Given, finished: bool) -> dict[str, Any]:
        if finished and not self._persistent:
            return {"iterable": True} if self._iterable else {}  # the next workers begin anew
        workers: Workers = given.data
        parts = workers.parts
        if finished:
            iterator = self._iterator()
            if iterator is not None:
                iterator.ask()
            parts = self.as_reported(parts)
        state: dict[str, Any] = {"iterable": True} if self._iterable else {}
        state.update(seed=self.seed, shared_seed=self.shared_seed, turn=0 if finished else workers.turn)
        if finished or self._tracked:
            state["workers"] = len(parts)
            texts = {f"worker_{number}": part.text(self._iterable, number in self.ended) for number, part in enumerate(parts)}
            state["_snapshot"] = {"_worker_snapshots": texts}  # torchdata's names
        return state


class _Part(NamedTuple):
    """The position of one worker: a state, and what the loop received since."""

    saved: Mapping[str, Any] = {}
    state: bytes | None = None  # sent with a batch, replaces `saved`
    batches: int = 0
    indices: Any = None  # indices of the batches since: the latest, and the ones before it in the same form
    mark: int | None = None

    @classmethod
    def of_saved(cls, saved: Mapping[str, Any]) -> _Part:
        again = saved.get("again", {})
        return cls(saved, None, again.get("batches", 0), functools.reduce(_linked, again.get("indices", ()), None), again.get("mark"))

    @classmethod
    def of_report(cls, report: Report) -> _Part:
        """Returns the position between two epochs."""
        saved: dict[str, Any] = {"generators": _generators.globals_as_text(report.generators)}
        if report.dataset_state is not None:
            saved["dataset_state"] = pickle.loads(report.dataset_state)
        return cls(saved)

    def with_batch(self, index: Any, data: Any) -> _Part:
        if isinstance(data, _messages.Delivered) and data.state is not None:
            return _Part(self.saved, data.state, 0)
        indices = self.indices if index is None else _linked(self.indices, index)
        return _Part(self.saved, self.state, self.batches + 1, indices, data.mark if isinstance(data, _messages.Delivered) else self.mark)

    def text(self, iterable: bool, ended: bool) -> dict[str, Any]:
        if self.state is not None:
            state = pickle.loads(self.state)
        else:
            state = {"dataset_state": None, "fetcher_state": None, **copy.deepcopy(dict(self.saved))}
            state.pop("again", None)
        if iterable and state["fetcher_state"] is None:  # for readers of the state; on resume the batches decide
            state["fetcher_state"] = {"dataset_iter_state": None, "fetcher_ended": ended and self.batches > 0}
        if self.batches:
            state["again"] = {"batches": self.batches}
            if self.indices:
                state["again"]["indices"] = _listed(self.indices)
            elif self.mark is not None:
                state["again"]["mark"] = self.mark
        return state


def _linked(before: Any, index: Any) -> tuple[Any, Any]:
    return index, before


def _listed(linked: Any) -> list[Any]:
    indices = []
    while linked is not None:
        index, linked = linked
        indices.append(index)
    return indices[::-1]


class _View:
    """A loader with another multiprocessing context."""

    def __init__(self, loader: Any, context: _Context) -> None:
        self._loader = loader
        self.multiprocessing_context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


class _Context:
    """A multiprocessing context whose processes run Forebay's loop in place of PyTorch's."""

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
