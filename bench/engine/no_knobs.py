"""What is left to the engine, beside every fixed setting of a grid: throughput of `auto` ÷ that of the best.

    python bench/engine/no_knobs.py FOLDER [--rounds 5] [--seconds 3] [--only NAME …]      (photographs, a folder per class)

Twelve workloads, and the trainer's cores and quotas among them. Each setting of a grid runs once; then the three best and `auto` take turns,
`rounds` times, in processes of their own, and the ratio is that of each round's `auto` to the best median: what was best once by chance is
not what `auto` is held against. All runs of a workload must deliver the same (a digest of the first batches), or there is no figure.
A quota needs the right to make a control group; without it those workloads are left out, and said to be.
"""
import argparse
import hashlib
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness.quota import Quota  # noqa: E402

WARM_UP_S, FIRST_BATCHES = 2.0, 8
THREADS, REQUESTS = (1, 2, 3, 4), (8, 32, 128, 384)
LOCAL = [{"threads": threads} for threads in THREADS]
REMOTE = [{"threads": threads, "requests": requests} for threads, requests in itertools.product((1, 2, 3), REQUESTS)]
FUNCTION = [{"threads": threads, "workers": workers} for threads, workers in itertools.product((1, 2, 4, 32), ("threads", "processes"))]


def waits(sample):
    time.sleep(0.01)
    return sample


def lets_go_of_the_lock(sample):
    import numpy as np

    np.sort(np.resize(sample["x"], 60_000))
    return sample


def holds_the_lock(sample):
    total = 0
    for number in range(8_000):
        total += number
    return sample


def photographs(fb, place, batch=32):
    crops = fb.images(place["folder"]).shuffle().decode_image().random_resized_crop(224).random_flip()
    return crops.normalize(fb.IMAGENET).batch(batch)


