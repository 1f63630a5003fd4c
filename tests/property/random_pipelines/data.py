"""Made-up data, the same for the same seed. A reproduction holds the text of these functions."""

import csv
import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image


def numbers(seed, rows, dtype, shape=()):
    draw = np.random.default_rng(seed)
    size = (rows, *shape)
    if dtype == "bool":
        return draw.integers(0, 2, size).astype(bool)
    if np.dtype(dtype).kind == "f":
        values = draw.normal(size=size) * 10.0 ** draw.integers(-2, 4, size)
        if seed % 5 == 0:
            values[draw.random(size) < 0.05] = np.nan
        return values.astype(dtype)
    ends = np.iinfo(dtype)
    wide = draw.integers(ends.min, ends.max, size, dtype=dtype, endpoint=True)
    return np.where(draw.random(size) < 0.2, wide, draw.integers(0, 100, size).astype(dtype))


def column(kind, seed, rows, nulls=False):
    """A list of Python values: a dtype, "text", "bytes", "texts" and "blobs" (lists of them; "texts+", "blobs+": never empty),
    "row:<dtype>" (lists), "fixed:<dtype>:<length>", "picture"."""
    draw = np.random.default_rng(seed)
    if kind == "text":
        values = [["", "a", "Zürich", f"user{n}", "long " * 5 + str(n), f"a much longer one {n} " * 9][n % 6]
                  for n in draw.integers(0, 99, rows).tolist()]
    elif kind == "bytes":
        values = [draw.bytes(n) for n in draw.integers(0, 30, rows).tolist()]
    elif kind.rstrip("+") in ("texts", "blobs"):
        words = ["", "a", "Zürich", "日本", "long " * 9] if kind[0] == "t" else [b"", b"\xff", b"\0x", b"long " * 9]
        pick = lambda: None if nulls and draw.random() < 0.1 else words[draw.integers(len(words))]  # noqa: E731
        values = [[pick() for _ in range(n)] for n in draw.integers(kind.endswith("+"), 5, rows).tolist()]
    elif kind == "picture":
        values = [encoded_picture(seed + i, *draw.integers(3, 24, 2).tolist()) for i in range(rows)]
    elif kind.startswith("row:"):
        values = [numbers(seed + i, n, kind[4:]) for i, n in enumerate(draw.integers(0, 6, rows).tolist())]
    elif kind.startswith("fixed:"):
        _, dtype, length = kind.split(":")
        values = list(numbers(seed, rows, dtype, (int(length),)))
    else:
        values = list(numbers(seed, rows, kind))
    return [None if nulls and missing else value for value, missing in zip(values, draw.random(rows) < 0.25)]


def arrow_array(kind, values):
    if kind in ("text", "bytes", "picture"):
        return pa.array(values, pa.string() if kind == "text" else pa.binary())
    if kind in ("texts", "blobs"):
        return pa.array(values, pa.list_(pa.string() if kind == "texts" else pa.binary()))
    plain = [None if value is None else value.tolist() for value in values]
    if kind.startswith("row:"):
        return pa.array(plain, pa.list_(pa.from_numpy_dtype(kind[4:])))
    if kind.startswith("fixed:"):
        _, dtype, length = kind.split(":")
        return pa.array(plain, pa.list_(pa.from_numpy_dtype(dtype), int(length)))
    return pa.array(plain, pa.from_numpy_dtype(kind))


def table(columns, rows, part=slice(None)):
    """columns: (name, kind, seed, nulls)."""
    return pa.table({n: arrow_array(k, column(k, s, rows, nulls)[part]) for n, k, s, nulls in columns})


def spread(rows, parts):
    """So many slices that differ by one row at most."""
    cuts = [rows * i // parts for i in range(parts + 1)]
    return [slice(a, b) for a, b in zip(cuts, cuts[1:])]


def write_tables(folder, suffix, columns, rows, files, group, partition=None):
    for i, rows_of_it in enumerate(spread(rows, files)):
        inner = os.path.join(folder, f"p={i if partition == 'int' else chr(97 + i)}") if partition else folder
        os.makedirs(inner, exist_ok=True)
        part = table(columns, rows, rows_of_it)
        if suffix == "parquet":
            pq.write_table(part, f"{inner}/{i}.parquet", row_group_size=group)
        else:
            with pa.ipc.new_file(f"{inner}/{i}.arrow", part.schema) as out:
                out.write_table(part, max_chunksize=group)


def picture(seed, height, width, mode="RGB"):
    draw = np.random.default_rng(seed)
    coarse = Image.fromarray(draw.integers(0, 256, (4, 4, 4), dtype="uint8"), "RGBA")
    smooth = coarse.resize((width, height), Image.Resampling.BICUBIC)
    if mode == "I;16":
        return Image.fromarray(np.asarray(smooth.convert("L")).astype("uint16") * 256 + 7)
    return smooth.convert(mode)


def encoded_picture(seed, height, width):
    import io

    out = io.BytesIO()
    picture(seed, height, width).save(out, "PNG")
    return out.getvalue()


def write_pictures(folder, pictures):
    """pictures: (key, seed, height, width, mode, damage); damage: None, "cut", "noise" or "missing"."""
    for key, seed, height, width, mode, damage in pictures:
        path = os.path.join(folder, key)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if damage == "missing":
            continue
        options = {"quality": 95} if key.endswith((".jpg", ".webp")) else {}
        picture(seed, height, width, mode).save(path, **options)
        if damage is not None:
            content = open(path, "rb").read()
            content = content[: max(len(content) * 2 // 3, 1)] if damage == "cut" else b"no picture " * 9
            open(path, "wb").write(content)


def write_npy(path, array):
    np.save(path, array)
    return path


def plain(value):
    return value if isinstance(value, (str, bytes)) else np.asarray(value).tolist()


def write_manifest(path, columns):
    """columns: name → values."""
    rows = [dict(zip(columns, map(plain, row))) for row in zip(*columns.values())]
    if path.endswith(".parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
        return
    with open(path, "w", newline="") as out:
        if path.endswith(".csv"):
            writer = csv.DictWriter(out, list(columns))
            writer.writeheader()
            writer.writerows(rows)
        else:
            out.writelines(json.dumps(row) + "\n" for row in rows)


class Items:
    """A data set of Python's. columns: name → values; form: "dict", "tuple" or "single"."""

    def __init__(self, columns, form="dict", fails=()):
        self.columns, self.form, self.fails = columns, form, fails

    def __len__(self):
        return len(next(iter(self.columns.values())))

    def __getitem__(self, i):
        if i in self.fails:
            raise ValueError("this item is bad")
        item = {name: values[i] for name, values in self.columns.items()}
        if self.form == "dict":
            return item
        return tuple(item.values()) if self.form == "tuple" else next(iter(item.values()))
