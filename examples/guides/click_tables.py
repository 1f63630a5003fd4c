"""Tables: rows of Parquet files become dense and categorical inputs.

python click_tables.py
"""
import forebay as fb
import small_data

folder = small_data.clicks("clicks")
DENSE = ["price", "age"]

# --8<-- [start:pipeline]
pipeline = (
    fb.parquet(
        f"{folder}/*.parquet",
        columns=["label", *DENSE, "country", "visits"],     # no other column is read
        filter=[("label", "in", [0, 1])],
        null={"price": 0.0, "age": 0},                      # without it a null is an error
    )
    .shuffle(block=4)                                       # rows of 4 row groups mixed
    .cast("float32", field=DENSE)
    .log1p(DENSE)
    .stack(DENSE, name="dense")
    .hash_bucket(1000, field="country")
    .batch(1024)
)
# --8<-- [end:pipeline]

# --8<-- [start:loop]
with fb.Loader(pipeline, seed=7, epochs=1) as loader:
    print(loader.size, "rows,", len(loader), "batches")
    for batch in loader:
        values, offsets = batch["visits"]                   # row i: values[offsets[i]:offsets[i + 1]]
    print(batch.keys())
    print("dense", batch["dense"].shape, batch["dense"].dtype)
    print("country", batch["country"].dtype, "visits of the first row", values[offsets[0]:offsets[1]].tolist())
# --8<-- [end:loop]
