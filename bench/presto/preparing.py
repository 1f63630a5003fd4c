#!/usr/bin/env python3
"""Writing prepared photographs: Forebay's materialize beside MosaicML's MDSWriter and LitData's optimize. See bench/presto/README.md."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import photo_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402
from presto import preparing_report as report  # noqa: E402

LOADERS = {"forebay": Contestant(), "steps": Contestant(), "copied": Contestant(), "mds": Contestant(folder="streaming"), "litdata": Contestant(folder="s3_torch")}


def run(loader, data, options):
    """One run: its record, or a record with `error`."""
    job = data | {"loader": loader, "threads": options.threads}
    head = {"loader": loader, "photos": options.photos, "threads": options.threads}
    python = contestants.python_of(LOADERS[loader], options)
    return head | runs.run_job(python, os.path.join(HERE, "preparing_run.py"), job, options.work, loader)


def measure(options):
    names = contestants.known((options.loaders or ",".join(LOADERS)).split(","), LOADERS)
    names = contestants.present(names, LOADERS, options)
    paths = photo_set.originals(options.shared, options.work, options.photos)
    photo_set.warm(paths)
    data = {"paths": paths, "folder": os.path.dirname(os.path.dirname(paths[0]))}
    return rounds.measure(options.rounds if names else 0, lambda number: rounds.turned(names, number),
                          lambda loader, number: run(loader, data, options), report.one_line, options.out)


def arguments():
    return command.parser(__doc__.partition("\n")[0], work="/tmp/forebay-preparing", rounds=5, threads=2, photos=2100, rivals="",
                          loaders=",".join(LOADERS), shared=command.SHARED)


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "preparing")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
