"""Batches for nvidia.dali.fn.external_source.

Forebay lists, fetches, shuffles and caches; DALI decodes and augments on the accelerator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, Sequence

import numpy as np

from ._steps import Steps, loader_of
from .errors import InvalidArgument
from .loader import Loader
from .pipeline import Pipeline

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._typing import LoaderOptions

__all__ = ["ExternalSource"]


class ExternalSource(Steps):
    """A `source` for nvidia.dali.fn.external_source with `batch=True`. It is also an iterable.

        pipeline = fb.images("photos/train").shuffle().batch(64)
        source = fb.dali.ExternalSource(pipeline, ["image", "label"], seed=7)

        @nvidia.dali.pipeline_def(batch_size=64, num_threads=4, device_id=0)
        def training():
            dtypes = [types.UINT8, types.INT64]
            encoded, label = fn.external_source(source=source, num_outputs=2, batch=True, dtype=dtypes)
            image = fn.decoders.image(encoded, device="mixed")
            return fn.random_resized_crop(image, size=224), label

    Each call returns the next batch, a list with one entry per field: an array (rows, ...), or for
    bytes, text (uint8) and ragged fields a list of arrays, one per row. StopIteration ends an
    epoch: after DALI's `pipeline.reset()`, or with `cycle="raise"`, the next call begins the next
    epoch. Call it from one thread. Do not set `parallel=True`, which copies the source into other
    processes; the engine's threads already work ahead.

    Args:
        pipeline: a Pipeline, or an open Loader. The batch size of DALI's pipeline must be at least
            that of this one.
        fields: the fields to return, in this order; all by default.
        options: options of the Loader.

    Errors: InvalidArgument for options beside a Loader, an `output` other than "numpy", or a list
    of strings (DALI has no such type); KeyError for an unknown field.
    """

    def __init__(self, pipeline: Pipeline | Loader, fields: Sequence[str] | None = None, **options: Unpack[LoaderOptions]) -> None:
        super().__init__(loader_of(pipeline, options, "dali.ExternalSource"))
        self.fields: list[str] | None = None if fields is None else [fields] if isinstance(fields, str) else list(fields)
        self._epoch: Iterator[Any] | None = None

    def __call__(self) -> list[Any]:
        """Returns the next batch. Raises StopIteration once at the end of each epoch."""
        if self._epoch is None:
            self._epoch = super().__iter__()
        try:
            return next(self._epoch)
        except StopIteration:
            self._epoch = None
            raise

    def __next__(self) -> list[Any]:
        return self()

    def __iter__(self) -> ExternalSource:
        self._epoch = None
        return self

    def _convert(self, batch: Any) -> list[Any]:
        return [_output(name, batch.buffers(name)) for name in self.fields or batch]


def _output(name: str, buffers: tuple[np.ndarray, ...]) -> Any:
    if len(buffers) == 1:
        return buffers[0]
    if len(buffers) == 3:
        raise InvalidArgument(f"dali.ExternalSource: the field '{name}' holds lists of strings, which DALI has no type for; leave it out of fields=")
    values, offsets = buffers
    at = offsets.tolist()
    return [values[begin:end] for begin, end in zip(at, at[1:])]
