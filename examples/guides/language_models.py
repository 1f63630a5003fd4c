"""Token files of Megatron-LM: packed blocks, a blend by tokens with a schedule, fine-tuning with a replay, and an external loader for Megatron.

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


def packed(documents, **options):
    """Blocks of 256 tokens, with the labels and the ends that a trainer takes."""
    return documents.cast("int64", field="tokens").pack(how="best-fit", max_segments=16, cu_seqlens=True, **options).shuffle()


blocks = packed(web, length=LENGTH, shift=1)                # shift: at each place the label is the next token
with fb.Loader(blocks.batch(8, last="drop"), seed=7, epochs=1) as loader:
    batch = next(iter(loader))
    print(len(loader), "batches;", {name: values.shape for name, values in batch.items()})
    print("padding", f"{np.mean(batch['segments'] == 0):.3f}", "with labels", f"{np.mean(batch['labels'] != -100):.3f}")
# --8<-- [end:blocks]

# --8<-- [start:blend]
schedule = [
    (0, {"web": 8, "code": 2, "math": 0}),                  # from the first block on
    (1024, {"web": 6, "code": 3, "math": 1}),               # from block 1024 on, counted over all ranks and epochs
]
parts = {name: packed(fb.megatron(f"{folder}/{name}"), length=LENGTH, shift=1) for name in ("web", "code", "math")}
blend = fb.mix(parts, schedule=schedule, samples=2048)      # an epoch of 2048 blocks
with fb.Loader(blend.batch(16), seed=7, epochs=1) as loader:
    origin, tokens = [], []
    for batch in loader:
        origin.extend(batch.parts)                          # each block is of one part
        tokens.extend(np.sum(batch["segments"] > 0, axis=1))
for first, last in ((0, 1024), (1024, 2048)):
    of_parts = np.bincount(origin[first:last], tokens[first:last])
    print(f"blocks {first} to {last - 1}: shares of tokens", dict(zip(parts, np.round(of_parts / of_parts.sum(), 3).tolist(), strict=False)))
# --8<-- [end:blend]

# --8<-- [start:replay]
fields = {"tokens": LENGTH, "loss_mask": LENGTH}
chats = fb.zip(                                             # a second data set has 1 for each token of an answer
    fb.megatron(f"{folder}/chats"),
    fb.megatron(f"{folder}/chats_mask").rename(tokens="loss_mask"),
)


def learn_all(sample):
    """Text of the pre-training has no questions: all of it is learned."""
    return {"loss_mask": np.ones(len(sample["tokens"]), np.uint8)}


def for_tuning(documents):
    return packed(documents, length=fields, too_long="right", shift={"labels": 1, "loss_mask": 1})


new, old = for_tuning(chats), for_tuning(web.map(learn_all, fields=["tokens"]))
tuning = fb.mix({"new": new, "old": old}, weights={"new": 95, "old": 5})
with fb.Loader(tuning.batch(16), seed=7, epochs=1) as loader:              # the epoch ends before new data would come again
    learned = sum(int(np.sum((batch["labels"] != -100) & (batch["loss_mask"] == 1))) for batch in loader)
    print("fine-tuning:", {part["name"]: part["samples"] for part in loader.stats()["parts"]}, "blocks,", learned, "tokens to learn")
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
        segments = batch["segments"]
        sees = (segments[:, :, None] == segments[:, None, :]).tril()[:, None]       # earlier tokens of the same document
        return {
            "tokens": batch["tokens"],
            "labels": batch["labels"].clamp(min=0),         # -100, where the mask is 0, is no token
            "loss_mask": (batch["labels"] != -100).float(),                        # no loss on padding, and none from a document to the next
            "attention_mask": ~sees,                        # (micro-batch, 1, length, length); True: hidden
            "position_ids": batch["positions"].long(),
        }

    def save_state(self):                                   # Megatron calls it with --dataloader-save
        return self.loader.state_dict()
# --8<-- [end:external]


# --8<-- [start:provider]
def train_valid_test_datasets_provider(num_samples, rank=0, world_size=1):
    # In Megatron: mpu.get_data_parallel_rank() and mpu.get_data_parallel_world_size().
    return MegatronBatches(blend, micro_batch_size=4, rank=rank, world_size=world_size), None, None
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
resumed = MegatronBatches(blend, micro_batch_size=4, rank=0, world_size=1, state=state)
print("resumes with the next micro-batch:", torch.equal(next(resumed)["tokens"], following["tokens"]))
# --8<-- [end:run]
