"""Runs one loader in this process (see harness/measured.py; storage.py starts it, with the loader's own Python).

The loader is read as one stream of batches, epoch after epoch. It warms up for an epoch, or for `warm_s` if that is shorter;
every object of the warm-up is compared whole. From then on it is timed for `samples` samples or `limit_s`, to the end of a
batch; there the sizes and the two ends of each object are compared.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "rivals"), os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "rivals")]

from harness import measured  # noqa: E402  (first: it notes the time)

import collections  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import time  # noqa: E402
import urllib.request  # noqa: E402
import zlib  # noqa: E402

ENDS = 32  # as in stand.py


class Check:
    """What was delivered: each object once an epoch, with its own bytes."""

    def __init__(self, objects, images):
        self.sizes = [size for _, size, _, _ in objects]
        self.whole = [crc for _, _, crc, _ in objects]
        self.ends = [crc for _, _, _, crc in objects]
        self.images = images
        self.wrong, self.epoch, self.samples, self.bytes, self.epochs = collections.Counter(), set(), 0, 0, 0
        self.last_order, self.order = None, 0

    def batch(self, numbers, payloads, whole):
        self.wrong["batches with another number of payloads than of numbers"] += len(numbers) != len(payloads)
        for number, data in zip(numbers, payloads):
            self.wrong["objects that came twice in an epoch"] += number in self.epoch
            self.epoch.add(number)
            self.order = zlib.crc32(b"%d" % number, self.order)
            if self.images:
                self.wrong["images of another shape or type"] += data.shape != (3, 224, 224) or data.dtype != "float32"
            else:
                self._bytes(number, data, whole)
        self.samples += len(numbers)

    def _bytes(self, number, data, whole):
        self.bytes += len(data)
        if len(data) != self.sizes[number]:
            self.wrong["objects of another length"] += 1
        elif whole and zlib.crc32(data) != self.whole[number]:
            self.wrong["objects with other bytes"] += 1
        elif zlib.crc32(data[-ENDS:], zlib.crc32(data[:ENDS])) != self.ends[number]:
            self.wrong["objects that begin or end with other bytes"] += 1

    def end_epoch(self):
        self.wrong["objects that an epoch lacked"] += len(self.sizes) - len(self.epoch)
        self.wrong["epochs in the order of the one before"] += self.order == self.last_order
        self.last_order, self.order = self.order, 0
        self.epoch = set()
        self.epochs += 1

    def problems(self):
        return sorted(f"{count} {what}" for what, count in self.wrong.items() if count)


class Meter:
    """The timed part, with the proxy's own counts in it."""

    def __init__(self, job, result):
        self.control, self.part = job.control, measured.TimedPart(result, job.servers)

    def _server(self, action):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.control}/{action}", timeout=10) as answer:
            return json.load(answer)

    def begin(self, check):
        self.samples, self.bytes = check.samples, check.bytes
        self._server("reset_counts")
        self.part.begin()

    def end(self, check):
        return {"server_cpu_s": {}} | self.part.end() | {
            "server": self._server("status")["counts"], "samples": check.samples - self.samples,
            "bytes": check.bytes - self.bytes}


def read(stream, job, meter, check):
    """(figures of the timed part, when the first batch was there): the stream's epochs up to the end of the timed part."""
    first_ns, timed = None, False
    while True:
        for numbers, payloads in next(stream):
            first_ns = first_ns or time.monotonic_ns()
            check.batch(numbers, payloads, whole=not timed)
            if not timed:
                if (time.monotonic_ns() - first_ns) / 1e9 > job.warm_s:
                    timed = True
                    meter.begin(check)
            elif check.samples - meter.samples >= job.samples or meter.part.seconds() > job.limit_s:
                return meter.end(check), first_ns
        check.end_epoch()
        if not timed:
            timed = True
            meter.begin(check)


def measure(job, result):
    """The record of a run. Its first batch is counted from when the loader knew its objects."""
    job.objects = [(key, int(size), int(crc), int(end)) for key, size, crc, end in rows(job.list)]
    job.keys = [row[0] for row in job.objects]
    job.number_of = {key: number for number, key in enumerate(job.keys)}
    loader = importlib.import_module(job.module)
    check, marks = Check(job.objects, getattr(job, "decode", False)), {}
    job.listed = lambda: marks.setdefault("listed_ns", time.monotonic_ns())
    constructed_ns = time.monotonic_ns()
    stream = loader.epochs(job)
    figures, first_ns = read(stream, job, Meter(job, result), check)
    stream.close()
    listed_ns = marks.get("listed_ns", constructed_ns)
    return figures | measured.first_batch(listed_ns, first_ns) | {
        "epochs": check.epochs, "delivered": check.samples, "problems": check.problems(), "name": loader.name(),
        "version": loader.version(), "settings": loader.settings(job), "listing_s": (listed_ns - constructed_ns) / 1e9}


def rows(path):
    with open(path) as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


if __name__ == "__main__":
    measured.main(measure)
