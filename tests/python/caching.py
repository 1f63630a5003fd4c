"""What tests of caches over different sources share."""
import numpy as np
import pytest

import forebay as fb

ROWS = 60
TIERS = [{"ram": "8MB", "disk": 0}, {"ram": 0, "disk": "16MB"}, {"ram": "20KB", "disk": "16MB"}]


def twice(pipeline, between=lambda: None, **options):
    """The digests of an epoch that is read twice by one loader, and so not before it was read once."""
    with fb.Loader(pipeline, seed=3, epochs=1, **options) as loader:
        first = fb.digest(loader)
        between()
        loader.set_epoch(0)
        return [first, fb.digest(loader)]


def small_table():
    pa = pytest.importorskip("pyarrow")
    return pa.table({"n": np.arange(ROWS), "text": [f"row {i % 7}" for i in range(ROWS)],
                     "list": [[float(i)] * (i % 3) for i in range(ROWS)]})
