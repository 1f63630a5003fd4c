"""A running, checkpointable stream of batches: a position in a plan over an engine."""

from __future__ import annotations

import atexit
import operator
import os
import re
import warnings
import weakref
from typing import Any, Callable, Iterator, Mapping

from . import _core
from ._workers import STUCK_AFTER_S, Workers
from .errors import InvalidArgument, UserFailure, not_yet
from .pipeline import Pipeline

__all__ = ["Loader", "digest"]


class Loader:
    """Batches of a pipeline, epoch after epoch.

        with fb.Loader(pipeline, seed=7) as loader:
            for epoch in range(90):
                for batch in loader:  # one epoch
                    ...

    Every `for` runs one epoch. Breaking out of it keeps the position: the next `for` goes on there, or begins the next epoch
    when this one is over. What a batch holds is a function of data, pipeline, seed and position; the options below the seed
    change speed, never content.

    Args:
        pipeline: what to deliver; everything wrong with it is told at once, as InvalidArgument.
        seed: 0 to 2**64 - 1; of the order and of all random operators.
        epochs: how many there will be; nothing is fetched past the last one. None: no end.
        rank, world_size: which of how many processes this is; by default from torchrun, Slurm or MPI variables, else 0 of 1.
        threads: compute threads; "auto" counts what affinity and cgroup give, divided by the ranks on this host.
        requests: storage requests in flight; "auto" finds, store by store and while it runs, how many serve best. Loaders of a
            process that read from one store share them.
        memory: bytes for everything between storage and the user ("2GiB" or a number), not counting batches that the user
            holds; "auto" takes what three batches and the window need, at most a quarter of the host's memory.
        on_error: what a bad sample (Corrupt, Unsupported, NotFound, an exception of the user's function) does. "raise"; "skip":
            the batch is shorter; "replace": another sample stands in, the same on every run.
        max_errors: how many such samples are too many: a count (int), or a share of the data set (float below 1).
        output: what `batch[name]` is: "numpy" or "torch". Every array also speaks DLPack.
        storage_options: options of the store, by name; values are text, numbers or bools. S3: "endpoint", "region",
            "access_key_id", "secret_access_key", "session_token", "profile", "anonymous", "addressing_style" ("path" or "virtual"),
            "verify_checksums", "listing_cache"; what is not given comes from where the AWS tools look. S3 and HTTP: "ca_file", "verify",
            "proxy", "timeout_s", "connect_timeout_s", "retries"; HTTP: "header_NAME". Any store: "imitate_latency_ms" and
            others that put a slow link before it. A name that is not known is InvalidArgument with those that are.

    Errors: InvalidArgument, NotFound, Unavailable, OutOfBudget.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        seed: int = 0,
        epochs: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        threads: int | str = "auto",
        requests: int | str = "auto",
        memory: int | str = "auto",
        on_error: str = "raise",
        max_errors: int | float | None = None,
        output: str = "numpy",
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"a Loader runs a Pipeline, not {type(pipeline).__name__}; fb.Dataset(...) makes one of a data set")
        self._pipeline = pipeline
        options = {
            "seed": _seed(seed),
            "epochs": _count("epochs", epochs),
            "rank": _count("rank", rank),
            "world_size": _count("world_size", world_size),
            "threads": _count_or_auto("threads", threads),
            "requests": _count_or_auto("requests", requests),
            "memory": None if memory == "auto" else _bytes("memory", memory),
            "on_error": on_error,
            "max_errors": _max_errors(max_errors),
            "storage_options": {str(key): _option(value) for key, value in (storage_options or {}).items()},
            "convert": _converter(output),
        }
        self._passes = 0
        self._ready = False
        self._core = _open(pipeline, options)
        self._workers = Workers(
            self._core, pipeline._functions, options["threads"] or _default_workers(), processes=options["threads"]
        )
        _live.add(self)

    # Iterating

    def __iter__(self) -> Iterator[_core.Batch]:
        self._prepare()
        self._core.begin_iteration()
        return _Pass(self)

    def __len__(self) -> int:
        """Batches of this rank in the current epoch, those done included; the same on every rank."""
        self._prepare()
        return self._core.batches_per_epoch()

    def _prepare(self) -> None:
        # Filters decide which samples there are, and they are the user's functions.
        if self._ready:
            return
        self._workers.start()
        self._call(self._core.prepare)
        self._ready = True

    def _next(self) -> _core.Batch | None:
        return self._call(self._core.next)

    def _call(self, method: Callable[[], Any]) -> Any:
        try:
            return method()
        except UserFailure as failure:
            error = self._workers.exception(failure)
        raise error  # outside of `except`, so that the user's own `raise ... from ...` stays as it was

    # Position

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""
        self._prepare()
        return self._core.epoch()

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch. The current epoch keeps its position."""
        self._prepare()
        self._core.set_epoch(operator.index(epoch))

    def state_dict(self) -> dict[str, Any]:
        """Where the loader stands, as a small plain dict, the same on every rank. Valid between any two batches."""
        import json

        self._prepare()
        return json.loads(self._core.state())

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True) -> None:
        """Goes to where `state_dict()` was called, also with other ranks, threads or batch size.

        Raises StateMismatch, which says what differs, where the state belongs to another data set, pipeline or seed;
        `strict=False` takes the position all the same, where the data set has as many samples.
        """
        import json

        self._prepare()
        self._core.load_state(json.dumps(dict(state)), bool(strict))

    # Looking at it

    @property
    def pipeline(self) -> Pipeline:
        """What this loader delivers."""
        return self._pipeline

    @property
    def rank(self) -> int:
        """Which of the processes this is, from 0."""
        return self._core.rank()

    @property
    def world_size(self) -> int:
        """How many processes share the data set."""
        return self._core.world_size()

    @property
    def size(self) -> int:
        """Samples in the data set, after `.take` and `.filter`."""
        self._prepare()
        return self._core.size()

    @property
    def fingerprint(self) -> str:
        """Of data set, pipeline and seed: compare it across ranks before training."""
        self._prepare()
        return self._core.fingerprint()

    def stats(self) -> dict[str, Any]:
        """Counters since the loader was opened, as a plain dict."""
        return self._core.stats()

    def errors(self) -> list[dict[str, Any]]:
        """Bad samples that were skipped or replaced on this rank: sample, key, operator, code, message, count."""
        return self._core.errors()

    # Ending

    @property
    def closed(self) -> bool:
        """Whether `close()` was called."""
        return self._core.closed

    def close(self) -> None:
        """Stops everything and gives the memory back, in bounded time and from any state. Closing twice is fine.

        Batches stay valid. A function of the user's that does not return within 5 s is left on its thread, with a warning.
        """
        self._core.close()
        for stuck in self._workers.stop():
            warnings.warn(f"left running: {stuck} and did not return within {STUCK_AFTER_S:.0f} s", RuntimeWarning, stacklevel=2)

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_workers"):  # otherwise opening failed
            self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<forebay.Loader, closed>"
        return f"<forebay.Loader: epoch {self.epoch}, rank {self.rank} of {self.world_size}>"

    def __reduce__(self):
        raise TypeError("a Loader cannot be pickled: it owns threads. Send the pipeline, and open a Loader in each process")


