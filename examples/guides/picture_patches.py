"""Pictures of any size with captions, for a vision-language model: batches that hold as many pictures as fit a budget of patches.

python picture_patches.py [CAPTIONS_CSV TOKENIZER_JSON]
"""
import sys

import numpy as np

import forebay as fb
import small_data

captions = sys.argv[1] if len(sys.argv) > 1 else small_data.pairs("pairs") / "captions.csv"
tokenizer = sys.argv[2] if len(sys.argv) > 2 else small_data.words_tokenizer("words.json")

# --8<-- [start:pipeline]
pipeline = (
    fb.manifest(captions)
    .decode_image()
    .patchify(14, merge=2, min_pixels=56 * 56, max_pixels=112 * 112)      # 16 to 64 patches
    .tokenize(tokenizer, field="caption")
    .select("patches", "grid", "tokens")
    .shuffle()
    .bucket(by="patches", tokens=512, padded=False)                        # up to 512 patches a batch, without padding
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    sizes = []
    for batch in loader:
        patches, ends = batch["patches"]                 # those of picture i are patches[ends[i]:ends[i + 1]]
        tokens, ends_of_captions = batch["tokens"]
        sizes.append(len(patches))
        assert np.array_equal(np.diff(ends), batch["grid"].prod(axis=1))
    print(len(loader), "batches of", min(sizes), "to", max(sizes), "patches")
    print("the last one:", len(batch), "pictures;", patches.shape, patches.dtype, "ends", ends.tolist())
    print("grids", batch["grid"].tolist())
# --8<-- [end:loop]
