"""Runs one loader in this process and writes what happened as JSON.

    run_rival.py JOB RESULT        (tables.py starts it, with the loader's own Python)

The loader is read as one stream of batches, epoch after epoch: a warm-up epoch, a timed one, and, if JOB asks for it, a
third one of which every value is checked. Each part ends with as many rows as the table has, or after its limit of
seconds, to the end of a batch. RESULT.measuring and RESULT.measured mark the timed part. With `step_ms` there is one
part alone: a trainer that is emulated.
"""

import time

entered_ns = time.monotonic_ns()

import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "rivals"), os.path.dirname(HERE)]

import process_tree  # noqa: E402
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


def cpu():
    return process_tree.cpu_seconds(os.getpid()), process_tree.machine_cpu_seconds()


def timed(stream, job, result):
    """The figures of the timed part."""
    delivery = stream.delivery
    stream.next_ns, stream.touch_ns = [], []
    open(result + ".measuring", "w").close()
    rows, before, began = delivery.rows, cpu(), time.monotonic()
    stream.read(delivery.touch, job.limit_s, job.rows)
    seconds = time.monotonic() - began
    mine, machine = (new - old for new, old in zip(cpu(), before))
    open(result + ".measured", "w").close()
    return {"seconds": seconds, "cpu_s": mine, "others_cpu_s": max(0.0, machine - mine), "rows": delivery.rows - rows,
            "next_us": statistics.median(stream.next_ns) / 1000, "next_mean_us": statistics.mean(stream.next_ns) / 1000,
            "touch_us": statistics.median(stream.touch_ns) / 1000}


def proof(stream, job):
    """Every value of an epoch, or of as much of it as there was time for."""
    stream.delivery.start_proof()
    stream.read(stream.delivery.prove, job.proof_s, job.rows)
    return stream.delivery.end_proof()


def trained(stream, job, constructed_ns, result):
    """A trainer that waits for a batch, then is busy for `step_ms`, from its start through one epoch."""
    open(result + ".measuring", "w").close()
    delivery, busy, steps, first_ns, before = stream.delivery, 0.0, 0, None, cpu()
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
    mine, machine = (new - old for new, old in zip(cpu(), before))
    open(result + ".measured", "w").close()
    if found is None:
        delivery.end_epoch()
    return {"seconds": (over_ns - constructed_ns) / 1e9, "cpu_s": mine, "others_cpu_s": max(0.0, machine - mine),
            "rows": delivery.rows, "steps": steps, "busy": busy / ((over_ns - constructed_ns) / 1e9),
            "busy_after_first": busy / ((over_ns - first_ns) / 1e9), "first_ns": first_ns}


def read(job, loader, result):
    """The record of a run."""
    started_ns = int(os.environ.get("BENCH_STARTED_NS", entered_ns))
    delivery = Delivery(job, loader)
    constructed_ns = time.monotonic_ns()
    epochs = loader.epochs(job)
    stream, first = Stream(epochs, delivery), []
    if job.step_ms:
        record = trained(stream, job, constructed_ns, result)
        first = [record.pop("first_ns")]
    else:
        stream.read(delivery.touch, job.warm_s, job.rows, first)
        record = {"first_epoch_s": (time.monotonic_ns() - constructed_ns) / 1e9} | timed(stream, job, result)
        record["proof"] = proof(stream, job) if job.proof else None
    facts = loader.facts(job) if hasattr(loader, "facts") else {}
    epochs.close()
    return record | {"name": loader.name(job), "version": loader.version(), "settings": loader.settings(job),
                     "claims": loader.claims(job), "delivery": delivery.result(), "facts": facts,
                     "first_batch_s": (first[0] - constructed_ns) / 1e9,
                     "first_batch_from_process_s": (first[0] - started_ns) / 1e9}


def main():
    with open(sys.argv[1]) as file:
        job = types.SimpleNamespace(**json.load(file))
    record = read(job, importlib.import_module(job.module), sys.argv[2])
    with open(sys.argv[2], "w") as file:
        json.dump(record, file)


if __name__ == "__main__":
    main()
