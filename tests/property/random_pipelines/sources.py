"""Sources three times over: as Python text that makes the data and the pipeline's beginning, as fields, and as the model's rows."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageOps

from . import data
from .fields import Illegal, Schema, Type, numbers
from .values import Bad, Known, Row, is_strings

USER_ERROR = Bad(frozenset({"ValueError"}))


@dataclass
class Source:
    """`text` is an expression over the names of data.py and `folder`; what it needs is written by `setup` first."""

    setup: list[str]
    text: str
    schema: Schema
    rows: list[Row]
    ids: list[int]  # of the rows that there are
    saveable: bool = True  # by to_json


def open_source(source: dict, folder: str) -> Source:
    return globals()[f"_{source['kind']}"](source, folder)


def type_of(kind: str, **more) -> Type:
    """Of a kind of data.column."""
    if kind.rstrip("+") in ("texts", "blobs"):
        return Type(kind.rstrip("+"), **more)
    if kind in ("text", "bytes", "picture"):
        return Type("text" if kind == "text" else "bytes", encoded=kind == "picture", **more)
    parts = kind.split(":")
    if parts[0] == "row":
        return numbers(parts[1], (None,), **more)
    return numbers(parts[1], (int(parts[2]),), **more) if parts[0] == "fixed" else numbers(kind, **more)


def _rows(columns: dict[str, list], count: int) -> list[Row]:
    return [Row({name: Known(values[i]) for name, values in columns.items()}) for i in range(count)]


def _arrays(source, folder):
    fields = source["fields"]
    columns, texts, schema = {}, [], {}
    for it in fields:
        values = data.numbers(it["seed"], source["rows"], it["dtype"], tuple(it["shape"]))
        columns[it["name"]] = [np.asarray(value) for value in values]
        text = f"numbers({it['seed']}, {source['rows']}, {it['dtype']!r}, {tuple(it['shape'])})"
        if it.get("npy"):
            text = f"write_npy(folder + '/{it['name']}.npy', {text})"
        texts.append(f"{it['name']}={text}")
        schema[it["name"]] = numbers(it["dtype"], tuple(it["shape"]))
    rows = _rows(columns, source["rows"])
    return Source([], f"fb.arrays({', '.join(texts)})", schema, rows, list(range(len(rows))), saveable=False)


# Pictures


def _listed(pictures: list) -> str:
    return "[" + ", ".join(repr(tuple(it)) for it in pictures) + "]"


def encoded(folder: str, picture: list) -> Known | Bad:
    """What is in the file."""
    if picture[5] == "missing":
        return Bad(frozenset({"NotFound"}))
    with open(os.path.join(folder, picture[0]), "rb") as file:
        return Known(file.read())


def decoded(content: bytes, mode: str) -> tuple[np.ndarray, float]:
    """Pixels as the documentation has them, and how near an engine must come."""
    with Image.open(io.BytesIO(content)) as image:
        lossless = image.format in ("PNG", "BMP") and mode == "rgb"
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):
            image = Image.fromarray((np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8))
        pixels = np.asarray(image.convert("RGB" if mode == "rgb" else "L"))
    return (pixels if pixels.ndim == 3 else pixels[:, :, None]), (0 if lossless else 1)


def _picture_rows(source, folder, name):
    if all(it[5] == "missing" for it in source["pictures"]):
        raise Illegal("a list of which nothing exists is refused")
    data.write_pictures(folder, source["pictures"])
    setup = [f"write_pictures(folder, {_listed(source['pictures'])})"]
    rows = [Row({name: encoded(folder, it), "key": Known(it[0])}, it[5] == "cut") for it in source["pictures"]]
    safe = all(it[5] is None for it in source["pictures"])
    return setup, rows, {name: Type("bytes", encoded=True, safe=safe), "key": Type("text")}


def _images(source, folder):
    setup, rows, schema = _picture_rows(source, folder, "image")
    classes = sorted({it[0].split("/")[0] for it in source["pictures"]})
    rows.sort(key=lambda row: row.fields["key"].value.encode())
    for row in rows:
        row.fields["label"] = Known(np.array(classes.index(row.fields["key"].value.split("/")[0]), "int64"))
    schema["label"] = numbers("int64")
    return Source(setup, "fb.images(folder)", schema, rows, list(range(len(rows))))


def _files(source, folder):
    setup, rows, schema = _picture_rows(source, folder, "bytes")
    if source["listed"]:
        names = ", ".join(f"folder + '/{it[0]}'" for it in source["pictures"])
        for row in rows:
            row.fields["key"] = Known("", float("inf"))
        text = f"fb.files([{names}])"
        schema["key"] = Type("text", exact=False)
    else:
        rows.sort(key=lambda row: row.fields["key"].value.encode())
        for row in rows:
            row.fields["key"] = Known("", float("inf"))
        schema["key"] = Type("text", exact=False)
        text = "fb.files(folder + '/**')"
    return Source(setup, text, schema, rows, list(range(len(rows))))


def _manifest(source, folder):
    setup, rows, schema = _picture_rows(source, folder, "bytes")
    name = f"{folder}/list.{source['format']}"
    count = len(rows)
    columns = {"path": [it[0] for it in source["pictures"]]}
    texts = [f"'path': {columns['path']!r}"]
    for it in source["columns"]:
        columns[it["name"]] = manifest_values(it["type"], it["seed"], count)
        texts.append(f"{it['name']!r}: {columns[it['name']]!r}")
        schema[it["name"]] = Type("text") if it["type"] == "text" else numbers(it["type"])
        for row, value in zip(rows, columns[it["name"]]):
            row.fields[it["name"]] = Known(value if it["type"] == "text" else np.array(value, it["type"]))
    data.write_manifest(name, columns)
    setup.append(f"write_manifest(folder + '/list.{source['format']}', {{{', '.join(texts)}}})")
    return Source(setup, f"fb.manifest(folder + '/list.{source['format']}')", schema, rows, list(range(count)))


def manifest_values(kind: str, seed: int, rows: int) -> list:
    draw = np.random.default_rng(seed)
    if kind == "text":
        return [f"wörd {n}" for n in draw.integers(0, 9, rows).tolist()]
    if kind == "int64":
        return draw.integers(-1000, 1000, rows).tolist()
    return [float(np.round(value, 3)) + 0.25 for value in draw.normal(size=rows) * 100]


# Data sets of Python's and tables


def _dataset(source, folder):
    fields, count = source["fields"], source["rows"]
    if source["form"] != "dict":
        names = [str(i) for i in range(len(fields))]
    else:
        names = [it["name"] for it in fields]
    columns = {n: data.column(it["type"], it["seed"], count) for n, it in zip(names, fields)}
    rows = _rows(columns, count)
    for i in source["fails"]:
        rows[i].fields = {name: USER_ERROR for name in names}
    safe = not source["fails"]
    schema = {n: type_of(it["type"], told=False, safe=safe) for n, it in zip(names, fields)}
    made = ", ".join(f"{n!r}: column({it['type']!r}, {it['seed']}, {count})" for n, it in zip(names, fields))
    workers = ", workers='processes'" if source.get("processes") else ""
    text = f"fb.Dataset(Items({{{made}}}, {source['form']!r}, {tuple(source['fails'])}){workers})"
    for row in rows:
        row.fields = {n: _as_array(value) for n, value in row.fields.items()}
    return Source([], text, schema, rows, list(range(count)), saveable=False)


def _as_array(value):
    if isinstance(value, Bad) or is_strings(value.value):
        return value
    return Known(np.asarray(value.value))


def _parquet(source, folder):
    from .tables import open_table

    return open_table(source, folder)


_arrow = _parquet
