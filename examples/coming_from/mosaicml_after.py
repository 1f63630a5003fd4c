"""Forebay over the files themselves. python mosaicml_after.py FOLDER"""
import sys

import numpy as np

import forebay as fb

pipeline = fb.images(sys.argv[1]).shuffle().decode_image().resize((64, 64)).batch(16)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    count = np.zeros(3, int)
    for batch in loader:
        count += np.bincount(batch["label"], minlength=3)
    print(loader.size, "samples", batch["image"].shape[1:], batch["image"].dtype, "per class", count.tolist())
