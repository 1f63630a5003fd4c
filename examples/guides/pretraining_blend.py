"""A blend of three kinds of text whose shares change during training; it is stopped, and goes on with two ranks, other weights and another pipeline.

python pretraining_blend.py [FOLDER TOKENIZER_JSON]
"""
import json
import sys

import numpy as np

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.corpora("corpora")    # the folders web, code and math with JSON lines
tokenizer = sys.argv[2] if len(sys.argv) > 2 else small_data.tokenizer(f"{folder}/web", "tokenizer.json")

# --8<-- [start:pipeline]
schedule = [
    (0, {"web": 8, "code": 2, "math": 0}),        # from the first sample of the training on
    (2048, {"web": 5, "code": 3, "math": 2}),     # from sample 2048 on, counted over all ranks and epochs
]


def pipeline(batch, schedule=schedule):
    parts = {name: fb.jsonl(f"{folder}/{name}/*.jsonl", fields={"text": "text"}).shuffle(lanes=2) for name in ("web", "code", "math")}
    return (
        fb.mix(parts, schedule=schedule, samples=4096)    # an epoch is 4096 samples
        .tokenize(tokenizer)                              # a step on the samples of all parts
        .select("tokens")
        .pad("tokens", 0, length=64)
        .batch(batch)
    )
# --8<-- [end:pipeline]


def rows(batch):
    """Position in the epoch, number of the part, id in the part, and tokens of each row."""
    real = len(batch) - batch.padding
    return list(zip(batch.positions.tolist(), batch.parts.tolist(), batch.ids.tolist(), batch["tokens"].tolist(), strict=True))[:real]


# --8<-- [start:shares]
with fb.Loader(pipeline(64), seed=7, epochs=1) as loader:
    print(loader.size, "samples,", len(loader), "batches")
    batches = list(loader)
    parts = np.concatenate([batch.parts for batch in batches])    # the number of the part of each row
    for first, last in ((0, 2048), (2048, 4096)):
        counts = np.bincount(parts[first:last]).tolist()
        print(f"positions {first} to {last - 1}:", dict(zip(batches[0].part_names, counts, strict=False)))
    for part in loader.stats()["parts"]:
        print(part["name"], part["samples"], "samples,", part["passes"], "whole passes")
# --8<-- [end:shares]

# --8<-- [start:save]
with fb.Loader(pipeline(64), seed=7, epochs=1) as loader:
    for batch in loader:
        if batch.step == 19:
            break
    with open("checkpoint.json", "w") as file:
        json.dump(loader.state_dict(), file)              # put it beside the weights
    uninterrupted = [row for batch in loader for row in rows(batch)]
# --8<-- [end:save]

# --8<-- [start:load]
with open("checkpoint.json") as file:
    state = json.load(file)
print("position", state["position"], "of epoch", state["epoch"])

resumed = []
for rank in range(2):                                     # two ranks now, with batches of 16; on a cluster each is a process
    with fb.Loader(pipeline(16), seed=7, epochs=1, rank=rank, world_size=2) as loader:
        loader.load_state_dict(state)
        for batch in loader:
            resumed += rows(batch)
print("the same rows:", sorted(resumed) == sorted(uninterrupted))
# --8<-- [end:load]

# --8<-- [start:change]
with fb.Loader(pipeline(64), seed=7, epochs=1) as loader:
    loader.load_state_dict(state)
    loader.set_weights({"web": 1, "code": 1, "math": 2})  # from the next batch on; loader.state_dict() has them from here on
    changed = [row for batch in loader for row in rows(batch)]
counts = np.bincount([part for _, part, _, _ in changed]).tolist()
print(len(changed), "rows with other weights:", dict(zip(("web", "code", "math"), counts, strict=True)))
# --8<-- [end:change]

# --8<-- [start:parts]
other = pipeline(64, [(0, {"web": 1, "code": 1, "math": 2})])    # other weights; parts may come, go and grow, too
with fb.Loader(other, seed=7, epochs=1) as loader:
    try:
        loader.load_state_dict(state)
    except fb.StateMismatch as error:
        print("refused:", error)
    loader.load_state_dict(state, parts="changed")
    print("the same as with set_weights:", [row for batch in loader for row in rows(batch)] == changed)
# --8<-- [end:parts]
