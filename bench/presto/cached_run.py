"""Photographs that one loader keeps behind a resize (see harness/measured.py; cached.py starts it)."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(HERE)
sys.path.append(os.path.join(HERE, "rivals"))

from harness import measured  # noqa: E402  first: it notes the time

import importlib  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402


def measure(job, result):
    module = importlib.import_module(job.module)
    epochs = module.epochs(job.paths, job.tier, job.work, job.size, job.crop, job.batch, job.threads, job.seed)
    begun = time.monotonic()
    values = [np.asarray(images, np.float64).mean() for _, images in next(epochs)]
    preparation = time.monotonic() - begun
    part, seen = measured.TimedPart(result), []
    part.begin()
    for _ in range(job.epochs):
        for ids, images in next(epochs):
            seen.extend(np.asarray(ids).tolist())
    record = part.end()
    count = len(job.paths)
    return record | {
        "samples": len(seen), "preparation_s": preparation, "mean": float(np.mean(values)), "dtype": str(np.asarray(images).dtype),
        "values": int(np.prod(np.shape(images)[1:])), "each_once": sorted(seen) == sorted([*range(count)] * job.epochs),
        "in_order": seen[:count] == sorted(seen[:count]) or seen[:count] == seen[count : 2 * count],
        "name": module.name(), "version": module.version(), "settings": module.settings()}


if __name__ == "__main__":
    measured.main(measure)
