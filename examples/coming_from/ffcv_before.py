"""FFCV over its own file. python ffcv_before.py FOLDER"""
import sys
from pathlib import Path

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.decoders import IntDecoder
from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import RandomHorizontalFlip, ToTensor
from ffcv.writer import DatasetWriter
from PIL import Image


class Photographs:
    def __init__(self, root):
        classes = sorted(path.name for path in Path(root).iterdir())
        self.files = [(path, label) for label, name in enumerate(classes) for path in sorted(Path(root, name).iterdir())]

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        path, label = self.files[index]
        return Image.open(path).convert("RGB"), label


if __name__ == "__main__":
    fields = {"image": RGBImageField(write_mode="jpg", max_resolution=256), "label": IntField()}
    DatasetWriter("photos.beton", fields, num_workers=2).from_indexed_dataset(Photographs(sys.argv[1]))
    pipelines = {"image": [RandomResizedCropRGBImageDecoder((64, 64)), RandomHorizontalFlip(), ToTensor()], "label": [IntDecoder(), ToTensor()]}
    loader = Loader("photos.beton", batch_size=16, num_workers=2, order=OrderOption.RANDOM, seed=7, drop_last=False, pipelines=pipelines)
    count = np.zeros(3, int)
    for images, labels in loader:
        count += np.bincount(labels.numpy().ravel(), minlength=3)
    print("images", tuple(images.shape[1:]), str(images.numpy().dtype), "per class", count.tolist())
