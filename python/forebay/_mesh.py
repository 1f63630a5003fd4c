"""The place of this process in `mesh=`: a device mesh or a process group of PyTorch, or an object with
their methods. PyTorch is not imported for it: a program that has a mesh has imported it.
"""

from __future__ import annotations

import operator
import os
import sys

from ._typing import Any
from .errors import InvalidArgument

_ONE_REPLICA = ("tp", "cp", "pp")  # usual names of dimensions whose ranks need the same rows
_FORMS = 'mesh= takes a DeviceMesh of the data-parallel ranks (mesh["dp"]), or a process group of them'


def place(mesh: Any, rank: Any, world_size: Any) -> tuple[int, int, int | None]:
    """Returns (rank, number of ranks, processes on this host if the launcher tells it)."""
    if rank is not None or world_size is not None:
        raise InvalidArgument("mesh= says which rank this is of how many: leave rank= and world_size= out, or mesh=")
    if hasattr(mesh, "axis_names"):
        raise InvalidArgument(
            "mesh= is a mesh of JAX, and its axes do not say which process gets which rows: use fb.jax.iterate(pipeline, mesh), "
            "or give rank= and world_size="
        )
    _check_running(mesh)
    return *(_in_mesh(mesh) if hasattr(mesh, "get_coordinate") else _in_group(mesh)), _processes_of_host()


def groups(mesh: Any) -> list[tuple[Any, int]]:
    """Returns process groups of torch.distributed, each with the place of this process among its ranks.
    Gathering in one after the other gives the values of all ranks, in order. Empty if it has none.
    """
    if hasattr(mesh, "get_coordinate"):
        return [(mesh.get_group(dimension), place) for dimension, place in reversed(list(enumerate(mesh.get_coordinate())))]
    return [(mesh, mesh.rank())] if type(mesh).__module__.startswith("torch.") else []


def _check_running(mesh: Any) -> None:
    """Raises if the job to which an object of PyTorch belongs has not begun or has ended. Its numbers
    would be those of another job.
    """
    if not type(mesh).__module__.startswith("torch."):
        return
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        raise InvalidArgument(
            "mesh= belongs to torch.distributed, which is not initialized: open the loader between init_process_group() (or "
            "init_device_mesh()) and destroy_process_group()"
        )


def _in_mesh(mesh: Any) -> tuple[int, int]:
    names = mesh.mesh_dim_names or ()
    if wrong := [name for name in names if name in _ONE_REPLICA]:
        raise InvalidArgument(
            f"mesh= has the dimension {', '.join(map(repr, wrong))}, whose ranks work on one replica and need the same rows: give the "
            f"data-parallel dimensions alone, as mesh[\"dp\"] or mesh[\"dp_replicate\", \"dp_shard\"] (this mesh has {', '.join(map(repr, names))})"
        )
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        raise _not_in(mesh)
    rank = 0
    for dimension, index in enumerate(coordinate):
        rank = rank * operator.index(mesh.size(dimension)) + operator.index(index)
    return rank, operator.index(mesh.size())


def _in_group(group: Any) -> tuple[int, int]:
    if _is_no_member(group):
        raise _not_in(group)
    own_rank = getattr(group, "get_rank", None) or getattr(group, "rank", None)
    size = getattr(group, "size", None)
    if not callable(own_rank) or not callable(size):
        raise InvalidArgument(f"mesh is {group!r}; {_FORMS}, or an object with get_rank() and size()")
    rank = operator.index(own_rank())
    if rank < 0:
        raise _not_in(group)
    return rank, operator.index(size())


def _is_no_member(group: Any) -> bool:
    """Whether this is what new_group() returns in processes that are not in the group."""
    distributed = sys.modules.get("torch.distributed")
    member = getattr(distributed, "GroupMember", None)
    if member is None:
        return False
    outside = member.NON_GROUP_MEMBER
    return group is outside or (type(group) is int and group == outside)


def _not_in(mesh: Any) -> InvalidArgument:
    return InvalidArgument(
        f"this process is not in mesh= ({mesh!r}): open the loader only in the processes of the mesh, or give rank= and world_size="
    )


def _processes_of_host() -> int | None:
    """All processes of this host divide its cores, and not only those that read different rows."""
    told = os.environ.get("LOCAL_WORLD_SIZE", "")
    return int(told) if told.isascii() and told.isdecimal() else None
