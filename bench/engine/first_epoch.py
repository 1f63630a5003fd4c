"""How fast the first epoch of a process is, beside the later ones of the same process.

    python bench/engine/first_epoch.py [--only photographs,table,lists] [--rounds 5] [--scale 1]

Every run is a process of its own, since only its first epoch is one; kinds take turns. The first epoch is counted from asking for its
first batch, and brings fresh memory, first reads of footers and threads that start. Inputs are made in a temporary folder and are in the
page cache. An epoch takes about a second at --scale 1: what a first epoch costs beside later ones is mostly some tens of milliseconds
however long it is, so shorter epochs have a lower ratio.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE]

SIZES = {"photographs": 1600, "table": 1_600_000, "lists": 800_000}  # samples
EPOCHS = 5


def made(kind, folder, scale):
    """The path of a kind's input."""
    import memory_truth_data as data
    return getattr(data, kind)(folder, max(int(SIZES[kind] * scale), 100))


def pipeline(kind, path):
    import forebay as fb
    if kind == "photographs":
        return fb.images(path).shuffle().decode_image().random_resized_crop(224).random_flip().batch(32)
    return fb.parquet(path).shuffle().batch(1024 if kind == "table" else 512)


def run(kind, path):
    """In a process of its own: samples a second of each epoch."""
    import forebay as fb
    rates = []
    with fb.Loader(pipeline(kind, path), seed=0) as loader:
        for _ in range(EPOCHS):
            began, samples = time.perf_counter(), 0
            for batch in loader:
                samples += len(batch)
            rates.append(samples / (time.perf_counter() - began))
    return rates


def measured(kind, path):
    done = subprocess.run([sys.executable, __file__, "--run", kind, path], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def line(kind, runs):
    """Of runs, each a list of the epochs' rates."""
    ratios = [rates[0] / statistics.median(rates[1:]) for rates in runs]
    later = statistics.median(statistics.median(rates[1:]) for rates in runs)
    return (f"{kind:12} first epoch ÷ later ones {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}); "
            f"later ones {later:.0f} samples/s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(SIZES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--run", nargs=2, metavar=("KIND", "PATH"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return print(json.dumps(run(*options.run)))
    with tempfile.TemporaryDirectory() as folder:
        paths = {kind: made(kind, folder, options.scale) for kind in options.only.split(",")}
        runs = {kind: [] for kind in paths}
        for _ in range(options.rounds):
            for kind, path in paths.items():
                runs[kind].append(measured(kind, path))
    for kind in runs:
        print(line(kind, runs[kind]))


if __name__ == "__main__":
    main()
