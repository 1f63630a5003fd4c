"""Reads one loader, or two at once, in this process or in one each (see harness/measured.py; two_loaders.py starts it).

Each loader warms up for an epoch, which gives its digest. Then all begin together and read `epochs` epochs; who has done so
goes on reading until the others have, too, so that all are busy for the whole timed part. It ends with the batch.
"""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import measured, process_tree  # noqa: E402  (first: it notes the time)

import hashlib  # noqa: E402
import multiprocessing  # noqa: E402
import queue  # noqa: E402
import threading  # noqa: E402
import time  # noqa: E402

import forebay as fb  # noqa: E402

WAIT_LIMIT_S = 300  # for the other readers


def photographs(spec):
    return (fb.images(spec["folder"]).shuffle().decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET)
            .batch(spec["batch"]))


def table(spec):
    return fb.parquet(os.path.join(spec["folder"], "*.parquet"), columns=spec["columns"]).shuffle().batch(spec["batch"])


PIPELINES = {"photographs": photographs, "table": table}


class Meeting:
    """Where readers wait for each other, made of `threading` or of a multiprocessing context."""

    def __init__(self, make, readers, results):
        self.started, self.warm, self.timed = (make.Barrier(readers + 1) for _ in range(3))  # and whoever measures
        self.done = [make.Event() for _ in range(readers)]
        self.results = results

    def all_done(self):
        return all(event.is_set() for event in self.done)

    def give_up(self, number, error):
        """Lets nobody wait for a reader that failed."""
        self.results.put((number, {"error": f"{type(error).__name__}: {error}"}))
        self.done[number].set()
        for barrier in (self.started, self.warm, self.timed):
            barrier.abort()


class Reader:
    """One loader, and what it delivered."""

    def __init__(self, spec, loader):
        self.loader, self.column = loader, "image" if spec["kind"] == "photographs" else spec["columns"][0]
        self.samples, self.first_epoch = 0, hashlib.sha256()

    def batches(self, epochs):
        """Looks at a part of every batch, of endless epochs; says after each batch whether `epochs` of them are over."""
        number = 0
        while True:
            for batch in self.loader:
                self.samples += len(batch)
                seen = batch[self.column]
                seen = seen[:, :, 16::32, 16::32] if seen.ndim == 4 else seen
                if number == 0:
                    self.first_epoch.update(batch.ids.tobytes() + seen.tobytes())
                yield number >= epochs
            number += 1


def read(number, spec, job, meeting):
    """A reader from its beginning to its end; what it delivered goes to the meeting before its loader is closed."""
    meeting.started.wait(WAIT_LIMIT_S)
    with fb.Loader(PIPELINES[spec["kind"]](spec), seed=spec["seed"], threads=job["threads"]) as loader:
        reader, digest = Reader(spec, loader), fb.digest(loader)
        meeting.warm.wait(WAIT_LIMIT_S)
        meeting.timed.wait(WAIT_LIMIT_S)
        began = time.monotonic()
        for over in reader.batches(job["epochs"]):
            if over:
                meeting.done[number].set()
            if over and meeting.all_done():
                break
        meeting.results.put((number, {"name": spec["name"], "samples": reader.samples, "seconds": time.monotonic() - began,
                                      "digest": digest, "first_epoch": reader.first_epoch.hexdigest()}))


def run(number, spec, job, meeting):
    try:
        read(number, spec, job, meeting)
    except Exception as error:
        meeting.give_up(number, error)


def gathered(meeting, count):
    """The readers' answers, in their order; the error of the first that failed is raised."""
    answers = {}
    for number, answer in (meeting.results.get() for _ in range(count)):
        if "error" in answer:
            raise RuntimeError(f"reader {number + 1}: {answer['error']}")
        answers[number] = answer
    return [answers[number] for number in range(count)]


def measure(job, result):
    """The record of a run."""
    make = multiprocessing.get_context("spawn") if job.how == "processes" else threading
    start = make.Process if job.how == "processes" else threading.Thread
    meeting = Meeting(make, len(job.loaders), make.Queue() if job.how == "processes" else queue.Queue())
    told = {"threads": job.threads, "epochs": job.epochs}
    readers = [start(target=run, args=(number, spec, told, meeting)) for number, spec in enumerate(job.loaders)]
    for reader in readers:
        reader.start()
    part, facts = measured.TimedPart(result), {}
    try:
        meeting.started.wait(WAIT_LIMIT_S)
        facts["own_bytes"] = process_tree.memory(os.getpid())[0]
        meeting.warm.wait(WAIT_LIMIT_S)
        facts["threads"] = process_tree.threads(os.getpid())
        part.begin()
        meeting.timed.wait(WAIT_LIMIT_S)
    except threading.BrokenBarrierError:
        pass  # gathered() has the reason
    answers = gathered(meeting, len(readers))
    figures = part.end()
    for reader in readers:
        reader.join()
    return figures | facts | {"loaders": answers, "name": job.how, "version": f"forebay {fb.__version__}",
                              "settings": {"threads": job.threads}}


if __name__ == "__main__":
    measured.main(measure)
