"""The loader: runs a pipeline and delivers its batches from a position that can be saved."""

from __future__ import annotations

import atexit
import operator
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from . import _core, _mesh, _process_group, _ray_train
from ._concurrent import Numbers, WeakRegistry
from ._feeding import UserStream
from ._loader_reports import LoaderReports
from ._options import (
    _bytes,
    _converter,
    _count,
    _count_or_auto,
    _json,
    _max_errors,
    _on_error,
    _parts_changed,
    _peers,
    _pinned,
    _sample_weights,
    _seed,
    _shard_by,
    _share,
    _version,
    _weights_by_path,
    plain_options,
)
from ._parts import own
from ._typing import TYPE_CHECKING, Any, Array, Generic, NoReturn, overload
from ._workers import STUCK_AFTER_S, Workers, default_workers, portable_exception
from .errors import DataWarning, Error, InvalidArgument, UserFailure
from .metrics import _serve_if_asked
from .pipeline import Pipeline, collates

if TYPE_CHECKING:
    from typing import Literal

    import jax
    import torch
    from numpy.typing import NDArray
    from typing_extensions import Unpack

    from ._live import LivePage
    from ._typing import LoaderOptions, Ranks

__all__ = ["Loader", "digest"]


class Loader(LoaderReports, Generic[Array]):
    """Delivers the batches of a pipeline, epoch after epoch.

        with fb.Loader(pipeline, seed=7) as loader:
            for epoch in range(90):
                for batch in loader:  # one epoch
                    ...

    A pipeline that ends in `.collate(fn)` gives the objects that `fn` returns in place of batches.

    Every `for` runs one epoch. Breaking out of it keeps the position: the next `for` continues
    there, or begins the next epoch if this one is over. For evaluation set `restart=True`: each
    `for` then begins its epoch again, unless a state was just loaded.

    An epoch may be empty (an empty data set; `last="drop"` and less than a global batch, also after
    a resume). Its `for` delivers no batch and ends the epoch. The content of a batch is a function
    of data, pipeline, seed and position. The options after the seed change speed, never content.

    Args:
        pipeline: the pipeline to run. InvalidArgument reports all of its problems at once.
        seed: 0 to 2**64 - 1; seeds the order and all random operators.
        epochs: the number of epochs; nothing is fetched beyond the last one. None: no end.
        rank, world_size: the number of this process, and the number of processes. By default taken
            from Ray Train, the process group of torch.distributed, or the variables of torchrun,
            Slurm or MPI; otherwise 0 and 1.
        mesh: in place of rank and world_size, the data-parallel ranks of a job whose other ranks
            hold parts of one replica (tensor, pipeline or context parallel): `mesh["dp"]` of a
            DeviceMesh of torch.distributed, `mesh["dp_replicate", "dp_shard"]`, whose ranks are
            counted in the order of the dimensions, or a process group. Ranks of one replica get the
            same batches.
        threads: compute threads. "auto" counts the cores that affinity and cgroup allow, divided by
            the ranks on this host. The loaders of a process share the threads; a number limits how
            many this loader may keep busy at once.
        requests: storage requests in flight. "auto" finds the best number for each store while the
            loader runs. Loaders of a process that read from the same store share the requests. A
            number limits all requests to a remote store, including listings and indexes while the
            loader is opened.
        memory: bytes for everything between storage and you ("2GiB" or a number), not counting
            batches that you hold. "auto" takes what three batches and the window need; all "auto"
            loaders of a process together take at most a quarter of the host's memory.
        on_error: how to treat a bad sample (Corrupt, Unsupported, NotFound, an exception of your
            function). "raise": raises the error. "skip": the batch is shorter. "replace": another
            sample takes its place, the same one in every run. The replacement of a table row comes
            from its block; if 50 candidates fail, as in a damaged row group, it comes from one of
            the row groups that are read next. An error that is not an `Exception` (SystemExit,
            KeyboardInterrupt) is always raised.
        max_errors: the number of different bad samples that an epoch may have: a count (int), or a
            share of the data set (float, 0.0 to 1.0). The next bad sample is raised. The pass of a
            filter counts separately.
        output: the type of `batch[name]`: "numpy", "torch" or "jax" (see forebay.jax). Every array
            also supports DLPack.
        storage_options: options of the store by name; values are text, numbers or bools. S3:
            "endpoint", "region", "access_key_id", "secret_access_key", "session_token", "profile",
            "anonymous", "addressing_style" ("path" or "virtual"), "verify_checksums",
            "write_checksums", "listing_cache", "requester_pays" (for a bucket whose readers pay);
            missing options are looked up where the AWS tools look. S3 and HTTP: "ca_file",
            "verify", "proxy", "timeout_s", "connect_timeout_s", "retries"; HTTP: "header_NAME". Any
            store: "imitate_latency_ms" and others that simulate a slow link. InvalidArgument for an
            unknown name; the message lists the known ones.
        shard_by: which rank gets which rows of a global batch. The global batch itself does not
            depend on it, so you may resume a run with another value. "count": equal numbers of
            rows, in turn. "locality": equal numbers; each rank first gets the rows in its host's
            caches: those it got in the first epoch, or, in a mix, a concat or draws, those of samples
            whose home it is, by a hash of their numbers; a few per cent move. "auto":
            "locality" if the pipeline has a `.cache()` and it is known which ranks share a cache,
            otherwise "count". The value must be the same on every rank: with "auto" all ranks must
            have a `.cache()` of one kind, in memory or on disk, or none. Row groups of tables and
            shards are always assigned by lane.
        hosts: the number of hosts of the ranks; each host has the same number of consecutive ranks.
            The value must be the same on every rank. None: taken from torchrun or Slurm. Caches
            that are only in memory belong to their process, so each rank then counts as a host.
        peers: the hosts of the job. Cache entries of another host are requested from it before
            storage is read. A list of "host:port", one for each rank; this process listens at its
            own. Or "file:///FOLDER": a folder that all hosts share and that only this job uses, in
            which the hosts find each other. Or "launcher": the hosts find each other through
            `mesh`, a process group of torch.distributed, torchrun's store, or mpi4py, whichever
            exists. Hosts identify each other by a token. A rank whose seed, batch size or data set
            differs from rank 0's gets StateMismatch; see docs/reference/cluster.md.
        restart: for evaluation loops that may be left early (a sanity check, `limit_val_batches`,
            `validation_steps`): a `for` after one that was left in the middle begins the same epoch
            again. If a state was loaded since the last batch, the `for` continues from it. An
            iterator of an earlier `for` then raises InvalidArgument. A stream continues at its
            position.
        steps_per_epoch: for streams: the number of batches per `for`. None: one endless epoch. A
            mix with a stream has epochs of its own (`fb.mix(samples=)`), and refuses it.
        journal: for streams: the file (or folder) that `loader.journal(path)` wrote in the run to
            repeat. The loader delivers the same records in the same order, and then ends.
        rehearsal: for pipelines with `.rehearse()`: the `state_dict()` of a loader over the same
            data set, for example of the previous task. This loader begins with the replay buffer of
            that state.
        share: one engine for the processes of a host. "auto": the host's server makes the batches;
            it is started if none runs, and restarted if it was killed. Otherwise the name of a
            running server, or the path of its socket (`forebay serve --socket`). The batches are
            byte for byte the same as without it, but read-only. For pipelines with your own functions
            "auto" starts a server in a Python process, to which they are pickled. Not for arrays in
            memory. See docs/reference/shared.md.
        together: with `share`. True: loaders of the same pipeline, seed and rank get the same
            batches, which are made once for all of them. A number: the first batch also waits, at
            most a minute, for this number of loaders; StateMismatch if one of them has other
            functions. A loader that falls behind by more than a few
            batches continues on its own.
        pin_memory: with output="torch", and if there is an accelerator: tensors are in memory that
            PyTorch has pinned, from which `.to("cuda", non_blocking=True)` copies while the model
            trains. The engine makes the batches there. The first ones, fields that your functions
            make, and batches of a server are copied there. PyTorch rounds each field up to a power
            of two bytes, which `memory=` does not count.
        progress: shows on stderr, or below the cell of a notebook, how far each epoch has come:
            samples per second, the time left, and what the trainer waits for. A file or a pipe gets
            a line every 30 seconds. Only rank 0 shows anything.

    To type checkers a loader is generic in its arrays: `Loader[torch.Tensor]` by output="torch".

    Errors: InvalidArgument, NotFound, Unavailable, OutOfBudget.
    """

    @overload
    def __init__(
        self: Loader[NDArray[Any]], pipeline: Pipeline, *, output: Literal["numpy"] = ..., **options: Unpack[LoaderOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: Loader[torch.Tensor], pipeline: Pipeline, *, output: Literal["torch"], **options: Unpack[LoaderOptions]
    ) -> None: ...
    @overload
    def __init__(
        self: Loader[jax.Array], pipeline: Pipeline, *, output: Literal["jax"], **options: Unpack[LoaderOptions]
    ) -> None: ...
    def __init__(
        self,
        pipeline: Pipeline,
        *,
        seed: int = 0,
        epochs: int | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        mesh: Ranks | None = None,
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
        pin_memory: bool = False,
        progress: bool = False,
    ) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"a Loader runs a Pipeline, not {type(pipeline).__name__}; fb.Dataset(...) makes one of a data set")
        self._pipeline = pipeline
        local_ranks = None
        if mesh is not None:
            rank, world_size, local_ranks = _mesh.place(mesh, rank, world_size)
        elif rank is None and world_size is None and (place := _ray_train.place()):
            # These come before the variables, because workers may inherit variables of the launcher
            # that started Ray.
            rank, world_size, local_ranks = place
        self._place_given = rank is not None or world_size is not None
        if not self._place_given and (group := _process_group.place()):
            rank, world_size = group
        self._pinned = _pinned(pin_memory, output)
        shared, self._user_pipeline = _share(share, together, pipeline, output, _count_or_auto("threads", threads))
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
            **_peers(peers, mesh),
            **shared,
            "convert": self._pinned.tensor if self._pinned else _converter(output),
            "batch_memory": self._pinned.blocks if self._pinned else None,
        }
        self._given = {
            "seed": seed, "rank": rank, "world_size": world_size, "threads": threads, "requests": requests, "memory": memory,
            "on_error": on_error, "max_errors": max_errors, "storage_options": storage_options,
        }
        self._output = output
        self._restart = bool(restart)
        self._progress = bool(progress)
        self._passes = 0
        self._iterations = 0
        self._ready = False
        self._begun_s = 0.0  # time of the request for the first batch
        self._page: LivePage | None = None
        self._core = _open(pipeline, options)
        for told in self._core.warnings():
            try:
                warnings.warn(told["message"], DataWarning, stacklevel=2)
            except DataWarning:  # the user's warning filters may turn warnings into errors
                self._core.close()
                raise
        self._workers = Workers(
            self._core, {} if share is not None else pipeline._functions, options["threads"] or default_workers(), processes=options["threads"]
        )
        self._number = next(_numbers)
        _live.add(self)
        _serve_if_asked()

    # Iteration

    def __iter__(self) -> Iterator[_core.Batch[Array]]:
        self._prepare()
        self._core.begin_iteration()
        self._iterations += 1
        batches = _CollatedPass(self) if collates(self.pipeline) else _Pass(self)
        if not self._progress:
            return batches
        from ._progress import shown

        return shown(self, batches)

    def __len__(self) -> int:
        """Returns the number of batches of this rank in the current epoch, including delivered
        ones. It is the same on every rank. TypeError for a stream without steps_per_epoch=, and
        for a mix that only a stream could end.
        """
        self._prepare()
        batches = self._core.batches_per_epoch()
        if batches < 0:
            raise TypeError("a stream has no length: give the loader steps_per_epoch=, or fb.mix samples= if it is a part")
        return batches

    def _prepare(self) -> None:
        # Filters determine the number of samples, and they are user functions.
        if self._ready:
            return
        self._check_place()
        self._workers.start()
        self._call(self._core.prepare)
        self._ready = True

    def _check_place(self) -> None:
        """Raises if the loader was opened before the job's process group: it would deliver all
        samples on every rank.
        """
        group = None if self._place_given else _process_group.place()
        if group not in (None, (self.rank, self.world_size)):
            raise InvalidArgument(
                f"this loader was opened as rank {self.rank} of {self.world_size}, and by now torch.distributed says rank {group[0]} of {group[1]}: open it behind "
                "init_process_group (with Lightning in train_dataloader(), or in a LightningDataModule), or give rank= and world_size=")

    def _next(self) -> _core.Batch[Array] | None:
        if not self._begun_s:
            self._begun_s = time.monotonic()
            if os.environ.get("FOREBAY_UI", "0") not in ("", "0"):
                from ._live import show_if_asked

                show_if_asked(self)
        return self._fetch() if self._page is None else self._page._watch(self._fetch)

    def _fetch(self) -> _core.Batch[Array] | None:
        if self._pinned is not None:
            self._pinned.refill()
        torch = sys.modules.get("torch")
        if torch is None or not torch.autograd._profiler_enabled():
            return self._call(self._core.next)
        # The profiler range costs some microseconds, so it is recorded only while a profiler runs.
        with torch.profiler.record_function("forebay: wait for a batch"):
            return self._call(self._core.next)

    def _call(self, method: Callable[[], Any]) -> Any:
        try:
            return method()
        except UserFailure as failure:
            error = self._workers.exception(failure)
        except Error as failure:
            error = self._stream_failure() or failure
        raise error  # raised outside `except`, which would change the context of the user's own `raise ... from ...`

    def _stream_failure(self) -> BaseException | None:
        """Returns the exception of the user's iterable if that has ended the stream, else None."""
        return next((stream.failure for stream in self._streams() if stream.failure), None)

    def _streams(self) -> list[UserStream]:
        """Returns the user's iterables: the source, or those of parts."""
        return [source for source in self._pipeline._functions.values() if isinstance(source, UserStream)]

    # Position

    @property
    def epoch(self) -> int:
        """Epoch of the next batch."""
        self._prepare()
        return self._core.epoch()

    def set_epoch(self, epoch: int) -> None:
        """Moves to the beginning of an epoch. If `epoch` is the current epoch, the position is
        kept.
        """
        self._prepare()
        number = operator.index(epoch)
        if not -(2**63) <= number < 2**63:
            raise InvalidArgument(f"set_epoch({number}): there is no such epoch")
        self._core.set_epoch(number)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position as a small plain dict, the same on every rank. Valid between any two
        batches.
        """
        import json

        self._prepare()
        return json.loads(self._core.state())

    def load_state_dict(self, state: Mapping[str, Any], strict: bool = True, parts: str | None = None) -> None:
        """Moves to the position of a `state_dict()`. The number of ranks and threads and the batch
        size may differ.

        Args:
            state: the dict that `state_dict()` returned.
            strict: False takes the position of a state of another data set, pipeline or seed, too,
                provided that the data set has the same number of samples.
            parts: "changed" goes on from a state of a pipeline with other parts, weights or sizes of
                parts: each part goes on where the part of the same name was, a new one begins, and
                the weights of this loader's pipeline hold from there on. A part that has more
                samples ends its pass with those that it had, and all come from the next pass on; the
                new ones must be the last in the order of the part's ids (files whose names sort
                behind the others). A part that has fewer begins its next pass. If the epoch is
                shorter than the position now, the next epoch begins. None: the pipeline must be the
                same.

        Errors: StateMismatch, which names the differences, for a state of another data set, pipeline
        or seed, and for one of weights of `set_sampling` that this loader was not given;
        InvalidArgument for what is no state, and if parts="changed" is given and the
        pipeline or that of the state has no parts; Unsupported for parts="changed" in the middle of
        an epoch of an `fb.concat`, or an `fb.mix` without weights, whose own parts differ.
        """
        self._prepare()
        load = self._core.load_state if not _parts_changed(parts) else self._core.load_state_of_changed_parts
        load(_json(state), bool(strict))

    def set_weights(self, weights: Mapping[str, Any]) -> None:
        """Gives the parts of a mix other weights, from the next batch on.

            loader.set_weights({"web": 1, "code": 1})
            loader.set_weights({"web": {"en": 3, "de": 1}})  # those of the mix that is the part `web`

        What was delivered stays as it was, and no sample is skipped or repeated: each part goes on
        where it is. Batches that were prepared ahead are dropped. Shares are exact from the change
        on, as those of a new stage of a schedule; a schedule of that mix is over. An epoch keeps its
        length. The weights are kept in `state_dict()`, and hold until the next call. A call with the
        weights that hold already changes nothing.

        All ranks must make the call at the same position: with `peers=` a rank that differs from
        rank 0 gets StateMismatch; without it, compare `loader.fingerprint`. Earlier positions are not known
        any more, so `set_epoch` does not go back before the change.

        Args:
            weights: a number of 0 or more for each part of the mix. The names of parts within parts
                are joined by "/", or in dicts of dicts. A mix that is not named keeps its weights.

        Errors: InvalidArgument for unknown parts, for a mix one of whose parts gets no weight, for
        weights that are not possible, for a mix without weights or a pipeline without a mix, and in
        the middle of an epoch with `restart=True`.
        """
        self._prepare()
        self._core.set_weights(_weights_by_path(weights))

    def set_sampling(self, weights: Any, version: str | int | None = None, part: str | None = None) -> None:
        """Draws the samples of a data set by other weights, from the next batch on, in place of
        those of its `.sample()` or `.balance()`.

            loader.set_sampling(losses, version=step)

        What was delivered stays as it was, and an epoch keeps its number of draws. The draws that
        are left of it are a sampling of their own: with m = their number * weight / sum of the
        weights, each sample comes m times among them, rounded down or up, also if it has come in
        the epoch before. Later epochs are drawn by the weights as a whole. Batches that were
        prepared ahead are dropped. A call with the weights and the version that hold already
        changes nothing.

        `state_dict()` has the version and a hash of the weights, which may be many. To resume, call
        this with the same weights and version before `load_state_dict`; save them beside the state.
        All ranks must make the call at the same position: with `peers=` a rank that differs from
        rank 0 gets StateMismatch; without it, compare `loader.fingerprint`. Earlier positions are not known
        any more, so `set_epoch` does not go back before the change.

        Args:
            weights: a number of 0 or more for each sample of the data set, by id (`batch.ids`), in a
                list, an array or a tensor of shape (samples,). They need not add up to 1.
            version: your name of the weights, a number or up to 64 bytes of text.
            part: the name of the part of a mix, or of a zip with draws of its own, that is drawn,
                such as "web/en" or "pair/noise"; needed if several are.

        Errors: InvalidArgument for weights that are not possible, for a data set without draws, with
        replacement=False inside an epoch of the part's own draws, and inside an epoch with `restart=True`; Unsupported with
        `share=`, with `.bucket()`, and with `.pack(arrange="epoch")`.
        """
        self._prepare()
        if not (part is None or isinstance(part, str)):
            raise TypeError(f"set_sampling(): part is {part!r}; give the name of a part")
        self._core.set_sampling(_sample_weights(weights), _version(version), part or "")

    def journal(self, path: str | os.PathLike[str]) -> None:
        """For streams: writes to `path`, from now on, which records are delivered.

        The journal takes tens of bytes per step. `fb.Loader(pipeline, journal=path)` repeats the
        run from it, provided that the log still has the records. If there are several ranks, rank 0
        writes the journal. The journal ends if `load_state_dict` moves to another position. Of a
        mix of several streams, `path` is a folder that gets a journal of each.

        An existing journal is continued at the loader's position, for example after
        `load_state_dict`. InvalidArgument if it belongs to another run, or the source is not a
        stream; Unavailable if it cannot be written.
        """
        self._prepare()
        self._core.journal(os.fsdecode(path))

    # Properties

    @property
    def pipeline(self) -> Pipeline:
        """The pipeline that this loader runs."""
        return self._pipeline

    @property
    def classes(self) -> list[str]:
        """For `fb.images`, and parts that have the same classes: their names in the order of their
        labels.

        Save them with the model, and pass them to `fb.images(root, classes=…)` for evaluation.
        InvalidArgument for other sources.
        """
        names = self._core.classes()
        if not names:
            return self._pipeline.classes  # its error says which source has no classes
        return names

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""
        return self._core.rank()

    @property
    def world_size(self) -> int:
        """Number of processes that share the data set."""
        return self._core.world_size()

    @property
    def size(self) -> int:
        """Number of samples in the data set, after `.take` and `.filter`."""
        self._prepare()
        return self._core.size()

    @property
    def fingerprint(self) -> str:
        """Hash of data set, pipeline and seed. Compare it across ranks before training."""
        self._prepare()
        return self._core.fingerprint()

    # Closing

    @property
    def closed(self) -> bool:
        """Whether `close()` was called."""
        return self._core.closed

    def close(self) -> None:
        """Stops everything and releases the memory, in bounded time and from any state. Closing
        again does nothing.

        Batches stay valid. A user function that does not return within 5 s is left running on its
        thread, with a warning.
        """
        if self._page is not None:
            self._page.close()
        self._core.close()
        left = [name for stream in self._streams() for name in stream.stop(STUCK_AFTER_S)]
        for stuck in self._workers.stop() + left:
            warnings.warn(f"left running: {stuck} and did not return within {STUCK_AFTER_S:.0f} s", RuntimeWarning, stacklevel=2)

    def __enter__(self) -> Loader[Array]:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_workers"):  # missing if opening failed
            self.close()

    def __repr__(self) -> str:
        if self.closed:
            return "<forebay.Loader, closed>"
        return f"<forebay.Loader: epoch {self.epoch}, rank {self.rank} of {self.world_size}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Loader cannot be pickled: it owns threads. Send the pipeline, and open a Loader in each process")


own(Loader)


class _Pass(Generic[Array]):
    """One `for` over a loader. Ends with the epoch."""

    __slots__ = ("_iteration", "_loader", "_number")

    def __init__(self, loader: Loader[Array]) -> None:
        self._loader = loader
        self._number = loader._passes
        self._iteration = loader._iterations

    def __iter__(self) -> _Pass[Array]:
        return self

    def next_batch(self) -> _core.Batch[Array]:
        """Returns the next batch as the engine delivers it."""
        loader = self._loader
        if self._number != loader._passes:  # the epoch of this pass is over
            raise StopIteration
        if loader._restart and self._iteration != loader._iterations:
            raise InvalidArgument("this iterator's epoch was begun anew by a later `for` over the loader (restart=True): go on with that one's "
                                  "iterator, or open a Loader for each of two loops that run at once")
        batch = loader._next()
        if batch is None:
            loader._passes += 1
            raise StopIteration
        return batch

    # The same function: between the delivery of a batch and the loop, no handler of a signal runs.
    __next__ = next_batch

    def taken(self, batch: _core.Batch[Array]) -> Any:
        """Returns what the training loop gets for that batch."""
        return batch


class _CollatedPass(_Pass[Array]):
    """One whose batches are the objects that `.collate` made."""

    __slots__ = ()

    def __next__(self) -> Any:
        return self.taken(self.next_batch())

    def taken(self, batch: _core.Batch[Array]) -> Any:
        taken, pinned = self._loader._workers.taken(batch), self._loader._pinned
        return taken if pinned is None else pinned.pin(taken)


def digest(*loaders: Loader[Any]) -> str:
    """Runs the rest of the current epoch and returns its digest, 32 hexadecimal digits.

    The digest is the xxh3-128 over (id, then the bytes of each field, fields by name), sample by
    sample in global order without padding. It does not depend on the number of ranks, threads or
    the batch size. A list of strings contributes all its strings, then the length of each (uint32).

    Args:
        loaders: the loaders of all ranks, each once, at the same position of the same epoch;
            otherwise InvalidArgument, before anything is read.
    """
    _check_ranks(loaders)
    result = _core.EpochDigest()
    for step in zip(*loaders, strict=True):
        result.add_step(list(step))
    return result.hexdigest()


def _check_ranks(loaders: tuple[Loader[Any], ...]) -> None:
    if not loaders:
        raise InvalidArgument("digest: give the loaders of all ranks")
    for loader in loaders:
        if not isinstance(loader, Loader):
            raise TypeError(f"digest: wants loaders, each as an argument of its own, not {type(loader).__name__}")
    worlds = sorted({loader.world_size for loader in loaders})
    if len(worlds) > 1:
        raise InvalidArgument(f"digest: the loaders are of different jobs: their world_size is {_listed(worlds)}")
    if any(collates(loader.pipeline) for loader in loaders):
        raise InvalidArgument("digest: the pipeline ends in .collate(), whose batches are objects of yours; take that step out for a digest")
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
    """Formats values as in "1, 2 and 4"; more than ten are abbreviated."""
    texts = [str(value) for value in values]
    texts = texts if len(texts) <= 10 else [*texts[:9], f"{len(texts) - 9} others"]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


# Open loaders are closed before the interpreter exits: Python threads must not return to it later.
_live: WeakRegistry[Loader] = WeakRegistry()
_numbers = Numbers()  # loaders by order of opening, a label of their metrics


@atexit.register
def _close_all() -> None:
    for loader in _live.alive():
        loader.close()


def _open(pipeline: Pipeline, options: dict[str, Any]) -> _core.Loader:
    try:
        return _core.Loader(pipeline._description, **options)
    except UserFailure as failure:  # of a filter in a server, which opens a loader as a whole
        error = portable_exception(failure)
    except InvalidArgument as error:
        error.problems = pipeline.check()
        raise
    raise error
