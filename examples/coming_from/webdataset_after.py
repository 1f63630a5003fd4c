"""Forebay over the same tar shards. python webdataset_after.py 'shards/{000..002}.tar'"""
import sys

import numpy as np

import forebay as fb

pipeline = (
    fb.webdataset(sys.argv[1], fields={"image": "jpg", "label": "cls"})
    .shuffle()                                     # over all shards
    .decode_image()
    .resize((64, 64))
    .batch(16)
)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    count = np.zeros(3, int)
    for batch in loader:
        count += np.bincount(batch["label"], minlength=3)
    print(len(loader), "batches", batch["image"].shape[1:], batch["image"].dtype, "per class", count.tolist())
