"""SPDL's pipeline with boto3 on its threads. It may change the order inside a batch."""

import concurrent.futures
import random
from importlib import metadata

import boto3
from spdl.pipeline import PipelineBuilder

THREADS = 64


def epochs(job):
    client = boto3.client("s3", config=boto3.session.Config(max_pool_connections=THREADS))
    draw = random.Random(job.seed)

    def fetch(number):
        answer = client.get_object(Bucket=job.bucket, Key=f"{job.prefix}/{job.keys[number]}")
        return number, answer["Body"].read()

    job.listed()
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        while True:
            yield one_epoch(job, fetch, pool, draw)


def one_epoch(job, fetch, pool, draw):
    order = list(range(len(job.keys)))
    draw.shuffle(order)
    pipeline = (PipelineBuilder().add_source(order).pipe(fetch, concurrency=THREADS, executor=pool)
                .aggregate(job.batch).add_sink(4).build(num_threads=1))
    with pipeline.auto_stop():
        for samples in pipeline:
            yield tuple(zip(*samples))


def name():
    return "SPDL + boto3"


def version():
    return f"spdl {metadata.version('spdl')}, boto3 {boto3.__version__}"


def settings(job):
    return {"threads": THREADS, "buffered batches": 4}
