"""What bad rows of one row group cost: seconds for 1,000 to 64,000 of them, by kind, policy and batch size.

    python bench/bad_rows.py

Prints the time of each number and its ratio to that of the number before, which is about 4 where the cost is linear."""
import os
import tempfile
import time

import pyarrow as pa
import pyarrow.parquet as pq

import forebay as fb

COUNTS = (1_000, 4_000, 16_000, 64_000)


def table(kind, count):
    if kind == "null":
        return pa.table({"a": pa.array([None] * count, pa.float32())})
    return pa.table({"a": pa.array([b"\xff"] * count, pa.binary()).view(pa.string())})


def seconds(path, policy, batch):
    began = time.perf_counter()
    try:
        with fb.Loader(fb.parquet(path).batch(batch), epochs=1, on_error=policy, max_errors=None) as loader:
            for _ in loader:
                pass
    except fb.Error:
        pass
    return time.perf_counter() - began


def main():
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("null", "text"):
            for policy in ("raise", "skip"):
                for batch in (64, 64_000):
                    before = None
                    for count in COUNTS:
                        path = os.path.join(folder, f"{kind}-{count}.parquet")
                        pq.write_table(table(kind, count), path, row_group_size=count)
                        taken = min(seconds(path, policy, batch) for _ in range(3))
                        ratio = "" if before is None else f"  {taken / before:.1f} times"
                        print(f"{kind:5} {policy:6} batch {batch:6}: {count:6} rows {taken:.3f} s{ratio}", flush=True)
                        before = taken


if __name__ == "__main__":
    main()
