"""Conversations for fine-tuning: tokens, labels and a loss mask in packed blocks, with the ends that flash-attn takes.

python packed_chats.py [PARQUET_WITH_TOKENS_AND_LOSS_MASK]
"""
import sys

import numpy as np

import forebay as fb
import small_data

chats = sys.argv[1] if len(sys.argv) > 1 else small_data.chats("chats") / "chats.parquet"

# --8<-- [start:pipeline]
pipeline = (
    fb.parquet(chats, columns=["tokens", "loss_mask"])    # two lists, equally long in each row
    .pack(
        {"tokens": 128, "loss_mask": 128},
        how="best-fit",
        too_long="right",                    # the first 128 tokens of longer conversations
        eos=2,                               # ends each conversation
        shift={"labels": 1, "loss_mask": 1},
        max_segments=16,
        cu_seqlens=True,
    )
    .shuffle()
    .batch(8, last="drop")
)
# --8<-- [end:pipeline]


# --8<-- [start:attention]
def ends_of_batch(batch):
    """cu_seqlens and max_seqlen of the whole batch, whose blocks become one sequence of blocks x length tokens."""
    ends, length = batch["cu_seqlens"], batch["tokens"].shape[1]
    moved = ends[:, 1:] + length * np.arange(len(ends), dtype=np.int32)[:, None]    # behind the blocks before
    return np.append(np.int32(0), moved.ravel()), int(batch["max_seqlen"].max())


# flash_attn_varlen_func(q, k, v, cu_seqlens, cu_seqlens, max_seqlen, max_seqlen, causal=True), with q, k and v of batch["tokens"].ravel()
# --8<-- [end:attention]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    print(loader.size, "blocks,", len(loader), "batches")
    for batch in loader:
        tokens, labels, mask = batch["tokens"], batch["labels"], batch["loss_mask"]
        learned = (labels != -100) & (mask == 1)             # the tokens of answers, and their ends
        cu_seqlens, max_seqlen = ends_of_batch(batch)
    print({name: (values.shape, str(values.dtype)) for name, values in batch.items()})
    print("conversations in the first block:", batch["segments"][0].max(), "learned:", int(learned[0].sum()), "of 128 tokens")
    print("share of padding:", round(float((batch["segments"] == 0).mean()), 3))
    print("the batch as one sequence:", cu_seqlens[-1], "tokens, the longest", max_seqlen)
# --8<-- [end:loop]
