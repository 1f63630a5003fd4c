"""Types that checkers see: the arrays of a batch by `output=`, the ranks of `mesh=`, and the options of a
loader.

While a program runs, this module also stands in for `typing`, whose import takes as long as that of
the rest of the package. Type checkers see the names of `typing` itself.
"""

from __future__ import annotations

TYPE_CHECKING = False  # checkers take the name for true

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any, Generic, Literal, NamedTuple, NoReturn, Protocol, TypedDict, Union, overload

    from numpy.typing import NDArray
    from typing_extensions import TypeVar

    Array = TypeVar("Array", default=NDArray[Any])

    class DeviceMesh(Protocol):
        """The part of torch.distributed.device_mesh.DeviceMesh that a loader uses."""

        @property
        def mesh_dim_names(self) -> Sequence[str] | None: ...
        def get_coordinate(self) -> Sequence[int] | None: ...
        def size(self, mesh_dim: int | None = None) -> int: ...

    class ProcessGroup(Protocol):
        """The part of torch.distributed.ProcessGroup that a loader uses."""

        def rank(self) -> int: ...
        def size(self) -> int: ...

    class Communicator(Protocol):
        """Another object that knows the place of this process."""

        def get_rank(self) -> int: ...
        def size(self) -> int: ...

    Ranks = Union[DeviceMesh, ProcessGroup, Communicator]

    class LoaderOptions(TypedDict, total=False):
        """The keyword arguments of `forebay.Loader` but `output`."""

        seed: int
        epochs: int | None
        rank: int | None
        world_size: int | None
        mesh: Ranks | None
        threads: int | Literal["auto"]
        requests: int | Literal["auto"]
        memory: int | str
        on_error: Literal["raise", "skip", "replace"]
        max_errors: int | float | None
        storage_options: Mapping[str, str | int | float | bool] | None
        shard_by: Literal["auto", "count", "locality"]
        hosts: int | None
        peers: Sequence[str] | str | None
        restart: bool
        steps_per_epoch: int | None
        journal: str | os.PathLike[str] | None
        rehearsal: Mapping[str, Any] | None
        share: str | os.PathLike[str] | None
        together: bool | int
        pin_memory: bool
        progress: bool
else:

    class Any:
        """Stands for `typing.Any` in annotations that a program evaluates."""

    class NoReturn:
        """Stands for `typing.NoReturn` in annotations that a program evaluates."""

    class Protocol:
        """The base of interfaces."""

    class Generic:
        """The base of classes that are generic to type checkers: `Loader[torch.Tensor]` is an alias of
        `Loader`.
        """

        __slots__ = ()

        def __class_getitem__(cls, parameter: Any) -> Any:
            from types import GenericAlias

            return cls if cls is Generic else GenericAlias(cls, parameter)

    class _NamesFromAnnotations(type):
        def __new__(meta, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(meta, name, bases, members)
            from collections import namedtuple

            fields = list(members["__annotations__"])
            defaults = [members.pop(field) for field in fields if field in members]
            return type(name, (namedtuple(name, fields, defaults=defaults, module=members["__module__"]),), {"__slots__": (), **members})

    class NamedTuple(metaclass=_NamesFromAnnotations):
        """The base of tuples whose annotations name their elements."""

    def overload(function: Any) -> Any:
        """Marks a signature that only type checkers read."""
        return function

    Array = object
