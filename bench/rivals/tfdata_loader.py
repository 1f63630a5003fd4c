"""tf.data with TensorFlow's own image operators: crop decode, anti-aliased resize."""

import math
import os
from itertools import islice

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402  (the log level is read on import)

from recipe import ANTIALIASED, FLIP, MEAN, RATIO, SCALE, SIZE, STD  # noqa: E402

ANTIALIAS = True


def photo(path, label):
    data = tf.io.read_file(path)
    shape = tf.io.extract_jpeg_shape(data)
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        shape, tf.zeros([0, 0, 4]), area_range=SCALE, aspect_ratio_range=RATIO, max_attempts=10,
        min_object_covered=0.0, use_image_if_no_bounding_boxes=True)
    window = tf.stack([begin[0], begin[1], size[0], size[1]])
    image = tf.image.decode_and_crop_jpeg(data, window, channels=3)
    image = tf.image.resize(image, (SIZE, SIZE), method="bilinear", antialias=ANTIALIAS)
    image = tf.cond(tf.random.uniform([]) < FLIP, lambda: tf.reverse(image, [1]), lambda: image)
    image = image * tf.constant([1 / (255 * s) for s in STD]) - tf.constant([m / s for m, s in zip(MEAN, STD)])
    return tf.ensure_shape(tf.transpose(image, (2, 0, 1)), (3, SIZE, SIZE)), label


def epochs(paths, labels, batch, threads, seed):
    tf.random.set_seed(seed)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = 1
    photos = (tf.data.Dataset.from_tensor_slices((paths, labels))
              .shuffle(len(paths), seed=seed)
              .map(photo, num_parallel_calls=threads)
              .batch(batch)
              .repeat()
              .prefetch(2)
              .with_options(options))
    batches = iter(photos)
    while True:
        yield ((images.numpy(), numbers.numpy()) for images, numbers in islice(batches, math.ceil(len(paths) / batch)))


def name():
    return "tf.data"


def version():
    return f"tensorflow {tf.__version__}"


def settings():
    resample = ANTIALIASED if ANTIALIAS else "bilinear, not anti-aliased"
    return {"workers": "threads (private pool), map in parallel, prefetch 2, repeated", "resample": resample,
            "decode": "crop only, TensorFlow's default (fast integer) DCT"}
