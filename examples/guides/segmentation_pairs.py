"""Photographs with the masks of another folder: the pairs are found by name, and cropped and mirrored alike.

python segmentation_pairs.py
python segmentation_pairs.py photos masks    # your own: two folders with files of the same names
"""
import sys

import numpy as np

import forebay as fb
import small_data

photos = sys.argv[1] if len(sys.argv) > 1 else small_data.photos("photos")
masks = sys.argv[2] if len(sys.argv) > 2 else small_data.masks(photos, "masks")

# --8<-- [start:pipeline]
pairs = fb.zip(
    image=fb.images(photos, split_by="none").decode_image(),
    mask=fb.images(masks, split_by="none").decode_image("gray").rename(image="mask"),
    on="key",                                             # cat/cat_001.jpg with cat/cat_001.png
    missing="drop",                                       # one photograph has no mask
)
both = ["image", "mask"]
pipeline = (
    pairs.shuffle()
    .random_resized_crop(64, field=both, interpolation={"mask": "nearest"})
    .random_flip(field=both)
    .normalize(fb.IMAGENET, field="image")
    .batch(16)
)
# --8<-- [end:pipeline]

with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    rows = 0
    for batch in loader:
        rows += len(batch) - batch.padding
    print(rows, "pairs; the last batch:", {name: batch[name].shape for name in both}, "classes:", np.unique(batch["mask"]).tolist())

# --8<-- [start:embeddings]
vectors = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)       # a vector for each pair, in the order of the zip
with_vectors = fb.zip(
    image=fb.images(masks, split_by="none").select("key"),
    vector=fb.arrays(vector=vectors),                     # without on=: by position
)
with fb.Loader(with_vectors.shuffle().batch(16), seed=7, epochs=1) as loader:
    batch = next(iter(loader))
    print("by position:", bool((batch["vector"][:, 0] == batch.ids * 4).all()))
# --8<-- [end:embeddings]
