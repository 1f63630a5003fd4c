"""The common part of the adapters to other frameworks: a loader that is given or created, and one
epoch per `for`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator

from .errors import InvalidArgument
from .loader import Loader
from .pipeline import Pipeline, collates

if TYPE_CHECKING:
    from typing_extensions import Self

    from ._core import Batch


def loader_of(source: Any, options: Any, what: str, outputs: tuple[str, ...] = ("numpy",)) -> Loader[Any]:
    """Returns the given loader, or a loader of the given pipeline.

    InvalidArgument if options accompany a loader, which has its own, or if its arrays are not one
    of `outputs`, which the adapter converts.
    """
    output = source._output if isinstance(source, Loader) else options.get("output", "numpy")
    if isinstance(source, (Loader, Pipeline)) and output not in outputs:
        raise InvalidArgument(f"{what}: it makes its arrays of NumPy's, and the loader has output={output!r}; open it without output=")
    pipeline = source.pipeline if isinstance(source, Loader) else source
    if isinstance(pipeline, Pipeline) and collates(pipeline):
        raise InvalidArgument(f"{what}: the pipeline ends in .collate(), whose batches are objects of yours; put .map_batch() in its place, or use forebay.Loader")
    if isinstance(source, Loader):
        if options:
            raise InvalidArgument(f"{what}: {', '.join(options)} cannot be given with a loader, which has its options: give the pipeline instead")
        return source
    if not isinstance(source, Pipeline):
        raise TypeError(f"{what} takes a Pipeline or a Loader, not {type(source).__name__}")
    return Loader(source, **options)


class Steps:
    """Batches in the form of another framework, epoch after epoch. Every `for` runs one epoch, as
    with a Loader.

    `loader` is the underlying Loader, `batch` the `forebay.Batch` of the latest delivery (its ids,
    padding and step).
    """

    def __init__(self, loader: Loader[Any]) -> None:
        self.loader = loader
        self.batch: Batch[Any] | None = None

    def _convert(self, batch: Any) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        for batch in self.loader:
            self.batch = batch
            yield self._convert(batch)

    def __len__(self) -> int:
        """Returns the number of batches of this rank in the current epoch."""
        return len(self.loader)

    def state_dict(self) -> dict[str, Any]:
        """Returns the loader's position, after the latest delivered batch."""
        return self.loader.state_dict()

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """Moves the loader to a saved position, as `Loader.load_state_dict` does."""
        self.loader.load_state_dict(state, strict)

    def close(self) -> None:
        """Closes the loader."""
        self.loader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
