"""A pipeline as a tf.data.Dataset: `forebay.tf.dataset(pipeline)`. The arrays of a batch become tensors without a copy."""

from __future__ import annotations

import json
from typing import Any, Callable, Iterator, Mapping

import numpy as np

from ._steps import loader_of
from .errors import InvalidArgument
from .loader import Loader
from .pipeline import Pipeline

try:
    import tensorflow as tf
except ImportError as error:
    raise ImportError("forebay.tf needs TensorFlow: pip install tensorflow") from error

__all__ = ["dataset"]

Maker = Callable[[Any], Any]


def dataset(pipeline: Pipeline | Loader, *, spec: Mapping[str, Any] | None = None, state: str | None = None, **options: Any) -> tf.data.Dataset:
    """The pipeline's batches as a data set of dicts: an element is a batch, and going through the data set is one epoch.

        loader = fb.Loader(pipeline, seed=7)
        data = fb.tf.dataset(loader).map(lambda batch: (batch["image"], batch["label"]))
        model.fit(data, epochs=90)                # each of them another order
        save(loader.state_dict())

    Arrays are (rows, ...); ragged fields are tf.RaggedTensor, bytes and text tf.string, lists of them ragged tf.string. The
    element_spec is that of the pipeline, known before anything is read.

    The position is the loader's: going through the data set again goes on there, or begins the next epoch. With .prefetch and the like the loader is ahead of the
    trainer: `state=` then says which state belongs to which batch. One iterator at a time; shuffle and batch in the pipeline, not here.

    Args:
        pipeline: a Pipeline, or a Loader that is open already.
        spec: name → tf.TensorSpec (or tf.RaggedTensorSpec) of fields that user code makes, which nobody knows before; others may stand there, too.
        state: the name of a field to add: a scalar tf.string, the loader's state behind this batch as JSON, for
            `loader.load_state_dict(json.loads(...))`.
        options: of the Loader.

    Errors: InvalidArgument: a field whose type is not known and has no spec; a name that is not there; options beside a Loader; an `output` other than "numpy". What goes wrong while
    it runs is an error of TensorFlow's that holds the text of Forebay's.
    """
    loader = loader_of(pipeline, options, "tf.dataset")
    loader._prepare()
    makers, signature = {}, {}
    for name, kind, dtype, row in loader._core.batch_fields():
        given = (spec or {}).get(name)
        makers[name] = _maker(kind or _kind_of(name, given))
        signature[name] = given if given is not None else _spec(kind, dtype, row)
    for name in (spec or {}).keys() - signature.keys():
        makers[name], signature[name] = _maker(_kind_of(name, spec[name])), spec[name]
    if state is not None:
        if state in signature:
            raise InvalidArgument(f"tf.dataset: state={state!r} is the name of a field of the pipeline; give another one")
        signature[state] = tf.TensorSpec((), tf.string)
    if not signature:
        raise InvalidArgument("tf.dataset: user code makes the fields of this pipeline, and nobody knows them before: give spec={name: tf.TensorSpec(...)}")

    return _Passes(loader, makers, signature, state).dataset()


