"""Random steps that are legal behind those that there are."""

from __future__ import annotations

import math
import random

from . import rules
from .case import Step
from .fields import DTYPES, FLOATS, Illegal, Schema
from .generate_user import random_filter, random_map
from .picture_rules import sides

_NEW = ["new", "image", "x", "y", "text", "extra_valid"]


def random_steps(draw: random.Random, schema: Schema, chunked: bool, rows: int) -> list[Step]:
    steps: list[Step] = []
    for _ in range(draw.choice([0, 1, 2, 3, 4, 5, 6, 8, 10])):
        step = _legal(draw, schema, steps, chunked, rows)
        if step is not None:
            schema = rules.after(schema, step, steps)
            steps.append(step)
    return steps


def _legal(draw, schema, steps, chunked, rows) -> Step | None:
    for _ in range(30):
        maker = draw.choices(list(_MAKERS), weights=list(_MAKERS.values()))[0]
        step = maker(draw, schema, chunked, rows)
        if step is None:
            continue
        try:
            rules.after(schema, step, steps)
        except Illegal:
            continue
        if step.name == "filter" and draw.random() < 0.8 and not all(it.safe for it in schema.values()):
            continue
        return step
    return None


def _pick(draw, schema, test) -> str | None:
    names = [name for name, it in schema.items() if test(it)]
    return draw.choice(names) if names else None


def _picture(draw, schema, several=True):
    name = _pick(draw, schema, lambda it: it.looks_like_picture)
    if name is None:
        return None
    alike = [n for n, it in schema.items() if n != name and it.looks_like_picture and sides(it) == sides(schema[name])]
    return [name, alike[0]] if several and alike and draw.random() < 0.3 else name


def _with_field(args, field):
    return args if field == "image" else {**args, "field": field}


def _on_picture(name, args):
    def make(draw, schema, chunked, rows):
        field = _picture(draw, schema)
        return None if field is None else Step(name, _with_field(args(draw), field))

    return make


def _size(draw):
    return draw.choice([draw.randrange(1, 30), [draw.randrange(1, 30), draw.randrange(1, 30)], draw.randrange(1, 9)])


def _decode(draw, schema, chunked, rows):
    name = _pick(draw, schema, lambda it: it.encoded)
    if name is None:
        return None
    args = {"mode": "gray"} if draw.random() < 0.2 else {}
    return Step("decode_image", {**args, **({"field": name} if name not in ("image", "bytes") or draw.random() < 0.3 else {})})


def _interpolation(draw):
    return {"interpolation": "nearest"} if draw.random() < 0.3 else {}


def _resize_args(draw):
    size = {"short_side": draw.randrange(1, 24)} if draw.random() < 0.25 else {"size": _size(draw)}
    return {**size, **_interpolation(draw)}


def _resized_crop_args(draw):
    scale = {"scale": [round(draw.uniform(0.01, 0.5), 3), 1.0]} if draw.random() < 0.5 else {}
    return {"n": _size(draw), **scale, **_interpolation(draw)}


def _jitter_args(draw):
    chosen = draw.sample(["brightness", "contrast", "saturation", "hue"], draw.randrange(1, 5))
    return {name: round(draw.uniform(0, 0.5), 2) for name in chosen}


def _normalize(draw, schema, chunked, rows):
    if draw.random() < 0.5:
        field = _picture(draw, schema)
        channels = None if field is None else schema[field if isinstance(field, str) else field[0]].channels
        count = channels if channels and draw.random() < 0.6 else 1
    else:
        names = [n for n, it in schema.items() if it.kind == "numbers" and len(it.shape) <= 1 and not it.picture]
        field = draw.sample(names, draw.randrange(1, min(len(names), 3) + 1)) if names else None
        count = len(field or []) if draw.random() < 0.5 else 1
    if not field:
        return None
    values = [[round(draw.uniform(low, 2), 3) for _ in range(count)] for low in (-1, 0.1)]
    mean, std = values if count > 1 else (values[0][0], values[1][0])
    return Step("normalize", _with_field({"mean": mean, "std": std}, field))


def _numbers(draw, schema, test=lambda it: True, several=True):
    names = [name for name, it in schema.items() if it.kind == "numbers" and test(it)]
    if not names:
        return None
    return draw.sample(names, 2) if several and len(names) > 1 and draw.random() < 0.25 else draw.choice(names)


def _cast(draw, schema, chunked, rows):
    field = _numbers(draw, schema)
    errors = draw.choice([{"errors": "saturate"}, {"errors": "saturate"}, {"errors": "raise"}, {}])
    return None if field is None else Step("cast", _with_field({"dtype": draw.choice(DTYPES), **errors}, field))


