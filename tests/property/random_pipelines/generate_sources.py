"""Random sources."""

from __future__ import annotations

import random

from .fields import DTYPES, NUMBERS

_NAMES = ["image", "x", "label", "mask", "value", "text", "a b", "ü"]
_PLAIN = ["image", "x", "label", "mask", "value"]


def random_source(draw: random.Random) -> dict:
    kind = draw.choices(list(_MAKERS), weights=[5, 4, 1, 3, 3, 4, 4])[0]
    return {"kind": kind, **_MAKERS[kind](draw)}


def _seed(draw) -> int:
    return draw.randrange(10**6)


def _rows(draw) -> int:
    return draw.choice([1, 2, 3, 5, 8, 13, 21, 34, draw.randrange(1, 50)])


def _shape(draw, name) -> list[int]:
    if name in ("image", "mask") or draw.random() < 0.2:
        sides = [draw.randrange(1, 12), draw.randrange(1, 12)]
        return sides if draw.random() < 0.3 else [*sides, draw.choice([1, 3, 3, 3, 4, 2])]
    return draw.choice([[], [], [], [3], [1], [draw.randrange(1, 6)], [2, 3]])


def _arrays(draw) -> dict:
    names = draw.sample(_PLAIN, draw.randrange(1, 5))
    fields, shape = [], None
    for name in names:
        pictures = name in ("image", "mask")
        shape = shape if shape and pictures and draw.random() < 0.6 else _shape(draw, name)
        dtype = "uint8" if pictures and draw.random() < 0.8 else draw.choice(DTYPES)
        npy = draw.random() < 0.2
        fields.append({"name": name, "dtype": dtype, "shape": shape, "seed": _seed(draw), "npy": npy})
        shape = shape if pictures else None
    return {"rows": _rows(draw), "fields": fields}


def _pictures(draw, damages, folders=True) -> list:
    count, found = draw.choice([1, 2, 4, 7, 12]), []
    damaged = draw.random() < 0.25
    size = [draw.randrange(1, 28), draw.randrange(1, 28)] if draw.random() < 0.3 else None
    for i in range(count):
        end = draw.choice(["png", "png", "jpg", "jpg", "bmp", "webp"])
        modes = {"png": ["RGB", "RGB", "L", "RGBA", "LA", "I;16", "P", "1"], "jpg": ["RGB", "RGB", "L", "CMYK"],
                 "bmp": ["RGB", "L"], "webp": ["RGB", "RGBA"]}[end]
        height, width = size or (draw.randrange(1, 28), draw.randrange(1, 28))
        damage = draw.choice(damages) if damaged and i and draw.random() < 0.35 else None
        folder = draw.choice(["cat/", "dog/", "fish/"]) if folders else draw.choice(["", "in/"])
        found.append([f"{folder}{i}.{end}", _seed(draw), height, width, draw.choice(modes), damage])
    return found


def _images(draw) -> dict:
    return {"pictures": _pictures(draw, ["cut", "noise"])}


def _files(draw) -> dict:
    listed = draw.random() < 0.5
    return {"pictures": _pictures(draw, ["cut", "noise", *(["missing"] if listed else [])], folders=False), "listed": listed}


def _manifest(draw) -> dict:
    columns = [{"name": name, "type": draw.choice(["int64", "float64", "text"]), "seed": _seed(draw)}
               for name in draw.sample(["label", "weight", "value"], draw.randrange(0, 4))]
    return {"pictures": _pictures(draw, ["cut", "noise", "missing"]), "columns": columns,
            "format": draw.choice(["csv", "jsonl", "parquet"])}


def _column_kind(draw, pictures=True) -> str:
    kinds = ["text", "bytes", f"row:{draw.choice(NUMBERS[:-3] + ['float32'])}", f"fixed:{draw.choice(['int32', 'float32', 'uint8'])}:{draw.randrange(1, 5)}"]
    kinds += ["texts", "blobs"]
    kinds += ["picture"] if pictures else []
    return draw.choice([*kinds, *[dtype for dtype in DTYPES if dtype != "float16"]])


def _dataset(draw) -> dict:
    form = draw.choice(["dict", "dict", "tuple", "single"])
    some = {"texts": "texts+", "blobs": "blobs+"}  # of an empty list of a data set nobody knows what it would hold
    names = draw.sample(_NAMES, draw.randrange(1, 5))
    fields = [{"name": name, "type": "picture" if name == "image" and draw.random() < 0.6 else _column_kind(draw),
               "seed": _seed(draw)} for name in names]
    fields = [{**field, "type": some.get(field["type"], field["type"])} for field in fields]
    if form == "single" and fields[0]["type"] in some.values():  # a list by itself is a sample of several fields
        form = "tuple"
    rows = _rows(draw)
    fails = sorted(draw.sample(range(rows), min(rows, 2))) if draw.random() < 0.15 else []
    return {"rows": rows, "fields": fields[:1] if form == "single" else fields, "form": form, "fails": fails,
            "processes": draw.random() < 0.01}


def _table(draw) -> dict:
    names = draw.sample(_NAMES, draw.randrange(1, 6))
    columns = [{"name": name, "type": "picture" if name == "image" and draw.random() < 0.6 else _column_kind(draw),
                "seed": _seed(draw), "nulls": False} for name in names]
    rows = draw.choice([0, *[_rows(draw)] * 30])
    it = {"rows": rows, "files": draw.randrange(1, 4), "group": draw.choice([1, 2, 3, 5, 8, 20]), "columns": columns,
          "null": draw.choice(["error", "mask", "mask", "values"])}
    if draw.random() < 0.5:
        _add_nulls(draw, it)
    if it["null"] == "values":
        it["null"] = {}
    if not it["null"]:
        it["null"] = "error"
    return it


def _add_nulls(draw, it) -> None:
    values = {}
    for column in it["columns"]:
        flat = not column["type"].startswith(("row:", "fixed:"))
        if column["type"] == "picture" or draw.random() < 0.5 or not (flat or it["null"] == "mask"):
            continue
        column["nulls"] = True
        values[column["name"]] = "none" if column["type"] in ("text", "bytes", "texts", "blobs") else 1
    if it["null"] == "values":
        it["null"] = values


def _choose(draw, it) -> None:
    """columns= and filter=."""
    names = [column["name"] for column in it["columns"]] + (["p"] if it.get("partition") else [])
    if draw.random() < 0.15:
        it["select"] = draw.sample(names, draw.randrange(1, len(names) + 1))
        if isinstance(it["null"], dict):
            it["null"] = {name: value for name, value in it["null"].items() if name in it["select"]} or "error"
    comparable = [c for c in it["columns"] if c["type"] in NUMBERS and not c["type"].startswith("float")]
    comparable = [c for c in comparable if not it.get("select") or c["name"] in it["select"]]
    if comparable and draw.random() < 0.2 and (not it.get("memory") or it["null"] == "mask"):
        column = draw.choice(comparable)
        it["filter"] = [[column["name"], draw.choice(["==", "!=", "<", "<=", ">", ">="]), draw.randrange(0, 100)]]


def _parquet(draw) -> dict:
    it = _table(draw)
    if draw.random() < 0.25:
        it["partition"] = draw.choice(["int", "text"])
    _choose(draw, it)
    return it


def _arrow(draw) -> dict:
    it = _table(draw)
    it["memory"] = draw.random() < 0.6
    _choose(draw, it)
    return it


_MAKERS = {"arrays": _arrays, "images": _images, "files": _files, "manifest": _manifest, "dataset": _dataset,
           "parquet": _parquet, "arrow": _arrow}
