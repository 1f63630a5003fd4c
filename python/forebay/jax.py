"""Batches as JAX arrays: `forebay.jax.iterate(pipeline)`, and `forebay.Loader(..., output="jax")`.
On the CPU they share the memory of the batch.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ._steps import Steps, loader_of
from .errors import InvalidArgument
from .loader import Loader
from .pipeline import Pipeline

try:
    import jax
    import jax.dlpack
except ImportError as _error:
    raise ImportError("forebay.jax needs JAX: pip install jax") from _error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._typing import LoaderOptions

__all__ = ["Batches", "iterate"]


def iterate(pipeline: Pipeline | Loader[Any], mesh: Any = None, sharding: Any = None, **options: Unpack[LoaderOptions]) -> Batches:
    """Returns the pipeline's batches as dicts of jax.Array, epoch after epoch.

        batches = fb.jax.iterate(pipeline, seed=7)
        for epoch in range(90):
            for batch in batches:                 # one epoch
                state, loss = step(state, batch["image"], batch["label"])
            save(batches.state_dict())

    Arrays are (rows, ...), with the types of the loader's batches (64 bits become 32 unless JAX is
    configured otherwise). On the CPU they share the batch's memory, otherwise they are on JAX's
    default device. As in a batch of the loader, ragged fields are (values, offsets), and texts and
    bytes are lists.

    Args:
        pipeline: a Pipeline, or an open Loader.
        mesh: a jax.sharding.Mesh. Rows are divided over its first axis.
        sharding: a jax.sharding.Sharding of your own in place of `mesh`. It is used for all fields,
            whose first axis is rows. Each process contributes its own rows
            (jax.make_array_from_process_local_data); together they are one array of the global
            batch.
        options: options of the Loader. If there is a mesh or a sharding, `rank` and `world_size`
            are by default those of JAX's processes.

    Errors: InvalidArgument for options beside a Loader, for both mesh and sharding, and for a
    loader with output="torch". If there is a mesh or a sharding, also for a field that is not an
    array (remove it by .select, or .pad it) and for rows that its devices cannot share equally
    (.batch(n, last="drop") or last="pad"). If there are several ranks, last="partial" and
    on_error="skip" are refused at once.
    """
    if mesh is not None and sharding is not None:
        raise InvalidArgument("jax.iterate: give mesh or sharding, not both")
    if mesh is not None:
        sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(mesh.axis_names[0]))
    if sharding is not None and isinstance(pipeline, Pipeline) and "rank" not in options and "world_size" not in options:
        options.update(rank=jax.process_index(), world_size=jax.process_count())
    loader = loader_of(pipeline, options, "jax.iterate", ("numpy", "jax"))
    try:
        if sharding is not None and loader.world_size > 1:
            _check_rows(loader)
    except InvalidArgument:
        if loader is not pipeline:
            loader.close()
        raise
    return Batches(loader, sharding)


def _check_rows(loader: Loader[Any]) -> None:
    """Raises InvalidArgument if ranks may get different numbers of rows.

    All processes take a step together. If one had a row less than the others, all would wait for
    each other forever.
    """
    if json.loads(loader.pipeline._description.last_args()).get("last", "partial") == "partial":
        raise InvalidArgument(
            f"jax.iterate: the last batch of an epoch may have a row more on one of the {loader.world_size} ranks than on another, and together they are "
            "one array of equal parts: .batch(n, last='drop') leaves it out, last='pad' fills it up")
    if loader._given["on_error"] == "skip":
        raise InvalidArgument(
            f"jax.iterate: on_error='skip' makes a batch shorter on one of the {loader.world_size} ranks, and together they are one array of equal parts; "
            "on_error='replace' puts another sample there")


class Batches(Steps):
    """The iterable that `iterate` returns. Every `for` runs one epoch; breaking out of it keeps the
    position.
    """

    def __init__(self, loader: Loader[Any], sharding: Any = None) -> None:
        super().__init__(loader)
        self.sharding = sharding

    def _convert(self, batch: Any) -> dict[str, Any]:
        if self.sharding is None:
            return _put(dict(batch.items()))
        return {name: self._sharded(name, value) for name, value in batch.items()}

    def _sharded(self, name: str, value: Any) -> Any:
        if not _is_array(value):
            raise InvalidArgument(f"jax.iterate: the field '{name}' is no array, so it cannot be divided over devices; leave it out by .select(...), or .pad('{name}') it")
        shape = (value.shape[0] * self.loader.world_size, *value.shape[1:])
        try:
            return jax.make_array_from_process_local_data(self.sharding, np.asarray(value), shape)
        except ValueError as error:
            raise InvalidArgument(
                f"jax.iterate: the {value.shape[0]} rows of '{name}' (times {self.loader.world_size} ranks) cannot be divided over {self.sharding}: {error}. "
                "A batch size that its devices divide, and .batch(n, last='drop') or last='pad', give them equal parts"
            ) from error


def _is_array(value: Any) -> bool:
    return hasattr(value, "__dlpack__") and hasattr(value, "shape")


def _put(fields: dict[str, Any]) -> dict[str, Any]:
    """Puts all arrays at once, which costs less than one after the other. Texts are returned
    unchanged.
    """
    texts = {name: value for name, value in fields.items() if isinstance(value, list)}
    return jax.device_put({name: value for name, value in fields.items() if name not in texts}) | texts if texts else jax.device_put(fields)


def array_of(array: np.ndarray) -> jax.Array:
    """Returns the array as a JAX array.

    On the CPU it shares the memory and keeps it alive; on other devices it is a copy, which may
    still be in progress. 64 bits become 32 unless JAX is configured otherwise.
    """
    if not isinstance(array, np.ndarray):  # bfloat16, which arrives by DLPack
        array = jax.dlpack.from_dlpack(array)
    return jax.device_put(array)
