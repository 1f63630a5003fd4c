"""A process that checks cases: one JSON line in (a seed or a case), one out. What crashes or hangs it is the case it was given."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import warnings

from .case import Case
from .check import check
from .fields import Illegal
from .generator import generate


def answer(question: dict) -> dict:
    case = Case.from_json(question["case"]) if "case" in question else generate(question["seed"])
    broken = question.get("break")
    if broken:
        from .broken import broken_model

        with broken_model(broken):
            return _checked(case)
    return _checked(case)


def _checked(case: Case) -> dict:
    try:
        failure = check(case)
    except Illegal as why:
        return {"illegal": str(why)}
    return {} if failure is None else {"kind": failure.kind, "text": failure.text, "run": failure.run}


def main() -> None:
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what anybody prints goes elsewhere
    for line in sys.stdin:
        try:
            result = answer(json.loads(line))
        except Exception as error:  # noqa: BLE001 (a defect of this test, and told as one)
            import traceback

            result = {"kind": f"test: {type(error).__name__}", "text": traceback.format_exc(), "run": 0}
        print(json.dumps(result), file=answers, flush=True)


if __name__ == "__main__":
    main()
