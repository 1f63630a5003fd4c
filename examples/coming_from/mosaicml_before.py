"""MosaicML Streaming over its own shards. python mosaicml_before.py FOLDER"""
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from streaming import MDSWriter, StreamingDataset

classes = sorted(path.name for path in Path(sys.argv[1]).iterdir())
with MDSWriter(out="mds", columns={"image": "bytes", "label": "int"}) as out:      # every file is copied
    for label, name in enumerate(classes):
        for path in sorted(Path(sys.argv[1], name).iterdir()):
            out.write({"image": path.read_bytes(), "label": label})


class Photographs(StreamingDataset):
    def __getitem__(self, index):
        import io

        sample = super().__getitem__(index)
        picture = Image.open(io.BytesIO(sample["image"])).convert("RGB").resize((64, 64))
        return np.asarray(picture, np.uint8), sample["label"]


data = Photographs(local="mds", shuffle=True, shuffle_seed=7, batch_size=16)
count, samples = np.zeros(3, int), 0
for image, label in data:
    count[label] += 1
    samples += 1
print(samples, "samples", image.shape, image.dtype, "per class", count.tolist())
