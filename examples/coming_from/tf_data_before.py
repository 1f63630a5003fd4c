"""tf.data over a folder of photographs. python tf_data_before.py FOLDER"""
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

classes = sorted(path.name for path in Path(sys.argv[1]).iterdir())
files = [(str(path), label) for label, name in enumerate(classes) for path in sorted(Path(sys.argv[1], name).iterdir())]


def load(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    image = tf.image.resize(image, (64, 64), antialias=True) / 255
    return tf.image.random_flip_left_right(image), label


data = (
    tf.data.Dataset.from_tensor_slices(([path for path, _ in files], [label for _, label in files]))
    .shuffle(len(files), seed=7)                  # the buffer holds the whole data set
    .map(load, num_parallel_calls=tf.data.AUTOTUNE)
    .batch(16)
    .prefetch(tf.data.AUTOTUNE)
)
count = np.zeros(3, int)
for images, labels in data:
    count += np.bincount(labels, minlength=3)
print(len(data), "batches", tuple(images.shape), images.dtype.name, "per class", count.tolist())
