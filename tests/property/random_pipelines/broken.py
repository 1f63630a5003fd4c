"""Wrong answers planted in the model, so that a test can see them found."""

from __future__ import annotations

import contextlib
from typing import Iterator
from unittest import mock

from . import model_columns, model_images
from .fields import names_of


def _off_by_one(row, n, field="image"):
    """A centre crop one pixel too far down."""
    _right["center_crop"](row, n, field)
    for name in names_of(field):
        it = row.fields[name]
        if hasattr(it, "value"):
            row.fields[name] = it.of(it.value[::-1].copy())


def _no_upper_limit(row, field, min=None, max=None):  # noqa: A002
    _right["clip"](row, field, min=min)


_right = {"center_crop": model_images.center_crop, "clip": model_columns.clip}
_WRONG = {"center_crop": (model_images, _off_by_one), "clip": (model_columns, _no_upper_limit)}
BROKEN = list(_WRONG)


@contextlib.contextmanager
def broken_model(name: str) -> Iterator[None]:
    module, wrong = _WRONG[name]
    with mock.patch.object(module, name, wrong):
        yield
