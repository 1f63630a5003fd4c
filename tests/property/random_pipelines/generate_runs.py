"""Random machinery and life."""

from __future__ import annotations

import random

from .case import Run
from .fields import Illegal, Schema
from .rules import check_batch


def random_runs(draw: random.Random, schema: Schema, cached: bool, saveable: bool) -> list[Run]:
    sizes = _batch_sizes(draw, schema)
    last = draw.choice(["partial", "partial", "partial", "pad", "drop"])
    epochs = draw.choice([1, 1, 2, 3])
    runs = [Run(batch=sizes[0], epochs=epochs, threads=1)]
    for i in range(draw.choice([1, 2, 2, 3])):
        run = Run(batch=draw.choice(sizes), last=last, epochs=epochs, cached=cached and draw.random() < 0.9)
        _machinery(draw, run)
        _life(draw, run, schema, sizes, saveable, first=i == 0)
        runs.append(run)
    return runs


def _batch_sizes(draw, schema) -> list[int]:
    try:
        check_batch(schema, 2)
    except Illegal:
        return [1]
    return [draw.choice([1, 2, 3, 4, 5, 8, 16, 64]) for _ in range(3)]


def _machinery(draw, run: Run) -> None:
    run.threads = draw.choice([None, 1, 2, 3, 8])
    run.world = draw.choice([1, 1, 1, 2, 3, 4])
    run.requests = draw.choice([None, None, 1, 2, 16])
    if draw.random() < 0.15:
        run.memory = draw.choice([1, 20_000, 200_000, 1_000_000, 10_000_000])
        run.exact_budget = True


def _life(draw, run: Run, schema: Schema, sizes: list[int], saveable: bool, first: bool) -> None:
    if draw.random() < 0.25:
        run.resume = [draw.randrange(0, 6), draw.choice(sizes), draw.choice([1, 2, 3, 4])]
    run.breaks = draw.random() < 0.1
    run.json = saveable and draw.random() < 0.3
    run.program = saveable and draw.random() < 0.05
    if run.cached and first and schema and draw.random() < 0.4:
        run.select_first = draw.sample(list(schema), draw.randrange(1, len(schema) + 1))


