"""What the faces for other frameworks have in common: a loader that is given or made, and one `for` an epoch."""

from __future__ import annotations

from typing import Any, Iterator

from .errors import InvalidArgument
from .loader import Loader
from .pipeline import Pipeline


def loader_of(source: Any, options: dict[str, Any], what: str, outputs: tuple[str, ...] = ("numpy",)) -> Loader:
    """The loader that was given, or one of the pipeline that was given. InvalidArgument where options come with a loader, which has its own, or where
    its batches are made of other arrays than `outputs`, which are what the face converts."""
    output = source._output if isinstance(source, Loader) else options.get("output", "numpy")
    if isinstance(source, (Loader, Pipeline)) and output not in outputs:
        raise InvalidArgument(f"{what}: it makes its arrays of NumPy's, and the loader has output={output!r}; open it without output=")
    if isinstance(source, Loader):
        if options:
            raise InvalidArgument(f"{what}: {', '.join(options)} cannot be given with a loader, which has its options: give the pipeline instead")
        return source
    if not isinstance(source, Pipeline):
        raise TypeError(f"{what} takes a Pipeline or a Loader, not {type(source).__name__}")
    return Loader(source, **options)


class Steps:
    """Batches in the form of another framework, epoch after epoch: every `for` runs one epoch, as with a Loader.

    `loader` is the Loader behind it, `batch` the `forebay.Batch` of what was given last (its ids, padding and step).
    """

    def __init__(self, loader: Loader) -> None:
        self.loader = loader
        self.batch = None

    def _convert(self, batch: Any) -> Any:
        raise NotImplementedError

    def __iter__(self) -> Iterator[Any]:
        for batch in self.loader:
            self.batch = batch
            yield self._convert(batch)

    def __len__(self) -> int:
        """Batches of this rank in the current epoch."""
        return len(self.loader)

    def state_dict(self) -> dict[str, Any]:
        """As of the loader: what was given last is behind it."""
        return self.loader.state_dict()

    def load_state_dict(self, state: dict[str, Any], strict: bool = True) -> None:
        """As of the loader."""
        self.loader.load_state_dict(state, strict)

    def close(self) -> None:
        """Closes the loader."""
        self.loader.close()

    def __enter__(self) -> Steps:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()
