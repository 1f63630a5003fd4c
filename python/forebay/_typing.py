"""Types that checkers see: the arrays of a batch by `output=`, and the options of a loader."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from typing import Any, Literal, Mapping, Sequence, TypedDict

    from numpy.typing import NDArray
    from typing_extensions import TypeVar

    Array = TypeVar("Array", default=NDArray[Any])

    class LoaderOptions(TypedDict, total=False):
        """The keyword arguments of `forebay.Loader` but `output`."""

        seed: int
        epochs: int | None
        rank: int | None
        world_size: int | None
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
