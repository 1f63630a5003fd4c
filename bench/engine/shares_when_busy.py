#!/usr/bin/env python3
"""Whether CPU seconds of steps are those of the work, whatever else runs: a core alone, and the same core with busy processes on it.

    bench/engine/shares_when_busy.py FOLDER [--others 2] [--rounds 5] [--epochs 2]     (photographs, a folder per class)

One core, one thread; both settings take turns. Told are the CPU seconds of each step (`stats()["steps"]`), their sum, and busy ÷ alone.
"""
import argparse
import os
import statistics
import subprocess
import sys

import forebay as fb

BUSY = "while True: pass"


def seconds_of_steps(root, epochs):
    pipeline = (fb.images(root).shuffle().decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET).batch(32))
    with fb.Loader(pipeline, seed=1, threads=1, epochs=epochs) as loader:
        for _ in range(epochs):
            for _ in loader:
                pass
        return {step["name"]: step["busy_seconds"] for step in loader.stats()["steps"]}


def with_others(count, look):
    others = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        return look()
    finally:
        for other in others:
            other.kill()
            other.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--others", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=2)
    options = parser.parse_args()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # and with it all that is started here
    alone, busy = [], []
    for _ in range(options.rounds):
        alone.append(seconds_of_steps(options.folder, options.epochs))
        busy.append(with_others(options.others, lambda: seconds_of_steps(options.folder, options.epochs)))
    shares = [{name: seconds / sum(one.values()) for name, seconds in one.items()} for one in alone]
    busy_shares = [{name: seconds / sum(one.values()) for name, seconds in one.items()} for one in busy]
    print(f"{'step':24}{'alone, s':>10}{'busy, s':>10}{'busy ÷ alone':>14}{'share alone':>13}{'share busy':>12}")
    for name in alone[0]:
        a, b = (statistics.median(one[name] for one in runs) for runs in (alone, busy))
        c, d = (statistics.median(one[name] for one in runs) for runs in (shares, busy_shares))
        print(f"{name:24}{a:10.3f}{b:10.3f}{b / a if a else 0:14.2f}{c:13.3f}{d:12.3f}")


if __name__ == "__main__":
    main()
