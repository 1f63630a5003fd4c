"""Exchanges the addresses of a job's processes through services that their launcher already runs.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from typing import Any, Iterator, Mapping

from . import _mesh, _ray_train
from .errors import InvalidArgument, Unavailable

__all__ = ["meet", "meet_in_mesh"]

WAIT_S = 120.0
CONNECT_S = 10.0
SILENT_S = 10.0
OTHER_WAYS = 'give peers="file:///FOLDER", a folder that all hosts share, or a list of "host:port"'


def meet(card: str, rank: int, world_size: int, environment: Mapping[str, str] | None = None) -> list[str]:
    """Returns the cards of all ranks, in rank order.

    Uses the first that exists: a process group of torch.distributed, the store of torchrun's agent,
    Ray Train, mpi4py. None of them is started for it, but this process becomes a client of the
    agent's store.

    Raises InvalidArgument if none exists, Unavailable if it does not answer or a rank does not
    join.
    """
    environment = os.environ if environment is None else environment
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() == world_size:
        cards: list[Any] = [None] * world_size
        with _told_of("the process group of torch.distributed"), _device_of(rank, distributed):
            distributed.all_gather_object(cards, card)
        return cards
    if environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True":
        return by_store(_agent_store(environment), card, rank, world_size, environment)
    place = _ray_train.place()
    if place is not None and place[1] == world_size:
        with _told_of("Ray Train"):
            store, name = _ray_train.store(WAIT_S)
        return _all_of(store, f"forebay/{name}", card, rank, world_size)
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and mpi.COMM_WORLD.Get_size() == world_size:
        with _told_of("mpi4py.MPI"):
            return mpi.COMM_WORLD.allgather(card)
    found = f" (mpi4py.MPI has {mpi.COMM_WORLD.Get_size()})" if mpi is not None and mpi.Is_initialized() else ""
    raise InvalidArgument(
        'peers="launcher": there is no process group of torch.distributed, no store of torchrun, no Ray Train and no mpi4py.MPI in this process that has '
        f"{world_size} ranks{found}; {_way_of_this_launcher(environment)}{OTHER_WAYS}"
    )


def meet_in_mesh(mesh: Any, card: str, rank: int) -> list[str]:
    """Returns the cards of the mesh's ranks, in rank order. Everything that `meet` uses knows all
    processes of the job, of which several have the same rank in the mesh.

    Raises InvalidArgument if the mesh has no process group, Unavailable as `meet` does.
    """
    groups = _mesh.groups(mesh)
    if not groups:
        raise InvalidArgument(
            f'peers="launcher": mesh= is no DeviceMesh and no process group of torch.distributed, in which its ranks could meet; {OTHER_WAYS}'
        )
    distributed, cards = sys.modules["torch.distributed"], [card]
    with _told_of("the process groups of mesh="), _device_of(rank, distributed):
        for group, place in groups:
            found: list[Any] = [None] * group.size()
            distributed.all_gather_object(found, (place, cards), group=group)
            cards = [one for _, some in sorted(found) for one in some]
    return cards


def _way_of_this_launcher(environment: Mapping[str, str]) -> str:
    """Returns advice on what this launcher could provide; empty if unknown."""
    if "TORCHELASTIC_RUN_ID" in environment:
        return "call torch.distributed.init_process_group() before the loader is opened, or "
    if "OMPI_COMM_WORLD_SIZE" in environment or "PMI_SIZE" in environment:
        return "say `from mpi4py import MPI` before the loader is opened (pip install mpi4py), or "
    if "SLURM_STEP_ID" in environment:
        return "start the ranks with `srun --mpi=pmix` and say `from mpi4py import MPI` before the loader is opened, or "
    return ""


@contextlib.contextmanager
def _told_of(way: str) -> Iterator[None]:
    """Converts errors of libraries to a single line, because torch's messages are C++ stack traces.
    Logs a message when the wait is long: it lasts half an hour if a rank opens no loader.
    """
    waiting = threading.Timer(SILENT_S, _tell_waiting, [way])
    waiting.daemon = True
    waiting.start()
    try:
        yield
    except Exception as error:  # several types, depending on the version
        raise Unavailable(
            f'peers="launcher": ranks could not meet by {way} ({_first_line(error)}); all of them have to open this loader, or {OTHER_WAYS}'
        ) from error
    finally:
        waiting.cancel()


def _tell_waiting(way: str) -> None:
    import logging  # imported here because messages are rare

    logging.getLogger("forebay").warning(
        'peers="launcher": still waiting for the other ranks in %s; all of them have to open this loader, in the same order as their others', way)


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__


def _device_of(rank: int, distributed: Any) -> Any:
    """Returns a context that selects this rank's GPU.

    A group over NCCL gathers on the current GPU of the calling thread. On a thread of the engine
    that is the first GPU for all ranks of a host.
    """
    torch, backend = sys.modules.get("torch"), getattr(distributed, "get_backend", None)
    if torch is None or backend is None or backend() != "nccl" or not torch.cuda.is_available():
        return contextlib.nullcontext()
    return torch.cuda.device(int(os.environ.get("LOCAL_RANK", rank)) % torch.cuda.device_count())


def _agent_store(environment: Mapping[str, str]) -> Any:
    address, port = environment.get("MASTER_ADDR", ""), environment.get("MASTER_PORT", "")
    if not address or not port.isdigit():
        raise InvalidArgument(
            'peers="launcher": TORCHELASTIC_USE_AGENT_STORE is set, as torchrun does, and MASTER_ADDR and MASTER_PORT, which say where its store is, are '
            f"{address!r} and {port!r}; start the program with torchrun, or {OTHER_WAYS}"
        )
    # The store exists before torchrun starts a rank. Without this check torch would report a
    # missing store only after its full time-out.
    try:
        socket.create_connection((address, int(port)), CONNECT_S).close()
    except (OSError, OverflowError) as error:
        raise Unavailable(
            f'peers="launcher": torchrun\'s store does not answer at {address}:{port} ({error}), which TORCHELASTIC_USE_AGENT_STORE, MASTER_ADDR and '
            f"MASTER_PORT name; start the program with torchrun, or {OTHER_WAYS}"
        ) from error
    from datetime import timedelta

    with _told_of("torchrun's store"):
        from torch.distributed import TCPStore

        return TCPStore(address, int(port), is_master=False, timeout=timedelta(seconds=WAIT_S))


def by_store(store: Any, card: str, rank: int, world_size: int, environment: Mapping[str, str]) -> list[str]:
    """Exchanges the cards through a store with `set(key, value)` and a blocking `get(key)`. The
    keys are unique to this run and this start of it.
    """
    run, restarts = environment.get("TORCHELASTIC_RUN_ID", ""), environment.get("TORCHELASTIC_RESTART_COUNT", "0")
    # Each loader of a process meets separately; all ranks open their loaders in the same order.
    number = _meetings[run, restarts] = _meetings.get((run, restarts), 0) + 1
    return _all_of(store, f"forebay/{run}/{restarts}/{number}", card, rank, world_size)


def _all_of(store: Any, prefix: str, card: str, rank: int, world_size: int) -> list[str]:
    store.set(f"{prefix}/{rank}", card)
    cards = []
    for other in range(world_size):
        try:
            told = store.get(f"{prefix}/{other}")
        except Exception as error:  # the type depends on torch's version
            raise Unavailable(f"peers: rank {other} of {world_size} has not come within {WAIT_S:.0f} s ({_first_line(error)})") from error
        cards.append(told.decode() if isinstance(told, bytes) else told)
    return cards


_meetings: dict[tuple[str, str], int] = {}
