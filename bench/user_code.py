#!/usr/bin/env python3
"""Python functions that hold the interpreter lock, with threads and with worker processes; and what a call in a worker costs.

    bench/user_code.py [--rounds 5] [--samples 400] [--threads N] [--json]

Rounds are interleaved (threads, processes, threads, ...). Both must deliver the same digest, or nothing is printed.
"""

import argparse
import json
import os
import platform
import statistics
import sys
import time

import numpy as np

import forebay as fb
from forebay._processes import ProcessPool

ARRAY_BYTES = 600_000
CALLS = 300


def compute(sample):
    """About 5 ms of pure Python: holds the lock from its beginning to its end."""
    total = int(sample["x"])
    for i in range(60_000):
        total = (total * 31 + i) % 1_000_003
    return {"x": sample["x"], "total": np.int64(total)}


def epoch(workers, samples, threads):
    """(digest, seconds) of an epoch after one that warms up."""
    pipeline = fb.arrays(x=np.arange(samples)).shuffle().map(compute, workers=workers).batch(16)
    with fb.Loader(pipeline, seed=7, threads=threads, epochs=2) as loader:
        for _ in loader:
            pass
        began = time.perf_counter()
        digest = fb.digest(loader)
        return digest, time.perf_counter() - began


def first_result():
    """Milliseconds until a new pool of two answers, the fork server being there."""
    began = time.perf_counter()
    with ProcessPool(lambda: int, 2, "bench") as pool:
        pool.call(0), pool.call(1)
        return 1000 * (time.perf_counter() - began)


def per_call(function, *args):
    """Microseconds per call, one after another."""
    with ProcessPool(lambda: function, 1, "bench") as pool:
        for _ in range(20):
            pool.call(0, *args)
        began = time.perf_counter()
        for _ in range(CALLS):
            pool.call(0, *args)
        return 1e6 * (time.perf_counter() - began) / CALLS


RESULT = np.zeros(ARRAY_BYTES, np.uint8)
COSTS = {
    "call that does nothing, us": lambda: per_call(int),
    "600 KB result, us": lambda: per_call(lambda: RESULT),
    "600 KB there and back, us": lambda: per_call(lambda array: array, RESULT),
    "copy of 600 KB, us": lambda: copy_cost(),
    "pool of 2 to its first results, ms": first_result,
}


def copy_cost():
    target = np.empty_like(RESULT)
    began = time.perf_counter()
    for _ in range(CALLS):
        np.copyto(target, RESULT)
    return 1e6 * (time.perf_counter() - began) / CALLS


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def text(figures, digits):
    median, least, greatest = (f"{figures[name]:.{digits}f}" for name in ("median", "least", "greatest"))
    return f"{median} [{least}, {greatest}]"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    seconds = {"threads": [], "processes": []}
    digests = set()
    costs = {name: [] for name in COSTS}
    for _ in range(options.rounds):
        for workers, taken in seconds.items():
            digest, took = epoch(workers, options.samples, options.threads)
            digests.add(digest)
            taken.append(took)
        for name, measure in COSTS.items():
            costs[name].append(measure())
    if len(digests) != 1:
        sys.exit(f"threads and processes delivered different samples: {sorted(digests)}")
    result = {
        "python": platform.python_version(), "numpy": np.__version__, "threads": options.threads, "samples": options.samples,
        "rounds": options.rounds, "digest": digests.pop(),
        "samples per second": {workers: spread([options.samples / one for one in taken]) for workers, taken in seconds.items()},
        "speed-up": spread([a / b for a, b in zip(seconds["threads"], seconds["processes"])]),
        "costs": {name: spread(values) for name, values in costs.items()},
    }  # fmt: skip
    if options.json:
        print(json.dumps(result))
        return
    print(f"Python {result['python']}, {options.threads} threads or processes, {options.rounds} rounds")
    print(f"digest of both: {result['digest']}")
    for workers, figures in result["samples per second"].items():
        print(f"{'samples/s with ' + workers:36} {text(figures, 0)}")
    print(f"{'processes over threads':36} {text(result['speed-up'], 2)}")
    for name, figures in result["costs"].items():
        print(f"{name:36} {text(figures, 1)}")


if __name__ == "__main__":
    main()
