"""Forebay over the same files. python huggingface_after.py FOLDER TOKENIZER_JSON"""
import sys

import forebay as fb

pipeline = (
    fb.jsonl(f"{sys.argv[1]}/*.jsonl", fields={"text": "text"})
    .shuffle()
    .tokenize(sys.argv[2], max_length=64)
    .pad("tokens", 0, length=64)
    .batch(16)
)
with fb.Loader(pipeline, seed=7, epochs=1, output="torch") as loader:
    total = 0
    for batch in loader:
        total += int(batch["tokens"].sum())
    print(loader.size, "documents,", len(loader), "batches of", batch["tokens"].shape[1], "tokens, sum", total)
