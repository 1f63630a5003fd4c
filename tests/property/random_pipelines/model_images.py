"""Image operators on the model's rows. Where an operator draws random numbers only type and shape are known."""

from __future__ import annotations

import math

import numpy as np
from PIL import Image

from .model_columns import normalize_columns
from .fields import names_of
from .sources import decoded
from .values import Bad, Known, opaque

def _pair(size) -> tuple:
    return (size, size) if isinstance(size, int) else tuple(size)


def decode_image(row, mode="rgb", field=None, max_pixels=None):
    names = names_of(field or [])
    if not names:
        names = [next(n for n in ("image", "bytes")
                      if n in row.fields and (isinstance(row.fields[n], Bad) or isinstance(row.fields[n].value, bytes)))]
    for name in names:
        it = row.fields.pop(name)
        if isinstance(it, Known):
            try:
                it = Known(*decoded(it.value, mode))
            except Exception:  # noqa: BLE001 (Pillow has many ways to say so)
                it = Bad(sure=it.value.startswith(b"no picture"))
        row.fields["image" if name == "bytes" else name] = it


def _form(it: Known) -> str:
    return it.form or ("hw" if it.value.ndim == 2 else "hwc")


def _pictures(row, names):
    """(name, it, its pixels as (h, w, c)) of those that are not bad."""
    bad = [row.fields[name] for name in names if isinstance(row.fields[name], Bad)]
    for name in names if bad else ():
        if isinstance(row.fields[name], Known):
            row.fields[name] = Bad(bad[0].errors, sure=False)
    for name in () if bad else names:
        it = row.fields[name]
        pixels = it.value.transpose(1, 2, 0) if _form(it) == "chw" else it.value
        yield name, it, pixels[:, :, None] if pixels.ndim == 2 else pixels


def _put(row, name, it, pixels, tolerance=None, form=None, laid_out=None):
    form = form or _form(it)
    value = pixels[:, :, 0] if form == "hw" else pixels.transpose(2, 0, 1) if form == "chw" else pixels
    tolerance = it.tolerance if tolerance is None else tolerance
    laid_out = it.laid_out if laid_out is None else laid_out
    row.fields[name] = Known(np.ascontiguousarray(value), tolerance, form, laid_out)


def nearest(size: int, to: int) -> list[int]:
    """As Pillow walks: adding, not multiplying."""
    step = size / to
    place, found = step * 0.5, []
    for _ in range(to):
        found.append(min(int(place), size - 1))
        place += step
    return found


def _bilinear(pixels, height, width):
    planes = [Image.fromarray(np.ascontiguousarray(pixels[:, :, c])) for c in range(pixels.shape[2])]
    return np.stack([np.asarray(p.resize((width, height), Image.Resampling.BILINEAR)) for p in planes], axis=2)


def resize(row, size=None, short_side=None, interpolation="bilinear", field="image"):
    for name, it, pixels in _pictures(row, names_of(field)):
        h, w = pixels.shape[:2]
        if size is not None:
            height, width = _pair(size)
        else:
            long = int(short_side * max(h, w) / min(h, w))
            height, width = (short_side, long) if h <= w else (long, short_side)
        tolerance = it.tolerance
        if interpolation == "nearest":
            pixels = pixels[nearest(h, height)][:, nearest(w, width)]
        elif (h, w) != (height, width):
            pixels, tolerance = _bilinear(pixels, height, width), tolerance + 1
        _put(row, name, it, pixels, tolerance)


def _middle(side: int, crop: int) -> tuple[int, int, int]:
    """Where it goes, where it comes from, and how much."""
    if crop > side:
        return (crop - side) // 2, 0, side
    return 0, round((side - crop) / 2), crop


def center_crop(row, n, field="image"):
    height, width = _pair(n)
    for name, it, pixels in _pictures(row, names_of(field)):
        made = np.zeros((height, width, pixels.shape[2]), pixels.dtype)
        (to_y, from_y, rows), (to_x, from_x, columns) = _middle(pixels.shape[0], height), _middle(pixels.shape[1], width)
        made[to_y : to_y + rows, to_x : to_x + columns] = pixels[from_y : from_y + rows, from_x : from_x + columns]
        _put(row, name, it, made)


def _random(row, field, size=None, must_fit=False):
    pictures = list(_pictures(row, names_of(field)))
    sides = {pixels.shape[:2] for _, _, pixels in pictures}
    wrong = size is not None and (len(sides) > 1 or (must_fit and any(h < size[0] or w < size[1] for h, w in sides)))
    for name, it, pixels in pictures:
        if wrong:
            row.fields[name] = Bad(frozenset({"Unsupported"}))
        else:
            made = opaque(pixels.dtype.name, (*(size or pixels.shape[:2]), pixels.shape[2]))
            _put(row, name, it, made.value, math.inf)


def random_crop(row, n, field="image"):
    _random(row, field, _pair(n), must_fit=True)


def random_resized_crop(row, n, scale=None, ratio=None, interpolation=None, field="image"):
    _random(row, field, _pair(n))


def random_flip(row, p=0.5, field="image"):
    _random(row, field)


def color_jitter(row, brightness=None, contrast=None, saturation=None, hue=None, field="image"):
    _random(row, field)


def layout(row, order, field="image"):
    for name, it, pixels in _pictures(row, names_of(field)):
        _put(row, name, it, pixels, form=order, laid_out=True)


def normalize(row, mean, std, field="image"):
    names = names_of(field)
    if any(isinstance(row.fields[name], Known) and row.fields[name].value.ndim < 2 for name in names):
        return normalize_columns(row, mean, std, names)
    for name, it, pixels in _pictures(row, names):
        m, s = (np.asarray(x, "float64") for x in (mean, std))
        made = ((pixels.astype("float64") / 255 - m) / s).astype("float32")
        _put(row, name, it, made, (it.tolerance / 255 + 1e-5) / float(s.min()), form=None if it.laid_out else "chw")
    return None
