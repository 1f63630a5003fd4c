"""Runs one loader in this process and writes what happened as JSON.

    run_rival.py JOB RESULT        (storage.py starts it, with the loader's own Python)

The loader is read as one stream of batches, epoch after epoch. It warms up for an epoch, or for `warm_s` if that is shorter;
every object of the warm-up is compared whole. From then on it is timed for `samples` samples or `limit_s`, to the end of a
batch; there the sizes and the two ends of each object are compared. RESULT.measuring and RESULT.measured mark the timed part.
"""

import time

entered_ns = time.monotonic_ns()

import collections  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402
import urllib.request  # noqa: E402
import zlib  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "rivals"), os.path.dirname(HERE), os.path.join(os.path.dirname(HERE), "rivals")]

import process_tree  # noqa: E402

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
    """Everything that is read at the two ends of the timed part."""

    def __init__(self, job):
        self.job = job

    def _server(self, action):
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.job.control}/{action}", timeout=10) as answer:
            return json.load(answer)

    def _cpu(self):
        mine = process_tree.cpu_seconds(os.getpid())
        servers = {name: process_tree.cpu_seconds(pid) for name, pid in self.job.servers.items()}
        return mine, servers, process_tree.machine_cpu_seconds()

    def begin(self):
        self._server("reset_counts")
        self.cpu = self._cpu()
        self.began = time.monotonic()

    def end(self):
        seconds = time.monotonic() - self.began
        mine, servers, machine = (new - old if not isinstance(new, dict) else {key: new[key] - old[key] for key in new}
                                  for new, old in zip(self._cpu(), self.cpu))
        counts = self._server("status")["counts"]
        others = machine - mine - sum(servers.values())
        return {"seconds": seconds, "cpu_s": mine, "server_cpu_s": servers, "others_cpu_s": max(0.0, others),
                "server": counts}


def read(job, loader, result):
    """The record of a run."""
    started_ns = int(os.environ.get("BENCH_STARTED_NS", entered_ns))
    check = Check(job.objects, getattr(job, "decode", False))
    meter, first_ns, timed_from, figures = Meter(job), None, None, None
    marks = {}
    job.listed = lambda: marks.setdefault("listed_ns", time.monotonic_ns())
    constructed_ns = time.monotonic_ns()
    stream = loader.epochs(job)
    while figures is None:
        for numbers, payloads in next(stream):
            first_ns = first_ns or time.monotonic_ns()
            check.batch(numbers, payloads, whole=timed_from is None)
            over = (time.monotonic_ns() - first_ns) / 1e9
            if timed_from is None and over > job.warm_s:
                timed_from = begin(meter, check, result)
            elif timed_from is not None and (check.samples - timed_from[0] >= job.samples or
                                             time.monotonic() - meter.began > job.limit_s):
                figures = meter.end()
                break
        else:
            check.end_epoch()
            timed_from = timed_from or begin(meter, check, result)
    open(result + ".measured", "w").close()
    stream.close()
    listed_ns = marks.get("listed_ns", constructed_ns)
    return figures | {"samples": check.samples - timed_from[0], "bytes": check.bytes - timed_from[1], "epochs": check.epochs,
                      "delivered": check.samples, "problems": check.problems(), "name": loader.name(),
                      "version": loader.version(), "settings": loader.settings(job),
                      "first_batch_s": (first_ns - listed_ns) / 1e9, "listing_s": (listed_ns - constructed_ns) / 1e9,
                      "first_batch_from_process_s": (first_ns - started_ns) / 1e9}


def begin(meter, check, result):
    open(result + ".measuring", "w").close()
    meter.begin()
    return check.samples, check.bytes


def main():
    with open(sys.argv[1]) as file:
        job = types.SimpleNamespace(**json.load(file))
    with open(job.list) as lines:
        rows = (line.rstrip("\n").split("\t") for line in lines)
        job.objects = [(key, int(size), int(crc), int(end)) for key, size, crc, end in rows]
    job.keys = [row[0] for row in job.objects]
    job.number_of = {key: number for number, key in enumerate(job.keys)}
    record = read(job, importlib.import_module(job.module), sys.argv[2])
    with open(sys.argv[2], "w") as file:
        json.dump(record, file)


if __name__ == "__main__":
    main()
