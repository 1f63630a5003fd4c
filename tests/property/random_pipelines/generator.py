"""A random legal case from a seed."""

from __future__ import annotations

import random
import tempfile

from . import rules
from .case import Case, Step
from .fields import Illegal, Schema
from .generate_runs import random_runs
from .generate_sources import random_source
from .generate_steps import random_steps
from .sources import open_source


def generate(seed: int) -> Case:
    draw = random.Random(seed)
    source = random_source(draw)
    with tempfile.TemporaryDirectory(prefix="forebay-random-") as folder:
        opened = open_source(source, folder)
    chunked = source["kind"] in ("parquet", "arrow")
    steps = random_steps(draw, opened.schema, chunked, len(opened.rows))
    schema = rules.schema_of(opened.schema, steps)
    if draw.random() < 0.75:
        schema = _give_one_shape(draw, schema, steps)
    saveable = opened.saveable and all(step.name not in ("map", "filter") for step in steps)
    cached = any(step.name == "cache" for step in steps)
    runs = random_runs(draw, schema, cached, saveable)
    safe = all(it.safe for it in schema.values())
    on_error = draw.choice(["raise", "raise", "raise", "skip"] if safe else ["raise", "skip", "skip", "skip", "replace"])
    return Case(seed, source, steps, runs, draw.choice([0, 7, 2**64 - 1, draw.randrange(10**6)]), on_error)


def _give_one_shape(draw: random.Random, schema: Schema, steps: list[Step]) -> Schema:
    """So that batches can have more than one sample."""
    for name, it in list(schema.items()):
        try:
            rules.check_batch({name: it}, 2)
        except Illegal:
            n = draw.randrange(1, 20)
            crop = {"n": n} if draw.random() < 0.7 else {"n": [n, draw.randrange(1, 20)]}
            step = Step(draw.choice(["center_crop", "center_crop", "random_resized_crop"]), {**crop, "field": name})
            try:
                schema = rules.after(schema, step, steps)
            except Illegal:
                continue
            steps.append(step)
    return schema
