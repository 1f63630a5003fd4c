"""tf.data: sample_from_datasets, which draws the part of each sample at random."""

import json
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

BUFFER = 10_000
FIELDS = {"part": (np.int64, tf.int64), "row": (np.int64, tf.int64), "score": (np.float64, tf.float64), "text": (object, tf.string)}


def _decoded(lines):
    records = [json.loads(line) for line in lines]
    return [np.array([one[name] for one in records], kind) for name, (kind, _) in FIELDS.items()]


class Opened:
    def __init__(self, job, state):
        self.kind, self.folder = job.kind, job.work
        if job.kind == "arrays":
            sources = [tf.data.Dataset.from_tensor_slices(np.load(path, mmap_mode="r")) for path in job.paths]
        else:
            sources = [tf.data.TextLineDataset(path) for path in job.paths]
        endless = [source.shuffle(BUFFER, seed=job.seed).repeat() for source in sources]
        mixed = tf.data.Dataset.sample_from_datasets(endless, list(job.weights), seed=job.seed).batch(job.batch)
        if job.kind == "json":
            kinds = [kind for _, kind in FIELDS.values()]
            mixed = mixed.map(lambda lines: tf.numpy_function(_decoded, [lines], kinds), num_parallel_calls=job.threads)
        options = tf.data.Options()
        options.threading.private_threadpool_size = job.threads
        self.iterator = iter(mixed.prefetch(2).with_options(options))
        if state is not None:
            tf.train.Checkpoint(iterator=self.iterator).restore(state)
        self.about = {"name": "tf.data sample_from_datasets", "version": f"tensorflow {tf.__version__}",
                      "settings": {"shuffle": f"buffer of {BUFFER} for each part", "workers": "threads", "JSON": "json.loads in numpy_function"}}

    def batches(self):
        for batch in self.iterator:
            yield {"x": batch.numpy()} if self.kind == "arrays" else {name: value.numpy() for name, value in zip(FIELDS, batch, strict=True)}

    def state(self):
        return tf.train.Checkpoint(iterator=self.iterator).save(os.path.join(self.folder, "state"))

    def close(self):
        del self.iterator


def open_loader(job, state=None):
    return Opened(job, state)