def _clip(draw, schema, chunked, rows):
    field = _numbers(draw, schema)
    if field is None:
        return None
    low, high = sorted(draw.choice([draw.randrange(-50, 300), round(draw.uniform(-5, 50), 2)]) for _ in range(2))
    chosen = draw.choice([{"min": low}, {"max": high}, {"min": low, "max": high}])
    return Step("clip", {**chosen, "field": field})


def _log1p(draw, schema, chunked, rows):
    field = _numbers(draw, schema)
    return None if field is None else Step("log1p", {"field": field})


def _hash(draw, schema, chunked, rows):
    name = _pick(draw, schema, lambda it: not it.listed and (it.kind != "numbers" or it.dtype not in FLOATS))
    salt = {"salt": draw.randrange(-5, 99)} if draw.random() < 0.3 else {}
    return None if name is None else Step("hash_bucket", {"buckets": draw.choice([1, 7, 1000]), "field": name, **salt})


def _fill(draw, schema, chunked, rows):
    names = [n for n in schema if not schema[n].listed and (f"{n}_valid" in schema or f"{n}_items_valid" in schema)]
    if not names:
        return None
    name = draw.choice(names)
    value = "none" if schema[name].kind != "numbers" else 1 if schema[name].dtype == "bool" else draw.randrange(100)
    return Step("fill_null", {"value": value, "field": name})


def _stack(draw, schema, chunked, rows):
    name = _pick(draw, schema, lambda it: it.fixed)
    if name is None:
        return None
    it = schema[name]
    alike = [n for n, other in schema.items() if (other.kind, other.dtype, other.shape) == (it.kind, it.dtype, it.shape)]
    fields = draw.sample(alike, draw.randrange(1, len(alike) + 1))
    return Step("stack", {"fields": fields, "name": draw.choice([*_NEW, fields[0]])})


def _pad(draw, schema, chunked, rows):
    name = _pick(draw, schema, lambda it: it.kind == "numbers" and len(it.shape) == 1)
    if name is None:
        return None
    value = draw.choice([0, 0, 1, -1, 0.5, 7, math.nan, -math.inf])
    return Step("pad", {"field": name, "value": value, "length": draw.choice([5, 6, 9, draw.randrange(1, 6)])})


def _select(draw, schema, chunked, rows):
    return Step("select", {"fields": draw.sample(list(schema), draw.randrange(1, len(schema) + 1))}) if schema else None


def _rename(draw, schema, chunked, rows):
    olds = draw.sample(list(schema), min(len(schema), draw.choice([1, 1, 2, 3])))
    if not olds:
        return None
    if len(olds) > 1 and draw.random() < 0.6:  # they change places
        return Step("rename", dict(zip(olds, [*olds[1:], olds[0]])))
    return Step("rename", {old: draw.choice([*_NEW, f"{old}{i}"]) for i, old in enumerate(olds)})


def _cache(draw, schema, chunked, rows):
    ram, disk = draw.choice([("2MB", 0), (0, "8MB"), ("2MB", "8MB"), ("20kB", "8MB")])
    compression = {"compression": draw.choice(["zstd", "lz4"])} if disk and draw.random() < 0.2 else {}
    return Step("cache", {"ram": ram, "disk": disk, **compression})


def _shuffle(draw, schema, chunked, rows):
    args = {"block": draw.choice([1, 2, 4]), "lanes": draw.choice([1, 2, 3])} if chunked and draw.random() < 0.7 else {}
    return Step("shuffle", {key: value for key, value in args.items() if draw.random() < 0.7})


def _take(draw, schema, chunked, rows):
    return Step("take", {"n": draw.randrange(1, rows + 5)})


def _filter(draw, schema, chunked, rows):
    return random_filter(draw, schema)


def _map(draw, schema, chunked, rows):
    return random_map(draw, schema)


def _small(draw):
    return draw.choice([draw.randrange(1, 6), [draw.randrange(1, 9), draw.randrange(1, 9)], _size(draw)])


_MAKERS = {
    _decode: 14, _on_picture("resize", _resize_args): 5, _on_picture("center_crop", lambda d: {"n": _size(d)}): 6,
    _on_picture("random_crop", lambda d: {"n": _small(d)}): 5, _on_picture("random_resized_crop", _resized_crop_args): 3,
    _on_picture("random_flip", lambda d: {}): 2, _on_picture("color_jitter", _jitter_args): 2,
    _on_picture("layout", lambda d: {"order": d.choice(["chw", "hwc"])}): 3, _normalize: 5, _cast: 6, _clip: 4, _log1p: 2,
    _hash: 4, _fill: 25, _stack: 4, _pad: 3, _select: 5, _rename: 6, _cache: 7, _shuffle: 5, _take: 2, _filter: 4, _map: 12,
}
