"""Goes through a mix by the module of the job (see harness/measured.py; mix.py starts it).

The first samples are compared with their sources. Then what was fetched ahead meanwhile is used up, and the rest is timed. A job with
`resume` then goes to 90 % of an epoch, and opens loaders that go on there.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "rivals")]

from harness import measured  # noqa: E402  (first: it notes the time)

import importlib  # noqa: E402
import itertools  # noqa: E402
import time  # noqa: E402

import numpy as np  # noqa: E402

from data_sets import mix_set  # noqa: E402

RESUMES = 5
AT = (1000, 10_000)  # samples after which shares are looked at


def size(batch):
    """Takes every field of a batch; the number of its samples."""
    return min(len(value) for value in batch.values())


def deviation(parts, weights):
    """The largest deviation of a part from its share, in samples."""
    counts = np.bincount(parts, minlength=len(weights))
    return float(np.abs(counts - len(parts) * np.array(weights)).max())


def proof(job, batches):
    """Compares the first samples with their sources; what they say of shares and of the order."""
    sources = [np.load(path, mmap_mode="r") for path in job.paths] if job.kind == "arrays" else None
    seen, sizes, count = [], set(), 0
    while count < job.proof:
        batch = next(batches)
        seen.append(mix_set.checked(job.kind, batch, sources))
        sizes.add(size(batch))
        count += size(batch)
    parts, rows = (np.concatenate(column) for column in zip(*seen))
    keys = parts * 2**32 + rows
    return {"checked": count, "sizes": sorted(sizes), "repeats": int(count - len(np.unique(keys))),
            "rising": float(max(np.mean(np.diff(rows[parts == part]) > 0) for part in np.unique(parts))),
            "errors": {str(at): deviation(parts[:at], job.weights) for at in AT if at <= count}}


def pull(batches, seconds):
    """Takes batches for so long, one at least: their samples."""
    until, count = time.monotonic() + seconds, size(next(batches))
    while time.monotonic() < until:
        count += size(next(batches))
    return count


def same(one, other):
    """Whether two batches hold the same samples, in the same order."""
    return one.keys() == other.keys() and all(np.array_equal(np.asarray(one[name]), np.asarray(other[name])) for name in one)


def resuming(module, job):
    """Seconds from opening a loader with a state of 90 % of an epoch to its first batch, and whether it is the batch that comes there."""
    opened = module.open_loader(job)
    batches = opened.batches()
    for _ in itertools.islice(batches, int(0.9 * job.epoch) // job.batch):
        pass
    state = opened.state()
    expected = {name: np.array(value) for name, value in next(batches).items()}
    opened.close()
    seconds, right = [], True
    for _ in range(RESUMES):
        began = time.monotonic()
        opened = module.open_loader(job, state)
        batch = next(opened.batches())
        seconds.append(time.monotonic() - began)
        right = right and same(expected, batch)
        opened.close()
    return {"resume_s": seconds, "resume_same": right}


def measure(job, result):
    module = importlib.import_module(job.module)
    if job.convert:
        module.convert(job)
        return {}
    began = time.monotonic_ns()
    opened = module.open_loader(job)
    batches = opened.batches()
    first = next(batches)
    found = measured.first_batch(began, time.monotonic_ns())
    found |= proof(job, itertools.chain([first], batches))
    pull(batches, job.seconds / 4)
    part = measured.TimedPart(result)
    part.begin()
    samples = pull(batches, job.seconds)
    found |= part.end() | {"samples": samples} | opened.about
    opened.close()
    if job.resume and hasattr(opened, "state"):
        try:
            found |= resuming(module, job)
        except Exception as error:  # a loader that cannot say where it is has no figure, and its reason
            found["resume_error"] = f"{type(error).__name__}: {error}"[:200]
    return found


if __name__ == "__main__":
    measured.main(measure)
