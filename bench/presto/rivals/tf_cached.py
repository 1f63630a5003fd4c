"""tf.data: the same steps with its own cache, or snapshot, before the random ones."""

import math
import os
from itertools import islice

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf  # noqa: E402  (the log level is read on import)

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def epochs(paths, tier, folder, size, crop, batch, threads, seed):
    tf.random.set_seed(seed)
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    scale, bias = tf.constant([1 / (255 * s) for s in STD]), tf.constant([m / s for m, s in zip(MEAN, STD)])

    def prepared(path, number):
        image = tf.image.decode_jpeg(tf.io.read_file(path), channels=3)
        image = tf.image.resize(image, (size, size), method="bilinear", antialias=True)
        return tf.cast(tf.round(image), tf.uint8), number

    def each_epoch(image, number):
        image = tf.image.random_flip_left_right(tf.image.random_crop(image, (crop, crop, 3)))
        return tf.cast(image, tf.float32) * scale - bias, number

    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    options.threading.max_intra_op_parallelism = 1
    made = tf.data.Dataset.from_tensor_slices((paths, tf.range(len(paths)))).map(prepared, num_parallel_calls=threads)
    kept = {"memory": lambda: made.cache(), "disk": lambda: made.cache(os.path.join(folder, "tf")),
            "snapshot": lambda: made.snapshot(os.path.join(folder, "snapshot"))}[tier]()
    batches = iter(kept.shuffle(len(paths), seed=seed).map(each_epoch, num_parallel_calls=threads).batch(batch).repeat().prefetch(2).with_options(options))
    while True:
        yield ((numbers.numpy(), images.numpy()) for images, numbers in islice(batches, math.ceil(len(paths) / batch)))


def name():
    return "tf.data"


def version():
    return f"tensorflow {tf.__version__}"


def settings():
    return {"threads": "private pool, maps in parallel, prefetch 2, repeated"}
