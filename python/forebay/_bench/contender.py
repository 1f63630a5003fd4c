"""The code inside a contender's process: `python -m forebay._bench.contender JOB RESULT`."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

import numpy as np

from . import process_tree


class Seen:
    """The content of an epoch: each id with its label, the shapes and types of the fields, and the
    pictures' mean and deviation.
    """

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.labels: dict[int, int] = {}
        self.keys: dict[int, str] = {}
        self.forms: dict[str, str] = {}
        self.sizes: list[int] = []
        self.sums = np.zeros(3)

    def add(self, batch: dict[str, Any]) -> None:
        ids = [int(one) for one in batch["ids"]]
        self.ids += ids
        self.sizes.append(len(ids))
        for name in sorted(set(batch) - {"ids"}):
            values = batch[name]
            if isinstance(values, (list, tuple)):
                self.forms[name] = "text"
                self.keys.update(zip(ids, map(str, values)))
                continue
            values = np.asarray(values)
            self.forms[name] = f"{values.dtype} {list(values.shape[1:])}"
            if name == "label":
                self.labels.update(zip(ids, map(int, values)))
            elif name == "image":
                sample = values.astype(np.float64)
                self.sums += [sample.size, sample.sum(), np.square(sample).sum()]

    def record(self) -> dict[str, Any]:
        count = max(self.sums[0], 1)
        mean = self.sums[1] / count
        deviation = max(self.sums[2] / count - mean * mean, 0) ** 0.5
        return {"ids": self.ids, "labels": self.labels, "keys": self.keys, "forms": self.forms, "sizes": self.sizes,
                "mean": mean, "deviation": deviation}


def look(job: dict[str, Any], epochs: Any) -> dict[str, Any]:
    """Inspects one epoch. If `values` is given, the pictures of the first samples are written
    there.
    """
    seen, kept, kept_ids = Seen(), [], []
    for batch in next(epochs):
        seen.add(batch)
        if job.get("values") and "image" in batch:
            kept += list(np.asarray(batch["image"]))
            kept_ids += [int(one) for one in batch["ids"]]
    if kept:
        np.savez(job["values"], ids=kept_ids, image=np.stack(kept))
    return seen.record()


def measure(job: dict[str, Any], epochs: Any) -> dict[str, Any]:
    """Measures the first epoch separately, then all others. Each sample must occur once in each."""
    timed = []
    for _ in range(job["epochs"]):
        ids: list[np.ndarray] = []
        cpu_s, began = process_tree.cpu_seconds(os.getpid()), time.monotonic()
        for batch in next(epochs):
            ids.append(np.asarray(batch["ids"]))
            if "image" in batch:
                batch["image"][..., ::32, ::32].sum()  # touches the data, so that no loader gains by delivering lazily
        seconds = time.monotonic() - began
        cpu_s = process_tree.cpu_seconds(os.getpid()) - cpu_s
        flat = np.concatenate(ids) if ids else np.empty(0, np.int64)
        timed.append({"seconds": seconds, "cpu_s": cpu_s, "samples": len(flat), "distinct": len(np.unique(flat))})
    return {"epochs": timed}


def main() -> None:
    with open(sys.argv[1]) as file:
        job = json.load(file)
    epochs = importlib.import_module(job["module"]).epochs(job)
    record = (look if job["look"] else measure)(job, epochs)
    with open(sys.argv[2], "w") as file:
        json.dump(record, file)


if __name__ == "__main__":
    main()
