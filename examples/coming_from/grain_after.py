"""A Forebay pipeline over a folder of photographs. python grain_after.py FOLDER"""
import sys

import numpy as np

import forebay as fb

pipeline = fb.images(sys.argv[1]).shuffle().decode_image().resize((64, 64)).random_flip().batch(16)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    count = np.zeros(3, int)
    for batch in loader:
        if batch.step == 0:
            state = loader.state_dict()           # for any number of ranks and any batch size
        count += np.bincount(batch["label"], minlength=3)
    print(len(loader), "batches", batch["image"].shape[1:], batch["image"].dtype, "per class", count.tolist())
