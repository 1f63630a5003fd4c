"""`forebay.torch.DataLoader`."""

from __future__ import annotations

import atexit
import functools
import multiprocessing
import warnings
from typing import Any, Callable, Iterable, Iterator, Mapping

import torch
import torch.utils.data
from torch.utils.data import _DatasetKind

from .._growth import Growth
from .._pool import log
from .._workers import function_name
from ..errors import Error
from ..pipeline import Pipeline
from ._iterators import MainThreadIterator, WorkersIterator, close_all, make_processes
from ._progress import Progress, checked
from ._workers import Recipe, ThreadWorker

__all__ = ["DataLoader"]


class DataLoader(torch.utils.data.DataLoader):
    """`torch.utils.data.DataLoader`, argument for argument, with threads in place of processes.

        from forebay.torch import DataLoader

    Batches and their order equal PyTorch's for the same samplers and generators, which are drawn from at the same moments.
    The items of a batch are fetched at once, and while the data set waits for something outside (object storage, a
    database), the threads become more, up to 256, as long as that brings more items a second. Each thread works on its own
    `copy.copy` of the data set. Batches are made on the worker threads, by `collate_fn` or PyTorch's default.

    Args:
        dataset: with `__getitem__` and `__len__`, or an `IterableDataset`; `__getitems__` is used where there is one. Or a
            `forebay.Pipeline`: then batches are those of `forebay.Loader(pipeline, output="torch")`; see `PipelineLoader`.
        batch_size, shuffle, sampler, batch_sampler, collate_fn, drop_last, generator: as in PyTorch.
        num_workers: 0: the caller's thread does the work, as in PyTorch. Else the threads at first; an iterable data set gets
            that many worker processes (threads where it cannot be pickled, with a warning).
        pin_memory: done on the worker threads, where there is an accelerator.
        timeout: seconds to wait for a batch; RuntimeError says what was awaited. 0: as long as it takes.
        worker_init_fn: called on each thread before its first item, with the thread's number modulo `num_workers`.
            `get_worker_info()` answers inside of it and of the data set, with the thread's copy as `dataset`; in the data set
            its `id` is that of the worker to which PyTorch would have given the batch.
        multiprocessing_context: "forkserver" puts the workers into processes, for data sets that compute while they hold
            Python's lock. Other contexts are refused: a fork of a program with threads can hang.
        prefetch_factor: batches ahead per worker; 2 by default.
        persistent_workers: threads and processes stay between passes.
        pin_memory_device: ignored with a warning, as in PyTorch.
        in_order: batches come in order, also with False.

    What differs:
        - An exception of the data set arrives in its batch's place as it was raised, with its own traceback and a note on
          where it happened, not as a copy of its text; the next batch can be asked for afterwards.
        - Threads share Python's, NumPy's and PyTorch's global random state, which no worker seeds: what user code draws from
          it depends on timing. `get_worker_info().rng` has generators of this thread's own, seeded as PyTorch seeds workers.
          Worker processes are seeded as PyTorch's are.
        - Several items of a data set are fetched at a time, so it must not depend on being called one by one.

    Errors: those of PyTorch's constructor, with its sentences; ValueError for a refused `multiprocessing_context`.
    """

    def __new__(cls, dataset: Any = None, *args: Any, **kwargs: Any) -> DataLoader:
        if cls is DataLoader and isinstance(dataset, Pipeline):
            from ._pipeline import PipelineLoader

            return object.__new__(PipelineLoader)
        return object.__new__(cls)

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable | None = None,
        batch_sampler: Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: torch.Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if isinstance(dataset, Pipeline):
            raise TypeError(f"{type(self).__name__} is a subclass of forebay.torch.DataLoader, which takes data sets; for a "
                            "pipeline use forebay.torch.DataLoader itself, or forebay.Loader")
        if multiprocessing_context is not None and num_workers > 0:
            _check_context(multiprocessing_context)
        super().__init__(
            dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory, drop_last, timeout,
            worker_init_fn, multiprocessing_context, generator, prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers, pin_memory_device=pin_memory_device, in_order=in_order,
        )  # fmt: skip
        processes = multiprocessing_context is not None or self._dataset_kind == _DatasetKind.Iterable
        self._worker_kind = "processes" if processes else "threads"
        self._growth = Growth(max(1, num_workers))  # of the latest pass: the next one begins with it
        self._hint = functools.partial(_hint, function_name(type(dataset)))
        self._progress: Progress | None = None
        self._resume: dict[str, Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        state, self._resume = self._resume, None
        self._progress = Progress(self, state)
        with self._progress.replaying():
            return super().__iter__()

    def _get_iterator(self) -> Any:
        return MainThreadIterator(self) if self.num_workers == 0 else WorkersIterator(self)

    def check_worker_number_rationality(self) -> None:
        """Threads may be more than cores: PyTorch's warning is about processes."""

    def state_dict(self) -> dict[str, Any]:
        """Where the latest pass stands, as a small plain dict; valid between any two batches.

        Position in batches, and the states of the generators at the beginning of the epoch. After the last batch it is the
        state of the next epoch's beginning; what comes of later epochs without `generator=` follows from PyTorch's default
        generator, whose state is the program's to save (`torch.get_rng_state()`). A sampler, or with `num_workers=0` an
        iterable data set, that has `state_dict` and `load_state_dict` saves its own position.
        """
        if self._resume is not None:
            return dict(self._resume)
        return (self._progress or Progress(self, None)).state(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next pass go on where `state_dict()` was called.

        The sampler is gone through again without loading anything, and must give the same indices. An iterable data set without
        a state of its own is read again up to there. StateMismatch is raised here, or by the next `iter()`, where the state
        belongs to other data, another sampler or another batch size.
        """
        self._resume = checked(state, self)

    def _make_workers(self, recipe: Recipe) -> tuple[Any, Callable[[int], Any]]:
        """A pool of processes or None, and what makes a thread's worker."""
        if self._worker_kind == "processes":
            self._growth = Growth(self.num_workers, self.num_workers)  # a thread per process
            try:
                return make_processes(recipe, f"DataLoader({function_name(type(self.dataset))})")
            except Error as error:
                if self.multiprocessing_context is not None:
                    raise
                warnings.warn(f"the iterable data set works on threads, not in processes, because {error}", RuntimeWarning,
                              stacklevel=4)
        elif recipe.kind == _DatasetKind.Iterable:
            self._growth = Growth(self.num_workers, self.num_workers)
        return None, functools.partial(ThreadWorker, recipe)


def _check_context(context: Any) -> None:
    name = context if isinstance(context, str) else getattr(context, "_name", None)
    if isinstance(context, multiprocessing.context.BaseContext) and name is None:
        name = context.get_start_method()
    if name in ("fork", "spawn"):
        raise ValueError(
            f"multiprocessing_context={name!r}: forebay.torch.DataLoader works with threads and needs no context; for a data set "
            "that computes while it holds Python's lock give multiprocessing_context='forkserver'")


_hinted: set[str] = set()


def _hint(name: str) -> None:
    if name not in _hinted:
        _hinted.add(name)
        log.warning("%s: computes while it holds Python's lock, so threads take turns and other cores idle; "
                    "multiprocessing_context='forkserver' puts the workers of a DataLoader into processes", name)


atexit.register(close_all)
