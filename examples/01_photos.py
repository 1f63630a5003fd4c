"""A folder of photographs becomes batches.

python 01_photos.py FOLDER
"""
import sys

import forebay as fb

pipeline = (
    fb.images(sys.argv[1])
    .shuffle()
    .decode_image()
    .random_resized_crop(224)
    .random_flip()
    .normalize(fb.IMAGENET)
    .batch(8)
)
print(pipeline)

with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    print(len(loader), "batches")
    for batch in loader:
        print("step", batch.step, "image", batch["image"].shape, "labels", *batch["label"].tolist())
