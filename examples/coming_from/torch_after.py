"""A Forebay pipeline over a folder of photographs. python torch_after.py FOLDER"""
import sys

import torch

import forebay as fb

pipeline = (
    fb.images(sys.argv[1])
    .shuffle()
    .decode_image()
    .resize((64, 64))
    .normalize(mean=(0, 0, 0), std=(1, 1, 1))     # float32 from 0 to 1, channels first
    .batch(16)
)
with fb.Loader(pipeline, seed=7, output="torch") as loader:
    for epoch in range(2):
        count = torch.zeros(3, dtype=torch.int64)
        for batch in loader:
            images, labels = batch["image"], batch["label"]
            count += torch.bincount(labels, minlength=3)
        print("epoch", epoch, len(loader), "batches", tuple(images.shape), images.dtype, "per class", count.tolist())
