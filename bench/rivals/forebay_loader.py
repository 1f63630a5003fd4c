"""Forebay, as its API page shows it."""

import os

import forebay as fb
import numpy as np


def epochs(paths, labels, batch, threads, seed):
    root = os.path.dirname(os.path.dirname(paths[0]))
    classes = [os.path.basename(os.path.dirname(path)) for path in paths]
    expected = np.unique(classes, return_inverse=True)[1]
    numbers = np.asarray(labels)
    pipeline = (
        fb.images(root)
          .shuffle()
          .decode_image()
          .random_resized_crop(224)
          .random_flip()
          .normalize(fb.IMAGENET)
          .batch(batch)
    )
    with fb.Loader(pipeline, seed=seed, threads=threads) as loader:
        while True:
            yield one_epoch(loader, numbers, expected)


def one_epoch(loader, numbers, expected):
    """Ids are the ranks of the keys in byte order, which is the order of the list."""
    for batch in loader:
        if not np.array_equal(batch["label"], expected[batch.ids]):
            raise AssertionError("a label is not the class of its photograph's folder")
        yield batch["image"], numbers[batch.ids]


def name():
    return "Forebay"


def version():
    return f"forebay {getattr(fb, '__version__', 'unknown')}"


def settings():
    return {"workers": "threads", "resample": "bilinear, anti-aliased", "decode": "crop only"}
