"""Pairs of picture and text, from a list with captions.

python image_text_pairs.py [CAPTIONS_CSV TOKENIZER_JSON]
"""
import sys

import forebay as fb
import small_data

captions = sys.argv[1] if len(sys.argv) > 1 else small_data.pairs("pairs") / "captions.csv"
tokenizer = sys.argv[2] if len(sys.argv) > 2 else small_data.words_tokenizer("words.json")

# --8<-- [start:pipeline]
pipeline = (
    fb.manifest(captions)                     # each row lists a picture; the other columns are fields
    .shuffle()
    .decode_image()
    .random_resized_crop(64, scale=(0.9, 1.0))
    .normalize(fb.IMAGENET)
    .tokenize(tokenizer, field="caption")
    .pad("tokens", 0, length=16)
    .batch(16)
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    for batch in loader:
        if batch.step == 0:
            print(batch.keys())
            print("image", batch["image"].shape, "tokens", batch["tokens"].shape, batch["tokens"].dtype)
            print(batch["key"][0], batch["tokens"][0].tolist())
# --8<-- [end:loop]
