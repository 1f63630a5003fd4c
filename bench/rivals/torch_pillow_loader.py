"""torch.utils.data.DataLoader with Pillow: the loader most people begin with."""

import random

import PIL
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

from recipe import ANTIALIASED, FLIP, MEAN, SIZE, STD, random_crop

SHIFT = torch.tensor(MEAN).view(3, 1, 1)
SCALE = torch.tensor(STD).view(3, 1, 1)


class Photos(Dataset):
    def __init__(self, paths, labels):
        self.paths, self.labels = paths, labels

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        with Image.open(self.paths[index]) as file:
            image = file.convert("RGB")
        left, top, width, height = random_crop(*image.size, random)
        image = image.crop((left, top, left + width, top + height)).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        if random.random() < FLIP:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return normalized(image), self.labels[index]


def normalized(image):
    """As torchvision's ToTensor and Normalize: CHW float32."""
    raw = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(SIZE, SIZE, 3)
    return raw.permute(2, 0, 1).contiguous().float().div_(255).sub_(SHIFT).div_(SCALE)


def epochs(paths, labels, batch, threads, seed):
    loader = DataLoader(Photos(paths, labels), batch_size=batch, shuffle=True, num_workers=threads,
                        persistent_workers=True, generator=torch.Generator().manual_seed(seed))
    while True:
        yield ((images.numpy(), numbers.numpy()) for images, numbers in loader)


def name():
    return "torch DataLoader + Pillow"


def version():
    return f"torch {torch.__version__}, Pillow {PIL.__version__}"


def settings():
    return {"workers": "processes, persistent, prefetch_factor 2", "resample": ANTIALIASED,
            "decode": "full, libjpeg's defaults"}
