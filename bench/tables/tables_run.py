"""Runs one loader in this process (see harness/measured.py; tables.py starts it, with the loader's own Python).

The loader is read as one stream of batches, epoch after epoch: a warm-up epoch, a timed one, and, if the job asks for it, a
third one of which every value is checked. Each part ends with as many rows as the table has, or after its limit of
seconds, to the end of a batch. With `step_ms` there is one part alone: a trainer that is emulated.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "rivals"), os.path.dirname(HERE)]

from harness import measured  # noqa: E402  (first: it notes the time)

import importlib  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402

from delivery import Delivery  # noqa: E402


class Stream:
    """Batches of endless epochs, one after the other, and what taking each cost this thread."""

    def __init__(self, epochs, delivery):
        self.epochs, self.delivery, self.batches = epochs, delivery, None
        self.next_ns, self.touch_ns = [], []

    def batch(self):
        """The next batch, or None where an epoch ends."""
        if self.batches is None:
            self.batches = iter(next(self.epochs))
        before = time.thread_time_ns()
        found = next(self.batches, None)
        self.next_ns.append(time.thread_time_ns() - before)
        if found is None:
            self.batches = None
            self.next_ns.pop()
        return found

    def read(self, look, limit_s, rows, first=None):
        """Gives batches to `look` until there were so many rows, or so many seconds."""
        began, until = time.monotonic(), self.delivery.rows + rows
        while self.delivery.rows < until and time.monotonic() - began < limit_s or self.delivery.finished():
            found = self.batch()
            if found is None:
                self.delivery.end_epoch()
                continue
            if first is not None and not first:
                first.append(time.monotonic_ns())
            before = time.thread_time_ns()
            look(found)
            self.touch_ns.append(time.thread_time_ns() - before)


def timed(stream, job, result):
    """The figures of the timed part."""
    delivery, part = stream.delivery, measured.TimedPart(result)
    stream.next_ns, stream.touch_ns = [], []
    rows = delivery.rows
    part.begin()
    stream.read(delivery.touch, job.limit_s, job.rows)
    return part.end() | {
        "rows": delivery.rows - rows, "next_us": statistics.median(stream.next_ns) / 1000,
        "next_mean_us": statistics.mean(stream.next_ns) / 1000, "touch_us": statistics.median(stream.touch_ns) / 1000}


def proof(stream, job):
    """Every value of an epoch, or of as much of it as there was time for."""
    stream.delivery.start_proof()
    stream.read(stream.delivery.prove, job.proof_s, job.rows)
    return stream.delivery.end_proof()


def trained(stream, job, constructed_ns, result):
    """A trainer that waits for a batch, then is busy for `step_ms`, from its start through one epoch; and its first batch."""
    delivery, busy, steps, first_ns, part = stream.delivery, 0.0, 0, None, measured.TimedPart(result)
    part.begin()
    found = object()
    while (time.monotonic_ns() - constructed_ns) / 1e9 < job.limit_s:
        found = stream.batch()
        if found is None:
            break
        first_ns = first_ns or time.monotonic_ns()
        delivery.touch(found)
        began = time.monotonic()
        time.sleep(job.step_ms / 1000)
        busy += time.monotonic() - began
        steps += 1
    over_ns = time.monotonic_ns()
    figures = part.end() | {"seconds": (over_ns - constructed_ns) / 1e9}
    if found is None:
        delivery.end_epoch()
    return figures | {"rows": delivery.rows, "steps": steps, "busy": busy / figures["seconds"],
                      "busy_after_first": busy / ((over_ns - first_ns) / 1e9)}, first_ns


def warmed(stream, job, constructed_ns, result):
    """A warm-up and the timed part; and the first batch."""
    first = []
    stream.read(stream.delivery.touch, job.warm_s, job.rows, first)
    first_epoch_s = (time.monotonic_ns() - constructed_ns) / 1e9
    figures = timed(stream, job, result) | {"first_epoch_s": first_epoch_s}
    return figures | {"proof": proof(stream, job) if job.proof else None}, first[0]


def measure(job, result):
    """The record of a run."""
    loader = importlib.import_module(job.module)
    delivery = Delivery(job, loader)
    constructed_ns = time.monotonic_ns()
    epochs = loader.epochs(job)
    record, first_ns = (trained if job.step_ms else warmed)(Stream(epochs, delivery), job, constructed_ns, result)
    facts = loader.facts(job) if hasattr(loader, "facts") else {}
    epochs.close()
    return record | measured.first_batch(constructed_ns, first_ns) | {
        "name": loader.name(job), "version": loader.version(), "settings": loader.settings(job),
        "claims": loader.claims(job), "delivery": delivery.result(), "facts": facts}


if __name__ == "__main__":
    measured.main(measure)
