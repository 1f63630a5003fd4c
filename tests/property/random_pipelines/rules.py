"""Which pipelines are legal, as the documentation has it, and what the fields are after each step."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from . import picture_rules, user_rules
from .case import Step
from .fields import FLOATS, Schema, always_fits, chosen, need, numbers


def after(schema: Schema, step: Step, before: list[Step] = ()) -> Schema:
    """The fields behind a step. `before`: the steps that stand before it."""
    rule = getattr(picture_rules, f"_{step.name}", None) or globals()[f"_{step.name}"]
    return rule(dict(schema), dict(step.args), list(before))


def schema_of(source: Schema, steps: list[Step]) -> Schema:
    schema = source
    for i, step in enumerate(steps):
        schema = after(schema, step, steps[:i])
    return schema


# Order


def _shuffle(schema, args, before):
    need(all(step.name != "shuffle" for step in before), "one shuffle")
    return schema


def _take(schema, args, before):
    return schema


def _filter(schema, args, before):
    return user_rules.filtered(schema, args)


# Columns


def _number_columns(schema, args, allow_bool=False) -> list[str]:
    names = chosen(schema, args.get("field", "image"))
    for name in names:
        it = schema[name]
        need(it.kind == "numbers" and not it.padded, "numbers")
        need(allow_bool or it.dtype != "bool", "not bool")
    return names


def _cast(schema, args, before):
    for name in _number_columns(schema, args, allow_bool=True):
        it = schema[name]
        doubtful = args["dtype"] not in FLOATS and it.dtype in FLOATS and (it.picture or not it.told)
        fits = always_fits(it.dtype, args["dtype"]) or args.get("errors") == "saturate"
        schema[name] = replace(it, dtype=args["dtype"], exact=it.exact and not doubtful, safe=it.safe and fits)
    return schema


def holds(dtype: str, value) -> bool:
    """Whether a type has exactly this number (floats: one near it)."""
    if dtype in FLOATS:
        return True
    if not math.isfinite(value) or value != int(value):
        return False
    if dtype == "bool":
        return value in (0, 1)
    return np.iinfo(dtype).min <= value <= np.iinfo(dtype).max


def _clip(schema, args, before):
    for name in _number_columns(schema, args):
        for key in ("min", "max"):
            if key not in args or schema[name].dtype in FLOATS:
                continue
            ends = np.iinfo(schema[name].dtype)
            need(args[key] == int(args[key]), "whole numbers")
            need(args[key] <= ends.max if key == "min" else args[key] >= ends.min, "a limit that leaves something")
    return schema


def _log1p(schema, args, before):
    for name in _number_columns(schema, args):
        it = schema[name]
        schema[name] = replace(it, dtype="float64" if it.dtype == "float64" else "float32", exact=False)
    return schema


def _hash_bucket(schema, args, before):
    for name in chosen(schema, args["field"]):
        it = schema[name]
        need(not it.listed, "no lists of strings")
        need(it.kind != "numbers" or (it.dtype not in FLOATS and not it.padded), "integers, bytes or text")
        shape = it.shape if it.kind == "numbers" else ()
        schema[name] = replace(it, kind="numbers", dtype="int64", shape=shape, encoded=False,
                               exact=it.exact and not it.encoded)  # the model knows hashes of short values
    return schema


def _fill_null(schema, args, before):
    for name in chosen(schema, args["field"]):
        it, rows, items = schema[name], schema.get(f"{name}_valid"), schema.get(f"{name}_items_valid")
        need(not it.listed, "no lists of strings")
        need(rows is not None or items is not None, "a mask")
        for mask in (rows, items):
            need(mask is None or mask.dtype == "bool", "masks are bool")
        need(rows is None or rows.shape == (), "a mask of rows")
        need(items is None or (it.kind == "numbers" and len(it.shape) > 0 and items.shape == it.shape), "of items")
        text = isinstance(args["value"], str)
        need(text == (it.kind != "numbers"), "a value of its kind")
        need(text or holds(it.dtype, args["value"]), "a value that it holds")
        masks = [mask for mask in (rows, items) if mask is not None]
        told = it.told and all(mask.told for mask in masks)
        exact = it.exact and all(mask.exact for mask in masks)
        schema[name] = replace(it, exact=exact, told=told and it.told, safe=it.safe and all(m.safe for m in masks))
        schema.pop(f"{name}_valid", None)
        schema.pop(f"{name}_items_valid", None)
    return schema


def _stack(schema, args, before):
    names = chosen(schema, args["fields"])
    first = schema[names[0]]
    for name in names:
        it = schema[name]
        need(it.fixed and not it.padded and len(it.shape) < 5, "one shape")
        need((it.dtype, it.shape) == (first.dtype, first.shape), "one type and one shape")
    need(args["name"] in names or args["name"] not in schema, "a new name")
    made = numbers(first.dtype, (len(names), *first.shape), told=all(schema[n].told for n in names),
                   exact=all(schema[n].exact for n in names), safe=all(schema[n].safe for n in names))
    for name in names:
        del schema[name]
    schema[args["name"]] = made
    return schema


def _pad(schema, args, before):
    (name,) = chosen(schema, args["field"])
    it = schema[name]
    need(it.kind == "numbers" and len(it.shape) == 1 and not it.padded, "a row of numbers")
    need(holds(it.dtype, args["value"]), "a value that it holds")
    size = it.shape[0]
    need(size is None or not it.told or args["length"] >= size, "long enough")
    schema[name] = replace(it, shape=(args["length"],), padded=True, safe=it.safe and args["length"] >= (size or 5))
    return schema


# Fields


def _select(schema, args, before):
    names = chosen(schema, args["fields"])
    return {name: it for name, it in schema.items() if name in names}


def _rename(schema, args, before):
    chosen(schema, list(args))
    made = {args.get(name, name): it for name, it in schema.items()}
    need(len(made) == len(schema), "two fields of one name")
    return made


def _map(schema, args, before):
    return user_rules.mapped(schema, args)


def _cache(schema, args, before):
    need(not before or before[-1].name != "cache", "kept already")
    random = ("random_crop", "random_resized_crop", "random_flip", "color_jitter")
    for step in before:
        need(step.name not in random and not step.args.get("random"), "behind a random step")
        need(step.name != "map" or args["disk"] == 0 or step.args.get("version"), "a version")
    return schema


def check_batch(schema: Schema, size: int) -> None:
    """Illegal where samples of a field cannot stand in one batch."""
    for name, it in schema.items():
        need(size == 1 or it.kind != "numbers" or it.fixed or len(it.shape) == 1, f"{name} has no one shape")

