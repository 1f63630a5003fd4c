"""torch's DataLoader over PyArrow: each worker (or the main process) reads, mixes and cuts its share of row groups."""

import numpy as np
import pyarrow as pa
import torch

from arrow_columns import Groups, columns_of
from mixing import BLOCK, Mixer


class Batches(torch.utils.data.IterableDataset):
    def __init__(self, job):
        self.job, self.groups, self.epoch = job, None, 0

    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        mine, workers = (info.id, info.num_workers) if info else (0, 1)
        job, threads = self.job, 1 if info else self.job.threads
        self.groups = self.groups or Groups(job, threads)
        order = np.random.default_rng([job.seed, self.epoch]).permutation(len(self.groups.places))[mine::workers]
        mixer = Mixer(job.batch, np.random.default_rng([job.seed, self.epoch, mine]))
        self.epoch += 1  # the worker's own copy, which persists
        step = max(1, BLOCK // workers)
        for begin in range(0, len(order), step):
            table = pa.concat_tables([self.groups.table(place) for place in order[begin:begin + step]])
            for batch in mixer.batches(columns_of(table), last=begin + step >= len(order)):
                yield {name: tensors(found) for name, found in batch.items()}


def tensors(found):
    return tuple(map(torch.from_numpy, found)) if isinstance(found, tuple) else torch.from_numpy(found)


def as_it_is(batch):
    return batch  # by default lists would take the place of tuples


def epochs(job):
    workers = {"num_workers": job.workers, "persistent_workers": True} if job.workers else {}
    pa.set_cpu_count(job.threads)
    loader = torch.utils.data.DataLoader(Batches(job), batch_size=None, collate_fn=as_it_is, **workers)
    while True:
        yield iter(loader)


def claims(job):
    return {"order": "rows", "partial": max(1, job.workers)}


def name(job):
    where = f"{job.workers} workers" if job.workers else "main process"
    return f"torch DataLoader over PyArrow, {where}"


def version():
    return f"torch {torch.__version__}, pyarrow {pa.__version__}"


def settings(job):
    return {"workers": f"{job.workers} processes, persistent, prefetch_factor 2" if job.workers
            else "none; PyArrow's threads",
            "mixed row groups": f"{BLOCK} in all", "gives": "tensors"}
