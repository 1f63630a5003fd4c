#!/usr/bin/env python3
"""Photographs kept behind a resize, then cropped, flipped and normalised each epoch: .cache() beside tf.data's own. See bench/presto/README.md."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import photo_set, presto_sets  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402
from presto import cached_report as report  # noqa: E402

LOADERS = {"forebay": Contestant("forebay_cached"), "tf": Contestant("tf_cached", "tfdata")}
TIERS = {"forebay": ("memory", "disk"), "tf": ("memory", "disk", "snapshot")}
SIZE, CROP = 256, 224


def run(one, options):
    loader, tier = one
    job = {"module": LOADERS[loader].module, "paths": options.paths, "tier": tier, "size": SIZE, "crop": CROP, "batch": options.batch,
           "threads": options.threads, "seed": options.seed, "epochs": options.epochs}
    head = {"tier": report.TIER_OF[tier], "loader": loader if tier != "snapshot" else "tf snapshot", "files": len(options.paths), "batch": options.batch,
            "threads": options.threads}
    python = contestants.python_of(LOADERS[loader], options)
    return head | runs.run_job(python, os.path.join(HERE, "cached_run.py"), job, options.work, f"{loader}-{tier}")


def measure(options):
    names = contestants.present(contestants.known(options.loaders.split(","), LOADERS), LOADERS, options)
    options.paths = photo_set.originals(options.shared, options.work, options.photos)
    presto_sets.warm(os.path.dirname(os.path.dirname(options.paths[0])))
    jobs = [(name, tier) for tier in ("memory", "disk", "snapshot") for name in names if tier in TIERS[name]]
    return rounds.measure(options.rounds if names else 0, lambda number: rounds.turned(jobs, number), lambda one, number: run(one, options),
                          report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__, work="/tmp/forebay-cached", shared=command.SHARED, rounds=5, batch=32, threads=2, seed=1, photos=1050,
                            rivals=os.environ.get("FOREBAY_RIVALS", "/tmp/rivals"), loaders="all")
    parser.add_argument("--epochs", type=int, default=5, help="timed, after the one in which everything is made and kept")
    parser.set_defaults(loaders=",".join(LOADERS))
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "cached")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
