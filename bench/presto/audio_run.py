"""Mel spectrograms of recordings by one loader (see harness/measured.py; audio.py starts it)."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(HERE)
sys.path.append(os.path.join(HERE, "rivals"))

from harness import measured  # noqa: E402  first: it notes the time

import importlib  # noqa: E402

import numpy as np  # noqa: E402

# Of all: a frame each 10 ms, 80 bands.
N_MELS = 80


def touch(ids, mel, seen):
    """What a consumer that costs nothing does: looks at one value of each spectrogram."""
    seen.extend(ids.tolist())
    return float(np.asarray(mel)[:, 0, 0].sum())


def sums(loader):
    """id → (sum of the spectrogram, of its square root), over every value."""
    found = {}
    for ids, mel in loader:
        for i, one in zip(ids.tolist(), np.asarray(mel, np.float64)):
            found[i] = (one.sum(), np.sqrt(one).sum())
    return [found[i] for i in range(len(found))]


def measure(job, result):
    module = importlib.import_module(job.module)
    epochs = module.epochs(job.paths, job.rate, job.seconds, job.n_fft, N_MELS, job.batch, job.threads, job.seed)
    warm = []
    for ids, mel in next(epochs):
        touch(ids, mel, warm)
    part, seen = measured.TimedPart(result), []
    part.begin()
    for _ in range(job.epochs):
        for ids, mel in next(epochs):
            touch(ids, mel, seen)
    record = part.end()
    record |= {"samples": len(seen), "each_once": sorted(seen) == sorted([*range(len(job.paths))] * job.epochs), "shape": list(np.shape(mel)[1:]),
               "dtype": str(np.asarray(mel).dtype), "in_order": seen[: len(job.paths)] == sorted(seen[: len(job.paths)])}
    if job.proof:
        record["sums"] = sums(next(epochs))
    return record | {"name": module.name(), "version": module.version(), "settings": module.settings()}


if __name__ == "__main__":
    measured.main(measure)
