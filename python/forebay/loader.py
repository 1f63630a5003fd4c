"""A running, checkpointable stream of batches: a position in a plan over an engine."""

from __future__ import annotations

import atexit
import itertools
import operator
import os
import sys
import threading
import time
import warnings
import weakref
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import _core, _process_group, _ray_train
from ._feeding import UserStream
from ._loader_reports import LoaderReports
from ._options import _bytes, _converter, _count, _count_or_auto, _shard_by, _json, _max_errors, _on_error, _peers, _seed, _share, plain_options
from ._parts import own
from ._workers import STUCK_AFTER_S, Workers, default_workers
from .errors import DataWarning, Error, InvalidArgument, UserFailure
from .metrics import _serve_if_asked
from .pipeline import Pipeline

__all__ = ["Loader", "digest"]


class Loader(LoaderReports):
    """Batches of a pipeline, epoch after epoch.

        with fb.Loader(pipeline, seed=7) as loader:
            for epoch in range(90):
                for batch in loader:  # one epoch
                    ...

    Every `for` runs one epoch. Breaking out of it keeps the position: the next `for` goes on there, or begins the next epoch
    when this one is over. For evaluation give `restart=True`: then each `for` begins its epoch anew, unless a state was just loaded.

    An epoch of which nothing is to be had (an empty data set; `last="drop"` and less than a global batch,
    also after a resume) is an epoch all the same: its `for` gives no batch, and ends it. What a batch holds is a function of data,
    pipeline, seed and position; the options below the seed change speed, never content.

    Args:
        pipeline: what to deliver; everything wrong with it is told at once, as InvalidArgument.
        seed: 0 to 2**64 - 1; of the order and of all random operators.
        epochs: how many there will be; nothing is fetched past the last one. None: no end.
        rank, world_size: which of how many processes this is; by default from Ray Train, torch.distributed's process group, or torchrun, Slurm or MPI
            variables, else 0 of 1.
        threads: compute threads; "auto" counts what affinity and cgroup give, divided by the ranks on this host. Loaders of a
            process share them; a number is what this one may have busy at once.
        requests: storage requests in flight; "auto" finds, store by store and while it runs, how many serve best. Loaders of a
            process that read from one store share them. A number bounds all that a remote store is asked for at a time, listings
            and indexes of the opening included.
        memory: bytes for everything between storage and the user ("2GiB" or a number), not counting batches that the user
            holds; "auto" takes what three batches and the window need; all such loaders of a process together at most a quarter
            of the host's memory.
        on_error: what a bad sample (Corrupt, Unsupported, NotFound, an exception of the user's function) does. "raise"; "skip":
            the batch is shorter; "replace": another sample stands in, the same on every run, and for a row of a table one of
            its own block; where 50 of these will not do, as in a damaged row group, one of the row groups read next. What is
            no `Exception` (SystemExit, KeyboardInterrupt) is always raised.
        max_errors: how many different bad samples of an epoch are borne: a count (int), or a share of the data set (float, 0.0 to
            1.0). The next one is raised. The pass of a filter counts by itself.
        output: what `batch[name]` is: "numpy", "torch" or "jax" (see forebay.jax). Every array also speaks DLPack.
        storage_options: options of the store, by name; values are text, numbers or bools. S3: "endpoint", "region",
            "access_key_id", "secret_access_key", "session_token", "profile", "anonymous", "addressing_style" ("path" or "virtual"),
            "verify_checksums", "write_checksums", "listing_cache", "requester_pays" (of a bucket whose readers pay); what is not given comes from where the AWS tools look. S3 and HTTP: "ca_file", "verify",
            "proxy", "timeout_s", "connect_timeout_s", "retries"; HTTP: "header_NAME". Any store: "imitate_latency_ms" and
            others that put a slow link before it. A name that is not known is InvalidArgument with those that are.
        shard_by: which rank gets which rows of a global batch, never which rows there are: a run may go on under another one. "count":
            equal numbers, in turn. "locality": equal numbers, each rank first what its host keeps, which is what it got in the first
            epoch; a few per cent move. "auto": "locality" where the pipeline has a `.cache()` and it is known what keeps what. The
            same on every rank: with "auto" all ranks must have a `.cache()` of one kind, in memory or on disk, or none. Row groups of tables and shards are dealt by lane, whatever this says.
        hosts: how many hosts the ranks are on, equal numbers of neighbouring ranks each; the same on every rank. None: what
            torchrun or Slurm say. Caches in memory alone belong to their process: each rank then counts as a host.
        peers: the hosts of the job: what a `.cache()` keeps on another one is asked for there before storage. A list of "host:port",
            one for each rank, at its own of which this process listens; or "file:///FOLDER", a folder that all hosts
            share and that is this job's alone, where they find each other; or "launcher": through a process group of torch.distributed, torchrun's
            store, or mpi4py, whichever there is. They know each other by a token, and a rank that
            has another seed, batch size or data set than rank 0 gets StateMismatch: see docs/cluster.md.
        restart: for evaluation, whose loops may be broken off (a sanity check, `limit_val_batches`, `validation_steps`): a `for` behind one that was
            left in the middle begins the same epoch again. A state that was loaded since the last batch is gone on from. An iterator of an earlier `for` then
            raises InvalidArgument. A stream goes on where it stands.
        steps_per_epoch: of a stream: how many batches a `for` gives. None: one epoch without end.
        journal: of a stream: the file that `loader.journal(path)` wrote in the run that is to be repeated: the same records in the same order, then the end.
        rehearsal: with a `.rehearse()`: the `state_dict()` of a loader over the same data set, of the task before, say, whose kept samples this one begins with.
        share: one engine for the processes of a host. "auto": the host's server makes the batches; it is started where there is
            none, and again where it was killed. Else the name of one that runs, or the path of its socket (`forebay serve
            --socket`). Batches are the same as without, to the byte, and cannot be written to. Not for pipelines with your own functions or
            with arrays in memory. See docs/shared.md.
        together: with `share`: True: loaders of the same pipeline, seed and rank get the same batches, made once for all of them. A
            number: and the first batch waits until so many are there, a minute at most. Whoever falls behind by more than a few
            batches goes on alone.

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
        shard_by: str = "auto",
        hosts: int | None = None,
        peers: Sequence[str] | str | None = None,
        restart: bool = False,
        steps_per_epoch: int | None = None,
        journal: str | os.PathLike[str] | None = None,
        rehearsal: Mapping[str, Any] | None = None,
        share: str | os.PathLike[str] | None = None,
        together: bool | int = False,
    ) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"a Loader runs a Pipeline, not {type(pipeline).__name__}; fb.Dataset(...) makes one of a data set")
        self._pipeline = pipeline
        local_ranks = None
        if rank is None and world_size is None and (place := _ray_train.place()):
            # Before variables: workers may have those of whatever started Ray.
            rank, world_size, local_ranks = place
        self._place_given = rank is not None or world_size is not None
        if not self._place_given and (group := _process_group.place()):
            rank, world_size = group
        options = {
            "seed": _seed(seed),
            "epochs": _count("epochs", epochs),
            "restart": bool(restart),
            "steps_per_epoch": _count("steps_per_epoch", steps_per_epoch, least=1),
            "journal": "" if journal is None else os.fsdecode(journal),
            "rehearsal": "" if rehearsal is None else _json(rehearsal),
            "rank": _count("rank", rank),
            "world_size": _count("world_size", world_size),
            "threads": _count_or_auto("threads", threads),
            "requests": _count_or_auto("requests", requests),
            "memory": None if isinstance(memory, str) and memory == "auto" else _bytes("memory", memory),
            "on_error": _on_error(on_error),
            "max_errors": _max_errors(max_errors),
            "storage_options": plain_options(storage_options),
            "shard_by": _shard_by(shard_by),
            "hosts": _count("hosts", hosts, least=1),
            "local_ranks": local_ranks,
            **_peers(peers),
            **_share(share, together, pipeline._functions),
            "convert": _converter(output),
        }
        self._given = {
            "seed": seed, "rank": rank, "world_size": world_size, "threads": threads, "requests": requests, "memory": memory,
            "on_error": on_error, "max_errors": max_errors, "storage_options": storage_options,
        }
        self._output = output
        self._restart = bool(restart)
        self._passes = 0
        self._iterations = 0
        self._ready = False
        self._begun_s = 0.0  # when the first batch was asked for
        self._core = _open(pipeline, options)
        for told in self._core.warnings():
            try:
                warnings.warn(told["message"], DataWarning, stacklevel=2)
            except DataWarning:  # the user's filters make errors of them
                self._core.close()
                raise
        self._workers = Workers(
            self._core, pipeline._functions, options["threads"] or default_workers(), processes=options["threads"]
        )
        self._number = next(_numbers)
        _live.add(self)
        _serve_if_asked()

    # Iterating

    def __iter__(self) -> Iterator[_core.Batch]:
        self._prepare()
        self._core.begin_iteration()
        self._iterations += 1
        return _Pass(self)

    def __len__(self) -> int:
        """Batches of this rank in the current epoch, those done included; the same on every rank. TypeError for a stream without
        steps_per_epoch=."""
        self._prepare()
        batches = self._core.batches_per_epoch()
        if batches < 0:
            raise TypeError("a stream has no length: give the loader steps_per_epoch=")
        return batches

    def _prepare(self) -> None:
        # Filters decide which samples there are, and they are the user's functions.
        if self._ready:
            return
        self._check_place()
        self._workers.start()
        self._call(self._core.prepare)
        self._ready = True

    def _check_place(self) -> None:
        """A loader that was opened before the job's processes met would give each of them all samples."""
        group = None if self._place_given else _process_group.place()
        if group not in (None, (self.rank, self.world_size)):
            raise InvalidArgument(
                f"this loader was opened as rank {self.rank} of {self.world_size}, and by now torch.distributed says rank {group[0]} of {group[1]}: open it behind "
                "init_process_group (with Lightning in train_dataloader(), or in a LightningDataModule), or give rank= and world_size=")

    def _next(self) -> _core.Batch | None:
        if not self._begun_s:
            self._begun_s = time.monotonic()
        torch = sys.modules.get("torch")
        if torch is None or not torch.autograd._profiler_enabled():
            return self._call(self._core.next)
        with torch.profiler.record_function("forebay: wait for a batch"):  # costs some microseconds, so only where it is looked at
            return self._call(self._core.next)

    def _call(self, method: Callable[[], Any]) -> Any:
        try:
            return method()
        except UserFailure as failure:
            error = self._workers.exception(failure)
        except Error as failure:
            error = self._stream_failure() or failure
        raise error  # outside of `except`, so that the user's own `raise ... from ...` stays as it was

    def _stream_failure(self) -> BaseException | None:
        """What the user's own iterable raised, where that has ended the stream."""
        source = self._pipeline._functions.get(0)
        return source.failure if isinstance(source, UserStream) else None

    # Position

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""
        self._prepare()
        return self._core.epoch()

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch. The current epoch keeps its position."""
        self._prepare()
        number = operator.index(epoch)
        if not -(2**63) <= number < 2**63:
            raise InvalidArgument(f"set_epoch({number}): there is no such epoch")
        self._core.set_epoch(number)

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
        self._prepare()
        self._core.load_state(_json(state), bool(strict))

    def journal(self, path: str | os.PathLike[str]) -> None:
        """Of a stream: from now on it is written down there which records come, tens of bytes a step, so that `fb.Loader(pipeline, journal=path)`
        can repeat this run though arrival cannot be repeated. The log must still have the records then. Of several ranks rank 0 writes it. It ends where
        `load_state_dict` goes to another place.

        A journal that is there already is continued at the loader's place: after `load_state_dict`, say. InvalidArgument where it is of another run, or
        the source has an end; Unavailable where it cannot be written.
        """
        self._prepare()
        self._core.journal(os.fsdecode(path))

    # Looking at it

    @property
    def pipeline(self) -> Pipeline:
        """What this loader delivers."""
        return self._pipeline

    @property
    def classes(self) -> list[str]:
        """Of `fb.images`: names of the classes in the order of their labels. Save them with the model, and give them to
        `fb.images(root, classes=…)` for evaluation. InvalidArgument for other sources."""
        names = self._core.classes()
        if not names:
            return self._pipeline.classes  # says which source has none
        return names

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

    # Ending

    @property
    def closed(self) -> bool:
        """Whether `close()` was called."""
        return self._core.closed

    def close(self) -> None:
        """Stops everything and gives the memory back, in bounded time and from any state. Closing again does nothing.

        Batches stay valid. A function of the user's that does not return within 5 s is left on its thread, with a warning.
        """
        self._core.close()
        source = self._pipeline._functions.get(0)
        left = source.stop(STUCK_AFTER_S) if isinstance(source, UserStream) else []
        for stuck in self._workers.stop() + left:
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


own(Loader)


class _Pass:
    """One `for` over a loader: ends with the epoch."""

    __slots__ = ("_iteration", "_loader", "_number")

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._number = loader._passes
        self._iteration = loader._iterations

    def __iter__(self) -> _Pass:
        return self

    def __next__(self) -> _core.Batch:
        loader = self._loader
        if self._number != loader._passes:  # the epoch it belonged to is over
            raise StopIteration
        if loader._restart and self._iteration != loader._iterations:
            raise InvalidArgument("this iterator's epoch was begun anew by a later `for` over the loader (restart=True): go on with that one's "
                                  "iterator, or open a Loader for each of two loops that run at once")
        batch = loader._next()
        if batch is None:
            loader._passes += 1
            raise StopIteration
        return batch


def digest(*loaders: Loader) -> str:
    """Runs the rest of the current epoch and returns its digest, 32 hexadecimal digits.

    xxh3-128 over (id, then the bytes of each field, fields by name), sample by sample in global order, padding left out: the
    same for any number of ranks, threads and batch sizes. Of a list of strings these are all strings, then the length of each
    (uint32).

    Args:
        loaders: those of all ranks, each once, at the same place of the same epoch; InvalidArgument otherwise, before anything
            is read.
    """
    _check_ranks(loaders)
    result = _core.EpochDigest()
    for step in zip(*loaders, strict=True):
        result.add_step(list(step))
    return result.hexdigest()


def _check_ranks(loaders: tuple[Loader, ...]) -> None:
    if not loaders:
        raise InvalidArgument("digest: give the loaders of all ranks")
    for loader in loaders:
        if not isinstance(loader, Loader):
            raise TypeError(f"digest: wants loaders, each as an argument of its own, not {type(loader).__name__}")
    worlds = sorted({loader.world_size for loader in loaders})
    if len(worlds) > 1:
        raise InvalidArgument(f"digest: the loaders are of different jobs: their world_size is {_listed(worlds)}")
    ranks = [loader.rank for loader in loaders]
    if missing := sorted(set(range(worlds[0])) - set(ranks)):
        raise InvalidArgument(
            f"digest: rank {_listed(missing)} of {worlds[0]} is missing; a digest is of whole batches, so give the loaders of all "
            "ranks, or open one with rank=0, world_size=1"
        )
    if doubled := sorted({rank for rank in ranks if ranks.count(rank) > 1}):
        raise InvalidArgument(f"digest: rank {_listed(doubled)} is given twice; give each loader once")
    if len({loader.fingerprint for loader in loaders}) > 1:
        raise InvalidArgument("digest: the loaders differ in data set, pipeline or seed: their fingerprints are not the same")
    if len(assignments := {loader._core.shard_assignment() for loader in loaders}) > 1:
        raise InvalidArgument(
            f"digest: the ranks are dealt rows in different ways ({_listed(sorted(assignments))}), so that some samples come twice and others never: shard_by='auto' follows "
            "the .cache() of each rank, in memory or on disk, and what its launcher says of hosts; give all of them the same, or shard_by= and hosts="
        )
    places = {(state["epoch"], state["position"]) for state in (loader.state_dict() for loader in loaders)}
    if len(places) > 1:
        told = _listed(f"epoch {epoch}, sample {position}" for epoch, position in sorted(places))
        raise InvalidArgument(f"digest: the loaders stand at different places: {told}; set_epoch() or load one state into all")


def _listed(values: Iterable[Any]) -> str:
    """"1, 2 and 4", cut after ten."""
    texts = [str(value) for value in values]
    texts = texts if len(texts) <= 10 else [*texts[:9], f"{len(texts) - 9} others"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


os.register_at_fork(after_in_child=_core.be_quiet_at_exit)

# Loaders that are alive when the interpreter goes are closed before it: Python's threads must not come back to it later.
_live: weakref.WeakSet[Loader] = weakref.WeakSet()
_numbers = itertools.count()  # in the order of opening: how metrics tell them apart


@atexit.register
def _close_all() -> None:
    for loader in list(_live):
        loader.close()
    # What threads that nobody can stop still hold is freed by the end of the process; that is no leak to tell users of.
    if threading.active_count() > 1:
        _core.be_quiet_at_exit()


def _open(pipeline: Pipeline, options: dict[str, Any]) -> _core.Loader:
    try:
        return _core.Loader(pipeline._description, **options)
    except InvalidArgument as error:
        error.problems = pipeline.check()
        raise
