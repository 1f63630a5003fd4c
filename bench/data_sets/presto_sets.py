"""Data sets for bench/presto/, made of the real files below SHARED; each function returns the folder that it made (once)."""

import os
import types

from data_sets import page_set, photo_set, signal_set, sound_sets

ENLARGED = 3  # times as wide and as high


def photographs(shared, work, count):
    """The flowers with a side of at least 450 pixels; above 700 each several times, as files of their own."""
    paths = photo_set.originals(shared, work, count)
    return os.path.dirname(os.path.dirname(paths[0]))


def large_jpegs(shared, work, count):
    """Photographs enlarged to some megapixels, as JPEG of quality 95: there are too few large ones."""
    return _enlarged(shared, work, count, "jpg")


def large_pngs(shared, work, count):
    """The same as PNG, without loss: many times as many bytes."""
    return _enlarged(shared, work, count, "png")


def _enlarged(shared, work, count, kind):
    from PIL import Image

    root = os.path.join(work, f"large-{kind}-{count}")
    rows = photo_set.chosen(shared)
    for number in range(count):
        label, source = rows[number * len(rows) // count % len(rows)]
        path = os.path.join(root, label, f"{number:05}.{kind}")
        if os.path.exists(path):
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with Image.open(source) as picture:
            size = (picture.width * ENLARGED, picture.height * ENLARGED)
            large = picture.convert("RGB").resize(size, Image.Resampling.BICUBIC)
        options = {"quality": 95} if kind == "jpg" else {"compress_level": 3}
        large.save(path + ".part", "JPEG" if kind == "jpg" else "PNG", **options)
        os.replace(path + ".part", path)
    return root


def table(shared, work, count):
    """`count` rows of 40 columns: numbers, and a list of visits."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    root = os.path.join(work, f"table-{count}")
    path = os.path.join(root, "rows.parquet")
    if not os.path.exists(path):
        os.makedirs(root, exist_ok=True)
        draw = np.random.default_rng(1)
        columns = {f"x{i:02}": draw.normal(size=count).astype(np.float32) for i in range(30)}
        columns |= {f"n{i}": draw.integers(0, 1000, count) for i in range(10)}
        lengths = np.append(0, np.cumsum(draw.integers(0, 20, count)))
        columns["visits"] = pa.ListArray.from_arrays(lengths.astype(np.int32), draw.integers(0, 10**6, lengths[-1]))
        pq.write_table(pa.table(columns), path + ".part", row_group_size=max(count // 64, 1), compression="zstd")
        os.replace(path + ".part", path)
    return root


def pages(shared, work, count):
    """Novels marked up as web pages (page_set.py says how), a tokenizer trained on them, and a table of 64 numbers for each of its ids."""
    import numpy as np

    folder = page_set.make(shared, work, count)
    if not os.path.exists(os.path.join(folder, "table.npy")):
        from presto.rivals.train_tokens import train

        tokenizer = os.path.join(folder, "tokenizer.json")
        train(types.SimpleNamespace(folder=folder, path=tokenizer))
        np.save(os.path.join(folder, "table.npy"), np.random.default_rng(1).normal(size=(16_000, 64)).astype(np.float32))
    return folder


def signals(shared, work, count):
    """`count` megabytes of voltage and current, tiled from the real ones (signal_set.py says how)."""
    root = os.path.join(work, f"signals-{count}")
    os.makedirs(root, exist_ok=True)
    signal_set.make(shared, root, max(count, 1))
    return root


def sounds(name):
    return lambda shared, work, count: sound_sets.make(name, shared, work, count)


# pipeline: how its data set is made, and how much of it unless told otherwise: samples, megabytes of signals
SETS = {"CV": (photographs, 2100), "CV2-JPG": (large_jpegs, 300), "CV2-PNG": (large_pngs, 150), "NLP": (pages, 1000), "NILM": (signals, 100),
        "MP3": (sounds("music"), 120), "FLAC": (sounds("speech"), 400), "table": (table, 400_000)}


def warm(folder):
    """Reads all files once, so that they are in the page cache."""
    for root, _, files in os.walk(folder):
        for file in files:
            with open(os.path.join(root, file), "rb") as stored:
                while stored.read(1 << 22):
                    pass
