"""Forebay: the same text, tokenized as it is read, or once. python litdata_after.py FOLDER TOKENIZER_JSON"""
import sys

import forebay as fb

pipeline = (
    fb.jsonl(f"{sys.argv[1]}/*.jsonl", fields={"text": "text"})
    .tokenize(sys.argv[2])
    .cache(ram="1GiB", disk=0)                    # or disk="200GiB", for later runs
    .select("tokens")
    .pack(256)
    .shuffle()
    .batch(1)
)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    for batch in loader:
        block = batch["tokens"][0]
    print("blocks of", len(block), "tokens")
