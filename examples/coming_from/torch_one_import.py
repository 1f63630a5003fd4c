"""Forebay's DataLoader, by one import, over a folder of photographs. python torch_one_import.py FOLDER"""
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

from forebay.torch import DataLoader


class Photographs(Dataset):
    def __init__(self, root):
        self.classes = sorted(path.name for path in Path(root).iterdir())
        self.files = [(path, label) for label, name in enumerate(self.classes) for path in sorted(Path(root, name).iterdir())]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        picture = Image.open(path).convert("RGB").resize((64, 64), Image.Resampling.BILINEAR)
        pixels = np.asarray(picture, np.float32).transpose(2, 0, 1) / 255
        return torch.from_numpy(pixels), label


if __name__ == "__main__":
    torch.manual_seed(7)
    loader = DataLoader(Photographs(sys.argv[1]), batch_size=16, shuffle=True, num_workers=2)
    for epoch in range(2):
        count = torch.zeros(3, dtype=torch.int64)
        for images, labels in loader:
            count += torch.bincount(labels, minlength=3)
        print("order: last labels", labels.tolist())
        print("epoch", epoch, len(loader), "batches", tuple(images.shape), images.dtype, "per class", count.tolist())
