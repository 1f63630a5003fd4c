"""torch.utils.data.DataLoader over a user's data set of photographs, as most people set it up."""

import torch
from torch.utils.data import DataLoader, Dataset

WORKERS = "processes, persistent, prefetch_factor 2"
DECODE = "full, libjpeg's defaults"


class Photos(Dataset):
    """load(path) makes a tensor."""

    def __init__(self, paths, labels, load):
        self.paths, self.labels, self.load = paths, labels, load

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.load(self.paths[index]), self.labels[index]


def epochs(paths, labels, load, batch, threads, seed):
    loader = DataLoader(Photos(paths, labels, load), batch_size=batch, shuffle=True, num_workers=threads,
                        persistent_workers=True, generator=torch.Generator().manual_seed(seed))
    while True:
        yield ((images.numpy(), numbers.numpy()) for images, numbers in loader)
