#!/usr/bin/env python3
"""How full packed blocks are: the rules of `.pack()` beside best-fit decreasing in batches (as TRL packs) and a bounded number of bins (as Grain packs).

    bench/mix/packs.py [--rows 50000] [--length 2048] [--seed 7]
"""

import argparse
import bisect
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import forebay as fb


def lengths_of_texts(rows, seed):
    """Log-normal: a mean of 666 tokens, and a long tail, as texts of the web have them."""
    return np.random.default_rng(seed).lognormal(6, 1, rows).astype(np.int64) + 1


def rests(lengths, length):
    """The rest of each text after the blocks that it fills alone, and the number of these blocks."""
    return [int(rest) for rest in lengths % length if rest], int((lengths // length).sum())


def best_fit_decreasing(counts, length):
    """The number of bins: the longest first, each into the fullest bin with space."""
    spaces, bins = [], 0
    for count in sorted(counts, reverse=True):
        at = bisect.bisect_left(spaces, count)
        bins += at == len(spaces)
        space = spaces.pop(at) if at < len(spaces) else length
        if space > count:
            bisect.insort(spaces, space - count)
    return bins


def in_batches(counts, length, batch):
    return sum(best_fit_decreasing(counts[at:at + batch], length) for at in range(0, len(counts), batch))


def bounded_bins(counts, length, bins):
    """The number of bins: in the order of arrival, the fullest of so many bins with space; if none has, all are given out."""
    spaces, closed = [length] * bins, 0
    for count in counts:
        fitting = [at for at, space in enumerate(spaces) if space >= count]
        if not fitting:
            closed += sum(space < length for space in spaces)
            spaces, fitting = [length] * bins, [0]
        at = min(fitting, key=spaces.__getitem__)
        spaces[at] -= count
    return closed + sum(space < length for space in spaces)


def blocks_of_forebay(lengths, length, folder, **options):
    """The number of blocks."""
    path = Path(folder) / "texts.parquet"
    if not path.exists():
        offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int64())
        tokens = pa.LargeListArray.from_arrays(offsets, pa.array(np.zeros(lengths.sum(), np.uint8)))
        pq.write_table(pa.table({"tokens": tokens}), path, row_group_size=len(lengths))
    with fb.Loader(fb.parquet(path).pack(length, **options).batch(8), epochs=1) as loader:
        return loader.size


def measure(rows, length, seed):
    lengths = lengths_of_texts(rows, seed)
    counts, whole = rests(lengths, length)
    with tempfile.TemporaryDirectory() as folder:
        for name, options in {"first-fit": {}, "best-fit": {"how": "best-fit"}, "best-fit, windows of 1,000": {"how": "best-fit", "window": 1000},
                              "cut": {"how": "cut"}}.items():  # fmt: skip
            yield f"forebay: {name}", blocks_of_forebay(lengths, length, folder, **options)
    for name, pack in {"best-fit decreasing, batches of 1,000": lambda: in_batches(counts, length, 1000), "64 bins": lambda: bounded_bins(counts, length, 64)}.items():
        yield f"Python: {name}", whole + pack()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args()
    total = int(lengths_of_texts(given.rows, given.seed).sum())
    print(f"{given.rows} texts, {total} tokens, blocks of {given.length}")
    for name, blocks in measure(given.rows, given.length, given.seed):
        print(f"{name:48} {blocks:8} blocks {total / (blocks * given.length):8.2%} filled")


if __name__ == "__main__":
    main()
