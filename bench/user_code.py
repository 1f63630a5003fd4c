#!/usr/bin/env python3
"""Python functions that hold the interpreter lock, with threads and with worker processes; and what a call in a worker costs.

    bench/user_code.py [--rounds 5] [--samples 400] [--threads N] [--json]

Rounds are interleaved (threads, processes, costs, threads, ...), each run in a process of its own. Both must deliver the same
digest, or there is no speed-up.
"""

import os
import platform
import sys

import user_code_report as report
from harness import command, contestants, rounds, runs
from harness.contestants import Contestant

HERE = os.path.dirname(os.path.abspath(__file__))
LOADERS = {name: Contestant(name) for name in ("threads", "processes", report.COSTS)}


def run(loader, options):
    """One run: its record, or a record with `error`."""
    job = {"workers": loader, "samples": options.samples, "threads": options.threads}
    head = {"loader": loader, "samples": options.samples, "threads": options.threads, "python": platform.python_version()}
    return head | runs.run_job(options.forebay_python, os.path.join(HERE, "user_code_run.py"), job, options.work, loader)


def measure(options):
    names = contestants.present(list(LOADERS), LOADERS, options)
    return rounds.measure(options.rounds if names else 0, lambda number: rounds.turned(names, number), lambda loader, number: run(loader, options),
                          report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__.partition("\n")[0], work="/tmp/forebay-user-code", rounds=5,
                            threads=len(os.sched_getaffinity(0)))
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--json", action="store_true", help="one line of JSON in place of the report")
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "user_code")
    sys.exit(command.run(chosen, measure, report.as_json if chosen.json else report.table, report.problems))
