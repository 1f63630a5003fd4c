"""The package webdataset over tar shards. python webdataset_before.py 'shards/{000..002}.tar'"""
import sys

import numpy as np
import webdataset as wds


def prepared(sample):
    image, label = sample
    return np.asarray(image.resize((64, 64)), np.uint8), label


data = (
    wds.WebDataset(sys.argv[1], shardshuffle=3, seed=7)
    .shuffle(100)                                  # a buffer of 100 samples
    .decode("pil")
    .to_tuple("jpg", "cls")
    .map(prepared)
    .batched(16)
)
count, batches = np.zeros(3, int), 0
for images, labels in data:
    count += np.bincount(labels, minlength=3)
    batches += 1
print(batches, "batches", images.shape[1:], images.dtype, "per class", count.tolist())
