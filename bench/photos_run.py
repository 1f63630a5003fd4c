"""Runs one loader in this process (see harness/measured.py; photos.py starts it, with the loader's own Python).

The first epoch warms up, the second is timed; their consumer only touches what it gets, so a loader that prefetches
over the end of an epoch has as much done beforehand when the timed epoch begins as it has done for the next when it
ends. A third epoch, if the job asks for it, is read to the last pixel.
"""

from harness import measured  # first: it notes the time

import hashlib
import importlib
import os
import sys
import time

import numpy as np

from data_sets import photo_set

STRIDE = 32  # the consumer reads one pixel in STRIDE x STRIDE


class Proof:
    """What was delivered: which photographs, in which order, what shape, and the statistics of their pixels."""

    def __init__(self, contiguous):
        self.contiguous = contiguous
        self.numbers, self.shapes, self.dtypes, self.problems = [], set(), set(), []
        self.count = 0
        self.sum, self.squares, self.steps = np.zeros(3), np.zeros(3), 0.0

    def touch(self, images, labels):
        """What the timed epoch does with a batch: about the least that makes a lazy loader deliver it."""
        self.numbers.append(np.array(labels, np.int64))
        self.shapes.add(images.shape[1:])
        self.dtypes.add(str(images.dtype))
        if self.contiguous and not images.flags.c_contiguous:
            self.problems.append("a batch is not contiguous NCHW")
        if images.shape[0] != len(labels):
            self.problems.append(f"{images.shape[0]} images with {len(labels)} labels")
        self._add(images[:, :, STRIDE // 2::STRIDE, STRIDE // 2::STRIDE])
        return float(images[0, 0, 0, 0])

    def read(self, images, labels):
        """Every pixel, a photograph at a time."""
        kept = self.sum, self.squares, self.count
        self.touch(images, labels)
        self.sum, self.squares, self.count = kept
        for image in images:
            self._add(image[None])
            self.steps += float(np.abs(np.diff(image[:, ::4], axis=2)).mean())

    def _add(self, pixels):
        wide = pixels.astype(np.float64)
        self.sum = self.sum + wide.sum(axis=(0, 2, 3))
        self.squares = self.squares + np.einsum("nchw,nchw->c", wide, wide)
        self.count += wide.size // 3

    def result(self, paths):
        numbers = np.concatenate(self.numbers)
        counts = {}
        for number in numbers:
            kind = os.path.basename(os.path.dirname(paths[number]))
            counts[kind] = counts.get(kind, 0) + 1
        mean = self.sum / self.count
        std = np.sqrt(self.squares / self.count - mean**2)
        if len(np.unique(numbers)) != len(paths) or len(numbers) != len(paths):
            self.problems.append(f"{len(numbers)} samples, {len(np.unique(numbers))} of {len(paths)} photographs")
        if np.all(np.diff(numbers) > 0):
            self.problems.append("the order is not shuffled")
        return {"samples": len(numbers), "distinct": len(np.unique(numbers)), "shapes": sorted(self.shapes),
                "dtypes": sorted(self.dtypes), "mean": mean.tolist(), "std": std.tolist(),
                "detail": self.steps / len(numbers) or None, "per_class": dict(sorted(counts.items())),
                "order": hashlib.sha256(numbers.astype("<i8").tobytes()).hexdigest()[:16],
                "problems": sorted(set(self.problems))}


def timed_epoch(epoch, proof, result):
    """Runs the timed epoch: its figures, and the CPU seconds of the consumer in them."""
    part, consumer_s = measured.TimedPart(result), 0.0
    part.begin()
    for images, labels in epoch:
        before = time.thread_time()
        proof.touch(np.asarray(images), np.asarray(labels))
        consumer_s += time.thread_time() - before
    return part.end() | {"consumer_cpu_s": consumer_s}


def measure(job, result):
    """The record of a run."""
    paths = photo_set.read_list(job.list)
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "rivals"))
    loader = importlib.import_module(job.module)
    contiguous = getattr(loader, "CONTIGUOUS", True)
    warm_up, timed, proof = (Proof(contiguous) for _ in range(3))

    constructed_ns = time.monotonic_ns()
    stream = loader.epochs(paths, list(range(len(paths))), job.batch, job.threads, job.seed)
    first_ns = 0
    for images, labels in next(stream):
        first_ns = first_ns or time.monotonic_ns()
        warm_up.touch(np.asarray(images), np.asarray(labels))
    record = {"name": loader.name(), "version": loader.version(), "settings": loader.settings(),
              "batch": job.batch, "threads": job.threads, "seed": job.seed,
              **measured.first_batch(constructed_ns, first_ns), **timed_epoch(next(stream), timed, result)}
    record["timed"] = timed.result(paths)
    if warm_up.result(paths)["order"] == record["timed"]["order"]:
        record["timed"]["problems"].append("two epochs have the same order")
    if job.proof:
        for images, labels in next(stream):
            proof.read(np.asarray(images), np.asarray(labels))
        record["proof"] = proof.result(paths)
    stream.close()
    return record


if __name__ == "__main__":
    measured.main(measure)
