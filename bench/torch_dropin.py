#!/usr/bin/env python3
"""forebay.torch.DataLoader beside torch.utils.data.DataLoader over the same data sets, interleaved. See bench/README.md."""

import os
import sys

import torch_dropin_report
from data_sets import photo_set
from harness import command, contestants, rounds, runs
from harness.contestants import Contestant

HERE = os.path.dirname(os.path.abspath(__file__))
LOADERS = {"torch": Contestant("torch", needs=("torch",)), "forebay": Contestant("forebay", needs=("forebay", "torch"))}

# case -> (what it is called, data set, workers, epochs: the last is timed, what only ours is told)
CASES = {
    "photos-0": ("photographs, 0 workers", "photos", 0, 2, {}),
    "photos-2": ("photographs, 2 workers", "photos", 2, 2, {}),
    "photos-2-threads": ("photographs, 2 workers, thread_safe", "photos", 2, 2, {"thread_safe": True}),
    "cheap-0": ("items that cost nothing, 0 workers", "cheap", 0, 2, {}),
    "cheap-2": ("items that cost nothing, 2 workers", "cheap", 2, 2, {}),
    "stream-2": ("iterable, 2 workers that start anew each epoch, 5 epochs", "stream", 2, 5, {}),
    "waiting-2": ("100 ms a read, 2 workers, from cold, thread_safe", "waiting", 2, 1, {"thread_safe": True}),
}


def run(case, loader, listing, options):
    """One run: its record, or a record with `error`."""
    title, data, workers, epochs, told = CASES[case]
    job = {"loader": loader, "data": data, "workers": workers, "epochs": epochs, "told": told, "list": listing,
           "reads": options.reads, "batch": options.batch, "seed": options.seed}
    head = {"case": case, "title": title, "loader": loader, "photos": options.photos, "reads": options.reads,
            "batch": options.batch}
    return head | runs.run_job(options.forebay_python, os.path.join(HERE, "torch_dropin_run.py"), job, options.work,
                               f"{case}-{loader}")


def photographs(options):
    """The list of those that are measured, warm."""
    paths = photo_set.originals(options.shared, options.work, options.photos)
    photo_set.warm(paths)
    return photo_set.write_list(paths, os.path.join(options.work, f"originals-{len(paths)}.tsv"))


def measure(options):
    names = contestants.present(list(LOADERS), LOADERS, options)
    if not names:
        return []
    listing = photographs(options) if any(CASES[case][1] == "photos" for case in options.cases) else ""

    def runs_of(number):
        return [(case, loader) for case in options.cases for loader in rounds.turned(names, number)]

    return rounds.measure(options.rounds, runs_of, lambda one, number: run(*one, listing, options),
                          torch_dropin_report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__, work="/tmp/forebay-dropin", shared=command.SHARED, rounds=5, photos=700, batch=64, seed=7)
    parser.add_argument("--reads", type=int, default=320, help="of 100 ms each")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "torch_dropin")
    sys.exit(command.run(chosen, measure, torch_dropin_report.table, torch_dropin_report.problems))
