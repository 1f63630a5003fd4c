"""Forebay, as its API page shows it."""

import os

import forebay as fb
import numpy as np


def epochs(paths, labels, batch, threads, seed):
    numbers = np.asarray(labels)
    pipeline = (
        fb.images(os.path.dirname(os.path.dirname(paths[0])))
          .shuffle()
          .decode_image()
          .random_resized_crop(224)
          .random_flip()
          .normalize(fb.IMAGENET)
          .batch(batch)
    )
    with fb.Loader(pipeline, seed=seed, threads=threads) as loader:
        while True:
            yield one_epoch(loader, numbers, paths)


def one_epoch(loader, numbers, paths):
    """Ids are the ranks of the keys in byte order, which is the order of the list."""
    seen = []
    for batch in loader:
        seen.append((batch.ids, np.array(batch["label"])))
        yield batch["image"], numbers[batch.ids]
    ids, labels = (np.concatenate(column) for column in zip(*seen))
    classes = [os.path.basename(os.path.dirname(path)) for path in paths]
    if not np.array_equal(labels, np.unique(classes, return_inverse=True)[1][ids]):
        raise AssertionError("a label is not the class of its photograph's folder")


def name():
    return "Forebay"


def version():
    return f"forebay {fb.__version__}"


def settings():
    return {"workers": "threads", "resample": "bilinear, anti-aliased", "decode": "crop only"}
