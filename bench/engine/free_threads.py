"""The gain of a second thread for `.map()` with a function that only computes in Python.

    python bench/engine/free_threads.py                     (with a Python without its global lock: 3.13t, 3.14t)
    PYTHON_GIL=1 python bench/engine/free_threads.py        the same Python with the lock

Runs with one thread and with two take turns. All batches of a run are compared with those of the first, so both do the same work. A run is
the only epoch of a loader, since the next one would be made ahead. Two threads gain only where two cores are free: the cores that a run had are told
beside its speed, and the range of the rounds beside the median.
"""

import argparse
import resource
import statistics
import sys
import time

import numpy as np

import forebay as fb


def work(sample):
    """The sum of the Collatz steps of some numbers: loops, branches and small integers."""
    steps = 0
    for number in range(int(sample["x"]) + 1, int(sample["x"]) + 60):
        while number != 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
    return {"steps": np.asarray(steps)}


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def run(samples, threads):
    """Returns samples per second, CPU seconds per second and the batches."""
    pipeline = fb.arrays(x=np.arange(samples)).map(work, workers="threads").batch(16)
    with fb.Loader(pipeline, threads=threads, epochs=1) as loader:
        began, used = time.perf_counter(), cpu_s()
        steps = np.concatenate([batch["steps"] for batch in loader])
        seconds = time.perf_counter() - began
    return samples / seconds, (cpu_s() - used) / seconds, steps


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    print(f"Python {sys.version.split()[0]}, its global lock {'on' if lock else 'off'}")
    runs = {1: [], 2: []}
    first = None
    for _ in range(options.rounds):
        for threads, records in runs.items():
            rate, cores, steps = run(options.samples, threads)
            first = steps if first is None else first
            if not np.array_equal(steps, first):
                sys.exit(f"the batches of {threads} threads are others than those of the first run")
            records.append((rate, cores))
    for threads, records in runs.items():
        rates, cores = zip(*records, strict=True)
        print(f"{threads} thread{'s' if threads > 1 else ''}: {statistics.median(rates):.0f} samples/s ({min(rates):.0f}–{max(rates):.0f}), {statistics.median(cores):.2f} cores")
    gains = [two[0] / one[0] for one, two in zip(runs[1], runs[2], strict=True)]
    print(f"gain: {statistics.median(gains):.2f} ({min(gains):.2f}–{max(gains):.2f})")


if __name__ == "__main__":
    main()
