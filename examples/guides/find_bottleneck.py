"""Find what limits a pipeline, and what to change.

python find_bottleneck.py [FOLDER]
"""
import sys
import time

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.photos("photos/train")


def look_up(sample):
    time.sleep(0.05)                              # a service that is asked for each sample
    return sample


# --8<-- [start:pipeline]
pipeline = (
    fb.images(folder)
    .shuffle()
    .decode_image()
    .resize((64, 64))
    .map(look_up, fields=["image"], version="1")
    .batch(8)
)
# --8<-- [end:pipeline]

# --8<-- [start:report]
with fb.Loader(pipeline, seed=7, epochs=1, threads=2) as loader:
    for batch in loader:
        pass                                      # your training step
    print(loader.report())
# --8<-- [end:report]

# --8<-- [start:diagnose]
found = fb.diagnose(pipeline, threads=2, budget=20)
print("limit:", found.limit)
for remedy in found.remedies:
    print(f"{remedy.gain:.1f} times as fast:", remedy.change)
# --8<-- [end:diagnose]