def half_cached(fb, place):
    stored = sum(file.stat().st_size for file in pathlib.Path(place["folder"]).rglob("*.jpg"))
    kept = fb.images(place["folder"]).shuffle().cache(ram=stored // 2, disk=0)
    return kept.decode_image().random_resized_crop(224).normalize(fb.IMAGENET).batch(32)


def table(fb, place):
    return fb.parquet(place["table"]).shuffle(block=4).batch(1024)


def small_records(fb, place):
    import numpy as np

    return fb.arrays(x=np.arange(4_000_000, dtype=np.float32).reshape(-1, 4)).shuffle().batch(256)


def user_code(function):
    def make(fb, place, workers="auto"):
        import numpy as np

        records = fb.arrays(x=np.arange(40_000, dtype=np.float32).reshape(-1, 4)).shuffle()
        return records.map(function, workers=workers).batch(16)

    return make


# name: pipeline, grid, and what else: latency, CPU ms that the trainer takes a batch, loaders at once, cores of a quota, seconds before rates count (functions
# run elsewhere once they turn out to hold the lock, and that is judged)
WORKLOADS = {
    "photographs": (photographs, LOCAL, {}),
    "photographs at 20 ms": (photographs, REMOTE, {"latency_ms": 20}),
    "photographs at 100 ms": (photographs, REMOTE, {"latency_ms": 100}),
    "table": (table, LOCAL, {}),
    "small records": (small_records, LOCAL, {}),
    "function that waits": (user_code(waits), FUNCTION, {"warm_up_s": 8}),
    "function that lets go of the lock": (user_code(lets_go_of_the_lock), FUNCTION, {"warm_up_s": 8}),
    "function that holds the lock": (user_code(holds_the_lock), FUNCTION, {"warm_up_s": 8}),
    "cache that half fits, at 20 ms": (half_cached, REMOTE, {"latency_ms": 20}),
    "two loaders": (photographs, LOCAL, {"loaders": 2}),
    "trainer that uses a core": (photographs, LOCAL, {"trainer_ms": 40}),
    "quota of 0.5 cores": (photographs, LOCAL, {"cores": 0.5}),
    "quota of 1.5 cores": (photographs, LOCAL, {"cores": 1.5}),
}


# One run, in a process of its own


def trainer(milliseconds):
    """Python at work, on the CPU."""
    end_s = time.thread_time() + milliseconds / 1e3
    while time.thread_time() < end_s:
        pass


def consume(loader, job, seen, digest=None):
    """Batches until `seen["over"]`; counts those samples that came between `seen["from"]` and then."""
    while not seen["over"]:
        for batch in loader:
            if digest is not None and seen["batches"] < FIRST_BATCHES:
                digest.update(batch.ids.tobytes())
                for name in batch:
                    digest.update(bytes(memoryview(batch[name]).cast("B")) if hasattr(batch[name], "dtype") else repr(batch[name]).encode())
            trainer(job.get("trainer_ms", 0))
            seen["batches"] += 1
            if seen["from"]:
                seen["samples"] += len(batch)
            if seen["over"]:
                return


def run_one(job):
    import forebay as fb

    make, _, _ = WORKLOADS[job["workload"]]
    setting = dict(job["setting"])
    workers = setting.pop("workers", None)
    pipeline = make(fb, job, **({"workers": workers} if workers else {}))
    link = {"imitate_latency_ms": job["latency_ms"]} if "latency_ms" in job else {}
    loaders = [fb.Loader(pipeline, seed=7 + i, storage_options=link, **setting) for i in range(job.get("loaders", 1))]
    digest = hashlib.sha256()
    seen = [{"over": False, "from": 0.0, "samples": 0, "batches": 0} for _ in loaders]
    threads = [threading.Thread(target=consume, args=(loader, job, one, digest if loader is loaders[0] else None))
               for loader, one in zip(loaders, seen)]
    for thread in threads:
        thread.start()
    while any(one["batches"] < FIRST_BATCHES for one in seen):
        time.sleep(0.01)
    time.sleep(job.get("warm_up_s", WARM_UP_S))
    begun = time.perf_counter()
    for one in seen:
        one["from"] = begun
    time.sleep(job["seconds"])
    rate = sum(one["samples"] for one in seen) / (time.perf_counter() - begun)
    tuning = loaders[0].tuning()
    for one in seen:
        one["over"] = True
    for thread in threads:
        thread.join()
    for loader in loaders:
        loader.close()
    print(json.dumps({"rate": rate, "digest": digest.hexdigest(), "tuning": tuning}))


# All of them


def measured(job, quota):
    run = subprocess.Popen([sys.executable, __file__, "--one", json.dumps(job)], stdout=subprocess.PIPE, text=True,
                           preexec_fn=quota.add_this_process if quota else None)
    out, _ = run.communicate(timeout=300)
    if run.returncode:
        raise SystemExit(f"{job['workload']}, {job['setting']}: ended with {run.returncode}")
    return json.loads(out.splitlines()[-1])


def compare(name, place, rounds, seconds):
    """(median, least, most of auto ÷ best, the best setting, tuning of the last run)."""
    _, grid, more = WORKLOADS[name]
    with Quota(more["cores"]) if "cores" in more else _no_quota() as quota:
        runs = {}

        def run(setting):
            done = measured({**place, **more, "workload": name, "setting": setting, "seconds": seconds}, quota)
            runs.setdefault(json.dumps(setting), []).append(done)
            return done["rate"]

        first = sorted(grid, key=run, reverse=True)
        finalists = [*first[:3], {}]
        for setting in finalists:
            runs[json.dumps(setting)] = []
        for number in range(rounds):
            for setting in finalists[number % 4 :] + finalists[: number % 4]:
                run(setting)
    if len({one["digest"] for several in runs.values() for one in several}) != 1:
        raise SystemExit(f"{name}: the runs did not deliver the same")
    rates = {setting: statistics.median(one["rate"] for one in several) for setting, several in runs.items()}
    best = max((json.dumps(setting) for setting in first[:3]), key=rates.get)
    ratios = [auto["rate"] / rates[best] for auto in runs["{}"]]
    return statistics.median(ratios), min(ratios), max(ratios), best, rates[best], runs["{}"][-1]["tuning"]


class _no_quota:
    def __enter__(self):
        return None

    def __exit__(self, *exc_info):
        pass


def make_table(folder):
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path, draw = pathlib.Path(folder) / "wide.parquet", np.random.default_rng(0)
    pq.write_table(pa.table({f"x{i}": draw.random(200_000, dtype=np.float32) for i in range(30)}), path, row_group_size=10_000)
    return str(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--only", nargs="*", choices=sorted(WORKLOADS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        return run_one(json.loads(given.one))
    if not given.folder:
        parser.error("FOLDER is needed")
    with tempfile.TemporaryDirectory() as work:
        place = {"folder": os.path.abspath(given.folder), "table": make_table(work)}
        print("| workload | auto ÷ best | least | most | best of the grid | samples/s | decided |\n|---|---|---|---|---|---|---|")
        for name in given.only or WORKLOADS:
            if "cores" in WORKLOADS[name][2] and not Quota.possible():
                print(f"| {name} | no control group can be made here |", flush=True)
                continue
            middle, least, most, best, rate, tuning = compare(name, place, given.rounds, given.seconds)
            decided = ", ".join(f"{one['what']} {one['from']} → {one['to']}" for one in tuning[-3:])
            print(f"| {name} | {middle:.2f} | {least:.2f} | {most:.2f} | `{best}` | {rate:,.0f} | {decided} |", flush=True)


if __name__ == "__main__":
    main()
