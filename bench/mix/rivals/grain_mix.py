"""Grain: MapDataset.mix of data sets that repeat, reshuffled."""

from importlib.metadata import version

import grain
from samples_by_number import columns, parts


class Opened:
    def __init__(self, job, state):
        mixed = [grain.MapDataset.source(source).shuffle(seed=job.seed).repeat() for source in parts(job)]
        batched = grain.MapDataset.mix(mixed, job.weights).batch(job.batch, batch_fn=columns)
        self.iterator = iter(batched.to_iter_dataset(grain.ReadOptions(num_threads=job.threads, prefetch_buffer_size=16)))
        if state is not None:
            self.iterator.set_state(state)
        self.about = {"name": "Grain MapDataset.mix", "version": f"grain {version('grain')}",
                      "settings": {"shuffle": "over each whole part", "workers": "threads", "prefetch_buffer_size": 16}}

    def batches(self):
        yield from self.iterator

    def state(self):
        return self.iterator.get_state()

    def close(self):
        del self.iterator


def open_loader(job, state=None):
    return Opened(job, state)
