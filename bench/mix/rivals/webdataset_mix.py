"""WebDataset: RandomMix of tar shards with a member of JSON for each sample."""

import glob
import io
import os
import tarfile
from importlib.metadata import version

import torch
import webdataset as wds
from samples_by_number import columns

A_SHARD, BUFFER = 2500, 10_000


def convert(job):
    """Writes the lines of each part as tar shards."""
    for path in job.paths:
        os.makedirs(path + ".tars")
        with open(path, "rb") as file:
            lines = file.readlines()
        a_shard = min(A_SHARD, -(-len(lines) // 4))
        for first in range(0, len(lines), a_shard):
            with tarfile.open(os.path.join(path + ".tars", f"{first:08}.tar"), "w") as tar:
                for number, line in enumerate(lines[first:first + a_shard], first):
                    info = tarfile.TarInfo(f"{number:08}.json")
                    info.size = len(line)
                    tar.addfile(info, io.BytesIO(line))


class Opened:
    def __init__(self, job):
        sources = []
        for path in job.paths:
            shards = sorted(glob.glob(path + ".tars/*.tar"))
            sources.append(wds.WebDataset(shards, shardshuffle=len(shards), seed=job.seed).repeat().shuffle(BUFFER).decode().map(lambda one: one["json"]))
        mixed = wds.RandomMix(sources, list(job.weights))
        self.loader = torch.utils.data.DataLoader(mixed, job.batch, num_workers=job.threads, collate_fn=columns)
        self.about = {"name": "WebDataset RandomMix", "version": f"webdataset {version('webdataset')}",
                      "settings": {"shuffle": f"shards, and a buffer of {BUFFER} for each part", "workers": "processes", "format": "tar shards of .json"}}

    def batches(self):
        while True:
            yield from self.loader

    def close(self):
        del self.loader


def open_loader(job, state=None):
    return Opened(job)
