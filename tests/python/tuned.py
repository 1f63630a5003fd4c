"""What tests of tuning do, also in programs of their own."""
import time

import numpy as np

import forebay as fb


def numbers(rows=64):
    return fb.arrays(x=np.arange(rows * 4, dtype=np.float32).reshape(rows, 4)).shuffle().batch(8)


def until_tuned(loader, what, patience_s=60):
    """Epoch after epoch until something of that name was decided."""
    end_s = time.monotonic() + patience_s
    while time.monotonic() < end_s:
        for _ in loader:
            pass
        found = [decision for decision in loader.tuning() if decision["what"] == what]
        if found:
            return found
        time.sleep(0.05)
    return []
