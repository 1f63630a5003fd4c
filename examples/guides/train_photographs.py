"""Train and evaluate on folders of photographs.

python train_photographs.py [TRAIN VAL]
"""
import sys

import forebay as fb
import small_data

if len(sys.argv) > 2:
    train_folder, val_folder = sys.argv[1:3]
else:
    train_folder = small_data.photos("photos/train", per_class=20)
    val_folder = small_data.photos("photos/val", per_class=5, seed=9)

# --8<-- [start:train]
train = fb.Loader(
    fb.images(train_folder)
    .shuffle()
    .decode_image()
    .random_resized_crop(64)
    .random_flip()
    .color_jitter(brightness=0.2, contrast=0.2)
    .normalize(fb.IMAGENET)
    .batch(16, last="drop"),
    seed=7,
)
# --8<-- [end:train]
# --8<-- [start:evaluate]
val = fb.Loader(
    fb.images(val_folder, classes=train.classes)   # the labels of the training folder
    .decode_image()
    .resize(short_side=72)
    .center_crop(64)
    .normalize(fb.IMAGENET)
    .batch(16),
    restart=True,                                  # each `for` begins its epoch again
)
# --8<-- [end:evaluate]

# --8<-- [start:loop]
print("classes", train.classes)
for epoch in range(2):
    for batch in train:
        x, y = batch["image"], batch["label"]      # your training step here
    print("epoch", epoch, "trained on", len(train), "batches of", x.shape, x.dtype, y.dtype)
    print("evaluated on", sum(len(batch) for batch in val), "pictures")
train.close()
val.close()
# --8<-- [end:loop]
