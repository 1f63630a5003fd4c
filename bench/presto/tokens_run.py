"""Pages to tokens, by the module of the job (see harness/measured.py; tokens.py starts it)."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.dirname(HERE), os.path.join(HERE, "rivals")]

from harness import measured  # noqa: E402  (first: it notes the time)

import hashlib  # noqa: E402
import importlib  # noqa: E402

import numpy as np  # noqa: E402


def measure(job, result):
    module = importlib.import_module(job.module)
    if job.module == "train_tokens":
        return module.train(job)
    opened = module.open_loader(job)
    for _ in opened.epoch():  # warms the page cache, and what there is of the loader's own
        pass
    part, kept = measured.TimedPart(result), []
    part.begin()
    for values, offsets in opened.epoch():
        kept.append((values, offsets))
    found = part.end()
    opened.close()
    ids, lengths = hashlib.sha256(), hashlib.sha256()
    for values, offsets in kept:
        ids.update(np.ascontiguousarray(values, np.int32).tobytes())
        lengths.update(np.diff(np.asarray(offsets, np.int64)).tobytes())
    return found | {"tokens": int(sum(len(values) for values, _ in kept)), "delivered": sum(len(offsets) - 1 for _, offsets in kept), "ids": ids.hexdigest(),
                    "lengths": lengths.hexdigest()} | opened.about


if __name__ == "__main__":
    measured.main(measure)
