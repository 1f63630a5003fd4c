"""What a user says about a data set and what is done to it: an immutable description that touches no storage."""

from __future__ import annotations

import os
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from . import _core
from ._workers import FilterFunction, MapFunction, function_name, run_by
from .errors import InvalidArgument, Problem, not_yet

__all__ = ["IMAGENET", "Normalization", "Pipeline"]


class Normalization(NamedTuple):
    """Mean and standard deviation of each channel, of values from 0 to 1."""

    mean: tuple[float, ...]
    std: tuple[float, ...]


IMAGENET = Normalization(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
"""Of ImageNet's training pictures, red, green, blue."""


class Pipeline:
    """A source of samples and the operators after it.

    Immutable: every method returns a new pipeline. Nothing is read and nothing is judged before `check()` or before a
    `Loader` is opened; `print(pipeline)` shows one line per operator.

    Image operators work on the field `image` unless `field=` names another one. A list of fields shares one random draw,
    so that a picture and its mask stay aligned.
    """

    __slots__ = ("_classes", "_description", "_functions")

    def __init__(self, description: _core.Description, functions: Mapping[int, Any] | None = None) -> None:
        if not isinstance(description, _core.Description):
            raise TypeError("a Pipeline begins with a source: fb.images, fb.files, fb.manifest, fb.arrays or fb.Dataset")
        self._description = description
        self._functions: dict[int, Any] = dict(functions or {})
        self._classes: tuple[str, ...] | None = None

    # Order

    def shuffle(self, block: int | None = None, lanes: int | None = None) -> Pipeline:
        """One global permutation of all samples per epoch, a new one each epoch, from the loader's seed.

        Args:
            block: chunks that are mixed together, for sources stored in chunks (8 by default).
            lanes: spans of the data that hosts own, for sources stored in chunks (1 by default).
        """
        return self._then("shuffle", block=block, lanes=lanes)

    def take(self, n: int) -> Pipeline:
        """Only the samples with the first `n` ids."""
        return self._then("take", n=n)

    # Images

    def decode_image(
        self, mode: str = "rgb", *, field: str | Sequence[str] | None = None, max_pixels: int = 100_000_000
    ) -> Pipeline:
        """Decodes JPEG, PNG, WebP or BMP into the field `image`: uint8, (height, width, channels).

        As Pillow would: EXIF orientation applied, alpha dropped, 16 bits become 8 by their upper byte, CMYK converted.
        Only the part that a following crop needs is decoded.

        Args:
            mode: "rgb" (3 channels) or "gray" (1 channel).
            field: the encoded field; by default `image`, else `bytes`.
            max_pixels: larger pictures are Unsupported.

        Errors of a sample: Corrupt for damaged data, Unsupported for other formats.
        """
        return self._then("decode_image", field=_one_or_list(field), mode=mode, max_pixels=max_pixels)

    def resize(
        self,
        size: int | Sequence[int] | None = None,
        *,
        short_side: int | None = None,
        interpolation: str = "bilinear",
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Changes the size in pixels; `(h, w, c)` in and out.

        Args:
            size: one number for a square, or (height, width).
            short_side: instead of `size`: length of the shorter side; the other becomes `int(short_side * long / short)`.
            interpolation: "bilinear" (anti-aliased, always) or "nearest".
        """
        return self._then(
            "resize",
            size=_one_or_list(size),
            short_side=short_side,
            interpolation=interpolation,
            field=_one_or_list(field),
        )

    def center_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """The middle of a picture; it starts at `round((H - h) / 2)`. Where the picture is smaller, zeros are around it.

        Args:
            n: pixels; one number for a square, or (height, width).
        """
        return self._then("center_crop", n=_one_or_list(n), field=_one_or_list(field))

    def random_crop(self, n: int | Sequence[int], *, field: str | Sequence[str] = "image") -> Pipeline:
        """A part of a picture at a random place.

        Args:
            n: pixels; one number for a square, or (height, width).
        """
        return self._then("random_crop", n=_one_or_list(n), field=_one_or_list(field))

    def random_resized_crop(
        self,
        n: int | Sequence[int],
        *,
        scale: tuple[float, float] = (0.08, 1.0),
        ratio: tuple[float, float] = (3 / 4, 4 / 3),
        interpolation: str = "bilinear",
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """A random part of a picture, resized, as in torchvision's RandomResizedCrop.

        Args:
            n: pixels of the result; one number for a square, or (height, width).
            scale: share of the picture's area that the part has.
            ratio: its width over its height.
            interpolation: "bilinear" (anti-aliased) or "nearest".
        """
        return self._then(
            "random_resized_crop",
            n=_one_or_list(n),
            scale=_floats("scale", scale),
            ratio=_floats("ratio", ratio),
            interpolation=interpolation,
            field=_one_or_list(field),
        )

    def random_flip(self, p: float = 0.5, *, field: str | Sequence[str] = "image") -> Pipeline:
        """Mirrors left and right with probability `p`."""
        return self._then("random_flip", p=float(p), field=_one_or_list(field))

    def color_jitter(
        self,
        brightness: float | tuple[float, float] | None = None,
        contrast: float | tuple[float, float] | None = None,
        saturation: float | tuple[float, float] | None = None,
        hue: float | tuple[float, float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """Changes brightness, contrast, saturation and hue by random amounts, in that order.

        Each is a number (`0.4` draws a factor between 0.6 and 1.4; for `hue` a turn between -0.4 and 0.4) or the pair
        (low, high) to draw from. What is not given stays as it is.
        """
        return self._then(
            "color_jitter",
            brightness=_range(brightness),
            contrast=_range(contrast),
            saturation=_range(saturation),
            hue=_range(hue),
            field=_one_or_list(field),
        )

    def normalize(
        self,
        mean: Normalization | Sequence[float],
        std: Sequence[float] | None = None,
        *,
        field: str | Sequence[str] = "image",
    ) -> Pipeline:
        """`(x / 255 - mean) / std` per channel: float32, (channels, height, width) unless `.layout` or `.cast` say otherwise.

        Args:
            mean: a value per channel, or both at once: `fb.IMAGENET`.
            std: a value per channel.
        """
        if std is None:
            try:
                mean, std = mean
            except (TypeError, ValueError):
                raise InvalidArgument("normalize: give mean and std, or fb.IMAGENET") from None
        return self._then(
            "normalize",
            mean=_one_or_list(_floats("mean", mean)),
            std=_one_or_list(_floats("std", std)),
            field=_one_or_list(field),
        )

    def layout(self, order: str, *, field: str | Sequence[str] = "image") -> Pipeline:
        """The order of a picture's axes: "chw" (channels, height, width) or "hwc"."""
        return self._then("layout", order=order, field=_one_or_list(field))

    # Fields

    def cast(self, dtype: Any, *, field: str | Sequence[str] = "image") -> Pipeline:
        """Changes the element type.

        Args:
            dtype: "float32", "uint8", ..., or a NumPy type.
        """
        return self._then("cast", dtype=_dtype_name(dtype), field=_one_or_list(field))

    def map(
        self,
        fn: Callable[..., Mapping[str, Any]],
        fields: str | Sequence[str] | None = None,
        random: bool = False,
        workers: str = "threads",
        version: str | None = None,
    ) -> Pipeline:
        """Your own Python: `fn(sample)` gets a dict of fields and returns one.

        A field is a NumPy array (a copy, yours to write to), str or bytes; returned values may also be numbers or torch
        tensors. `fn` runs several times at once. Its exceptions keep type and traceback and gain the
        sample's key as a note.

        Args:
            fn: the function. It must not depend on anything that changes from call to call.
            fields: the fields that `fn` gets; what it returns is then added to the sample. By default it gets all of them,
                and what it returns is the new sample.
            random: call `fn(sample, rng)` with a `numpy.random.Generator` made for this sample, epoch and step.
            workers: "threads": on threads of Python's. "processes": in worker processes, as many as the loader's `threads`, for
                functions that hold the interpreter lock; InvalidArgument when the loader is opened if `fn` cannot be pickled.
            version: say when the function changed; part of the pipeline's fingerprint.
        """
        _check_callable(fn, "map")
        function = run_by(workers, ".map", MapFunction(fn, random))
        return self._with_function(
            "map", fn, function, fields=_one_or_list(fields), random=bool(random) or None, version=version
        )

    def filter(self, fn: Callable[[dict[str, Any]], bool], fields: str | Sequence[str] | None = None) -> Pipeline:
        """Keeps the samples for which `fn(sample)` is true.

        Decided once over the whole data set, in a pass that reads only the fields named, and kept: lengths stay known.

        Args:
            fn: the function.
            fields: the fields that `fn` gets, by default all of them.
        """
        _check_callable(fn, "filter")
        return self._with_function("filter", fn, FilterFunction(fn), fields=_one_or_list(fields))

    def select(self, *fields: str) -> Pipeline:
        """Only these fields. What only the others needed is not read."""
        return self._then("select", fields=list(fields))

    def rename(self, **names: str) -> Pipeline:
        """Gives fields new names: `.rename(old="new")`."""
        return self._then("rename", names=dict(sorted(names.items())))

    def pad(self, field: str, value: float = 0, length: int | None = None) -> Pipeline:
        """Fills ragged fields up, so that a batch is one array instead of `(values, offsets)`.

        Args:
            field: the field; its first axis may differ from sample to sample.
            value: what to fill up with.
            length: the length of every row; by default that of the longest in the batch.
        """
        return self._then("pad", field=field, value=float(value), length=length)

    def cache(self, ram: int | str = 0, disk: int | str = 0, dir: str | os.PathLike[str] | None = None) -> Pipeline:
        """Keeps what the steps before it made. Not there yet: raises Unsupported."""
        raise not_yet(".cache", "leave it out: it would change speed only, never content")

    def batch(self, n: int, last: str = "partial") -> Pipeline:
        """`n` samples make a batch on each rank; the last operator.

        Every rank takes the same number of steps. Fixed shapes stack to (n, ...); ragged fields become `(values, offsets)`;
        bytes and text become lists.

        Args:
            n: samples per batch and rank.
            last: what becomes of an epoch's tail. "partial": dealt out in sizes that differ by one at most; "drop": left
                out; "pad": filled up with repeats, which `batch.padding` counts.
        """
        return self._then("batch", n=n, last=last)

    # Looking at it

    @property
    def classes(self) -> list[str]:
        """Names of the classes in the order of their labels. Reads the listing on first use."""
        if self._classes is None:
            self._classes = tuple(self._description.classes())
        return list(self._classes)

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that decides what comes out: all but the batch size and caches."""
        return self._description.fingerprint()

    def check(self) -> list[Problem]:
        """Everything that is wrong with this pipeline, as (operator, message, remedy). Touches no storage."""
        return [Problem(*problem) for problem in self._description.check()]

    def to_json(self) -> str:
        """This pipeline as JSON. InvalidArgument where it holds what JSON cannot: functions and arrays."""
        return self._description.to_json()

    @classmethod
    def from_json(cls, text: str) -> Pipeline:
        """The pipeline that `to_json` wrote. InvalidArgument where the text is none."""
        return cls(_core.Description.from_json(text))

    def __str__(self) -> str:
        return self._description.to_text()

    def __repr__(self) -> str:
        return self._description.to_text()

    def __reduce__(self):
        return Pipeline.from_json, (self.to_json(),)

    # Building

    def _then(self, name: str, **args: Any) -> Pipeline:
        return Pipeline(self._description.append(name, _plain(args)), self._functions)

    def _with_function(self, name: str, fn: Callable, function: Any, **args: Any) -> Pipeline:
        description = self._description.append(name, _plain(args), f"<{function_name(fn)}>")
        return Pipeline(description, {**self._functions, len(description.steps()) - 1: function})


# Arguments take the one form that C++ and JSON files give them too, so that equal pipelines have equal fingerprints: what is
# not given is left out, and a list of one is its element.


def _plain(args: dict[str, Any]) -> dict[str, Any]:
    return {name: _number(value) for name, value in args.items() if value is not None}


def _number(value: Any) -> Any:
    # NumPy's numbers are not int and float, but mean the same.
    if getattr(value, "shape", None) == ():
        return value.item()
    return [_number(one) for one in value] if isinstance(value, (list, tuple)) else value


def _one_or_list(value: Any) -> Any:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    return value[0] if len(value) == 1 else list(value)


def _range(value: float | tuple[float, float] | None) -> float | list[float] | None:
    if value is None:
        return None
    return _one_or_list([float(one) for one in value]) if isinstance(value, Sequence) else float(value)


def _floats(name: str, values: Any) -> list[float]:
    try:
        return [float(value) for value in values]
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} is {values!r}; it must be a list of numbers") from None


def _dtype_name(dtype: Any) -> str:
    if isinstance(dtype, str):
        return dtype
    import numpy as np

    return np.dtype(dtype).name


def _check_callable(fn: Any, name: str) -> None:
    if not callable(fn):
        raise InvalidArgument(f"{name}: {fn!r} is not a function")
