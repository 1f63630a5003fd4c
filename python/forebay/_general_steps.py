"""Steps that work on any sample: order, functions of the user's, fields, caches and batches."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

from ._appending import Appending, _float, _one_or_list
from ._workers import FilterFunction, MapFunction, run_by
from .errors import InvalidArgument

if TYPE_CHECKING:
    from .pipeline import Pipeline


class GeneralSteps(Appending):
    """What a Pipeline has whatever its samples are."""

    __slots__ = ()

    def shuffle(
        self, block: int | None = None, lanes: int | None = None, ramp: bool | None = None, window: int | None = None
    ) -> Pipeline:
        """One global permutation of all samples per epoch, a new one each epoch, from the loader's seed.

        Args:
            block: chunks that are mixed together, for sources stored in chunks (8 by default).
            lanes: spans of the data that hosts own, for sources stored in chunks (1 by default).
            ramp: epoch 0 begins with one chunk, and the number that is mixed grows by and by to `block`, so that the first
                batch need not wait for `block` chunks. Another order than without, in epoch 0 alone; the seed alone decides it.
            window: for streams, which need it: so many samples are mixed at a time, in an order that the seed and the stream's offsets decide.
        """
        return self._then("shuffle", block=block, lanes=lanes, ramp=ramp, window=window)

    def take(self, n: int, spread: bool | None = None) -> Pipeline:
        """Only `n` of the samples that there are at this place, or all where there are fewer.

        Args:
            n: how many.
            spread: they are spread evenly over all, so that they look like the whole: of n of N samples the i-th is number i * N // n. Of a table they
                come from as few of its chunks as have n rows, spread evenly, the first rows of each. By default the samples with the first ids.
        """
        return self._then("take", n=n, spread=spread)

    def map(
        self,
        fn: Callable[..., Mapping[str, Any]],
        fields: str | Sequence[str] | None = None,
        random: bool = False,
        workers: str = "threads",
        version: str | None = None,
        *,
        epoch: bool = False,
    ) -> Pipeline:
        """Your own Python: `fn(sample)` gets a dict of fields and returns one.

        A field is a NumPy array (a copy, yours to write to), str or bytes, or a list of str or of bytes; returned values may also
        be numbers or torch tensors. `fn` runs several times at once. Its exceptions keep type and traceback and gain the
        sample's key as a note; a StopIteration becomes a RuntimeError, as one that leaves a generator does, since it would end
        the loop over the loader.

        Args:
            fn: the function. It must not depend on anything that changes from call to call.
            fields: the fields that `fn` gets, at least one; what it returns is then added to the sample. By default it gets all of
                them, and what it returns is the new sample. Name here also a field that `fn` replaces by one of another type or
                shape: steps behind go by what a field was that is not named.
            random: call `fn(sample, rng)` with a `numpy.random.Generator` made for this sample, epoch and step.
            workers: "threads": on threads of Python's. "processes": in worker processes, as many as the loader's `threads`, for
                functions that hold the interpreter lock; InvalidArgument when the loader is opened if `fn` cannot be pickled. "auto": on threads, and
                in worker processes once they turn out to take turns for the lock, where `fn` can be pickled and that is faster: `tuning()` tells.
            version: say when the function changed; part of the pipeline's fingerprint.
            epoch: call `fn(sample, epoch=...)`, with `random` `fn(sample, rng, epoch=...)`: the epoch that the sample is of, from 0, as `loader.epoch`
                counts them; also for samples that are prepared ahead. A `.cache()`, `.filter()` or `.pack()` behind it is refused: it would keep
                the results of one epoch.
        """
        _check_callable(fn, "map")
        function = run_by(workers, ".map", MapFunction(fn, bool(random), bool(epoch)))
        return self._with_function(
            "map", fn, function, fields=_one_or_list(fields), random=bool(random) or None, version=version, epoch=bool(epoch) or None
        )

    def filter(self, fn: Callable[[dict[str, Any]], bool], fields: str | Sequence[str] | None = None) -> Pipeline:
        """Keeps the samples for which `fn(sample)` is true.

        Decided once over the whole data set, in a pass that reads only the fields named, and kept: lengths stay known. A sample
        for which a step before fails, so that nothing can be decided, goes by the loader's `on_error`: it is not kept, or raised.

        Args:
            fn: the function.
            fields: the fields that `fn` gets, by default all of them.
        """
        _check_callable(fn, "filter")
        return self._with_function("filter", fn, FilterFunction(fn), fields=_one_or_list(fields))

    def select(self, *fields: str) -> Pipeline:
        """Only these fields. What only the others needed is not read."""
        return self._then("select", fields=list(fields))

    def rename(self, **names: str) -> Pipeline:
        """Gives fields new names: `.rename(old="new")`."""
        return self._then("rename", names=dict(sorted(names.items())))

    def pad(self, field: str, value: float = 0, length: int | None = None) -> Pipeline:
        """Fills ragged fields up, so that a batch is one array instead of `(values, offsets)`.

        Args:
            field: the field; its first axis may differ from sample to sample.
            value: what to fill up with; NaN and infinities for fields of floats.
            length: the length of every row. By default that of the longest in the batch, which depends on the batch size and the
                ranks: what was filled up then is no part of `forebay.digest`.
        """
        return self._then("pad", field=field, value=_float("pad: value", value), length=length)

    def cache(
        self,
        ram: int | str = "auto",
        disk: int | str = "auto",
        dir: str | os.PathLike[str] | None = None,  # noqa: A002
        peers: str = "auto",
        *,
        compression: str | None = None,
    ) -> Pipeline:
        """Keeps what the steps before it made, in memory and then on disk, so that later epochs and runs need not make it again.

        Changes speed, never content. (Of a damaged picture all is decoded that is kept, so that a crop no longer gets by with the
        part that is whole.) An entry is known by its object's name and version and by all steps before it, so what has changed is
        made anew. Behind a random step it is refused: the results would be frozen; behind `.map` a disk tier needs `version=`. Of an
        `fb.Dataset` without `version=` nothing is kept on disk, and a warning says so.

        Args:
            ram: bytes of memory of this process, as a number or "2GiB"; 0 for none. "auto": a quarter of the memory that the machine or
                the control group has, divided by the ranks on this machine; half of `memory=` if the loader has that.
            disk: bytes of the disk that the folder may take, whoever fills it; 0 for none. "auto": half of what is free there or
                the folder's already.
            dir: the folder, shared by all jobs of this user on this host; by default `$FOREBAY_CACHE_DIR`, else
                `$XDG_CACHE_HOME/forebay`, else `~/.cache/forebay`. One that others may write to is refused.
            peers: "auto": other hosts of the job are asked for an entry before storage is, if the loader has `peers=`; "none": never.
            compression: of what is on disk: "zstd" (smaller) or "lz4" (faster), or None.

        `loader.stats()["caches"]` has the budgets in bytes.

        Of a budget above what the disk or the machine has, what there is is used, less a reserve, with one warning.
        InvalidArgument when the loader is opened if a budget is less than one entry. A disk that is full but for the reserve,
        read-only or gone ends that tier with one warning, and the run goes on.
        """
        folder = None if dir is None else os.fspath(dir)
        return self._then("cache", ram=ram, disk=disk, dir=folder, peers=peers, compression=compression)

    def batch(self, n: int, last: str = "partial", *, ragged: str | Sequence[str] | None = None) -> Pipeline:
        """`n` samples make a batch on each rank; the last operator.

        Every rank takes the same number of steps. Fixed shapes stack to (n, ...); ragged fields become `(values, offsets)`;
        bytes and text become lists, lists of them lists of lists.

        Of rows that a Dataset or `.map` makes, nothing is known before the first batch of a loader, which decides for all: rows
        of one length make an array, and one of another length later is an error; rows of different lengths make
        `(values, offsets)` in every batch. `.pad` before, or `ragged=`, decides it beforehand. With n=1 they are arrays.

        Args:
            n: samples per batch and rank.
            last: what becomes of an epoch's tail. "partial": dealt out in sizes that differ by one at most; "drop": left
                out; "pad": filled up with repeats, which `batch.padding` counts.
            ragged: fields that a Dataset or `.map` makes, of rows that differ in length: `(values, offsets)` in every batch.
        """
        return self._then("batch", n=n, last=last, ragged=ragged)


def _check_callable(fn: Any, name: str) -> None:
    if not callable(fn):
        raise InvalidArgument(f"{name}: {fn!r} is not a function")
