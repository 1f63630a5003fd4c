"""A run stops in the middle of an epoch, and goes on with other ranks and another batch size.

python stop_and_resume.py [FOLDER]
"""
import json
import sys

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.photos("photos/train")


def pipeline(batch):
    return fb.images(folder).shuffle().decode_image().random_resized_crop(64).batch(batch)


# --8<-- [start:save]
with fb.Loader(pipeline(16), seed=7, epochs=1) as loader:
    for batch in loader:
        if batch.step == 1:
            break
    with open("checkpoint.json", "w") as file:
        json.dump(loader.state_dict(), file)      # small and plain; put it beside the weights
    uninterrupted = [id for batch in loader for id in batch.ids.tolist()]
# --8<-- [end:save]

# --8<-- [start:load]
with open("checkpoint.json") as file:
    state = json.load(file)
print("position", state["position"], "of epoch", state["epoch"])

ids = []
for rank in range(2):                             # two ranks now, with batches of 4; on a cluster each is a process
    with fb.Loader(pipeline(4), seed=7, epochs=1, rank=rank, world_size=2) as loader:
        loader.load_state_dict(state)
        for batch in loader:
            ids += batch.ids[: len(batch) - batch.padding].tolist()
print("the same samples:", sorted(ids) == sorted(uninterrupted))
# --8<-- [end:load]

# --8<-- [start:refused]
try:
    with fb.Loader(pipeline(16), seed=8) as other:
        other.load_state_dict(state)
except fb.StateMismatch as error:
    print("refused:", error)
# --8<-- [end:refused]
