"""PyTorch: ConcatDataset, and a WeightedRandomSampler that draws with replacement."""

import torch
from samples_by_number import columns, parts
from torch.utils.data import ConcatDataset, DataLoader, WeightedRandomSampler


class Opened:
    def __init__(self, job):
        sources = parts(job)
        weights = torch.cat([torch.full((len(source),), weight / len(source), dtype=torch.float64)
                             for source, weight in zip(sources, job.weights, strict=True)])
        draws = WeightedRandomSampler(weights, job.epoch, generator=torch.Generator().manual_seed(job.seed))
        self.loader = DataLoader(ConcatDataset(sources), job.batch, sampler=draws, num_workers=job.threads, persistent_workers=True, collate_fn=columns)
        self.about = {"name": "PyTorch ConcatDataset + WeightedRandomSampler", "version": f"torch {torch.__version__}",
                      "settings": {"shuffle": "drawn with replacement", "workers": "processes"}}

    def batches(self):
        while True:
            yield from self.loader

    def close(self):
        del self.loader


def open_loader(job, state=None):
    return Opened(job)
