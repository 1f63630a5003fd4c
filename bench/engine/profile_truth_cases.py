"""Random pipelines for profile_truth.py and tests/python/test_profile_truth.py: a function of the seed, over small data sets of every kind.

`case(seed, folder)` writes the data set into `folder` and gives (a line that describes it, the pipeline).
"""
import os
import random

import numpy as np

import forebay as fb

KINDS = ("arrays", "data set", "table", "pictures", "lines", "files")


def case(seed, folder):
    draw = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    os.makedirs(folder, exist_ok=True)
    pipeline, field, told = SOURCES[kind](draw, np.random.default_rng(seed), folder)
    words = [f"{seed}: {kind} ({told})"]
    if draw.random() < 0.3:
        share = draw.choice((2, 5))
        pipeline = pipeline.filter(OneIn(share), fields=[field])
        words.append(f"filter 1 in {share}")
    if draw.random() < 0.5:
        pipeline = pipeline.shuffle()
        words.append("shuffle")
    if kind == "pictures":
        pipeline, field = pipeline.decode_image(), "image"
        words.append("decode_image")
        if draw.random() < 0.7:
            side = draw.choice((16, 48, 96))
            pipeline = pipeline.resize((side, side))
            words.append(f"resize {side}")
    if kind == "pictures" and len(words) and not words[-1].startswith("resize"):
        function = Shrunk(field)
    else:
        function = draw.choice((None, Shrunk(field), Widened(field), Ragged(field)))
    if function is not None:
        pipeline = pipeline.map(function, version="1")
        words.append(f"map {type(function).__name__.lower()}")
    batch = draw.choice((1, 8, 32))
    return ", ".join([*words, f"batch {batch}"]), pipeline.batch(batch)


def values_of(value):
    """A field of any kind as bytes in an array."""
    if isinstance(value, (str, bytes)):
        return np.frombuffer(value.encode() if isinstance(value, str) else value, np.uint8)
    return np.ascontiguousarray(value).reshape(-1)


class OneIn:
    """Keeps about one sample in `share`, by its content."""

    def __init__(self, share):
        self.share, self.__qualname__ = share, f"one_in_{share}"

    def __call__(self, sample):
        # From the end: the beginning of a picture's file is that of all others.
        return int(values_of(next(iter(sample.values()))).view(np.uint8)[-64:].sum()) % self.share == 0


class Function:
    def __init__(self, field):
        self.field, self.__qualname__ = field, type(self).__name__

    def __call__(self, sample):
        return {"y": self.of(values_of(sample[self.field]))}


class Shrunk(Function):
    def of(self, values):
        return np.resize(np.sort(values), 16).astype("f4")


class Widened(Function):
    def of(self, values):
        return np.resize(values, 700).astype("f8")


class Ragged(Function):
    def of(self, values):
        return np.resize(values, 5 + int(values.view(np.uint8)[:32].sum()) % 400).astype("f4")


class Items:
    """A data set of the user's own: items of one size, or of many."""

    def __init__(self, count, widths, seed):
        self.count, self.widths, self.seed = count, widths, seed

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        draw = np.random.default_rng((self.seed, index))
        return {"x": draw.normal(size=int(draw.choice(self.widths))).astype("f4")}


def arrays(draw, numbers, folder):
    count, wide = draw.choice((300, 2500, 6000)), draw.choice((1, 40, 500))
    x = numbers.normal(size=(count, wide)).astype("f4")
    return fb.arrays(x=x, label=np.arange(count)), "x", f"{count} rows of {wide}"


def data_set(draw, numbers, folder):
    count, widths = draw.choice((200, 1500, 4000)), draw.choice(((64,), (10, 100, 400), (20, 2000)))
    items = Items(count, widths, draw.randrange(1 << 30))
    return fb.Dataset(items, version="1"), "x", f"{count} items of {widths}"


def table(draw, numbers, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    told = []
    ragged = draw.random() < 0.4
    for number in range(draw.choice((1, 3))):
        rows, group, wide = draw.choice((640, 3000, 9000)), draw.choice((64, 500, 1000)), draw.choice((4, 60, 300))
        widths = numbers.integers(1, 2 * wide, size=rows) if ragged else np.full(rows, wide)
        offsets = np.concatenate([[0], np.cumsum(widths)]).astype("i4")
        values = pa.array(numbers.normal(size=offsets[-1]).astype("f4"))
        x = (pa.ListArray.from_arrays(pa.array(offsets), values) if ragged or number or len(told)
             else pa.FixedSizeListArray.from_arrays(values, wide))
        x = x.cast(pa.list_(pa.float32()))
        pq.write_table(pa.table({"x": x, "label": numbers.integers(1 << 40, size=rows)}),
                       os.path.join(folder, f"t{number}.parquet"), row_group_size=group)
        told.append(f"{rows} rows of {wide}{' or so' if ragged else ''} in groups of {group}")
    return fb.parquet(folder), "x", "; ".join(told)


def pictures(draw, numbers, folder):
    from PIL import Image

    count, sides = draw.choice((60, 400)), draw.choice(((64,), (32, 64, 300)))
    for number in range(count):
        side = int(numbers.choice(sides))
        path = os.path.join(folder, "ab"[number % 2], f"{number:04}.jpg")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        small = numbers.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(small).resize((side, side)).save(path)
    return fb.images(folder), "image", f"{count} of sides {sides}"


def lines(draw, numbers, folder):
    told = []
    for number in range(draw.choice((1, 3))):
        count, longest = draw.choice((700, 5000)), draw.choice((30, 900))
        with open(os.path.join(folder, f"{number}.txt"), "w") as file:
            for length in numbers.integers(1, longest, size=count):
                file.write("".join(map(chr, numbers.integers(97, 123, size=length))) + "\n")
        told.append(f"{count} of up to {longest} letters")
    return fb.text(os.path.join(folder, "*.txt")), "text", "; ".join(told)


def files(draw, numbers, folder):
    count, sizes = draw.choice((150, 1200)), draw.choice(((1000,), (50, 500, 9000), (100, 40_000)))
    for number in range(count):
        with open(os.path.join(folder, f"{number:05}.bin"), "wb") as file:
            file.write(numbers.bytes(int(numbers.choice(sizes))))
    return fb.files(os.path.join(folder, "*.bin")), "bytes", f"{count} of {sizes} bytes"


SOURCES = dict(zip(KINDS, (arrays, data_set, table, pictures, lines, files)))
