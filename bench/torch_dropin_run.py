"""Runs one of the two DataLoaders in this process (see harness/measured.py; torch_dropin.py starts it)."""

from harness import measured  # first: it notes the time

import hashlib
import os
import random
import sys
import time

import torch
from torch.utils.data import Dataset, IterableDataset, get_worker_info

from data_sets import photo_set

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rivals"))
CHEAP_ITEMS, STREAM_BATCHES = 20_000, 4
WAIT_S = 0.1
STRIDE = 32  # the timed epoch looks at one pixel in STRIDE x STRIDE of a photograph


class Items(Dataset):
    """Items that cost nothing but their wait: an object store far away stands behind it, read by a client that blocks."""

    def __init__(self, count, wait_s=0.0):
        self.count, self.wait_s = count, wait_s

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        if self.wait_s:
            time.sleep(self.wait_s)
        return torch.full((3, 8, 8), float(index)), index


class Stream(IterableDataset):
    """Small, so that what is timed is the start of workers."""

    def __init__(self, count):
        self.count = count

    def __iter__(self):
        info = get_worker_info()
        return iter([(torch.full((3, 8, 8), float(i)), i) for i in range(info.id, self.count, info.num_workers)])


class Photos(Dataset):
    """As in rivals/torch_pillow_loader.py, the crop drawn from the photograph's number, so that both sides make equal pixels."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        from pillow_image import crop_of
        from torch_pillow_loader import normalized

        return normalized(crop_of(self.paths[index], random.Random(index), flip=0)), index


def data_set(job):
    if job.data == "photos":
        return Photos(photo_set.read_list(job.list))
    if job.data == "stream":
        return Stream(STREAM_BATCHES * job.batch)
    return Items(job.reads, WAIT_S) if job.data == "waiting" else Items(CHEAP_ITEMS)


def loader_of(job):
    if job.loader == "forebay":
        from forebay.torch import DataLoader
    else:
        from torch.utils.data import DataLoader
    options = dict(job.told) if job.loader == "forebay" else {}
    if job.data != "stream":
        options |= {"shuffle": True, "persistent_workers": job.workers > 0}
    return DataLoader(data_set(job), batch_size=job.batch, num_workers=job.workers,
                      generator=torch.Generator().manual_seed(job.seed), **options)


def epoch(loader, stride):
    """(samples, digest of their order, digest of one pixel in stride x stride)."""
    order, pixels, samples = hashlib.sha256(), hashlib.sha256(), 0
    for images, numbers in loader:
        samples += len(numbers)
        order.update(numbers.numpy().tobytes())
        pixels.update(images[:, :, ::stride, ::stride].contiguous().numpy().tobytes())
    return samples, order.hexdigest(), pixels.hexdigest()


def measure(job, result):
    """The last epoch is timed, of a stream all of them. Every pixel of all other epochs goes into the digest."""
    loader, part, samples, order, every_pixel = loader_of(job), measured.TimedPart(result), 0, "", hashlib.sha256()
    timed_from = 0 if job.data == "stream" else job.epochs - 1
    for number in range(job.epochs):
        if number == timed_from:
            part.begin()
        touches = job.data == "photos" and number == timed_from
        count, order, pixels = epoch(loader, STRIDE if touches else 1)
        samples += count if number >= timed_from else 0
        every_pixel.update(b"" if touches else pixels.encode())
    return part.end() | {"samples": samples, "order": order, "pixels": pixels, "all_pixels": every_pixel.hexdigest(),
                         "name": {"torch": "torch", "forebay": "Forebay"}[job.loader],
                         "version": f"torch {torch.__version__}, {torch.get_num_threads()} threads",
                         "settings": {"told": job.told if job.loader == "forebay" else {}}}


if __name__ == "__main__":
    measured.main(measure)
