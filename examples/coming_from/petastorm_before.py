"""petastorm's batch reader over Parquet. python petastorm_before.py FOLDER"""
import sys
from pathlib import Path

from petastorm import make_batch_reader

rows, total = 0, 0
with make_batch_reader(Path(sys.argv[1]).resolve().as_uri(), schema_fields=["label", "country"], num_epochs=1, seed=7,
                       shuffle_row_groups=True) as reader:
    for group in reader:
        rows += len(group.label)
        total += int(group.label.sum())
print(rows, "rows, sum of labels", total)
