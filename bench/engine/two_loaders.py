#!/usr/bin/env python3
"""Measures two loaders at once in one process, each alone, and in two processes, interleaved. See bench/README.md."""

import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

import two_loaders_report as report  # noqa: E402
from data_sets import photo_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402

PHOTOS, TABLE = "photographs", "table"
PAIRS = {"photos": (PHOTOS, PHOTOS), "table": (PHOTOS, TABLE)}
NEEDS = {"photos": Contestant(), "table": Contestant(needs=("forebay", "numpy", "pyarrow"))}


def photographs(place, options):
    """A folder of its own for each loader, warm."""
    paths = photo_set.originals(options.shared, os.path.join(options.work, f"loader-{place}"), options.photos)
    photo_set.warm(paths)
    return {"folder": os.path.dirname(os.path.dirname(paths[0])), "batch": options.batch}


def table(place, options):
    done = subprocess.run([options.forebay_python, "-m", "data_sets.table_set", options.work, "wide", str(options.rows)],
                          cwd=runs.BENCH, check=True, stdout=subprocess.PIPE, text=True)
    facts = json.loads(done.stdout)
    photo_set.warm(glob.glob(os.path.join(facts["folder"], "*.parquet")))
    return {"folder": facts["folder"], "columns": facts["columns"], "batch": options.table_batch}


def loaders_of(pair, options):
    """What the two loaders read, each with a seed of its own."""
    make = {PHOTOS: photographs, TABLE: table}
    return [make[kind](place, options) | {"name": f"{kind} {place + 1}", "kind": kind, "seed": options.seed + place}
            for place, kind in enumerate(PAIRS[pair])]


def run(pair, how, loaders, options):
    """One run: its record, or a record with `error`."""
    chosen = [loaders[report.ALONE.index(how)]] if how in report.ALONE else loaders
    job = {"how": how, "loaders": chosen, "epochs": options.epochs,
           "threads": options.threads if options.threads == "auto" else int(options.threads)}
    head = {"pair": pair, "loader": how, "threads_each": options.threads, "epochs": options.epochs, "photos": options.photos,
            "rows": options.rows}
    return head | runs.run_job(options.forebay_python, os.path.join(HERE, "two_loaders_run.py"), job, options.work,
                               f"{pair}-{how}")


def measure(options):
    pairs = contestants.present(options.pairs, NEEDS, options)
    loaders = {pair: loaders_of(pair, options) for pair in pairs}
    todo = [(pair, how) for pair in pairs for how in report.HOW]
    return rounds.measure(options.rounds if todo else 0, lambda number: rounds.turned(todo, number),
                          lambda one, number: run(*one, loaders[one[0]], options), report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__, shared=command.SHARED, rounds=5, batch=64, photos=700, seed=7)
    parser.add_argument("--pairs", nargs="+", default=list(PAIRS), choices=PAIRS, help="two photographs, or one and a table")
    parser.add_argument("--epochs", type=int, default=3, help="that each loader reads at least while it is timed")
    parser.add_argument("--threads", default="auto", help="of each loader: a number, or auto")
    parser.add_argument("--rows", type=int, default=400_000, help="of the table")
    parser.add_argument("--table-batch", type=int, default=8192)
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "two_loaders")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
