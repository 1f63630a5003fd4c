"""Windows of a signal by one loader (see harness/measured.py; signals.py starts it)."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[0] = os.path.dirname(HERE)
sys.path.append(os.path.join(HERE, "rivals"))

from harness import measured  # noqa: E402  first: it notes the time

import importlib  # noqa: E402

import numpy as np  # noqa: E402

FIELDS = ("rms", "power", "cusum")


class Seen:
    """All that was delivered: ids, and of each field the sum over (1 + id % 97) times its values, which tells windows apart."""

    def __init__(self):
        self.ids, self.sums = [], dict.fromkeys(FIELDS, 0.0)

    def take(self, batch):
        ids, *fields = batch
        self.ids.append(np.array(ids))
        weight = (1.0 + ids % 97)[:, None]
        for name, values in zip(FIELDS, fields):
            self.sums[name] += float((np.asarray(values, np.float64) * weight).sum())

    def record(self, epochs):
        ids = np.concatenate(self.ids)
        each = len(ids) // epochs
        whole = np.array_equal(np.sort(ids), np.repeat(np.arange(each), epochs))
        return {"samples": len(ids), "each_once": bool(whole), "in_order": bool(np.array_equal(ids[:each], np.sort(ids[:each]))), "sums": self.sums}


def measure(job, result):
    module = importlib.import_module(job.module)
    epochs = module.epochs(job.path, job.window, job.stride, job.period, job.batch, job.threads, job.seed)
    warm = Seen()
    for batch in next(epochs):
        warm.take(batch)
    part, seen = measured.TimedPart(result), Seen()
    part.begin()
    for _ in range(job.epochs):
        for batch in next(epochs):
            seen.take(batch)
    return part.end() | seen.record(job.epochs) | {"name": module.name(), "version": module.version(), "settings": module.settings()}


if __name__ == "__main__":
    measured.main(measure)
