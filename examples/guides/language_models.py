"""Token files of Megatron-LM: blocks for pre-training, a blend with a schedule, fine-tuning with a replay, and an external loader for Megatron.

python language_models.py [FOLDER]
"""
import sys

import numpy as np
import torch

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.megatron_files("tokens")     # web.bin, web.idx, code.bin, …

# --8<-- [start:documents]
web = fb.megatron(f"{folder}/web")                          # the prefix: web.bin and web.idx
with fb.Loader(web.shuffle().batch(4), seed=7) as loader:
    batch = next(iter(loader))
    values, offsets = batch["tokens"]                       # documents differ in length
    print(loader.size, "documents,", values.dtype, "lengths", np.diff(offsets).tolist())
# --8<-- [end:documents]

# --8<-- [start:blocks]
LENGTH = 256
blocks = web.cast("int64", field="tokens").pack(LENGTH + 1).shuffle()       # one token more: labels are tokens moved by one
with fb.Loader(blocks.batch(8, last="drop"), seed=7, epochs=1) as loader:
    batch = next(iter(loader))
    print(len(loader), "batches of", batch["tokens"].shape, "padding", f"{np.mean(batch['segments'] == 0):.3f}")
# --8<-- [end:blocks]

# --8<-- [start:blend]
schedule = [
    (0, {"web": 8, "code": 2, "math": 0}),                  # from the first sample on
    (1024, {"web": 6, "code": 3, "math": 1}),               # from sample 1024 on, counted over all ranks and epochs
]


def stretch(sample, draw):
    """64 tokens from a random place of a document, with zeros behind where it is shorter."""
    tokens = sample["tokens"].astype("int64")
    begin = int(draw.integers(0, max(1, len(tokens) - 63)))
    part = tokens[begin:begin + 64]
    return {"tokens": np.pad(part, (0, 64 - len(part)))}


parts = {name: fb.megatron(f"{folder}/{name}").shuffle() for name in ("web", "code", "math")}
blend = fb.mix(parts, schedule=schedule, samples=2048).map(stretch, fields=["tokens"], random=True)
with fb.Loader(blend.batch(64), seed=7, epochs=1) as loader:
    origin = np.concatenate([batch.parts for batch in loader])
for first, last in ((0, 1024), (1024, 2048)):
    print(f"samples {first} to {last - 1}:", dict(zip(parts, np.bincount(origin[first:last]).tolist(), strict=False)))
# --8<-- [end:blend]

# --8<-- [start:replay]
chats = fb.megatron(f"{folder}/chats").shuffle()
tuning = fb.mix({"new": chats, "old": web.shuffle()}, weights={"new": 95, "old": 5})
with fb.Loader(tuning.batch(16), seed=7, epochs=1) as loader:              # the epoch ends before new data would come again
    documents = sum(len(batch) for batch in loader)
    print("fine-tuning:", documents, "documents,", {part["name"]: part["samples"] for part in loader.stats()["parts"]})
# --8<-- [end:replay]


# --8<-- [start:external]
class MegatronBatches:
    """What `--dataloader-type external` takes: next() gives a micro-batch, a dict of tensors."""

    def __init__(self, pipeline, micro_batch_size, rank, world_size, state=None):
        self.loader = fb.Loader(pipeline.batch(micro_batch_size, last="drop"), seed=7, rank=rank, world_size=world_size, output="torch")
        if state:
            self.loader.load_state_dict(state)
        self.batches = self.forever()

    def forever(self):
        while True:                                         # epoch by epoch; --train-iters ends the run
            yield from self.loader

    def __iter__(self):
        return self

    def __next__(self):
        batch = next(self.batches)
        tokens, segments = batch["tokens"], batch["segments"]
        own = segments[:, :-1]
        sees = (own[:, :, None] == own[:, None, :]).tril()[:, None]        # earlier tokens of the same document
        same_document = (segments[:, 1:] == own) & (own > 0)
        return {
            "tokens": tokens[:, :-1].contiguous(),
            "labels": tokens[:, 1:].contiguous(),
            "loss_mask": same_document.float(),             # no loss on padding, and none from a document to the next
            "attention_mask": ~sees,                        # (micro-batch, 1, length, length); True: hidden
            "position_ids": batch["positions"][:, :-1].long(),
        }

    def save_state(self):                                   # Megatron calls it with --dataloader-save
        return self.loader.state_dict()
# --8<-- [end:external]


# --8<-- [start:provider]
def train_valid_test_datasets_provider(num_samples, rank=0, world_size=1):
    # In Megatron: mpu.get_data_parallel_rank() and mpu.get_data_parallel_world_size().
    return MegatronBatches(blocks, micro_batch_size=4, rank=rank, world_size=world_size), None, None
# --8<-- [end:provider]


# --8<-- [start:run]
train, _, _ = train_valid_test_datasets_provider(None)
model = torch.nn.Sequential(torch.nn.Embedding(1000, 32), torch.nn.Linear(32, 1000))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(3):
    batch = next(train)
    loss = torch.nn.functional.cross_entropy(model(batch["tokens"]).transpose(1, 2), batch["labels"], reduction="none")
    loss = (loss * batch["loss_mask"]).sum() / batch["loss_mask"].sum()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print({name: (tuple(tensor.shape), str(tensor.dtype)) for name, tensor in batch.items()})

state = train.save_state()
following = next(train)
resumed = MegatronBatches(blocks, micro_batch_size=4, rank=0, world_size=1, state=state)
print("resumes with the next micro-batch:", torch.equal(next(resumed)["tokens"], following["tokens"]))
# --8<-- [end:run]
