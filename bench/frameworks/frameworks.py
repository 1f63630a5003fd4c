#!/usr/bin/env python3
"""Measures fb.tf.dataset and fb.jax.iterate beside the Python loop over the same pipeline, interleaved. See bench/README.md."""

import glob
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

import frameworks_report as report  # noqa: E402
from data_sets import photo_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402

LOADERS = {"python": Contestant(), "tf": Contestant(needs=("forebay", "numpy", "tensorflow")), "jax": Contestant(needs=("forebay", "numpy", "jax"))}
DATA = ("photographs", "table")


def photographs(options):
    paths = photo_set.originals(options.shared, options.work, options.photos)
    photo_set.warm(paths)
    return {"data": "photographs", "folder": os.path.dirname(os.path.dirname(paths[0])), "batch": options.batch, "epochs": options.epochs}


def table(options):
    done = subprocess.run([options.forebay_python, "-m", "data_sets.table_set", options.work, "wide", str(options.rows)],
                          cwd=runs.BENCH, check=True, stdout=subprocess.PIPE, text=True)
    facts = json.loads(done.stdout)
    photo_set.warm(glob.glob(os.path.join(facts["folder"], "*.parquet")))
    return {"data": "table", "folder": facts["folder"], "columns": facts["columns"], "batch": options.table_batch,
            "epochs": options.epochs * options.table_epochs}


def run(data, loader, spec, options):
    job = spec | {"loader": loader, "seed": options.seed, "threads": options.threads if options.threads == "auto" else int(options.threads)}
    head = {"data": data, "loader": loader, "photos": options.photos, "rows": options.rows, "batch": spec["batch"], "epochs": spec["epochs"]}
    return head | runs.run_job(options.forebay_python, os.path.join(HERE, "frameworks_run.py"), job, options.work, f"{data}-{loader}")


def measure(options):
    loaders = contestants.present(options.loaders.split(",") if options.loaders else list(LOADERS), LOADERS, options)
    specs = {data: {"photographs": photographs, "table": table}[data](options) for data in options.data} if loaders else {}
    todo = [(data, loader) for data in specs for loader in loaders]
    return rounds.measure(options.rounds if todo else 0, lambda number: rounds.turned(todo, number),
                          lambda one, number: run(*one, specs[one[0]], options), report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__, shared=command.SHARED, rounds=5, batch=64, photos=700, seed=7, loaders=",".join(LOADERS))
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=DATA)
    parser.add_argument("--epochs", type=int, default=2, help="that are timed, after one that gives the digest")
    parser.add_argument("--table-epochs", type=int, default=4, help="times --epochs, for the table")
    parser.add_argument("--threads", default="auto", help="a number, or auto")
    parser.add_argument("--rows", type=int, default=400_000, help="of the table")
    parser.add_argument("--table-batch", type=int, default=8192)
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "frameworks")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
