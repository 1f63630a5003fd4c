"""Text for pre-training: documents become packed blocks of tokens.

python pretraining_text.py [FOLDER_OF_JSONL TOKENIZER_JSON]
"""
import sys

import forebay as fb
import small_data

folder = sys.argv[1] if len(sys.argv) > 1 else small_data.books("books")
tokenizer = sys.argv[2] if len(sys.argv) > 2 else small_data.tokenizer(folder, "tokenizer.json")

# --8<-- [start:pipeline]
pipeline = (
    fb.jsonl(f"{folder}/*.jsonl", fields={"text": "text"})
    .tokenize(tokenizer)
    .select("tokens")
    .pack(256)               # blocks of 256 tokens; decided once, for all epochs and ranks
    .shuffle()
    .batch(8)
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    print(loader.size, "blocks,", len(loader), "batches")
    for batch in loader:
        tokens, segments, positions = batch["tokens"], batch["segments"], batch["positions"]
    print("tokens", tokens.shape, tokens.dtype)
    print("documents in the first block:", segments[0].max())
    print("share of padding:", round(float((segments == 0).mean()), 3))
# --8<-- [end:loop]
