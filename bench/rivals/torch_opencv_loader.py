"""torch.utils.data.DataLoader with OpenCV doing the image work."""

import cv2
import numpy as np
import torch

import torch_stream
from opencv_image import RESAMPLE, crop_of, normalize_into
from recipe import SIZE


def load(path):
    return torch.from_numpy(normalize_into(crop_of(path), np.empty((3, SIZE, SIZE), np.float32)))


def epochs(paths, labels, batch, threads, seed):
    return torch_stream.epochs(paths, labels, load, batch, threads, seed)


def name():
    return "torch DataLoader + OpenCV"


def version():
    return f"torch {torch.__version__}, OpenCV {cv2.__version__}"


def settings():
    return {"workers": torch_stream.WORKERS, "resample": RESAMPLE, "decode": torch_stream.DECODE}
