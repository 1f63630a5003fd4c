#!/usr/bin/env python3
"""What it takes to get a batch of 38 MB that is ready: from a loader of this process, and from a server of another.

    bench/shared/hand_over.py [--steps 100] [--pause-ms 60]

Between two batches the trainer is busy, so that the next one is made. Told is the time of the call that gives the batch, and of letting it go;
that the bytes are right is looked at outside of both. A copy of such a batch is timed, too.
"""
import argparse
import os
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

import numpy as np

import forebay as fb

ROWS, BATCHES = 64, 6


def busy(seconds):
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def measure(path, expected, steps, pause_s, share):
    pipeline = fb.arrays(x=path).batch(ROWS)
    got, dropped = [], []
    with fb.Loader(pipeline, share=share) as loader:
        while len(got) < steps:
            passing = iter(loader)
            while True:
                busy(pause_s)
                begun = time.perf_counter()
                batch = next(passing, None)
                taken = time.perf_counter() - begun
                if batch is None:
                    break
                got.append(taken)
                assert (batch["x"][:, 0, 0, 0] == expected[batch.ids]).all()
                begun = time.perf_counter()
                batch = None
                dropped.append(time.perf_counter() - begun)
    return got, dropped


def told(name, values):
    values = sorted(1e6 * value for value in values)
    print(f"{name:28} median {statistics.median(values):8.1f} µs, least {values[0]:8.1f}, 90 of 100 within {values[len(values) * 9 // 10]:8.1f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--pause-ms", type=float, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, socket = os.path.join(folder, "x.npy"), os.path.join(folder, "s.sock")
        values = np.random.default_rng(0).random((ROWS * BATCHES, 3, 224, 224), dtype=np.float32)
        np.save(path, values)
        expected, one = values[:, 0, 0, 0].copy(), values[:ROWS].copy()
        begun = time.perf_counter()
        for _ in range(5):
            one.copy()
        print(f"{'a copy of such a batch':28} {1e6 * (time.perf_counter() - begun) / 5:8.0f} µs, {one.nbytes} bytes")
        del values
        server = subprocess.Popen([os.path.join(sysconfig.get_path("scripts"), "forebay"), "serve", "--socket", socket],
                                  stderr=subprocess.DEVNULL)
        try:
            while not os.path.exists(socket):
                time.sleep(0.01)
            for name, share in (("in this process", None), ("from the server", socket)):
                got, dropped = measure(path, expected, arguments.steps, arguments.pause_ms / 1e3, share)
                told(f"{name}: getting", got)
                told(f"{name}: letting go", dropped)
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
