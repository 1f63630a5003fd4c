"""Grain over a folder of photographs. python grain_before.py FOLDER"""
import sys
from pathlib import Path

import grain
import numpy as np
from PIL import Image

classes = sorted(path.name for path in Path(sys.argv[1]).iterdir())
files = [(path, label) for label, name in enumerate(classes) for path in sorted(Path(sys.argv[1], name).iterdir())]


def load(sample):
    path, label = sample
    picture = Image.open(path).convert("RGB").resize((64, 64), Image.Resampling.BILINEAR)
    return {"image": np.asarray(picture, np.uint8), "label": label}


def flip(sample, rng):
    return {**sample, "image": sample["image"][:, ::-1] if rng.random() < 0.5 else sample["image"]}


data = grain.MapDataset.source(files).shuffle(seed=7).map(load).seed(7).random_map(flip).batch(16)
iterator = iter(data.to_iter_dataset())
next(iterator)
state = iterator.get_state()                      # of this iterator: for the same number of shards
count = np.zeros(3, int)
for batch in data:
    count += np.bincount(batch["label"], minlength=3)
print(len(data), "batches", batch["image"].shape[1:], batch["image"].dtype, "per class", count.tolist())
