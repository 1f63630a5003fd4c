"""Forebay's make_batch_reader, by one import, over Parquet. python petastorm_one_import.py FOLDER"""
import sys
from pathlib import Path

from forebay.petastorm import make_batch_reader

rows, total = 0, 0
with make_batch_reader(Path(sys.argv[1]).resolve().as_uri(), schema_fields=["label", "country"], num_epochs=1, seed=7,
                       shuffle_row_groups=True) as reader:
    for group in reader:
        rows += len(group.label)
        total += int(group.label.sum())
print(rows, "rows, sum of labels", total)
