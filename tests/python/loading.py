"""What many tests do with a loader, and how they run a program of its own that may be interrupted."""
import os
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import dataclass

import numpy as np

import forebay as fb
from servers.s3 import Client


def epoch_ids(loader):
    """The ids of the rest of the epoch, repeats left out."""
    ids = []
    for batch in loader:
        ids += batch.ids[: len(batch) - batch.padding].tolist()
    return ids


def one_epoch(pipeline, **options):
    """The digest of epoch 0."""
    with fb.Loader(pipeline, **options) as loader:
        return fb.digest(loader)


def epochs(pipeline, count=3, **options):
    """The digests of the first ones with seed 7."""
    with fb.Loader(pipeline, seed=7, **options) as loader:
        return [fb.digest(loader) for _ in range(count)]


def behind_faults(found, bucket, folder):
    """The folder's files in a bucket below rows/, by way of the fault proxy: storage options."""
    keys = found["FOREBAY_TEST_S3_KEY"], found["FOREBAY_TEST_S3_SECRET"]
    client = Client(found["FOREBAY_TEST_S3"], *keys)
    client.make_bucket(bucket)
    client.put_all(bucket, {f"rows/{file.name}": file.read_bytes() for file in folder.iterdir()})
    return {"endpoint": found["FOREBAY_TEST_FAULTS"], "access_key_id": keys[0], "secret_access_key": keys[1]}


def pillow(path, mode="RGB"):
    """The picture as the documentation promises it: upright, alpha dropped, 16 bits by their upper byte."""
    from PIL import Image, ImageOps

    with Image.open(path) as image:
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):
            image = Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8))
        pixels = np.asarray(image.convert(mode))
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


@dataclass
class Outcome:
    code: int
    out: str
    err: str
    seconds: float  # from the signal, or from the start


def script(text, *args, timeout_s=300, python=()):
    """Runs a Python program to its end. `python`: options of the interpreter."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, *python, "-c", textwrap.dedent(text), *map(str, args)], capture_output=True, text=True,
                          timeout=timeout_s, stdin=subprocess.DEVNULL)
    return Outcome(done.returncode, done.stdout, done.stderr, time.monotonic() - began)


def interrupted_script(text, *args, within_s=None, **options):
    """How a program ended that got a Ctrl-C (see `_interrupted`). `within_s`: what it may take. It is tried a few times, since the
    machine's other work only ever makes it longer; the promise is broken where no try keeps it."""
    tries = 1 if within_s is None else 4
    for _ in range(tries):
        outcome = _interrupted(text, *args, **options)
        if within_s is None or outcome.seconds < within_s:
            return outcome
    raise AssertionError(f"{outcome.seconds:.2f} s from Ctrl-C to the end, and not less than {within_s} s in {tries} tries")


def _interrupted(text, *args, after_s=0.4, timeout_s=120, group=False):
    """Runs a Python program, waits until it prints "ready" and a little longer, sends Ctrl-C and waits for its end. `group`: as a
    terminal does, to all its processes."""
    # A shell's background jobs ignore Ctrl-C, and what they start does too.
    process = subprocess.Popen([sys.executable, "-u", "-c", textwrap.dedent(text), *map(str, args)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL, start_new_session=group,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        assert process.stdout.readline() == "ready\n", process.communicate(timeout=timeout_s)
        time.sleep(after_s)
        if group:
            os.killpg(process.pid, signal.SIGINT)
        else:
            process.send_signal(signal.SIGINT)
        began = time.monotonic()
        out, err = process.communicate(timeout=timeout_s)
        return Outcome(process.returncode, out, err, time.monotonic() - began)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def threads():
    return len(os.listdir("/proc/self/task"))


def soon(count, at_most, timeout_s=30):
    """Whether `count()` comes down to a number: a joined thread is counted by the kernel for a moment longer."""
    deadline = time.monotonic() + timeout_s
    while count() > at_most and time.monotonic() < deadline:
        time.sleep(0.01)
    return count() <= at_most


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def children(root=None):
    """Process ids of everything below a process, by default this one."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as file:
                    fields = file.read().rpartition(")")[2].split()
            except (FileNotFoundError, ProcessLookupError):
                continue  # ended since the folder was read
            if fields[0] != "Z":
                parents[int(entry)] = int(fields[1])
    found, last = set(), {os.getpid() if root is None else root}
    while last:
        last = {pid for pid, parent in parents.items() if parent in last}
        found |= last
    return found
