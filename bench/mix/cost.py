#!/usr/bin/env python3
"""What a mix costs: rows of 1 to 64 parts beside one array of the same rows, the opening of 1,000 parts beside that of their sources, and
photographs mixed with a table of pictures beside either alone.

    bench/mix/cost.py --work /tmp/mix-cost [--rounds 5] [--quick]
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

import cost_report as report  # noqa: E402
from data_sets import photo_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402

RUN = os.path.join(HERE, "cost_run.py")
OPENINGS = ("sources", "numpy", "mix")
KINDS = ("photographs", "table", "both")


def todo_of(options):
    """Of each run its case, what it is called in the table, and its job."""
    rows = {f"{parts} part{'s' * (parts > 1)}, {how}": {"parts": parts, "how": how} for parts in options.parts for how in ("by weights", "each once")}
    rows = {"one array": {"parts": 1, "how": "alone"}} | rows
    todo = [*(("rows", name, job) for name, job in rows.items()), *(("open", what, {"opening": what, "files": options.files}) for what in OPENINGS),
            *(("kinds", kind, {"kind": kind, "paths": options.paths}) for kind in KINDS)]
    return [one for one in todo if one[0] in options.cases]


def run(case, name, job, options):
    spec = {"rows": options.rows, "epochs": options.epochs, "batch": options.batch, "threads": options.threads, "seed": options.seed, "opening": "", "kind": ""}
    head = {"case": case, "loader": name, "load": os.getloadavg()[0], "rows": options.rows, "files": options.files, "batch": options.batch,
            "threads": options.threads, "photos": options.photos}
    return head | runs.run_job(options.forebay_python, RUN, spec | job, options.work, f"{case}-{name}")


def measure(options):
    here = contestants.present(["forebay"], {"forebay": Contestant()}, options)
    options.paths = photo_set.originals(options.shared, options.work, options.photos) if "kinds" in options.cases else []
    todo = todo_of(options) if here else []
    return rounds.measure(options.rounds if todo else 0, lambda number: rounds.turned(todo, number), lambda one, number: run(*one, options),
                          report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__.partition("\n")[0], work="/tmp/forebay-mix-cost", rounds=5, batch=256, threads=2, seed=7, photos=700, shared=command.SHARED)
    parser.add_argument("--cases", nargs="+", choices=("rows", "open", "kinds"), default=["rows", "open", "kinds"])
    parser.add_argument("--parts", nargs="+", type=int, default=[1, 2, 8, 64])
    parser.add_argument("--rows", type=int, default=2**21, help="of all parts together; each has as many")
    parser.add_argument("--epochs", type=int, default=3, help="that are timed")
    parser.add_argument("--files", type=int, default=1000, help="that are opened")
    parser.add_argument("--quick", action="store_true", help="a thousandth of the rows, 20 files and 40 photographs")
    return parser


if __name__ == "__main__":
    options = command.parse(arguments(), lambda chosen: "mix-cost")
    if options.quick:
        options.rows, options.files, options.photos = 2**11, 20, 40
    sys.exit(command.run(options, measure, report.table, report.problems))
