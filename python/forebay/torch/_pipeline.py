"""`forebay.torch.DataLoader` over a Forebay pipeline."""

from __future__ import annotations

import inspect
from typing import Any, Iterator, Mapping, NoReturn

import torch
import torch.utils.data
from torch.utils.data import DistributedSampler

from .. import _core
from ..errors import InvalidArgument
from ..loader import Loader
from ..pipeline import Pipeline

# Advice for arguments that a pipeline expresses in another way.
_IN_PIPELINE = ("describe the order in the pipeline: .shuffle(), .take(), .filter(); ranks share the data set by themselves. Where Lightning put one "
                "in, Trainer(use_distributed_sampler=False) leaves it out; for predict() and overfit_batches give it forebay.Loader(pipeline, "
                "output='torch'), which it takes as it is")
_INSTEAD = {
    "sampler": _IN_PIPELINE,
    "batch_sampler": _IN_PIPELINE,
    "timeout": "storage has time-outs of its own, which name the object: storage_options= of forebay.Loader",
    "worker_init_fn": "a pipeline has no worker processes to prepare: what a function needs goes into the function",
    "multiprocessing_context": "a pipeline runs on threads; .map(fn, workers='processes') puts a function into processes",
    "prefetch_factor": "how far ahead the engine works follows from its memory: memory= of forebay.Loader",
}


class OverPipeline:
    """The part of `DataLoader` that runs a pipeline in place of a data set.

    It delivers the batches of `forebay.Loader(pipeline, output="torch", restart=True)` with the
    constructor of PyTorch's DataLoader. Each `for` begins the epoch again, unless a state was just
    loaded. After a complete epoch the next `for` begins the next one.

    Args:
        dataset: the pipeline. If it ends in `.batch(n)`, leave `batch_size` out.
        batch_size: samples per batch and rank.
        shuffle: adds `.shuffle()`.
        num_workers: compute threads; 0 lets the engine choose.
        drop_last: drops an incomplete last batch; otherwise it is divided among the ranks.
        collate_fn: adds `.collate(collate_fn)`: it gets the samples as dicts of tensors, and a batch is what
            it returns.
        generator: its `initial_seed()` is the seed, which must be the same on all ranks; 0 without
            a generator.
        pin_memory: the engine makes the batches in pinned memory if there is an accelerator; a batch
            is then a dict of tensors, or what `collate_fn` returned, pinned as PyTorch does it.
        persistent_workers, in_order, thread_safe: always in effect.
        pin_memory_device: as in PyTorch.

    All other arguments are refused with a message that names an alternative. `close()` ends the
    engine, and so does dropping the last reference to the loader.

    Errors: InvalidArgument, and those of `forebay.Loader`.
    """

    def __init__(self, dataset: Pipeline, batch_size: int | None = 1, shuffle: bool | None = None, *args: Any,
                 **kwargs: Any) -> None:
        given = inspect.signature(super().__init__).bind(dataset, batch_size, shuffle, *args, **kwargs)
        given.apply_defaults()
        options = given.arguments
        for name, instead in _INSTEAD.items():
            if options[name] not in (None, 0):
                raise InvalidArgument(f"DataLoader over a pipeline: {name}= has no meaning; {instead}")
        pipeline = _batched(dataset, batch_size, bool(shuffle), options["drop_last"])
        if options["collate_fn"] is not None:
            pipeline = pipeline.collate(options["collate_fn"])
        generator, workers = options["generator"], options["num_workers"]
        self._loader = Loader(pipeline, seed=generator.initial_seed() % 2**64 if generator is not None else 0,
                              threads=workers or "auto", output="torch", pin_memory=options["pin_memory"], restart=True)
        self.thread_safe = True
        torch.utils.data.DataLoader.__init__(
            self, dataset, batch_size, sampler=_EngineOrder(self._loader), num_workers=workers,
            collate_fn=options["collate_fn"], pin_memory=options["pin_memory"], drop_last=options["drop_last"] and batch_size is not None, generator=generator,
            persistent_workers=options["persistent_workers"], pin_memory_device=options["pin_memory_device"],
            in_order=options["in_order"])

    def __iter__(self) -> Iterator[Any]:
        batches = iter(self._loader)
        return map(_dict, batches) if self._loader._pinned is not None else batches

    def __len__(self) -> int:
        return len(self._loader)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position, as `forebay.Loader.state_dict` does."""
        return self._loader.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Moves to a saved position, as `forebay.Loader.load_state_dict` does."""
        self._loader.load_state_dict(state)

    def set_epoch(self, epoch: int) -> None:
        """Moves to the beginning of an epoch. If `epoch` is the current epoch, the position is
        kept.
        """
        self._loader.set_epoch(epoch)

    def close(self) -> None:
        """Stops everything, in bounded time."""
        self._loader.close()

    def __reduce__(self) -> NoReturn:
        self._loader.__reduce__()


class _EngineOrder(DistributedSampler):
    """A sampler that stands for the engine's plan, which decides the order and each rank's share.

    Frameworks look for this type before they replace a loader's sampler, and pass the epoch to it.
    """

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self.num_replicas, self.rank = loader.world_size, loader.rank

    def __len__(self) -> int:
        """Returns the samples of a rank, rounded up, as PyTorch's samplers do."""
        return -(-self._loader.size // self.num_replicas)

    def __iter__(self) -> Iterator[int]:
        raise TypeError("the order of a pipeline is decided by the engine; batch.ids has the samples of a batch")

    def set_epoch(self, epoch: int) -> None:
        self._loader.set_epoch(epoch)


def _dict(batch: Any) -> Any:
    return dict(batch.items()) if isinstance(batch, _core.Batch) else batch


def _batched(pipeline: Pipeline, batch_size: int | None, shuffle: bool, drop_last: bool) -> Pipeline:
    steps = pipeline._description.steps()
    if makes_batches := next((step for step in steps if step in ("batch", "bucket")), None):
        if batch_size not in (None, 1) or shuffle or drop_last:
            raise InvalidArgument(f"DataLoader over a pipeline that ends in .{makes_batches}(): leave batch_size=, shuffle= and "
                                  f"drop_last= out, or leave .{makes_batches}() out of the pipeline")
        return pipeline
    if batch_size is None:
        raise InvalidArgument("DataLoader over a pipeline: batch_size=None gives single samples, which a pipeline cannot; "
                              "give a batch_size, or end the pipeline in .batch(n)")
    if shuffle and "shuffle" not in steps:
        pipeline = pipeline.shuffle()
    return pipeline.batch(batch_size, last="drop" if drop_last else "partial")