class _Pass:
    """One `for` over a loader: ends with the epoch."""

    __slots__ = ("_loader", "_number")

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._number = loader._passes

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> _core.Batch:
        loader = self._loader
        if self._number != loader._passes:  # the epoch it belonged to is over
            raise StopIteration
        batch = loader._next()
        if batch is None:
            loader._passes += 1
            raise StopIteration
        return batch


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def digest(*loaders: Loader) -> str:
    """Runs the rest of the current epoch and returns its digest, 32 hexadecimal digits.

    xxh3-128 over (id, then the bytes of each field, fields by name), sample by sample in global order, padding left out: the
    same for any number of ranks, threads and batch sizes. With several ranks give the loaders of all of them, in order.
    """
    if not loaders:
        raise InvalidArgument("digest: give the loaders of all ranks")
    result = _core.EpochDigest()
    for step in zip(*loaders, strict=True):
        result.add_step(list(step))
    return result.hexdigest()


# Loaders that are alive when the interpreter goes are closed before it: Python's threads must not come back to it later.
_live: weakref.WeakSet[Loader] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for loader in list(_live):
        loader.close()


def _open(pipeline: Pipeline, options: dict[str, Any]) -> _core.Loader:
    try:
        return _core.Loader(pipeline._description, **options)
    except InvalidArgument as error:
        error.problems = pipeline.check()
        raise


def _default_workers() -> int:
    # More threads than cores: user code often waits for files, and they take turns anyway when it does not.
    return min(8, 2 * len(os.sched_getaffinity(0)))


def _converter(output: str) -> Any:
    if output == "numpy":
        return None
    if output == "torch":
        try:
            import torch
        except ImportError as error:
            raise InvalidArgument("output='torch' needs PyTorch: pip install torch") from error
        return torch.from_dlpack
    if output == "jax":
        raise not_yet("output='jax'", "use jax.numpy.from_dlpack(batch[name])")
    raise InvalidArgument(f"output is {output!r}; it can be 'numpy' or 'torch'")


def _integer(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{name} is {value!r}; it must be an integer") from None


def _seed(seed: Any) -> int:
    number = _integer("seed", seed)
    if not 0 <= number < 2**64:
        raise InvalidArgument(f"seed is {number}; it must lie between 0 and 2**64 - 1")
    return number


def _count(name: str, value: Any, least: int = 0) -> int | None:
    if value is None:
        return None
    number = _integer(name, value)
    if not least <= number < 2**31:
        raise InvalidArgument(f"{name} is {number}; it must be at least {least}")
    return number


def _count_or_auto(name: str, value: Any) -> int | None:
    if isinstance(value, str) and value != "auto":
        raise InvalidArgument(f"{name} is {value!r}; it must be a number or 'auto'")
    return None if value == "auto" else _count(name, value, least=1)


def _max_errors(value: Any) -> float | None:
    if value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not (whole and value >= 0) and not (isinstance(value, float) and 0 <= value < 1):
        raise InvalidArgument(f"max_errors is {value!r}; it must be a count (an integer) or a share (a float below 1)")
    return float(value)


_UNITS = {"": 1, "B": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024), ("", 1024))
}


def _bytes(name: str, value: Any) -> int:
    if not isinstance(value, str):
        number = _integer(name, value)
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]*)\s*", value)
        unit = _UNITS.get(match[2][:1].upper() + match[2][1:]) if match else None
        if match is None or unit is None:
            raise InvalidArgument(f"{name} is {value!r}; it must be a number of bytes, or text such as '512MB' or '2GiB'")
        number = int(float(match[1]) * unit)
    if number < 0:
        raise InvalidArgument(f"{name} is {number}; it must not be negative")
    return number
