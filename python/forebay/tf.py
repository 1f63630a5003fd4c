"""A pipeline as a tf.data.Dataset: `forebay.tf.dataset(pipeline)`. The arrays of a batch become
tensors without a copy.
"""

from __future__ import annotations

import functools
import json
import weakref
from typing import TYPE_CHECKING, Any, Callable, Iterator, Mapping

import numpy as np

from ._steps import loader_of
from .errors import InvalidArgument
from .loader import Loader
from .pipeline import Pipeline

try:
    import tensorflow as tf
except ImportError as _error:
    raise ImportError("forebay.tf needs TensorFlow: pip install tensorflow") from _error

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._typing import LoaderOptions

__all__ = ["dataset"]

Maker = Callable[[Any], Any]


def dataset(pipeline: Pipeline | Loader, *, spec: Mapping[str, Any] | None = None, state: str | None = None, **options: Unpack[LoaderOptions]) -> tf.data.Dataset:
    """Returns the pipeline's batches as a data set of dicts. An element is a batch; one pass over
    the data set is one epoch.

        loader = fb.Loader(pipeline, seed=7)
        data = fb.tf.dataset(loader).map(lambda batch: (batch["image"], batch["label"]))
        model.fit(data, epochs=90)                # each epoch in another order
        save(loader.state_dict())

    Arrays are (rows, ...). Ragged fields are tf.RaggedTensor, bytes and text tf.string, lists of
    them ragged tf.string. The element_spec follows from the pipeline before anything is read.

    Make the data set once, not for each epoch: with many fields that takes TensorFlow some time. A
    loader that this function opens is closed with the data set.

    The position is the loader's: another pass over the data set continues there, or begins the next
    epoch. Nothing is fetched ahead by the data set itself. After .prefetch and similar
    transformations the loader is ahead of the trainer; `state=` then adds to each batch the state
    that belongs to it. Use one iterator at a time. Shuffle and batch in the pipeline, not here.

    Args:
        pipeline: a Pipeline, or an open Loader.
        spec: name → tf.TensorSpec (or tf.RaggedTensorSpec) of fields that user code makes, whose
            types are not known in advance. It may contain other fields, too.
        state: the name of a field to add: a scalar tf.string with the loader's state after this
            batch as JSON, for `loader.load_state_dict(json.loads(...))`.
        options: options of the Loader.

    Errors: InvalidArgument for a field of unknown type without a spec, an unknown name, options
    beside a Loader, or an `output` other than "numpy". Errors during iteration are TensorFlow
    errors with the text of Forebay's error.
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
    """Iterates over the loader, one pass at a time. TensorFlow calls it and gets each batch as a
    flat list of arrays.

    It is one `map` of one function in raw ops, and an error ends it. Most of TensorFlow's cost is
    preparing its functions, for each data set and again for each pass, and `Dataset.from_generator`
    has four of them.
    """

    def __init__(self, loader: Loader, makers: Mapping[str, Maker], signature: Mapping[str, Any], state: str | None) -> None:
        self.loader, self.signature, self.state = loader, signature, state
        self.fields = [(name, makers.get(name)) for name in sorted(signature)]  # sorted, as tf.nest does
        self.parts = [part for name, _ in self.fields for part in _parts(signature[name])]
        self.batches: Iterator[Any] = iter(())
        self.checked: list[str] = []

    def next(self, step: np.int64) -> list[Any]:
        """Returns the batch of this step of a pass. StopIteration ends the pass for TensorFlow,
        too.
        """
        if step == 0:
            self.batches = iter(self.loader)
        return self._arrays(next(self.batches))

    def _arrays(self, batch: Any) -> list[Any]:
        names = list(batch)
        if names != self.checked:
            self._check(names)
            self.checked = names
        arrays: list[Any] = []
        for name, maker in self.fields:
            arrays += maker(batch.buffers(name)) if maker else [np.array(json.dumps(self.loader.state_dict()).encode(), object)]
        return arrays

    def _check(self, names: list[str]) -> None:
        if missing := [name for name in self.signature if name not in names and name != self.state]:
            raise InvalidArgument(f"tf.dataset: spec= names the field '{missing[0]}', which this batch has not; it has {', '.join(names)}")
        if unknown := [name for name in names if name not in self.signature]:
            raise InvalidArgument(f"tf.dataset: user code made the field '{unknown[0]}', which nobody knew of: give spec={{'{unknown[0]}': tf.TensorSpec(...)}}, "
                                  "or leave it out by .select")

    def dataset(self) -> tf.data.Dataset:
        # "ints on device" keeps TensorFlow from distributing the function over devices and
        # optimizing it for that at the start of each pass, which took several times as long.
        step = tf.function(functools.partial(self._step, self._called()), autograph=False, experimental_attributes={"experimental_ints_on_device": True})
        step = step.get_concrete_function(tf.TensorSpec((), tf.int64))
        flat = [_flat(self.signature[name]) for name, _ in self.fields]
        steps = tf.raw_ops.MapDataset(
            input_dataset=tf.data.experimental.to_variant(tf.data.Dataset.counter()), other_arguments=step.captured_inputs, f=step,
            output_types=[spec.dtype for spec in flat], output_shapes=[spec.shape for spec in flat],
            use_inter_op_parallelism=False,  # wakes no other thread
            preserve_cardinality=False)  # the end of the map is the end of the data set
        data = tf.data.experimental.from_variant(steps, dict(self.signature))
        data._forebay = self, step  # keeps them alive as long as the data set
        options = tf.data.Options()
        options.experimental_optimization.inject_prefetch = False  # prefetching would move the loader's state ahead of the delivered batches
        return data.with_options(options)

    def _called(self) -> Callable[[np.int64], list[Any]]:
        """Returns the function that TensorFlow calls and never releases.

        The loader must end with the data set, unless the data set is made within a graph, which
        outlives it.
        """
        if not tf.executing_eagerly():
            return self.next
        weak = weakref.WeakMethod(self.next)

        def next_of_those_there(step: np.int64) -> list[Any]:
            if there := weak():
                return there(step)
            raise InvalidArgument("tf.dataset: the tf.data.Dataset is gone, and the loader with it: keep it as long as something reads on")

        return next_of_those_there

    def _step(self, called: Callable[[np.int64], list[Any]], number: Any) -> list[Any]:
        arrays, tensors = iter(tf.numpy_function(called, [number], [part.dtype for part in self.parts])), []
        for name, _ in self.fields:
            spec = self.signature[name]
            if isinstance(spec, tf.RaggedTensorSpec):
                values, splits = next(arrays), tf.cast(next(arrays), spec.row_splits_dtype)
                tensors.append(tf.raw_ops.RaggedTensorToVariant(rt_nested_splits=[splits], rt_dense_values=values, batched_input=False))
            else:
                tensors.append(next(arrays))
        return tensors


def _spec(kind: str, dtype: str, row: list[int]) -> Any:
    if kind == "dense":
        return tf.TensorSpec((None, *(None if size < 0 else size for size in row)), tf.as_dtype(dtype))
    if kind == "ragged":
        return tf.RaggedTensorSpec((None, None, *(None if size < 0 else size for size in row)), tf.as_dtype(dtype), ragged_rank=1, row_splits_dtype=tf.int64)
    if kind in ("bytes", "text"):
        return tf.TensorSpec((None,), tf.string)
    return tf.RaggedTensorSpec((None, None), tf.string, ragged_rank=1, row_splits_dtype=tf.int64)


def _flat(spec: Any) -> tf.TensorSpec:
    """Returns the spec of a field inside a TensorFlow data set."""
    return tf.TensorSpec((), tf.variant) if isinstance(spec, tf.RaggedTensorSpec) else spec


def _parts(spec: Any) -> tuple[Any, ...]:
    """Returns the specs of the tensors in which Python passes a field. Ragged tensors are assembled
    afterwards, where that costs less.
    """
    if isinstance(spec, tf.RaggedTensorSpec):
        return tf.TensorSpec((None, *spec.shape[2:]), spec.dtype), tf.TensorSpec((None,), tf.int64)
    return (spec,)


def _kind_of(name: str, spec: Any) -> str:
    """Returns the required kind of a field that user code makes."""
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
    """Returns one bytes object per piece."""
    data, at = values.tobytes(), offsets.tolist()
    cut = np.empty(len(at) - 1, object)
    cut[:] = [data[begin:end] for begin, end in zip(at, at[1:])]
    return cut
