"""Makes a failing case smaller as long as it fails in the same way."""

from __future__ import annotations

import time
from typing import Callable, Iterator

from .case import Case, Run

Ask = Callable[[Case], dict]


def shrink(case: Case, kind: str, ask: Ask, seconds: float = 60) -> tuple[Case, dict]:
    """The smallest case found, and what it answers."""
    answer = ask(case)
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for smaller in _smaller(case):
            if time.monotonic() > end:
                break
            found = ask(smaller)
            if found.get("kind") == kind:
                case, answer, progress = smaller, found, True
                break
    return case, answer


def _smaller(case: Case) -> Iterator[Case]:
    """Cases that are less in one thing, the largest cuts first."""
    yield from _fewer_runs(case)
    for i in reversed(range(len(case.steps))):
        yield _changed(case, lambda it, i=i: it.steps.pop(i))
    yield from _fewer_samples(case)
    yield from _fewer_fields(case)
    yield from _plainer_runs(case)
    yield from _plainer_steps(case)
    if case.on_error != "raise":
        yield _changed(case, lambda it: setattr(it, "on_error", "raise"))
    if case.loader_seed:
        yield _changed(case, lambda it: setattr(it, "loader_seed", 0))


def _changed(case: Case, change) -> Case:
    smaller = case.copy()
    change(smaller)
    return smaller


def _fewer_runs(case: Case) -> Iterator[Case]:
    for i in reversed(range(len(case.runs))):
        if len(case.runs) > 1:
            yield _changed(case, lambda it, i=i: it.runs.pop(i))


def _fewer_samples(case: Case) -> Iterator[Case]:
    pictures = case.source.get("pictures")
    if pictures:
        for size in {1, len(pictures) // 2}:
            for start in range(0, len(pictures), max(size, 1)):
                kept = pictures[:start] + pictures[start + size :]
                if kept and size:
                    yield _changed(case, lambda it, kept=kept: it.source.update(pictures=kept))
        for i, picture in enumerate(pictures):
            for plain in (picture[:2] + [4, 5] + picture[4:], [picture[0].rpartition(".")[0] + ".png", *picture[1:4], "RGB", picture[5]],
                          picture[:5] + [None]):
                if plain != picture:
                    yield _changed(case, lambda it, i=i, plain=plain: it.source["pictures"].__setitem__(i, plain))
        return
    rows = case.source["rows"]
    for fewer in sorted({1, 2, rows // 4, rows // 2, rows - 1}):
        if 0 < fewer < rows:
            yield _changed(case, lambda it, n=fewer: _set_rows(it, n))


def _set_rows(case: Case, rows: int) -> None:
    case.source["rows"] = rows
    if "fails" in case.source:
        case.source["fails"] = [i for i in case.source["fails"] if i < rows]


def _fewer_fields(case: Case) -> Iterator[Case]:
    for key in ("fields", "columns"):
        for i in reversed(range(len(case.source.get(key, ())))):
            yield _changed(case, lambda it, key=key, i=i: it.source[key].pop(i))
    for key in ("partition", "filter", "select", "fails", "processes"):
        if case.source.get(key):
            yield _changed(case, lambda it, key=key: it.source.update({key: [] if key == "fails" else None}))
    if case.source.get("files", 1) > 1:
        yield _changed(case, lambda it: it.source.update(files=1))
    for i, column in enumerate(case.source.get("columns", ())):
        if column.get("nulls"):
            yield _changed(case, lambda it, i=i: it.source["columns"][i].update(nulls=False))
    for i, array in enumerate(case.source.get("fields", ())):
        if array.get("npy"):
            yield _changed(case, lambda it, i=i: it.source["fields"][i].update(npy=False))


def _plainer_runs(case: Case) -> Iterator[Case]:
    plain = Run(threads=1)
    for i, run in enumerate(case.runs):
        for name, value in vars(run).items():
            if value != getattr(plain, name) and name not in ("batch", "cached"):
                yield _changed(case, lambda it, i=i, name=name: setattr(it.runs[i], name, getattr(plain, name)))
        if run.batch > 1:
            yield _changed(case, lambda it, i=i: setattr(it.runs[i], "batch", 1))


def _plainer_steps(case: Case) -> Iterator[Case]:
    for i, step in enumerate(case.steps):
        for name, value in step.args.items():
            if isinstance(value, list) and len(value) > 1 and name in ("field", "fields"):
                for place in range(len(value)):
                    fewer = value[:place] + value[place + 1 :]
                    yield _changed(case, lambda it, i=i, name=name, fewer=fewer: it.steps[i].args.__setitem__(name, fewer))
        if step.name == "rename" and len(step.args) > 1:
            for name in step.args:
                yield _changed(case, lambda it, i=i, name=name: it.steps[i].args.pop(name))
        for name in ("salt", "version", "compression", "block", "lanes", "interpolation", "scale"):
            if name in step.args:
                yield _changed(case, lambda it, i=i, name=name: it.steps[i].args.pop(name))
