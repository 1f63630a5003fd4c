"""What a pipeline gives, step by step and row by row, in NumPy and Pillow. It knows nothing of the engine."""

from __future__ import annotations

import copy
import math

import numpy as np

from . import functions, model_columns, model_images
from .case import Case, Step
from .fields import Illegal, names_of
from .sources import USER_ERROR, Source
from .values import Bad, Known, Row, errors_of, is_strings, opaque


class Failed(Exception):
    """The filter cannot decide on a row, and the policy is to raise."""

    def __init__(self, errors: frozenset[str]) -> None:
        super().__init__(", ".join(sorted(errors)))
        self.errors = errors


def expected(case: Case, source: Source) -> tuple[list[int], dict[int, Row]]:
    """The ids of the samples there are, in order, and the rows by id."""
    ids = list(source.ids)
    rows = {i: source.rows[i].copy() for i in range(len(source.rows))}
    for step in case.steps:
        if step.name == "take":
            ids = ids[: step.args["n"]]
        elif step.name == "filter":
            ids = [i for i in ids if _kept(step, rows[i], case.on_error)]
        elif step.name not in ("shuffle", "cache"):
            for i in ids:
                rows[i] = apply(step, rows[i])
    return ids, {i: rows[i] for i in ids}


def apply(step: Step, row: Row) -> Row:
    row = row.copy()
    for module in (model_columns, model_images):
        work = getattr(module, step.name, None)
        if work is not None:
            work(row, **step.args)
            return row
    globals()[f"_{step.name}"](row, **step.args)
    return row


def _select(row, fields):
    row.fields = {name: value for name, value in row.fields.items() if name in names_of(fields)}


def _rename(row, **names):
    row.fields = {names.get(name, name): value for name, value in row.fields.items()}


def _given(row: Row, fields) -> dict:
    names = names_of(fields) if fields else list(row.fields)
    return {name: row.fields[name] for name in names}


def _kept(step: Step, row: Row, on_error: str) -> bool:
    given = _given(row, step.args.get("fields"))
    if row.doubtful and any(isinstance(value, Bad) for value in given.values()):
        raise Illegal("nobody knows whether the filter can decide")
    if errors := errors_of(given.values()):
        if on_error == "raise":
            raise Failed(errors)
        return False
    if row.perhaps_bad:
        raise Illegal("nobody knows whether the function that fails is asked in the filter's pass")
    function = getattr(functions, step.args["fn"])
    return function({name: copy.copy(value.value) for name, value in given.items()}, **step.args["with"])


def _map(row, fn, fields=None, random=False, workers=None, version=None, **more):
    how = more["with"]
    given = _given(row, fields)
    bad, sure = errors_of(given.values()), not row.doubtful
    if not bad:
        sample = {name: copy.copy(value.value) for name, value in given.items()}
        extra = (np.random.default_rng(0),) if random else ()
        try:
            made = getattr(functions, fn)(sample, *extra, **how)
        except ValueError:
            bad, sure = USER_ERROR.errors, True
    if bad:
        # What the function would have made is bad; the others are if it is asked at all.
        names = how.get("names") or [*(given if fn != "only_constant" else ()), *([how["name"]] if "name" in how else ())]
        row.fields = {**(row.fields if fields else {}), **dict.fromkeys(names, Bad(bad, sure))}
        row.perhaps_bad = True
        return
    changed = {how.get("name"), how.get("of")} if random else ()
    back = {}
    for name, value in made.items():
        array = value if is_strings(value) else np.asarray(value)
        if name in changed and not is_strings(array):
            back[name] = opaque(array.dtype.name, array.shape)
        else:
            back[name] = _as_known(array, None if name == how.get("name") else given.get(name))
    # Nobody can know beforehand that the function does without a field that it puts another in the place of.
    row.perhaps_bad |= any(isinstance(row.fields.get(name), Bad) for name in back)
    row.fields = {**row.fields, **back} if fields else back


def _as_known(value, before: Known | None) -> Known:
    """Known as well as the field that it was, if it was one."""
    if before is None or before.exact:
        return Known(value)
    same = type(value) is type(before.value) and (
        value == before.value if is_strings(value) else np.array_equal(value, before.value, equal_nan=value.dtype.kind == "f"))
    return Known(value, before.tolerance if same else math.inf)