class _Passes:
    """Goes through the loader, one pass at a time: called by TensorFlow, which gets each batch as a flat list of arrays behind a bool that says whether
    there is one. Written out because `Dataset.from_generator`, which does the like, took more CPU time where fields are many."""

    def __init__(self, loader: Loader, makers: Mapping[str, Maker], signature: Mapping[str, Any], state: str | None) -> None:
        self.loader, self.makers, self.signature, self.state = loader, makers, signature, state
        self.parts = [part for spec in signature.values() for part in _parts(spec)]
        self.none = [np.False_, *(_nothing(part) for part in self.parts)]
        self.batches: Iterator[Any] = iter(())

    def begin(self) -> np.int64:
        self.batches = iter(self.loader)
        return np.int64(0)

    def next(self) -> list[Any]:
        batch = next(self.batches, None)
        return self.none if batch is None else [np.True_, *self._arrays(batch)]

    def _arrays(self, batch: Any) -> list[Any]:
        arrays = []
        for name in self.signature:
            if name == self.state:
                arrays.append(np.array(json.dumps(self.loader.state_dict()).encode(), object))
            elif name in batch:
                arrays.extend(self.makers[name](batch.buffers(name)))
            else:
                raise InvalidArgument(f"tf.dataset: spec= names the field '{name}', which this batch has not; it has {', '.join(batch)}")
        if unknown := [name for name in batch if name not in self.signature]:
            raise InvalidArgument(f"tf.dataset: user code made the field '{unknown[0]}', which nobody knew of: give spec={{'{unknown[0]}': tf.TensorSpec(...)}}, "
                                  "or leave it out by .select")
        return arrays

    def dataset(self) -> tf.data.Dataset:
        types = [tf.bool, *(part.dtype for part in self.parts)]

        def step(_: Any) -> tuple[Any, ...]:
            there, *arrays = tf.numpy_function(self.next, [], types)
            there.set_shape(())
            for array, part in zip(arrays, self.parts):
                array.set_shape(part.shape)
            return there, *arrays

        def passed(_: Any) -> tf.data.Dataset:
            return tf.data.Dataset.counter().map(step).take_while(lambda there, *arrays: there).map(lambda there, *arrays: self._put_together(arrays))

        return tf.data.Dataset.range(1).map(lambda _: tf.numpy_function(self.begin, [], tf.int64)).flat_map(passed)

    def _put_together(self, arrays: tuple[Any, ...]) -> dict[str, Any]:
        left, element = iter(arrays), {}
        for name, spec in self.signature.items():
            parts = [next(left) for _ in _parts(spec)]
            element[name] = parts[0] if len(parts) == 1 else tf.RaggedTensor.from_row_splits(*parts, validate=False)
        return element


def _spec(kind: str, dtype: str, row: list[int]) -> Any:
    if kind == "dense":
        return tf.TensorSpec((None, *(None if size < 0 else size for size in row)), tf.as_dtype(dtype))
    if kind == "ragged":
        return tf.RaggedTensorSpec((None, None), tf.as_dtype(dtype), ragged_rank=1, row_splits_dtype=tf.int64)
    if kind in ("bytes", "text"):
        return tf.TensorSpec((None,), tf.string)
    return tf.RaggedTensorSpec((None, None), tf.string, ragged_rank=1, row_splits_dtype=tf.int64)


def _nothing(part: Any) -> np.ndarray:
    """Stands behind a bool that says so."""
    shape = [0 if size is None else size for size in part.shape]
    return np.full(shape, b"", object) if part.dtype == tf.string else np.zeros(shape, part.dtype.as_numpy_dtype)


def _parts(spec: Any) -> tuple[Any, ...]:
    """The tensors that a field comes in from Python: ragged ones are put together behind it, where that costs less."""
    if isinstance(spec, tf.RaggedTensorSpec):
        return tf.TensorSpec((None,), spec.dtype), tf.TensorSpec((None,), tf.int64)
    return (spec,)


def _kind_of(name: str, spec: Any) -> str:
    """What a field has to be that user code makes."""
    if spec is None:
        raise InvalidArgument(f"tf.dataset: the field '{name}' is made by user code, so its type is not known before: give spec={{'{name}': tf.TensorSpec(shape, dtype)}}")
    if isinstance(spec, tf.RaggedTensorSpec):
        return "text_list" if spec.dtype == tf.string else "ragged"
    return "text" if spec.dtype == tf.string else "dense"


def _maker(kind: str) -> Maker:
    return {"dense": _dense, "ragged": _dense, "bytes": _strings, "text": _strings, "bytes_list": _string_lists, "text_list": _string_lists}[kind]


def _dense(buffers: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return buffers


def _strings(buffers: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return (_cut(buffers[0], buffers[1]),)


def _string_lists(buffers: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    values, offsets, string_offsets = buffers
    return _cut(values, string_offsets), offsets


def _cut(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """bytes objects, one for each piece."""
    data, at = values.tobytes(), offsets.tolist()
    cut = np.empty(len(at) - 1, object)
    cut[:] = [data[begin:end] for begin, end in zip(at, at[1:])]
    return cut
