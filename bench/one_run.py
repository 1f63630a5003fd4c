"""Runs one loader in this process and writes what happened as JSON.

    one_run.py CONFIG RESULT        (photos.py starts it, with the loader's own Python)

The first epoch warms up, the second is timed; their consumer only touches what it gets, so a loader that prefetches
over the end of an epoch has as much done beforehand when the timed epoch begins as it has done for the next when it
ends. A third epoch, if CONFIG asks for it, is read to the last pixel. RESULT.measuring appears when the second begins,
RESULT.measured when it is over.
"""

import time

entered_ns = time.monotonic_ns()

import hashlib  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402

import numpy as np  # noqa: E402

import process_tree  # noqa: E402

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


def measured(stream, proof, result):
    """Runs the timed epoch; the counters are read at its two ends."""
    me = os.getpid()
    open(result + ".measuring", "w").close()
    machine, cpu = process_tree.machine_cpu_seconds(), process_tree.cpu_seconds(me)
    begun, consumer = time.monotonic(), 0.0
    for images, labels in next(stream):
        before = time.thread_time()
        proof.touch(np.asarray(images), np.asarray(labels))
        consumer += time.thread_time() - before
    seconds = time.monotonic() - begun
    cpu = process_tree.cpu_seconds(me) - cpu
    others = process_tree.machine_cpu_seconds() - machine - cpu
    open(result + ".measured", "w").close()
    return {"seconds": seconds, "cpu_s": cpu, "consumer_cpu_s": consumer, "others_cpu_s": max(0.0, others)}


def main():
    with open(sys.argv[1]) as file:
        config = json.load(file)
    started_ns = int(os.environ.get("BENCH_STARTED_NS", entered_ns))
    with open(config["list"]) as lines:
        paths = [line.split("\t")[0] for line in lines]
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "rivals"))
    loader = importlib.import_module(config["module"])
    contiguous = getattr(loader, "CONTIGUOUS", True)
    warm_up, timed, proof = (Proof(contiguous) for _ in range(3))

    constructed_ns = time.monotonic_ns()
    stream = loader.epochs(paths, list(range(len(paths))), config["batch"], config["threads"], config["seed"])
    first_ns = 0
    for images, labels in next(stream):
        first_ns = first_ns or time.monotonic_ns()
        warm_up.touch(np.asarray(images), np.asarray(labels))
    result = {"name": loader.name(), "version": loader.version(), "settings": loader.settings(),
              "batch": config["batch"], "threads": config["threads"], "seed": config["seed"],
              "first_batch_from_loader_s": (first_ns - constructed_ns) / 1e9,
              "first_batch_from_process_s": (first_ns - started_ns) / 1e9}
    result |= measured(stream, timed, sys.argv[2])
    result |= {"timed": timed.result(paths)}
    if warm_up.result(paths)["order"] == result["timed"]["order"]:
        result["timed"]["problems"].append("two epochs have the same order")
    if config["proof"]:
        for images, labels in next(stream):
            proof.read(np.asarray(images), np.asarray(labels))
        result |= {"proof": proof.result(paths)}
    with open(sys.argv[2], "w") as file:
        json.dump(result, file)
    stream.close()


if __name__ == "__main__":
    main()
