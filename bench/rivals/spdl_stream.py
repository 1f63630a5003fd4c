"""SPDL's threaded pipeline as both of its loaders use it: one pipeline for all epochs, fed over their ends."""

import random

from spdl.pipeline import PipelineBuilder

WORKERS = "threads, one continuous pipeline, sink 2 batches"


class Shuffled:
    """The records in a new order each time; the list stays small because it holds paths."""

    def __init__(self, records, seed):
        self.records, self.random = list(records), random.Random(seed)

    def __iter__(self):
        self.random.shuffle(self.records)
        return iter(list(self.records))


def epochs(load, collate, records, batch, threads, seed):
    pipeline = (PipelineBuilder()
                .add_source(Shuffled(records, seed), continuous=True)
                .pipe(load, concurrency=threads)
                .aggregate(batch)
                .pipe(collate)
                .add_sink(2)
                .build(num_threads=threads))
    with pipeline.auto_stop():
        while True:
            yield pipeline.get_iterator()
