"""Whether what came out is what had to come out."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass

import numpy as np

from . import model, rules
from .case import Case, Run
from .fields import Schema
from .machinery import Outcome, run
from .sources import Source, open_source
from .values import DATA_ERRORS, Bad, Row, differs

DOCUMENTED = DATA_ERRORS | {"ValueError", "OutOfBudget"}


@dataclass
class Failure:
    kind: str  # the same for the same defect, more or less
    text: str
    run: int = 0


def check(case: Case) -> Failure | None:
    """Runs a case in all its ways. Illegal where nothing is promised of it."""
    with tempfile.TemporaryDirectory(prefix="forebay-random-") as top:
        folder = os.path.join(top, "data")
        os.mkdir(folder)
        source = open_source(case.source, folder)
        schema = rules.schema_of(source.schema, case.steps)
        for how in case.runs:
            for size in [how.batch, *(how.resume or [])[1:2]]:
                rules.check_batch(schema, size)
        _write(source, folder)
        try:
            ids, rows = model.expected(case, source)
            failed = None
        except model.Failed as error:
            ids, rows, failed = [], {}, error
        want = _Want(case, schema, ids, rows, failed)
        outcomes: list[Outcome] = []
        for i, how in enumerate(case.runs):
            outcomes.append(run(case, how, folder, os.path.join(top, "cache")))
            failure = want.judge(how, outcomes[i]) or (_compare(want, how, outcomes[0], outcomes[i]) if i else None)
            if failure:
                failure.run = i
                return failure
    return None


def _write(source: Source, folder: str) -> None:
    from .build import names

    for line in source.setup:
        exec(line, {**names(), "folder": folder})  # noqa: S102 (our own text)


def _plain(text: str) -> str:
    """Without what differs from case to case."""
    return re.sub(r"/[^ ']*|'[^']*'|\d+", "…", text)[:70]


def _class(error: BaseException) -> str:
    return type(error).__name__


@dataclass
class _Want:
    case: Case
    schema: Schema
    ids: list[int]
    rows: dict[int, Row]
    failed: model.Failed | None

    @property
    def shuffled(self) -> bool:
        return any(step.name == "shuffle" for step in self.case.steps)

    def judge(self, how: Run, got: Outcome) -> Failure | None:
        if got.wrong:
            return Failure("noticed: " + _plain(got.wrong), got.wrong)
        return self._judge_error(how, got) or self._judge_places(how, got) or self._judge_rows(got) or self._judge_forms(got)

    def _judge_error(self, how: Run, got: Outcome) -> Failure | None:
        if got.error is None:
            bad = [i for i in self.ids if self.rows[i].bad]
            if self.failed or (bad and self.case.on_error == "raise" and how.last != "drop"):
                return Failure("no error", f"no error, and {bad[:5]} are bad")
            return None
        kind, allowed = _class(got.error), {"OutOfBudget"} if how.memory else set()
        if self.failed:
            allowed |= self.failed.errors
        if self.case.on_error == "raise":
            allowed |= {name for row in self.rows.values() for name in row.errors}
            allowed |= set(DATA_ERRORS) if any(row.doubtful for row in self.rows.values()) else set()
        if self.case.on_error == "replace" and all(row.bad or row.doubtful for row in self.rows.values()):
            allowed |= DOCUMENTED
        if kind in allowed:
            return None
        return Failure(f"error: {kind}: {_plain(str(got.error))}", f"{kind}: {got.error}")

    def _judge_places(self, how: Run, got: Outcome) -> Failure | None:
        if got.doubled:
            return Failure("twice", f"twice: {got.doubled[:5]}")
        n, whole = len(self.ids), how.batch * how.world
        steps = n // whole if how.last == "drop" else -(-n // whole)
        if got.error is None and got.lengths[0] != steps:
            return Failure("length", f"{got.lengths[0]} steps, not {steps}")
        for (epoch, step), sizes in got.sizes.items():
            wrong = self.case.on_error != "skip" and (max(sizes) - min(sizes) > 1 or (how.last == "pad" and len(set(sizes)) > 1))
            if wrong:
                return Failure("sizes", f"epoch {epoch}, step {step}: {sizes}")
        for epoch in range(how.epochs):
            found = {position for e, position in got.rows if e == epoch}
            may = set(range(n))
            must = set() if got.error or how.last == "drop" else set(may)
            if how.last == "drop" and how.resume is None and not got.error:
                must = may = set(range(steps * whole))
            if self.case.on_error == "skip":
                must = self._sure(must, found)
            if must - found and (failure := self._wrongly_skipped(got)):
                return failure
            if found - may or must - found:
                return Failure("places", f"epoch {epoch}: missing {sorted(must - found)[:5]}, too many {sorted(found - may)[:5]}")
            ids = [got.rows[epoch, position][0] for position in found]
            if self.case.on_error != "replace" and len(set(ids)) != len(ids):
                return Failure("ids", f"epoch {epoch}: ids twice: {sorted(ids)}")
        return None

    def _sure(self, must: set[int], found: set[int]) -> set[int]:
        """The positions that cannot be left out for a bad sample. Of a shuffled epoch only their number is known here."""
        doubtful = {i for i, row in self.rows.items() if row.bad or row.doubtful}
        if self.shuffled:
            return set() if len(must - found) <= len(doubtful) else must
        return {position for position in must if self.ids[position] not in doubtful}

    def _judge_rows(self, got: Outcome) -> Failure | None:
        for (epoch, position), (sample, fields) in got.rows.items():
            stands_in = self.case.on_error == "replace"
            if not self.shuffled and not stands_in and self.ids[position] != sample:
                return Failure("order", f"epoch {epoch}, position {position}: id {sample}, not {self.ids[position]}")
            failure = self._judge_row(sample, fields)
            if failure:
                failure.text = f"epoch {epoch}, position {position}, {failure.text}"
                return failure
        for sample, fields in got.repeats:
            if failure := self._judge_row(sample, fields):
                failure.text = f"padding, {failure.text}"
                return failure
        return self._wrongly_skipped(got)

    def _wrongly_skipped(self, got: Outcome) -> Failure | None:
        for sample, why in got.skipped.items():
            if sample in self.rows and not (self.rows[sample].bad or self.rows[sample].doubtful):
                return Failure(f"skipped: {_plain(why)}", f"sample {sample} was told as bad: {why}")
        return None

    def _judge_row(self, sample: int, fields: dict) -> Failure | None:
        if sample not in self.rows:
            return Failure("ids", f"there is no sample {sample}")
        row = self.rows[sample]
        if row.bad:
            return Failure("bad", f"sample {sample} is bad ({sorted(row.errors)}) and was delivered")
        if set(fields) != set(row.fields):
            return Failure("fields", f"sample {sample}: fields {sorted(fields)}, not {sorted(row.fields)}")
        for name, value in row.fields.items():
            if not isinstance(value, Bad) and (wrong := differs(value, fields[name])):
                return Failure(f"value: {_plain(wrong)[:12]}", f"sample {sample}, field '{name}': {wrong}")
        return None

    def _judge_forms(self, got: Outcome) -> Failure | None:
        for name, forms in got.forms.items():
            ragged = self.schema[name].ragged
            if len(forms) > 1 or any(ragged != form.startswith("lists") for form in forms):
                told = "told" if self.schema[name].told else "untold"
                return Failure(f"form of a {told} field", f"field '{name}' ({self.schema[name]}) came as {sorted(forms)}")
        return None


def _same(a, b) -> bool:
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    return type(a) is type(b) and a == b


def _compare(want: _Want, how: Run, first: Outcome, got: Outcome) -> Failure | None:
    """With the first run, bit by bit."""
    if _class(got.error) != _class(first.error) and "OutOfBudget" not in (_class(got.error), _class(first.error)):
        if how.last != "drop" and how.world == 1:
            return Failure(f"errors differ: {_class(first.error)}, {_class(got.error)}", f"{first.error!r} and {got.error!r}")
    for place, (sample, fields) in got.rows.items():
        if place not in first.rows:
            if not first.error:
                return Failure("rows differ", f"{place} did not come in the first run")
            continue
        its_id, its_fields = first.rows[place]
        if its_id != sample:
            return Failure("order differs", f"{place}: id {sample}, {its_id} in the first run")
        for name, value in fields.items():
            if not _same(value, its_fields.get(name)):
                return Failure("runs differ", f"{place}, sample {sample}, field '{name}': {value!r} and {its_fields.get(name)!r} in the first run")
    missing = set(first.rows) - set(got.rows)
    if how.cached:  # what is kept is decoded as a whole, also where a crop needs a part alone
        missing -= {place for place, (sample, _) in first.rows.items() if want.rows[sample].doubtful}
    if not got.error and not first.error and how.last != "drop" and missing:
        return Failure("rows differ", f"{sorted(missing)[:5]} came in the first run only")
    return None

