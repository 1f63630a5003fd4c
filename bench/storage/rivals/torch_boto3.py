"""torch's DataLoader over a user's data set that reads with boto3: object by object, or a batch at once on threads.

With `dropin` Forebay's own DataLoader, told that the data set may be called from many threads at once.
"""

import concurrent.futures
import threading

import boto3
import torch

import torch_batches

THREADS = 64


class Photographs(torch.utils.data.Dataset):
    """What a user writes: the client is opened by the worker that uses it."""

    def __init__(self, job):
        self.bucket, self.prefix, self.keys, self.client = job.bucket, job.prefix, job.keys, None

    def __len__(self):
        return len(self.keys)

    def open(self, connections=10):
        self.client = boto3.client("s3", config=boto3.session.Config(max_pool_connections=connections))

    def __getitem__(self, number):
        if self.client is None:
            self.open()
        answer = self.client.get_object(Bucket=self.bucket, Key=f"{self.prefix}/{self.keys[number]}")
        return number, answer["Body"].read()


class PhotographsOnThreads(Photographs):
    """The same, each thread with a client of its own. boto3 makes clients one at a time."""

    def __init__(self, job):
        self.own, self.making = threading.local(), threading.Lock()
        super().__init__(job)

    @property
    def client(self):
        return getattr(self.own, "client", None)

    @client.setter
    def client(self, client):
        self.own.client = client

    def open(self, connections=10):
        with self.making:
            super().open(connections)


class PhotographsByBatch(Photographs):
    pool = None

    def __getitems__(self, numbers):
        if self.pool is None:
            self.open(THREADS)
            self.pool = concurrent.futures.ThreadPoolExecutor(THREADS)
        return list(self.pool.map(self.__getitem__, numbers))


def epochs(job):
    kind = PhotographsByBatch if job.within == "threads" else PhotographsOnThreads if torch_batches.dropin(job) else Photographs
    return torch_batches.epochs(job, kind(job))


def name():
    return "torch DataLoader + boto3"


def version():
    return f"torch {torch.__version__}, boto3 {boto3.__version__}"


def settings(job):
    return torch_batches.settings(job) | {"within a batch": f"{THREADS} threads" if job.within == "threads" else "one by one"}
