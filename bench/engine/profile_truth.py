#!/usr/bin/env python3
"""Whether profile() states what a full run keeps and gives, over random pipelines (profile_truth_cases.py).

    bench/engine/profile_truth.py [--cases 200] [--first 0] [--time 4] [--no-rates] [--out FILE.jsonl]

Of each case every cache that profile() tried is run over all samples, and the bytes that it keeps are compared with those stated; the best
pipeline is run for a second, and its speed is compared with the one stated. Bytes within 15 % and 0.8 of the speed are right. Exit code 1
where a case is wrong in bytes.
"""
import argparse
import json
import os
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

import forebay as fb  # noqa: E402

import profile_truth_cases as cases  # noqa: E402

WITHIN, SHARE_OF_RATE = 0.15, 0.8


def arrived(loader):
    """Bytes in the loader's cache, once its entries are written."""
    before = None
    while True:
        cache = loader.stats()["caches"][0]
        now = cache["ram"]["bytes"] + cache["disk"]["bytes"], cache["ram"]["entries"] + cache["disk"]["entries"]
        if now == before:
            return now[0], cache["ram"]["declined"] + cache["disk"]["declined"]
        before = now
        time.sleep(0.1)


def kept_by(pipeline):
    """(bytes that a run over all samples keeps, entries for which there was no room)."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FOREBAY_CACHE_DIR"] = folder
        with fb.Loader(pipeline, seed=3, epochs=1) as loader:
            for _ in loader:
                pass
            return arrived(loader)


def rate_of(pipeline, seconds=1.0):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["FOREBAY_CACHE_DIR"] = folder
        with fb.Loader(pipeline, seed=3) as loader:
            for _ in loader:
                pass
            samples, began = 0, time.perf_counter()
            while time.perf_counter() - began < seconds:
                for batch in loader:
                    samples += len(batch.ids)
            return samples / (time.perf_counter() - began)


def looked_at(seed, options):
    with tempfile.TemporaryDirectory() as folder:
        name, pipeline = cases.case(seed, folder)
        found = fb.profile(pipeline, time=options.time, files=None)
        record = {"case": name, "best": found.best.name, "seconds": found.data["seconds"], "strategies": [], "others": found.others}
        for one in found.strategies:
            if one.tier == "nothing" or (options.best_only and one is not found.best):
                continue
            kept, declined = kept_by(one.pipeline)
            record["strategies"].append({"name": one.name, "stated": one.bytes.value, "kept": kept, "declined": declined})
        if options.rates:
            record["stated_rate"] = found.best.samples_per_second.value
            record["rate"] = rate_of(found.best.pipeline)
        return record


def wrong_bytes(record):
    return [one for one in record["strategies"] if one["declined"] or abs(one["stated"] / max(one["kept"], 1) - 1) > WITHIN]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--time", type=float, default=4, help="seconds for each profile()")
    parser.add_argument("--no-rates", dest="rates", action="store_false")
    parser.add_argument("--best-only", action="store_true", help="bytes of the best strategy alone")
    parser.add_argument("--out")
    options = parser.parse_args()
    records = []
    for seed in range(options.first, options.first + options.cases):
        record = looked_at(seed, options)
        records.append(record)
        if options.out:
            with open(options.out, "a") as file:
                file.write(json.dumps(record) + "\n")
        for one in wrong_bytes(record):
            print(f"BYTES {record['case']}: {one['name']} is stated to take {one['stated']:.0f} and keeps {one['kept']}, {one['declined']} declined")
        if options.rates and record["rate"] < SHARE_OF_RATE * record["stated_rate"]:
            print(f"SPEED {record['case']}: {record['best']} is stated to give {record['stated_rate']:.0f} and gives {record['rate']:.0f}")
        sys.stdout.flush()
    strategies = [one for record in records for one in record["strategies"]]
    off = sorted(abs(one["stated"] / max(one["kept"], 1) - 1) for one in strategies)
    wrong = sum(bool(wrong_bytes(record)) for record in records)
    print(f"{len(records)} pipelines, {len(strategies)} caches: bytes off by {statistics.median(off or [0]):.4f} in the middle and "
          f"{max(off or [0]):.3f} at most; {wrong} pipelines with a cache off by more than {WITHIN}")
    if options.rates:
        shares = sorted(record["rate"] / record["stated_rate"] for record in records)
        low = sum(share < SHARE_OF_RATE for share in shares)
        print(f"speed of the best: {shares[0]:.2f} to {shares[-1]:.2f} of what was stated, {statistics.median(shares):.2f} in the middle; "
              f"{low} below {SHARE_OF_RATE}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
