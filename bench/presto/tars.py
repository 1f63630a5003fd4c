#!/usr/bin/env python3
"""Tar shards of photographs, not decoded beside the package webdataset, and decoded beside our own folder. See bench/presto/README.md."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import photo_set, tar_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402
from presto import tars_report as report  # noqa: E402

LOADERS = {"forebay": Contestant(), "webdataset": Contestant(folder="s3_torch"), "forebay_decoded": Contestant(), "folder_decoded": Contestant()}


def run(loader, data, options):
    """One run: its record, or a record with `error`."""
    job = data | {"loader": loader, "batch": options.batch, "threads": options.threads, "seed": options.seed, "epochs": options.epochs}
    head = {"loader": loader, "photos": options.photos, "threads": options.threads, "epochs": options.epochs}
    python = contestants.python_of(LOADERS[loader], options)
    return head | runs.run_job(python, os.path.join(HERE, "tars_run.py"), job, options.work, loader)


def measure(options):
    names = contestants.known((options.loaders or ",".join(LOADERS)).split(","), LOADERS)
    names = contestants.present(names, LOADERS, options)
    paths = photo_set.originals(options.shared, options.work, options.photos)
    shards = tar_set.shards(paths, os.path.join(options.work, f"tars-{options.photos}"))
    photo_set.warm(paths + shards)
    data = {"shards": shards, "folder": os.path.dirname(os.path.dirname(paths[0]))}
    return rounds.measure(options.rounds if names else 0, lambda number: rounds.turned(names, number),
                          lambda loader, number: run(loader, data, options), report.one_line, options.out)


def arguments():
    made = command.parser(__doc__.partition("\n")[0], work="/tmp/forebay-tars", rounds=5, threads=2, batch=64, seed=7, photos=2100,
                          rivals="", loaders=",".join(LOADERS), shared=command.SHARED)
    made.add_argument("--epochs", type=int, default=3, help="that are timed, behind one that warms up")
    return made


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "tars")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
