"""Parquet and Arrow tables for `sources.py`."""

from __future__ import annotations

import operator
from dataclasses import replace

import numpy as np

from . import data
from .fields import Type, numbers
from .values import Bad, Known, Row

_COMPARE = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


def open_table(source: dict, folder: str):
    from .sources import Source, type_of

    count = source["rows"]
    listed = [(it["name"], it["type"], it["seed"], it["nulls"]) for it in source["columns"]]
    columns = {n: data.column(kind, seed, count, nulls) for n, kind, seed, nulls in listed}
    rows, schema = [Row() for _ in range(count)], {}
    chosen = source.get("select") or [*columns, *(["p"] if source.get("partition") else [])]
    for name, kind, _, nulls in listed:
        if name in chosen:
            _put(rows, schema, name, type_of(kind), columns[name], nulls, source["null"])
    if source.get("partition") and "p" in chosen:
        _put_partition(rows, schema, source)
    ids = [i for i in range(count) if _matches(source.get("filter"), columns, i)]
    return Source(*_texts(source, folder, listed), schema, rows, ids, saveable=not source.get("memory"))


def _put(rows, schema, name, type_, values, nulls, null):
    masks = null == "mask"
    schema[name] = type_
    by_column = null.get(name) if isinstance(null, dict) else None
    if nulls and not masks and by_column is None:
        schema[name] = replace(type_, safe=False)
    shape = (None,) if type_.listed else type_.shape
    if masks:
        schema[f"{name}_valid"] = numbers("bool")
        if len(shape) > 0:
            schema[f"{name}_items_valid"] = numbers("bool", shape)
    for row, value in zip(rows, values):
        if type_.listed:
            _put_list(row, name, type_, value, masks, by_column)
            continue
        stands = value if value is not None else by_column if by_column is not None else _zero(type_)
        if type_.kind == "numbers":
            stands = np.asarray(stands, type_.dtype)
            if value is None and not type_.ragged:
                stands = np.broadcast_to(stands, type_.shape).copy()
        elif isinstance(stands, str) and type_.kind == "bytes":
            stands = stands.encode()
        row.fields[name] = Known(stands)
        if value is None and not masks and by_column is None:
            row.fields[name] = Bad()
        if masks:
            row.fields[f"{name}_valid"] = Known(np.array(value is not None))
            if len(shape) > 0:
                row.fields[f"{name}_items_valid"] = Known(np.full(stands.shape, value is not None))


def _put_list(row, name, type_, value, masks, by_column):
    """A list that is null is empty; a null in it is what stands for nulls."""
    fill = by_column or ""
    blank = fill if type_.kind == "texts" else fill.encode()
    row.fields[name] = Known([blank if string is None else string for string in value or []])
    if (value is None or None in value) and not masks and by_column is None:
        row.fields[name] = Bad()
    if masks:
        row.fields[f"{name}_valid"] = Known(np.array(value is not None))
        row.fields[f"{name}_items_valid"] = Known(np.array([string is not None for string in value or []], bool))


def _zero(type_):
    if type_.kind != "numbers":
        return "" if type_.kind == "text" else b""
    return np.zeros(tuple(n or 0 for n in type_.shape), type_.dtype)


def _put_partition(rows, schema, source):
    number = source["partition"] == "int"
    schema["p"] = numbers("int64") if number else Type("text")
    for i, part in enumerate(data.spread(source["rows"], source["files"])):
        for row in rows[part]:
            row.fields["p"] = Known(np.array(i, "int64") if number else chr(97 + i))


def _matches(conditions, columns, i) -> bool:
    for name, op, value in conditions or []:
        if columns[name][i] is None or not _COMPARE[op](columns[name][i], value):
            return False
    return True


def _texts(source, folder, listed):
    """setup and text."""
    options = ""
    if source.get("select"):
        options += f", columns={source['select']!r}"
    if source.get("filter"):
        options += f", filter={[tuple(one) for one in source['filter']]!r}"
    if source["null"] == "mask":
        options += ", null=fb.NULL_MASK"
    elif source["null"] != "error":
        options += f", null={source['null']!r}"
    count, partition = source["rows"], source.get("partition")
    if source.get("memory"):
        pieces = ", ".join(f"table({listed}, {count}, {part})" for part in data.spread(count, source["files"]))
        return [], f"fb.arrow([{pieces}]{options})"
    suffix = source["kind"]
    setup = f"write_tables(folder, {suffix!r}, {listed!r}, {count}, {source['files']}, {source['group']}, {partition!r})"
    return [setup], f"fb.{suffix}(folder{options})"
