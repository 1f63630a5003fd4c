"""Local files with Pillow in a user's data set: torch's DataLoader, or Forebay's by one changed import."""

import os
import random

import numpy as np
import PIL
import torch

import torch_batches
from pillow_image import crop_of
from recipe import MEAN, STD

SHIFT = np.float32(MEAN).reshape(3, 1, 1)
SCALE = np.float32(STD).reshape(3, 1, 1)


class Photographs(torch.utils.data.Dataset):
    def __init__(self, job):
        self.paths = [os.path.join(job.root, key) for key in job.keys]

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        image = crop_of(self.paths[number], random)
        return number, (np.asarray(image, np.float32).transpose(2, 0, 1) / 255 - SHIFT) / SCALE


def epochs(job):
    loader = torch_batches.loader_class(job)(
        Photographs(job), batch_size=job.batch, shuffle=True, generator=torch.Generator().manual_seed(job.seed),
        num_workers=job.workers, persistent_workers=job.workers > 0)
    job.listed()
    while True:
        yield ((numbers.tolist(), images.numpy()) for numbers, images in loader)


def name():
    return "DataLoader + Pillow, local files"


def version():
    return f"torch {torch.__version__}, Pillow {PIL.__version__}"


def settings(job):
    return torch_batches.settings(job)
