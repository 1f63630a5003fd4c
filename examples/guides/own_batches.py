"""Your own functions on whole batches: mixup, rows that are padded together, and a collate function of PyTorch's style.

python own_batches.py
"""
import numpy as np

import forebay as fb

rng = np.random.default_rng(0)
pictures = fb.arrays(image=rng.random((64, 8, 8), np.float32), label=np.arange(64) % 4)
sentences = [{"tokens": rng.integers(1, 100, int(length))} for length in rng.integers(1, 9, 48)]


# --8<-- [start:mixup]
def mixup(batch, rng):
    rows = len(batch["label"])
    share = np.float32(rng.beta(0.4, 0.4))
    other = rng.permutation(rows)
    labels = np.eye(4, dtype=np.float32)[batch["label"]]
    batch["image"] = share * batch["image"] + (1 - share) * batch["image"][other]
    batch["label"] = share * labels + (1 - share) * labels[other]
    return batch


pipeline = pictures.shuffle().batch(16).map_batch(mixup, random=True)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    for batch in loader:
        assert np.allclose(batch["label"].sum(axis=1), 1)
    print("mixed labels:", batch["label"].shape, "of samples", batch.ids[:4])
# --8<-- [end:mixup]

with fb.Loader(pipeline, seed=7, epochs=1, threads=1) as one, fb.Loader(pipeline, seed=7, epochs=1, threads=4) as four:
    print("the same with four threads:", fb.digest(one) == fb.digest(four))


# --8<-- [start:negatives]
def with_negatives(batch, rng):
    wrong = batch["label"][rng.permutation(len(batch["label"]))]
    return {
        "image": np.concatenate([batch["image"], batch["image"]]),
        "label": np.concatenate([batch["label"], wrong]),
        "matches": np.concatenate([np.ones(len(wrong), bool), wrong == batch["label"]]),
    }


with fb.Loader(pictures.batch(16).map_batch(with_negatives, random=True), epochs=1) as loader:
    batch = next(iter(loader))
    print("rows:", len(batch), "of", len(batch.ids), "samples")
# --8<-- [end:negatives]


# --8<-- [start:collate]
def pad_to_longest(samples):
    longest = max(len(one["tokens"]) for one in samples)
    tokens = np.zeros((len(samples), longest), np.int64)
    for row, one in zip(tokens, samples):
        row[: len(one["tokens"])] = one["tokens"]
    return tokens, tokens > 0


pipeline = fb.Dataset(sentences).shuffle().batch(12).collate(pad_to_longest)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    for tokens, mask in loader:                           # what the function returned
        assert mask.any(axis=0).all()
    print("batches:", len(loader), "the last of shape", tokens.shape)
    state = loader.state_dict()                           # positions, lengths and ranks are as with any pipeline
# --8<-- [end:collate]

for step in loader.stats()["steps"]:
    print(step["name"], step["samples"])
