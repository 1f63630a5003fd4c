"""A pipeline of photographs, step by step in Pillow and NumPy, as a DataLoader user would write it
by hand.
"""

from __future__ import annotations

import math
import os
import random
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np

__all__ = ["Untranslatable", "Work", "fixed", "work_of"]

FLOATS = ("float16", "float32", "float64")
FIELDS = ("image", "label", "key")


class Untranslatable(Exception):
    """A step that this side cannot do as Forebay does it. The message names it."""


@dataclass
class Work:
    """The steps for each sample, and how samples become batches."""

    root: str = ""
    take: int | None = None
    shuffle: bool = False
    batch: int = 1
    drop_last: bool = False
    fields: tuple[str, ...] = FIELDS
    image_steps: list[Callable[[Any, random.Random], Any]] = field(default_factory=list)

    def sample(self, key: str, label: int, rng: random.Random) -> dict[str, Any]:
        made = {"label": label, "key": key}
        if "image" in self.fields:
            image: Any = os.path.join(self.root, key)
            for step in self.image_steps:
                image = step(image, rng)
            made["image"] = np.ascontiguousarray(image)
        return {name: made[name] for name in self.fields}


def fixed(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Returns the steps with the random ones made deterministic, so that values can be compared."""
    out = []
    for step in steps:
        if step["op"] == "random_resized_crop":
            height, width = _size(step["n"])
            out.append({"op": "resize", "size": [height, width], **_kept(step, "interpolation", "field")})
        elif step["op"] == "random_crop":
            out.append({"op": "center_crop", "n": step["n"], **_kept(step, "field")})
        elif step["op"] == "random_flip":
            out.append({**step, "p": 1.0 if step.get("p", 0.5) > 0 else 0.0})
        elif step["op"] != "shuffle":
            out.append(step)
    return out


def work_of(steps: list[dict[str, Any]]) -> Work:
    """Converts the steps. Raises Untranslatable, which names the first step that cannot be
    translated.
    """
    work = Work()
    array = decoded = False
    for number, step in enumerate(steps):
        name = step["op"]
        if name not in TRANSLATED:
            raise Untranslatable(f"step {number}, {name}, cannot be translated; there are: {', '.join(sorted(TRANSLATED))}")
        if name in IMAGE_STEPS:
            _check(number, step, decoded, array)
            work.image_steps.append(IMAGE_STEPS[name](step))
            decoded = True
            array = array or name in ARRAY_STEPS
        else:
            _of_samples(work, number, step)
    if "image" in work.fields and not decoded:
        raise Untranslatable("step decode_image is missing: encoded pictures are nothing that is compared here")
    return work


def _of_samples(work: Work, number: int, step: dict[str, Any]) -> None:
    name = step["op"]
    if name == "images":
        if step.get("split_by", "folder") != "folder" or "://" in step["root"]:
            raise Untranslatable(f"step {number}, images: only a local folder with a folder per class is translated, not {step['root']}")
        work.root = step["root"]
    elif name == "shuffle":
        work.shuffle = True
    elif name == "take":
        work.take = step["n"] if work.take is None else min(work.take, step["n"])
    elif name == "select":
        work.fields = tuple(one for one in work.fields if one in step["fields"])
    elif name == "batch":
        if step.get("last", "partial") == "pad":
            raise Untranslatable(f"step {number}, batch: last=\"pad\" is nothing that other loaders have")
        work.batch, work.drop_last = step["n"], step.get("last") == "drop"


def _check(number: int, step: dict[str, Any], decoded: bool, array: bool) -> None:
    name = step["op"]
    where = f"step {number}, {name}"
    if step.get("field", "image") != "image":
        raise Untranslatable(f"{where}: only the field image is translated, not {step['field']}")
    if step.get("interpolation", "bilinear") != "bilinear":
        raise Untranslatable(f"{where}: only bilinear interpolation is translated, not {step['interpolation']}")
    if name == "decode_image":
        if step.get("mode", "rgb") != "rgb":
            raise Untranslatable(f"{where}: only mode rgb is translated, not {step['mode']}")
    elif not decoded:
        raise Untranslatable(f"{where} stands before decode_image")
    elif array and name not in ARRAY_STEPS:
        raise Untranslatable(f"{where} stands behind a step that makes an array, and works on pictures here")
    if name == "cast" and (step["dtype"] not in FLOATS or step.get("errors", "raise") != "raise"):
        raise Untranslatable(f"{where}: only to {', '.join(FLOATS)} is translated, not {step['dtype']}")


def _size(n: Any) -> tuple[int, int]:
    return (n, n) if isinstance(n, int) else (n[0], n[1])


def _kept(step: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: step[name] for name in names if name in step}


def _decode(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    from PIL import Image, ImageOps

    def decode(path: Any, rng: random.Random) -> Any:
        with Image.open(path) as file:
            return ImageOps.exif_transpose(file).convert("RGB")

    return decode


def _scaled(image: Any, height: int, width: int, box: Any = None) -> Any:
    from PIL import Image

    return image.resize((width, height), Image.Resampling.BILINEAR, box)


def _resize(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    short = step.get("short_side")

    def resize(image: Any, rng: random.Random) -> Any:
        if short is None:
            return _scaled(image, *_size(step["size"]))
        width, height = image.size
        if width < height:
            return _scaled(image, int(short * height / width), short)
        return _scaled(image, short, int(short * width / height))

    return resize


def _cut(image: Any, left: int, top: int, height: int, width: int) -> Any:
    if left < 0 or top < 0 or left + width > image.size[0] or top + height > image.size[1]:
        raise ValueError(f"a crop of {height} x {width} is larger than the picture of {image.size[1]} x {image.size[0]}")
    return image.crop((left, top, left + width, top + height))


def _center_crop(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    height, width = _size(step["n"])
    return lambda image, rng: _cut(image, round((image.size[0] - width) / 2), round((image.size[1] - height) / 2), height, width)


def _random_crop(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    height, width = _size(step["n"])

    def crop(image: Any, rng: random.Random) -> Any:
        return _cut(image, rng.randint(0, max(0, image.size[0] - width)), rng.randint(0, max(0, image.size[1] - height)), height, width)

    return crop


def _window(size: tuple[int, int], scale: Any, ratio: Any, rng: random.Random) -> tuple[int, int, int, int]:
    """Returns (left, top, width, height), with the distribution that torchvision documents for
    RandomResizedCrop.
    """
    width, height = size
    for _ in range(10):
        area = width * height * rng.uniform(*scale)
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return rng.randint(0, width - w), rng.randint(0, height - h), w, h
    w = min(width, round(height * ratio[1]))
    h = min(height, round(width / ratio[0]))
    return (width - w) // 2, (height - h) // 2, w, h


def _random_resized_crop(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    height, width = _size(step["n"])
    scale, ratio = step.get("scale", (0.08, 1.0)), step.get("ratio", (3 / 4, 4 / 3))

    def crop(image: Any, rng: random.Random) -> Any:
        left, top, w, h = _window(image.size, scale, ratio, rng)
        return _scaled(_cut(image, left, top, h, w), height, width)

    return crop


def _random_flip(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    from PIL import Image

    p = step.get("p", 0.5)
    return lambda image, rng: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if rng.random() < p else image


def _normalize(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    scale = 1 / (255 * np.asarray(step["std"], np.float32).reshape(-1, 1, 1))
    shift = np.asarray(step["mean"], np.float32).reshape(-1, 1, 1) / np.asarray(step["std"], np.float32).reshape(-1, 1, 1)

    def normalize(image: Any, rng: random.Random) -> Any:
        made = np.asarray(image).transpose(2, 0, 1).astype(np.float32, order="C")
        made *= scale
        made -= shift
        return made

    return normalize


def _cast(step: dict[str, Any]) -> Callable[[Any, random.Random], Any]:
    return lambda image, rng: np.asarray(image).astype(step["dtype"])


IMAGE_STEPS: dict[str, Callable[[dict[str, Any]], Callable[[Any, random.Random], Any]]] = {
    "decode_image": _decode,
    "resize": _resize,
    "center_crop": _center_crop,
    "random_crop": _random_crop,
    "random_resized_crop": _random_resized_crop,
    "random_flip": _random_flip,
    "normalize": _normalize,
    "cast": _cast,
}
ARRAY_STEPS = ("normalize", "cast")
TRANSLATED = {*IMAGE_STEPS, "images", "shuffle", "take", "select", "batch"}
