"""Samples by their number, as map-style data sets have them: rows of a mapped array, or lines of a file, decoded."""

import json
import os

import numpy as np


class Array:
    def __init__(self, path):
        self.rows = np.load(path, mmap_mode="r")

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, number):
        return {"x": np.array(self.rows[number])}


class Lines:
    """Finds the lines' places when it is made, and reads each line when it is asked for."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.ends = np.cumsum([0, *(len(line) for line in file)])
        self.path, self.file = path, None

    def __len__(self):
        return len(self.ends) - 1

    def __getitem__(self, number):
        if self.file is None:  # each process its own
            self.file = os.open(self.path, os.O_RDONLY)
        first, end = int(self.ends[number]), int(self.ends[number + 1])
        return json.loads(os.pread(self.file, end - first, first))

    def __getstate__(self):
        return self.__dict__ | {"file": None}


def parts(job):
    return [(Array if job.kind == "arrays" else Lines)(path) for path in job.paths]


def columns(samples):
    """A batch: each field's values."""
    if "x" in samples[0]:
        return {"x": np.stack([sample["x"] for sample in samples])}
    made = {name: [sample[name] for sample in samples] for name in samples[0]}
    return made | {name: np.array(made[name]) for name in ("part", "row", "score")}
