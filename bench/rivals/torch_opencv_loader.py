"""torch.utils.data.DataLoader with OpenCV doing the image work."""

import cv2
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from opencv_image import RESAMPLE, crop_of, normalize_into
from recipe import SIZE


class Photos(Dataset):
    def __init__(self, paths, labels):
        self.paths, self.labels = paths, labels

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        out = np.empty((3, SIZE, SIZE), np.float32)
        return torch.from_numpy(normalize_into(crop_of(self.paths[index]), out)), self.labels[index]


def epochs(paths, labels, batch, threads, seed):
    loader = DataLoader(Photos(paths, labels), batch_size=batch, shuffle=True, num_workers=threads,
                        persistent_workers=True, generator=torch.Generator().manual_seed(seed))
    while True:
        yield ((images.numpy(), numbers.numpy()) for images, numbers in loader)


def name():
    return "torch DataLoader + OpenCV"


def version():
    return f"torch {torch.__version__}, OpenCV {cv2.__version__}"


def settings():
    return {"workers": "processes, persistent, prefetch_factor 2", "resample": RESAMPLE,
            "decode": "full, libjpeg's defaults"}
