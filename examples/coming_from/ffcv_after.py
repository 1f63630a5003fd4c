"""A Forebay pipeline that keeps resized JPEG files, as FFCV's writer does. python ffcv_after.py FOLDER"""
import sys

import numpy as np

import forebay as fb

pipeline = (
    fb.images(sys.argv[1])
    .shuffle()
    .decode_image()
    .resize(short_side=96)
    .random_resized_crop(64)
    .random_flip()
    .layout("hwc")
    .batch(16)
)
made = fb.materialize(pipeline, "prepared", cut="resize", format="jpeg")     # once; standard JPEG files
with fb.Loader(made.pipeline, seed=7, epochs=1) as loader:
    count = np.zeros(3, int)
    for batch in loader:
        count += np.bincount(batch["label"], minlength=3)
    print("images", batch["image"].shape[1:], batch["image"].dtype, "per class", count.tolist())
