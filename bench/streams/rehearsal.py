"""What rehearsal costs: batches of 64 new and 16 old samples beside batches of 80 new ones, of the same pipeline.

    python bench/streams/rehearsal.py [--rounds 7]

The stage's own work is the draws and the update, which are planned ahead, off the trainer's path; its copying is that of 16 more rows. So batches of 80 rows without the stage are the measure: interleaved, medians
of samples/s with their spread. Over arrays in memory (nothing else to do: the worst case) and over decoded photographs made here.
"""
import argparse
import io
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import forebay as fb


def run(pipeline: fb.Pipeline, steps: int) -> float:
    with fb.Loader(pipeline, seed=1, epochs=100) as loader:
        rows, count, began = 0, 0, 0.0
        while True:
            for batch in loader:
                if count == 5:
                    began, rows = time.perf_counter(), 0
                rows += len(batch.ids)
                count += 1
                if count == steps:
                    return rows / (time.perf_counter() - began)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    x = rng.random((20_000, 3072), dtype=np.float32)
    label = rng.integers(0, 20, 20_000)
    with tempfile.TemporaryDirectory() as name:
        from PIL import Image

        for i in range(400):
            folder = Path(name) / f"c{i % 5}"
            folder.mkdir(exist_ok=True)
            out = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (16, 20, 3), dtype=np.uint8)).resize((320, 256)).save(out, "JPEG")
            (folder / f"{i}.jpg").write_bytes(out.getvalue())
        arrays = fb.arrays(x=x, label=label).shuffle()
        photos = fb.images(name).shuffle().decode_image().random_resized_crop(96)
        for what, source, steps in (("arrays of 12 KB", arrays, 1500), ("photographs", photos, 60)):
            with_it, without = [], []
            for _ in range(options.rounds):
                with_it.append(run(source.rehearse(16, capacity=50).batch(64), steps))
                without.append(run(source.batch(80), steps))
            ratios = [a / b for a, b in zip(with_it, without)]
            print(f"{what:18} 64 + 16 rehearsed {statistics.median(with_it):,.0f} samples/s, 80 new {statistics.median(without):,.0f}: "
                  f"{statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
