"""Three more mixes: new data with 5 % of the old, photographs of two folders, and a table beside lines.

python mixed_kinds.py
"""
import numpy as np

import forebay as fb
import small_data

photos = small_data.photos("photos/train")
more = small_data.photos("photos/more", per_class=4, seed=1)
questions = small_data.questions("questions")


def shares(loader):
    return {part["name"]: part["samples"] for part in loader.stats()["parts"]}


# --8<-- [start:replay]
old = fb.parquet(f"{questions}/old.parquet").shuffle(block=4)
new = fb.jsonl(f"{questions}/new.jsonl").shuffle()
pipeline = fb.mix({"new": new, "old": old}, weights={"new": 95, "old": 5}).batch(32)

with fb.Loader(pipeline, seed=7, epochs=1) as loader:     # the epoch ends before new data would come again
    for batch in loader:
        texts = batch["text"]                             # those of a table and of lines
    print("fine-tuning:", shares(loader))
# --8<-- [end:replay]

# --8<-- [start:photographs]
def part(folder):
    return fb.images(folder).shuffle()


pipeline = (
    fb.mix({"train": part(photos), "more": part(more)}, field="origin")
    .decode_image()                                       # steps behind the mix work on both
    .random_resized_crop(64)
    .normalize(fb.IMAGENET)
    .batch(8)
)
with fb.Loader(pipeline, seed=7, epochs=1) as loader:     # without weights: each photograph once
    for batch in loader:
        assert np.array_equal(batch["origin"], batch.parts)
    print("photographs:", shares(loader))
# --8<-- [end:photographs]

# --8<-- [start:kinds]
both = fb.concat(table=fb.parquet(f"{questions}/old.parquet"), lines=fb.jsonl(f"{questions}/new.jsonl"))
with fb.Loader(both.batch(500), epochs=1) as loader:      # one after the other
    print("in turn:", [batch.part_names[batch.parts[0]] for batch in loader])
# --8<-- [end:kinds]
