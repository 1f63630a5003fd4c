"""A case as Python text, which is what runs and what a reproduction shows."""

from __future__ import annotations

import functools
import math
from typing import Any

from . import data, functions
from .case import Case, Step
from .sources import open_source


def _call(name: str, args: dict[str, Any]) -> str:
    if all(key.isidentifier() for key in args):
        return f".{name}({', '.join(f'{key}={value!r}' for key, value in args.items())})"
    return f".{name}(**{args!r})"


def _function(args: dict[str, Any]) -> str:
    given = ", ".join(f"{key}={value!r}" for key, value in args["with"].items())
    return f"partial({args['fn']}, {given})" if given else args["fn"]


def step_text(step: Step) -> str:
    args = dict(step.args)
    if step.name in ("map", "filter"):
        rest = {key: value for key, value in args.items() if key not in ("fn", "with")}
        return f".{step.name}({', '.join([_function(args), *(f'{key}={value!r}' for key, value in rest.items())])})"
    if step.name == "select":
        return f".select({', '.join(map(repr, args['fields']))})"
    if step.name == "cache":
        return _call("cache", args)[:-1] + ", dir=cache)"
    return _call(step.name, args)


def texts(case: Case, folder: str, cached: bool = True) -> tuple[list[str], list[str]]:
    """Statements that write the data, and the parts of the expression that makes the pipeline, without its .batch."""
    source = open_source(case.source, folder)
    steps = [step_text(step) for step in case.steps if cached or step.name != "cache"]
    return source.setup, [source.text, *steps]


def names() -> dict[str, Any]:
    """What the text may use, beside `folder` and `cache`."""
    import forebay

    return {**vars(data), **vars(functions), "partial": functools.partial, "nan": math.nan, "inf": math.inf, "fb": forebay}


def pipeline(case: Case, folder: str, cache: str, cached: bool):
    """The data is there already."""
    _, parts = texts(case, folder, cached)
    return eval("(" + "".join(parts) + ")", {**names(), "folder": folder, "cache": cache})  # noqa: S307 (our own text)
