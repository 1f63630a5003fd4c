"""LitData's raw streaming: the objects as they lie in the bucket, those of a batch fetched at once.

It writes its index into the bucket beside the photographs; storage.py removes it after the run.
"""

import tempfile

import litdata
import torch
from litdata import StreamingRawDataset
from litdata.streaming import downloader

import torch_batches

downloader._OBSTORE_CLIENT_OPTIONS["allow_http"] = True  # it has no option for a gateway without TLS


class Photographs(StreamingRawDataset):
    """Its items are bytes alone; the number of each is added, from the key that it has in its index."""

    def __init__(self, job, **arguments):
        super().__init__(f"s3://{job.bucket}/{job.prefix}", **arguments)
        prefix = f"s3://{job.bucket}/{job.prefix}/"
        self.numbers = [job.number_of[item.path.removeprefix(prefix)] for item in self.items]

    def __getitems__(self, places):
        return [(self.numbers[place], data) for place, data in zip(places, super().__getitems__(places))]


def epochs(job):
    with tempfile.TemporaryDirectory(dir=job.work) as folder:
        yield from torch_batches.epochs(job, Photographs(job, cache_dir=folder))


def name():
    return "LitData, raw"


def version():
    return f"litdata {litdata.__version__}, torch {torch.__version__}"


def settings(job):
    return torch_batches.settings(job) | {"data set": "StreamingRawDataset"}
