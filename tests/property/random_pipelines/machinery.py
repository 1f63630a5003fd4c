"""Runs a pipeline in one of its ways and notes what came out, by place in the order."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from . import rules
from .build import pipeline
from .case import Case, Run
from .sources import open_source
from .values import is_strings

Place = tuple[int, int]  # epoch, position


@dataclass
class Outcome:
    rows: dict[Place, tuple[int, dict[str, Any]]] = field(default_factory=dict)  # id and fields
    repeats: list[tuple[int, dict[str, Any]]] = field(default_factory=list)  # padding
    doubled: list[Place] = field(default_factory=list)
    forms: dict[str, set[str]] = field(default_factory=dict)
    fields: set[frozenset[str]] = field(default_factory=set)  # of batches that have rows
    sizes: dict[Place, list[int]] = field(default_factory=dict)  # (epoch, step) → rows on each rank
    lengths: list[int] = field(default_factory=list)
    skipped: dict[int, str] = field(default_factory=dict)  # what was told of bad samples
    error: BaseException | None = None
    wrong: str | None = None  # what this module noticed itself


def run(case: Case, how: Run, folder: str, cache: str) -> Outcome:
    out = Outcome()
    try:
        made = pipeline(case, folder, cache, how.cached)
        if how.json:
            made = type(made).from_json(made.to_json())
        ragged = _ragged(case, folder)
        problems = made.batch(how.batch, last=how.last, ragged=ragged).check()
        if problems:
            out.wrong = f"check: {problems[0]}"
            return out
        if how.select_first:
            _look_at(made.select(*how.select_first), case)
        _run_all(case, how, made, ragged, out)
        if how.program and out.error is None and _program():
            out.wrong = out.wrong or _differs_from_program(case, how, made, ragged, folder)
    except Exception as error:  # noqa: BLE001 (what is allowed is judged elsewhere)
        out.error = error
    return out


def _options(case: Case, how: Run) -> dict[str, Any]:
    options = {"threads": how.threads, "requests": how.requests, "memory": how.memory}
    return {"seed": case.loader_seed, "on_error": case.on_error, "epochs": how.epochs,
            **{name: value for name, value in options.items() if value is not None}}


def _look_at(made, case: Case) -> None:
    import forebay as fb

    with contextlib.suppress(Exception), fb.Loader(made.batch(1), epochs=1, seed=case.loader_seed, on_error="skip") as loader:
        for _ in loader:
            pass


def _ragged(case: Case, folder: str) -> list[str] | None:
    """User code makes their rows, of lengths that nobody else can know."""
    schema = rules.schema_of(open_source(case.source, folder).schema, case.steps)
    return [name for name, it in schema.items() if it.ragged and not it.told] or None


def _run_all(case: Case, how: Run, made, ragged, out: Outcome) -> None:
    """Where the budget does not do, with what the refusal asks for. What is in encoded pictures and what user code makes is known
    from sample to sample only, so it may ask again, for more."""
    import forebay as fb

    options, memory = _options(case, how), how.memory
    known_before = not any(step.name in ("decode_image", "map", "filter") for step in case.steps)
    known_before &= how.resume is None or how.resume[1] <= how.batch  # a larger batch needs more
    for attempt in range(100):
        again = Outcome()
        try:
            _run_once(how, made, ragged, options, again)
        except fb.OutOfBudget as error:
            if not how.exact_budget:
                raise
            if error.bytes_needed <= memory or (attempt and known_before and case.source["kind"] in ("arrays", "parquet", "arrow")):
                out.wrong = f"with {memory} bytes OutOfBudget asks for {error.bytes_needed}: {error}"
                return
            options["memory"] = memory = error.bytes_needed
        else:
            out.__dict__.update(again.__dict__)
            return
    out.wrong = "OutOfBudget asks for more and more"


class _Ranks:
    def __init__(self, stack, made, ragged, batch: int, last: str, world: int, options: dict) -> None:
        import forebay as fb

        pipeline = made.batch(batch, last=last, ragged=ragged)
        self.loaders = [stack.enter_context(fb.Loader(pipeline, rank=rank, world_size=world, **options)) for rank in range(world)]

    def epoch(self, breaks: bool):
        """Batches of all ranks, step by step."""
        if not breaks:
            yield from zip(*self.loaders, strict=True)
            return
        for _ in range(len(self.loaders[0])):
            step = [next(iter(loader), None) for loader in self.loaders]
            if None in step:
                return
            yield step


def _run_once(how: Run, made, ragged, options: dict, out: Outcome) -> None:
    with contextlib.ExitStack() as stack:
        ranks = _Ranks(stack, made, ragged, how.batch, how.last, how.world, options)
        left = -1 if how.resume is None else how.resume[0]
        for _ in range(how.epochs):
            out.lengths.append(len(ranks.loaders[0]))
            if any(len(loader) != out.lengths[-1] for loader in ranks.loaders):
                out.wrong = f"ranks differ in length: {[len(loader) for loader in ranks.loaders]}"
            for step in ranks.epoch(how.breaks) if left != 0 else ():
                _note(out, step)
                left -= 1
                if left == 0:
                    break
            if left == 0:
                break
        _note_errors(out, ranks)
        if left == 0:
            states = [loader.state_dict() for loader in ranks.loaders]
            if any(state != states[0] for state in states):
                out.wrong = f"ranks differ in their states: {states}"
            _go_on(how, made, ragged, options, json.loads(json.dumps(states[0])), out)


def _go_on(how: Run, made, ragged, options: dict, state: dict, out: Outcome) -> None:
    _, batch, world = how.resume
    with contextlib.ExitStack() as stack:
        ranks = _Ranks(stack, made, ragged, batch, how.last, world, options)
        for loader in ranks.loaders:
            loader.load_state_dict(state)
        for _ in range(how.epochs):
            for step in ranks.epoch(breaks=False):
                _note(out, step)
        _note_errors(out, ranks)


def _note_errors(out: Outcome, ranks: _Ranks) -> None:
    for loader in ranks.loaders:
        out.skipped |= {entry["sample"]: f"{entry['code']}: {entry['message']}" for entry in loader.errors()}


def _note(out: Outcome, step) -> None:
    for batch in step:
        columns = {name: _rows_of(out, batch, name) for name in batch.keys()}
        if len(batch):
            out.fields.add(frozenset(columns))
        out.sizes.setdefault((batch.epoch, batch.step), []).append(len(batch))
        for i, (sample, position) in enumerate(zip(batch.ids.tolist(), batch.positions.tolist(), strict=True)):
            row = (sample, {name: values[i] for name, values in columns.items()})
            if i >= len(batch) - batch.padding:
                out.repeats.append(row)
            elif (batch.epoch, position) in out.rows:
                out.doubled.append((batch.epoch, position))
            else:
                out.rows[batch.epoch, position] = row


def _rows_of(out: Outcome, batch, name: str) -> list:
    values = batch[name]
    if isinstance(values, tuple):
        form, values = f"lists of {values[0].dtype}", [values[0][a:b] for a, b in zip(values[1], values[1][1:])]
    elif isinstance(values, list):
        form = f"list of {type(values[0]).__name__}" if values else ""
    else:
        form = f"{values.dtype} with {values.ndim} axes"
    if form and len(batch):
        out.forms.setdefault(name, set()).add(form)
    return [x if is_strings(x) else np.array(x) for x in values]


def _program() -> str | None:
    """The one that belongs to the package; a module that was built without it has none."""
    return shutil.which("forebay", path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))


def _differs_from_program(case: Case, how: Run, made, ragged, folder: str) -> str | None:
    import forebay as fb

    with fb.Loader(made.batch(how.batch, last=how.last, ragged=ragged), seed=case.loader_seed, on_error=case.on_error) as loader:
        mine = fb.digest(loader)
    path = os.path.join(folder, "..", "pipeline.json")
    with open(path, "w") as file:
        file.write(made.batch(how.batch, last=how.last, ragged=ragged).to_json())
    done = subprocess.run([_program(), "run", path, "--json", "--seed", str(case.loader_seed), "--on-error", case.on_error],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        return f"program: exit code {done.returncode}: {done.stderr.strip()}"
    epochs = json.loads(done.stdout)["epochs"]
    if not epochs:
        return "program: it tells of no epoch"
    theirs = epochs[0]["digest"]
    return None if theirs == mine else f"program: digest {theirs}, not {mine}"
