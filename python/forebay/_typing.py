"""Types that checkers see: the arrays of a batch by `output=`, the ranks of `mesh=`, and the options of a
loader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from typing import Any, Literal, Mapping, Protocol, Sequence, TypedDict, Union

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
        progress: bool
else:
    from typing import TypeVar

    Array = TypeVar("Array")
