"""Petastorm's BatchedDataLoader: exact batches out of a shuffling queue, as tensors."""

from petastorm.pytorch import BatchedDataLoader

import petastorm_reader
from mixing import BLOCK
from petastorm_reader import version  # noqa: F401


def epochs(job):
    with petastorm_reader.make_reader(job) as reader:
        loader = BatchedDataLoader(reader, batch_size=job.batch, shuffling_queue_capacity=BLOCK * job.group_rows)
        while True:
            yield iter(loader)


def claims(job):
    return {"order": "rows", "partial": 1}


def name(job):
    return "petastorm, BatchedDataLoader"


def settings(job):
    return {"workers": f"{job.threads} threads", "shuffling queue": f"{BLOCK} row groups", "gives": "tensors",
            "cache": "local-disk" if job.cache else "none"}
