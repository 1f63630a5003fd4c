"""Read from a bucket, cache on this host, and see what was requested.

python read_from_s3.py s3://BUCKET/PREFIX [ENDPOINT]
"""
import sys

import forebay as fb

url = sys.argv[1]
# Credentials and region come from the environment, profiles or the instance, as for the AWS tools.
options = {"endpoint": sys.argv[2]} if len(sys.argv) > 2 else {}

# --8<-- [start:pipeline]
pipeline = (
    fb.images(url)
    .shuffle()
    .decode_image()
    .resize(short_side=72)
    .cache(ram="1GiB", disk=0)           # decoded, small pictures; disk="200GiB" keeps them for later runs
    .random_crop(64)
    .batch(16)
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=2, storage_options=options) as loader:
    print(loader.size, "objects below", url)
    for epoch in range(2):
        for batch in loader:
            pass                         # your training step
    store, cache = loader.stats()["stores"][0], loader.stats()["caches"][0]
    print("objects read in two epochs:", store["cold_reads"] + store["warm_reads"])
    print("samples taken from the cache:", cache["ram"]["hits"])
# --8<-- [end:loop]
