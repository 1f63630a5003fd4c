"""A loader that found files cold reads them warm once they are: on the thread that needs them, without a hand-over."""
import os

import numpy as np
import pytest
from PIL import Image

import forebay as fb


def test_files_that_were_cold_are_read_warm_once_they_are_in_the_page_cache(tmp_path):
    draw = np.random.default_rng(5)
    for number in range(200):
        Image.fromarray(draw.integers(0, 255, (240, 320, 3), dtype=np.uint8)).save(tmp_path / f"{number:03}.jpg")
    os.sync()
    for file in tmp_path.glob("*.jpg"):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
    pipeline = fb.files(str(tmp_path / "*.jpg")).shuffle().rename(bytes="image").decode_image().resize((32, 32)).select("image").batch(16)
    with fb.Loader(pipeline, threads=1) as loader:
        first = fb.digest(loader)
        if loader.stats()["stores"][0]["cold_reads"] == 0:
            pytest.skip("this file system keeps its pages")
        # One thread always has enough to do, and everything is read ahead: it has to be tried all the same.
        for _ in range(6):
            before = loader.stats()["stores"][0]
            list(loader)
        after = loader.stats()["stores"][0]
        assert after["warm_reads"] - before["warm_reads"] > 100, after
        loader.set_epoch(0)
        assert fb.digest(loader) == first
