"""Stops in the middle of an epoch and goes on with another batch size and another number of threads: the same samples in
the same order as if nothing had happened.

python 02_resume.py FOLDER
"""
import json
import sys

import forebay as fb


def pipeline(batch_size):
    return fb.images(sys.argv[1]).shuffle().decode_image().random_resized_crop(64).batch(batch_size)


def ids(loader, steps=None):
    """The samples of the next `steps` batches, or of all that are left in the epoch."""
    seen = []
    for batch in loader:
        seen += batch.ids.tolist()
        steps = steps - 1 if steps else None
        if steps == 0:
            break
    return seen


with fb.Loader(pipeline(4), seed=7, threads=2) as loader:
    before = ids(loader, steps=2)
    state = json.dumps(loader.state_dict())

with fb.Loader(pipeline(3), seed=7, threads=1) as loader:
    loader.load_state_dict(json.loads(state))
    after = ids(loader)

with fb.Loader(pipeline(4), seed=7) as loader:
    uninterrupted = ids(loader)

print("before the stop", *before)
print("after it", *after)
print("the same as without a stop:", "yes" if before + after == uninterrupted else "no")
