"""Python that holds the interpreter lock, in a loader of this process (see harness/measured.py; user_code.py starts it)."""

from harness import measured  # first: it notes the time

import time

import numpy as np

import forebay as fb
from forebay._processes import ProcessPool

ARRAY_BYTES = 600_000
CALLS = 300
RESULT = np.zeros(ARRAY_BYTES, np.uint8)
COPY = np.empty_like(RESULT)


def compute(sample):
    """About 5 ms of pure Python: holds the lock from its beginning to its end."""
    total = int(sample["x"])
    for i in range(60_000):
        total = (total * 31 + i) % 1_000_003
    return {"x": sample["x"], "total": np.int64(total)}


def epoch(job, result):
    """An epoch after one that warms up, and its digest."""
    pipeline = fb.arrays(x=np.arange(job.samples)).shuffle().map(compute, workers=job.workers).batch(16)
    part = measured.TimedPart(result)
    with fb.Loader(pipeline, seed=7, threads=job.threads, epochs=2) as loader:
        delivered = sum(len(batch) for batch in loader)
        part.begin()
        digest = fb.digest(loader)
        return part.end() | {"delivered": delivered, "digest": digest}


def first_result():
    """Milliseconds until a new pool of two answers, the fork server being there."""
    began = time.perf_counter()
    with ProcessPool(lambda: int, 2, "bench") as pool:
        pool.call(0), pool.call(1)
        return 1000 * (time.perf_counter() - began)


def per_call(function, *args):
    """Microseconds per call in a worker, one after another."""
    with ProcessPool(lambda: function, 1, "bench") as pool:
        for _ in range(20):
            pool.call(0, *args)
        return microseconds(lambda: pool.call(0, *args))


def microseconds(call):
    began = time.perf_counter()
    for _ in range(CALLS):
        call()
    return 1e6 * (time.perf_counter() - began) / CALLS


COSTS = {
    "call that does nothing, us": lambda: per_call(int),
    "600 KB result, us": lambda: per_call(lambda: RESULT),
    "600 KB there and back, us": lambda: per_call(lambda array: array, RESULT),
    "copy of 600 KB, us": lambda: microseconds(lambda: np.copyto(COPY, RESULT)),
    "pool of 2 to its first results, ms": first_result,
}


def costs(result):
    """What a call in a worker costs. The first pool starts the fork server, which is not counted."""
    first_result()
    part = measured.TimedPart(result)
    part.begin()
    found = {name: cost() for name, cost in COSTS.items()}
    return part.end() | {"costs": found}


def measure(job, result):
    found = costs(result) if job.workers == "costs" else epoch(job, result)
    return found | {"numpy": np.__version__, "name": job.workers, "version": f"forebay {fb.__version__}", "settings": {}}


if __name__ == "__main__":
    measured.main(measure)
