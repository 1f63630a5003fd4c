"""A Forebay pipeline as a tf.data.Dataset. python tf_data_after.py FOLDER"""
import sys

import numpy as np

import forebay as fb

pipeline = (
    fb.images(sys.argv[1])
    .shuffle()                                    # over all samples, without a buffer
    .decode_image()
    .resize((64, 64))
    .random_flip()
    .normalize(mean=(0, 0, 0), std=(1, 1, 1))
    .layout("hwc")
    .batch(16)
)
with fb.Loader(pipeline, seed=7) as loader:
    data = fb.tf.dataset(loader).map(lambda batch: (batch["image"], batch["label"]))   # for model.fit
    count = np.zeros(3, int)
    for images, labels in data:
        count += np.bincount(labels, minlength=3)
    print(len(loader), "batches", tuple(images.shape), images.dtype.name, "per class", count.tolist())
