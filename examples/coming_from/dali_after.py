"""A Forebay pipeline over a folder of photographs. python dali_after.py FOLDER"""
import sys

import numpy as np

import forebay as fb

pipeline = (
    fb.images(sys.argv[1])
    .shuffle()
    .decode_image()
    .random_resized_crop(64)
    .random_flip()
    .normalize(fb.IMAGENET)
    .batch(16)
)
with fb.Loader(pipeline, seed=7) as loader:
    count = np.zeros(3, int)
    for batch in loader:
        count += np.bincount(batch["label"], minlength=3)
    print("images", batch["image"].shape[1:], batch["image"].dtype, "per class", count.tolist())
