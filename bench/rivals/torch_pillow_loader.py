"""torch.utils.data.DataLoader with Pillow: the loader most people begin with."""

import random

import PIL
import torch

import torch_stream
from pillow_image import crop_of
from recipe import ANTIALIASED, MEAN, SIZE, STD

SHIFT = torch.tensor(MEAN).view(3, 1, 1)
SCALE = torch.tensor(STD).view(3, 1, 1)


def normalized(image):
    """As torchvision's ToTensor and Normalize: CHW float32."""
    raw = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(SIZE, SIZE, 3)
    return raw.permute(2, 0, 1).contiguous().float().div_(255).sub_(SHIFT).div_(SCALE)


def load(path):
    return normalized(crop_of(path, random))


def epochs(paths, labels, batch, threads, seed):
    return torch_stream.epochs(paths, labels, load, batch, threads, seed)


def name():
    return "torch DataLoader + Pillow"


def version():
    return f"torch {torch.__version__}, Pillow {PIL.__version__}"


def settings():
    return {"workers": torch_stream.WORKERS, "resample": ANTIALIASED, "decode": torch_stream.DECODE}
