#!/usr/bin/env python3
"""What profile() finds from a part of the samples, beside every cut and form really run over whole epochs. See bench/presto/README.md."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import presto_sets  # noqa: E402
from harness import command, rounds, runs  # noqa: E402
from presto import cuts_report as report, pipelines  # noqa: E402

NOT_KEPT = "nothing"


def run_job(name, job, options):
    return runs.run_job(options.forebay_python, os.path.join(HERE, "cuts_run.py"), job, options.work, name)


def place_of(name, options):
    """Its data set, made and warm, and the link that stands before it."""
    make, count = presto_sets.SETS[name]
    folder = make(options.shared, options.work, int(count * options.part))
    presto_sets.warm(folder)
    return {"pipeline": name, "folder": folder, "latency_ms": options.latency_ms, "threads": options.threads}


def profiled(name, options):
    """The record of a profile: what each strategy is said to give, and the pipelines."""
    found = run_job(f"{name}-profile", place_of(name, options) | {"time": options.time, "what": "profile"}, options)
    if "error" in found:
        sys.exit(f"{name}: profile() failed: {found['error']}")
    return {"name": name, "loader": report.PROFILE} | found


def cells_of(found):
    """Every strategy that fits, as a job."""
    return [{"what": "cell", "name": found["name"], "strategy": one["name"], "description": one["pipeline"],
             "tier": one["tier"]} for one in found["data"]["strategies"] if one["fits"] == 1]


def run_cell(cell, options):
    head = {"name": cell["name"], "loader": cell["strategy"], "latency_ms": options.latency_ms}
    return head | run_job("cell", place_of(cell["name"], options) | cell | {"seconds": options.seconds}, options)


def measure(options):
    records = []
    for name in options.pipelines:
        found = profiled(name, options)
        print(f"{name}: profiled in {found['data']['seconds']:.0f} s", file=sys.stderr, flush=True)
        cells = cells_of(found)
        out = f"{options.out}.{name}"
        measured = rounds.measure(options.rounds, lambda number: rounds.turned(cells, number),
                                  lambda cell, number: run_cell(cell, options), report.one_line, out)
        records += [found | {"round": 0, "machine": measured[0]["machine"]}, *measured]
        os.remove(out)
    report.write(records, options.out)
    return records


def arguments():
    parser = command.parser(__doc__, shared=command.SHARED, rounds=3)
    parser.add_argument("--pipelines", nargs="+", default=list(pipelines.PIPELINES), choices=pipelines.PIPELINES)
    parser.add_argument("--part", type=float, default=1, help="of the usual number of samples")
    parser.add_argument("--time", default="60s", help="that a profile may take")
    parser.add_argument("--seconds", type=float, default=2, help="of epochs that are timed, at least")
    parser.add_argument("--latency-ms", type=float, default=0, help="of the store")
    parser.add_argument("--threads", default="auto")
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "cuts")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
