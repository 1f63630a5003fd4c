"""What image operators ask of the fields, and what they make of them; for `rules.py`."""

from __future__ import annotations

from dataclasses import replace

from .fields import Schema, Type, chosen, names_of, need, numbers


def _pictures(schema: Schema, args, eight_bits=False) -> list[str]:
    names = chosen(schema, args.get("field", "image"))
    for name in names:
        it = schema[name]
        need(it.looks_like_picture, f"{name} is no picture")
        need(it.told or not it.chw, "how a picture is laid out is not known behind user code")
        need(not eight_bits or it.dtype == "uint8", "8 bits")
    return names


def _sized(it: Type, height, width) -> Type:
    if len(it.shape) == 2:
        shape = (height, width)
    else:
        shape = (it.shape[0], height, width) if it.chw else (height, width, it.shape[2])
    return replace(it, shape=shape, picture=True)


def _pair(size) -> tuple:
    return (size, size) if isinstance(size, int) else tuple(size)


def sides(it: Type) -> tuple:
    return it.shape[1:] if it.chw and len(it.shape) == 3 else it.shape[:2]


def _decode_image(schema, args, before):
    names = names_of(args.get("field") or [])
    if not names:
        names = [next((n for n in ("image", "bytes") if n in schema and schema[n].kind == "bytes"), "")]
    for name in chosen(schema, names):
        it = schema.pop(name)
        need(it.kind == "bytes" and it.encoded, "an encoded picture")
        after_ = "image" if name == "bytes" else name
        need(after_ not in schema, "a field of that name is there")
        channels = 1 if args.get("mode") == "gray" else 3
        schema[after_] = numbers("uint8", (None, None, channels), picture=True, exact=False, safe=it.safe)
    return schema


def _bilinear_needs_bytes(schema, args, names):
    if args.get("interpolation", "bilinear") == "bilinear":
        for name in names:
            need(schema[name].dtype == "uint8", "bilinear works on 8 bits")


def _resize(schema, args, before):
    names = _pictures(schema, args)
    _bilinear_needs_bytes(schema, args, names)
    for name in names:
        to = _pair(args["size"]) if "size" in args else (None, None)
        exact = schema[name].exact and args.get("interpolation") == "nearest"
        schema[name] = replace(_sized(schema[name], *to), exact=exact)
    return schema


def _center_crop(schema, args, before):
    for name in _pictures(schema, args):
        schema[name] = _sized(schema[name], *_pair(args["n"]))
    return schema


def _random_crop(schema, args, before):
    names = _pictures(schema, args)
    n = _pair(args["n"])
    fits = all(None not in sides(schema[x]) and all(a >= b for a, b in zip(sides(schema[x]), n)) for x in names)
    alike = len({sides(schema[name]) for name in names}) == 1
    safe = fits and alike and all(schema[name].safe for name in names)
    for name in names:
        schema[name] = replace(_sized(schema[name], *n), exact=False, safe=safe)
    return schema


def _random_resized_crop(schema, args, before):
    names = _pictures(schema, args)
    _bilinear_needs_bytes(schema, args, names)
    alike = len(names) == 1 or (len({sides(schema[n]) for n in names}) == 1 and None not in sides(schema[names[0]]))
    safe = alike and all(schema[name].safe for name in names)
    for name in names:
        schema[name] = replace(_sized(schema[name], *_pair(args["n"])), exact=False, safe=safe)
    return schema


def _random_flip(schema, args, before):
    for name in _pictures(schema, args):
        schema[name] = replace(schema[name], exact=False, picture=True)
    return schema


def _color_jitter(schema, args, before):
    for name in _pictures(schema, args, eight_bits=True):
        need(schema[name].channels in (1, 3), "1 or 3 channels")
        schema[name] = replace(schema[name], exact=False, picture=True)
    return schema


def _chw(it: Type) -> Type:
    if len(it.shape) == 2:
        return replace(it, shape=(1, *it.shape), chw=True)
    return it if it.chw else replace(it, shape=(it.shape[2], *it.shape[:2]), chw=True)


def _hwc(it: Type) -> Type:
    if len(it.shape) == 2:
        return replace(it, shape=(*it.shape, 1))
    return replace(it, shape=(*it.shape[1:], it.shape[0]), chw=False) if it.chw else it


def _layout(schema, args, before):
    for name in _pictures(schema, args):
        it = (_chw if args["order"] == "chw" else _hwc)(schema[name])
        schema[name] = replace(it, laid_out=True, picture=True)
    return schema


def _normalize(schema, args, before):
    names = chosen(schema, args.get("field", "image"))
    counts = {len(args[key]) if isinstance(args[key], list) else 1 for key in ("mean", "std")} - {1}
    columns = [schema[n].kind == "numbers" and len(schema[n].shape) <= 1 and not schema[n].picture for n in names]
    need(all(columns) or not any(columns), "pictures or columns")
    if all(columns):
        need(counts <= {len(names)}, "one number, or one for each column")
        for name in names:
            need(not schema[name].padded, "pad comes last")
            schema[name] = replace(schema[name], dtype="float32")
        return schema
    for name in _pictures(schema, args, eight_bits=True):
        it = schema[name]
        need(not it.normalized, "once")
        need(counts <= {it.channels}, "one number, or one for each channel")
        if not it.laid_out:
            it = _chw(it)
        schema[name] = replace(it, dtype="float32", normalized=True, picture=True, exact=False)
    return schema
