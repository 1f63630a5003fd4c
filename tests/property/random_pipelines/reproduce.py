"""A failure as a small program of its own."""

from __future__ import annotations

import inspect

from . import data, functions, rules
from .build import step_text
from .case import Case, Run
from .check import Failure
from .sources import open_source


def _used(module, text: str) -> list[str]:
    """The text of the module's functions and classes that `text` and they themselves name, in the order of the module."""
    members = {n: m for n, m in vars(module).items() if getattr(m, "__module__", None) == module.__name__}
    sources = {name: inspect.getsource(member) for name, member in members.items()}
    found: set[str] = set()
    todo = [text]
    while todo:
        here = todo.pop()
        for name in set(sources) - found:
            if name in here:
                found.add(name)
                todo.append(sources[name])
    return [sources[name] for name in sources if name in found]


def _loop(how: Run, case: Case, ragged: list[str]) -> list[str]:
    options = {"seed": case.loader_seed, "on_error": case.on_error, "epochs": how.epochs}
    options |= {n: getattr(how, n) for n in ("threads", "requests", "memory") if getattr(how, n) is not None}
    text = ", ".join(f"{name}={value!r}" for name, value in options.items())
    made = "pipeline" if how.cached or not any(step.name == "cache" for step in case.steps) else "without_caches"
    if how.json:
        made = f"fb.Pipeline.from_json({made}.to_json())"
    more = f", ragged={ragged!r}" if ragged else ""
    lines = [f"for rank in range({how.world}):",
             f"    with fb.Loader({made}.batch({how.batch}, last={how.last!r}{more}), rank=rank, world_size={how.world}, {text}) as loader:",
             f"        for epoch in range({how.epochs}):", "            for batch in loader:",
             "                print(rank, batch.epoch, batch.ids, dict(batch.items()))"]
    if how.select_first:
        lines = [f"with fb.Loader({made}.select(*{how.select_first!r}).batch(1), epochs=1, on_error='skip') as loader:",
                 "    list(loader)", *lines]
    notes = [f"{name}={getattr(how, name)}" for name in ("resume", "breaks", "program", "exact_budget") if getattr(how, name)]
    return [*([f"# with {', '.join(notes)}"] if notes else []), *lines]


def _chain(name: str, source: str, steps: list[str]) -> list[str]:
    return [f"{name} = (", f"    {source}", *(f"    {step}" for step in steps), ")"]


def reproduction(case: Case, failure: Failure) -> str:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source = open_source(case.source, folder)
    schema = rules.schema_of(source.schema, case.steps)
    ragged = [name for name, it in schema.items() if it.ragged and not it.told]
    steps = [step_text(step) for step in case.steps]
    body = ["folder, cache = tempfile.mkdtemp(), tempfile.mkdtemp()", *source.setup, *_chain("pipeline", source.text, steps)]
    if any(step.name == "cache" for step in case.steps) and any(not how.cached for how in case.runs[: failure.run + 1]):
        body += _chain("without_caches", source.text, [step for step in steps if not step.startswith(".cache")])
    for i, how in enumerate(case.runs[: failure.run + 1]):
        body += [f"print('run {i}')", *_loop(how, case, ragged)]
    text = "\n".join(body)
    helpers = _used(data, text) + _used(functions, text)
    head = [f'"""Seed {case.seed}: {failure.kind}: {failure.text[:300]}"""'.replace("\\", "/"), "import csv, json, os, tempfile",
            "from functools import partial", "from math import inf, nan", "import numpy as np", "import pyarrow as pa", "import pyarrow.parquet as pq",
            "from PIL import Image", "import forebay as fb", ""]
    return "\n".join([*head, *helpers, text, ""])
