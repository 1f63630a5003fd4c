"""Five minutes: pictures become batches, and a run goes on where it stopped.

python first_batches.py [FOLDER]
"""
import sys

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.photos("photos/train")

# --8<-- [start:describe]
pipeline = (
    fb.images(folder)                # a folder per class
    .shuffle()                       # a new order in each epoch
    .decode_image()
    .random_resized_crop(64)
    .random_flip()
    .normalize(fb.IMAGENET)
    .batch(16)
)
print(pipeline.check())              # touches no storage; an empty list is good
# --8<-- [end:describe]

# --8<-- [start:run]
with fb.Loader(pipeline, seed=7) as loader:
    print(loader.size, "samples,", len(loader), "batches per epoch, classes", loader.classes)
    for epoch in range(2):
        for batch in loader:
            if batch.step == 0:
                print("epoch", epoch, batch["image"].shape, batch["image"].dtype, batch["label"][:6])
# --8<-- [end:run]

# --8<-- [start:resume]
with fb.Loader(pipeline, seed=7) as loader:
    next(iter(loader))
    state = loader.state_dict()      # after the first batch
    rest = [batch.ids.tolist() for batch in loader]

with fb.Loader(pipeline, seed=7) as resumed:
    resumed.load_state_dict(state)
    print("the same rest:", [batch.ids.tolist() for batch in resumed] == rest)
# --8<-- [end:resume]
