"""`forebay.torch.DataLoader`."""

from __future__ import annotations

import atexit
import functools
from typing import Any, Callable, Generic, Iterable, Iterator, Mapping, TypeVar

import torch
import torch.utils.data
from torch.utils.data import IterDataPipe, MapDataPipe, _DatasetKind

from .._growth import Growth
from .._pool import log
from .._workers import function_name
from ..errors import InvalidArgument
from ..pipeline import Pipeline
from ._main_thread import MainThreadIterator
from ._pipeline import OverPipeline
from ._processes import ProcessesIterator
from ._progress import Progress, checked
from ._threads import ThreadsIterator, close_all

__all__ = ["DataLoader"]

T_co = TypeVar("T_co", covariant=True)


class DataLoader(torch.utils.data.DataLoader[T_co], Generic[T_co]):
    """A `torch.utils.data.DataLoader` with the same arguments, whose position can be saved and
    whose workers can be threads.

        from forebay.torch import DataLoader

    For the same samplers and generators, batches and their order equal PyTorch's, and so do the
    random numbers in workers. Generators are drawn from at the same moments. If `num_workers` > 0,
    the workers are PyTorch's: processes, each with a copy of the data set and its own seeded
    generators.

    Under `thread_safe=True` the workers are threads of this process instead. This suits a data set
    that waits (for object storage, a database): the items of a batch are fetched concurrently, and
    the number of threads grows, up to 256, as long as that brings more items per second.

    Args:
        dataset: a data set with `__getitem__` and `__len__`, or an `IterableDataset`.
            `__getitems__` is used if there is one. Or a `forebay.Pipeline`: batches are then those
            of `forebay.Loader(pipeline, output="torch")`; see `OverPipeline`.
        batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory, drop_last,
            timeout, worker_init_fn, multiprocessing_context, generator, prefetch_factor,
            persistent_workers, pin_memory_device, in_order: as in PyTorch.
        thread_safe: True declares that many threads may call `dataset[i]` and `collate_fn` at once,
            on the single data set: no scratch buffer, no shared file position, no use of the global
            generators of `random`, NumPy or PyTorch. (`get_worker_info().rng` has generators for
            each thread.) For False, the default, the workers are processes. An iterable data set
            always gets processes.
        snapshot_every_n_steps: as in torchdata's StatefulDataLoader: how often a worker process
            sends the state of a data set that has `state_dict`; 0 or None: never. `state_dict()` is
            exact in any case: on resume the items since the last snapshot are read again.

    Under `thread_safe=True`, in addition:
        - An exception of the data set arrives as it was raised, with its own traceback and a note
          on where it happened, not as a copy of its text.
        - The worker threads do `pin_memory`; batches are not in shared memory.
        - `get_worker_info().id` is the id of the worker to which PyTorch would have given the
          batch.
        - If the data set has its own `state_dict()`, all threads change that state. `state_dict()`
          of the loader then works before the first batch and after the last of an epoch; in between
          it raises InvalidArgument.
        - `worker_init_fn` and `multiprocessing_context` are refused, because they apply to
          processes.

    Errors: those of PyTorch's constructor, with its messages; ValueError for arguments that
    `thread_safe=True` excludes.
    """

    def __new__(cls, dataset: Any = None, *args: Any, **kwargs: Any) -> DataLoader[Any]:
        return object.__new__(_PipelineLoader if cls is DataLoader and isinstance(dataset, Pipeline) else cls)

    def __init__(
        self: DataLoader[Any],  # checkers cannot infer what a data set of any type holds
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
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
        thread_safe: bool = False,
        snapshot_every_n_steps: int | None = 1,
    ) -> None:
        if isinstance(dataset, Pipeline):
            raise TypeError(f"{type(self).__name__} is a subclass of forebay.torch.DataLoader, which takes data sets; for a "
                            "pipeline use forebay.torch.DataLoader itself, or forebay.Loader")
        self.thread_safe = thread_safe
        self.snapshot_every_n_steps = snapshot_every_n_steps
        super().__init__(
            dataset, batch_size, shuffle, sampler, batch_sampler, num_workers, collate_fn, pin_memory, drop_last, timeout,
            worker_init_fn, multiprocessing_context, generator, prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers, pin_memory_device=pin_memory_device, in_order=in_order,
        )  # fmt: skip
        if thread_safe:
            _check_threads(worker_init_fn, multiprocessing_context)
        self._growth = Growth(max(1, num_workers))  # of the latest pass on threads; the next pass starts from it
        self._hint = functools.partial(_hint, function_name(type(dataset)))
        self._progress: Progress | None = None  # of the latest pass
        self._making: Progress | None = None  # of the pass whose iterator is being created
        self._saved: dict[str, Any] | None = None
        self._begun: Any = None  # an iterator that state_dict() has created

    def __iter__(self) -> Iterator[Any]:
        begun = self._begin(self._saved) if self._begun is None else self._begun
        self._saved = self._begun = None
        return begun

    def _begin(self, saved: Mapping[str, Any] | None) -> Any:
        making = self._making = Progress(self, saved)
        try:
            making.prepare(self)
            begun = super().__iter__()
        except BaseException:
            making.order.settle()
            raise
        self._progress = making
        return begun

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return MainThreadIterator(self)
        return ThreadsIterator(self) if self._uses_threads else ProcessesIterator(self)

    @property
    def _is_accelerate_prepared(self) -> bool:
        """Accelerate's prepare() reads this before it makes a plain DataLoader from this loader's
        attributes.
        """
        if self.thread_safe:
            raise InvalidArgument(_WITH_ACCELERATE)
        _tell_once("Accelerate's prepare() makes a torch.utils.data.DataLoader of this loader, without state_dict(): give Accelerator a "
                   "DataLoaderConfiguration(use_stateful_dataloader=True), whose loaders have a state; or leave this one out of prepare(), and give "
                   "it to accelerator.register_for_checkpointing()")
        return False

    @property
    def _uses_threads(self) -> bool:
        special = self._dataset_kind == _DatasetKind.Iterable or isinstance(self.dataset, (IterDataPipe, MapDataPipe))
        return self.thread_safe and not special

    def check_worker_number_rationality(self) -> None:
        """Shows PyTorch's warning about more processes than cores. There may be more threads than
        cores.
        """
        if not self.thread_safe:
            super().check_worker_number_rationality()

    def state_dict(self) -> dict[str, Any]:
        """Returns the position of the latest pass. Batches that the loop did not get are still to
        come.

        You may call it at any time: between two batches, in a signal handler, after Ctrl-C or an
        exception.

        The state holds the position in batches, and the states of the generators at the beginning
        of the epoch. A data set, an iterator that an iterable data set returns, a sampler or a
        sampler's iterator with `state_dict` and `load_state_dict` contributes its own state; those
        of data sets come from the workers. The rest is plain and small.

        Before the first `iter()` this method begins the pass, which that `iter()` then returns.
        After the last batch, before or after StopIteration, the state is the beginning of the next
        epoch, which may continue with another batch size. If the data set raised an exception in
        place of a batch, that batch is repeated, unless the loop continued to a later one with the
        same iterator.

        The state does not hold the random numbers that a data set with `__getitem__` draws. Saving
        PyTorch's default generator is up to your program; restoring the order uses a copy of its
        state at the time.
        """
        if self._saved is not None:
            return dict(self._saved)
        if self._progress is None:
            self._begun = self._begin(None)
        assert self._progress is not None
        return self._progress.state(self)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Makes the next pass continue from the position of `state_dict()`. Later passes begin new
        epochs.

        The sampler runs again without loading any item, and must give the same indices. An iterable
        data set without its own state is read again up to the position by the worker that had read
        it, and must give the same items. StateMismatch is raised here, by the next `iter()`, or in
        place of its first batch, if the state belongs to other data, another sampler, another batch
        size, or, for data sets that are shared among workers, another number of workers.
        """
        saved = checked(state, self)
        self._saved, self._begun, self._iterator = saved, None, None
        if saved is None:
            self._progress = None
        elif saved["finished"] and "sampler_epoch" in saved and hasattr(self.sampler, "set_epoch"):
            self.sampler.set_epoch(saved["sampler_epoch"])  # a later set_epoch() of the program decides the next epoch


class _PipelineLoader(OverPipeline, DataLoader):
    """`DataLoader(pipeline)`."""


def _check_threads(init_fn: Any, context: Any) -> None:
    for name, given, instead in (
        ("worker_init_fn", init_fn, "prepare the data set in its constructor, or where it first needs something"),
        ("multiprocessing_context", context, "leave it out"),
    ):
        if given is not None:
            raise ValueError(f"DataLoader: {name}= is about worker processes, and with thread_safe=True there are none; {instead}, or "
                             "leave thread_safe= out")


_WITH_ACCELERATE = (
    "Accelerate's prepare() would make a torch.utils.data.DataLoader of this loader: worker processes in place of threads or of the engine, and no state. Leave it out of "
    "prepare(). A pipeline's ranks share it by themselves; for a data set give sampler=DistributedSampler(dataset, accelerator.num_processes, "
    "accelerator.process_index). Move batches by .to(accelerator.device), and give the loader to accelerator.register_for_checkpointing()"
)

_told: set[str] = set()


def _tell_once(text: str) -> None:
    if text not in _told:
        _told.add(text)
        log().warning("%s", text)


def _hint(name: str) -> None:
    _tell_once(f"{name}: computes while it holds Python's lock, so threads take turns and other cores idle; without thread_safe=True the "
               "workers of a DataLoader are processes")


atexit.register(close_all)
