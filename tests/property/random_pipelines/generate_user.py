"""Random user code for .map and .filter."""

from __future__ import annotations

import random

from .case import Step
from .fields import Schema
from .functions import RANDOM

_NEW = ["new", "new", "new2", "image", "x", "label"]
_MAPS = ["same", "add_sum", "add_text", "add_bytes", "add_row", "add_constant", "only_constant", "negate", "to_float", "pair",
         "in_place", "keep_only", "fail_at", "draw", "draw_onto"]
_WEIGHTS = [4, 4, 2, 2, 2, 4, 1, 3, 3, 1, 2, 2, 1, 3, 2]


def _how(draw, fn, schema, given) -> dict:
    of = draw.choice(given)
    how = {
        "same": lambda: {}, "only_constant": lambda: {"name": draw.choice(_NEW), "value": draw.choice(_VALUES)},
        "add_constant": lambda: {"name": draw.choice([*_NEW, *schema]), "value": draw.choice(_VALUES)},
        "keep_only": lambda: {"names": draw.sample(given, draw.randrange(1, len(given) + 1))},
        "fail_at": lambda: {"of": of, "every": draw.choice([2, 3, 7])},
        "draw": lambda: {"name": draw.choice(_NEW)},
    }
    if fn in how:
        return how[fn]()
    if fn in ("add_sum", "add_text", "add_bytes", "add_row"):
        return {"of": of, "name": draw.choice([*_NEW, *schema])}
    numbers = [name for name in given if schema[name].kind == "numbers"]
    return {"of": draw.choice(numbers or given)}


_VALUES = [1, -7, 2.5, "text", True, [1, 2, 3], [[0.5, 1.5], [2.0, 3.0]]]


def _fields(draw, schema: Schema) -> list[str]:
    return draw.sample(list(schema), draw.randrange(1, min(len(schema), 3) + 1))


def random_map(draw: random.Random, schema: Schema) -> Step | None:
    if not schema:
        return None
    fn = draw.choices(_MAPS, weights=_WEIGHTS)[0]
    fields = _fields(draw, schema) if draw.random() < 0.5 else None
    args = {"fn": fn, "with": _how(draw, fn, schema, fields or list(schema))}
    if fields:
        args["fields"] = fields
    if fn in RANDOM:
        args["random"] = True
    if draw.random() < 0.6:
        args["version"] = "1"
    if draw.random() < 0.01:
        args["workers"] = "processes"
    return Step("map", args)


def random_filter(draw: random.Random, schema: Schema) -> Step | None:
    if not schema:
        return None
    fields = _fields(draw, schema) if draw.random() < 0.7 else None
    of = draw.choice(fields or list(schema))
    fn, how = draw.choice([("keep_odd", {"of": of}), ("keep_some", {"of": of, "every": draw.choice([2, 3, 5])}), ("keep_all", {})])
    return Step("filter", {"fn": fn, "with": how, **({"fields": fields} if fields else {})})
