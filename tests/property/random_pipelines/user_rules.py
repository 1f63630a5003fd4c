"""What the functions of `functions.py` ask of the fields, and what they make of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .fields import Illegal, Schema, Type, numbers

# These look at values, not only at shapes.
_LOOK_AT = {"add_sum", "add_text", "add_bytes", "negate", "to_float", "fail_at", "keep_odd", "keep_some", "add_row"}
_NUMBERS_ONLY = {"negate", "to_float", "pair", "in_place", "draw_onto"}


def _need(condition: bool, why: str) -> None:
    if not condition:
        raise Illegal(why)


def _given(schema: Schema, args: dict) -> Schema:
    """The fields that the function gets."""
    names = args.get("fields")
    names = [names] if isinstance(names, str) else names
    for name in names or []:
        _need(name in schema, f"no field {name}")
    given = {name: it for name, it in schema.items() if not names or name in names}
    _need(not any(it.padded for it in given.values()), "pad comes last")
    return given


def _asked(given: Schema, args: dict) -> None:
    of = args["with"].get("of")
    if of is not None:
        _need(of in given, f"the function does not get {of}")
        _need(args["fn"] not in _LOOK_AT or given[of].exact, "its outcome would not be known")
        _need(args["fn"] not in _NUMBERS_ONLY or given[of].kind == "numbers", "numbers")


def filtered(schema: Schema, args: dict) -> Schema:
    _asked(_given(schema, args), args)
    return schema


def of_constant(value) -> Type:
    if isinstance(value, str):
        return Type("text", told=False)
    array = np.asarray(value)
    return numbers(array.dtype.name, array.shape, told=False)


def _made(fn: str, given: Schema, how: dict) -> Schema:
    """The fields that come back, those that pass through included."""
    back = dict(given)
    of = given.get(how.get("of"))
    new = {
        "add_sum": lambda: numbers("float64"),
        "add_text": lambda: Type("text"),
        "add_bytes": lambda: Type("bytes"),
        "add_row": lambda: numbers("int32", (None,)),
        "draw": lambda: numbers("float32", (3,), exact=False),
    }
    if fn in new:
        back[how["name"]] = new[fn]()
    elif fn == "add_constant":
        back[how["name"]] = of_constant(how["value"])
    elif fn == "only_constant":
        back = {how["name"]: of_constant(how["value"])}
    elif fn == "keep_only":
        _need(all(name in given for name in how["names"]), "fields that it gets")
        back = {name: given[name] for name in how["names"]}
    elif fn == "to_float":
        back[how["of"]] = replace(of, dtype="float64")
    elif fn == "pair":
        _need(of.shape != (None,) and None not in of.shape and len(of.shape) < 4, "one shape")
        back[how["of"]] = numbers(of.dtype, (2, *of.shape), exact=of.exact)
    elif fn == "draw_onto":
        back[how["of"]] = replace(of, exact=False)
    return back


def mapped(schema: Schema, args: dict) -> Schema:
    given = _given(schema, args)
    _asked(given, args)
    safe = all(it.safe for it in given.values()) and args["fn"] != "fail_at"
    back = {name: replace(it, told=False, safe=safe) for name, it in _made(args["fn"], given, args["with"]).items()}
    if not args.get("fields"):
        return back
    for name in back.keys() - given.keys():
        it = schema.get(name)
        kept_type = it is None or not (it.told or it.padded) or (it.kind, it.dtype, it.shape) == (back[name].kind, back[name].dtype, back[name].shape)
        _need(kept_type, f"steps behind go by what {name} was, for fields= does not name it")
    # A function that failed or was not asked at all says nothing of the other fields; those that it gets may come back otherwise.
    kept = {name: replace(it, told=it.told and name not in given, safe=it.safe and (safe or args["fn"] != "fail_at"))
            for name, it in schema.items()}
    return {**kept, **back}
