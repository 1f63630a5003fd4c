"""A Forebay pipeline over the same Parquet. python petastorm_after.py FOLDER"""
import sys

import forebay as fb

pipeline = fb.parquet(sys.argv[1], columns=["label", "country"]).shuffle(block=4).batch(1024)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    total = 0
    for batch in loader:
        total += int(batch["label"].sum())
    print(loader.size, "rows, sum of labels", total)
