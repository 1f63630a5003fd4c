#!/usr/bin/env python3
"""Recordings to mel spectrograms: Forebay beside PyTorch's DataLoader with libsndfile and torch.stft. See bench/presto/README.md."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import sound_sets  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402
from presto import audio_report as report  # noqa: E402

LOADERS = {"forebay": Contestant("forebay_mel"), "torch": Contestant("torch_mel", "torch_sound")}


def run(one, number, options):
    """A data set by a loader: its record, or a record with `error`. In the first round every value is looked at, too."""
    name, loader = one
    chosen = sound_sets.SETS[name]
    job = {"module": LOADERS[loader].module, "paths": sound_sets.paths(options.folders[name]), "rate": chosen.rate, "seconds": chosen.seconds, "n_fft": chosen.n_fft,
           "batch": options.batch, "threads": options.threads, "seed": options.seed, "epochs": options.epochs, "proof": number == 0}
    head = {"set": name, "loader": loader, "files": len(job["paths"]), "batch": options.batch, "threads": options.threads}
    python = contestants.python_of(LOADERS[loader], options)
    return head | runs.run_job(python, os.path.join(HERE, "audio_run.py"), job, options.work, f"{name}-{loader}")


def measure(options):
    names = contestants.present(contestants.known(options.loaders.split(","), LOADERS), LOADERS, options)
    options.folders = {name: sound_sets.make(name, options.shared, options.work, options.files) for name in options.sets}
    for folder in options.folders.values():
        sound_sets.warm(folder)
    jobs = [(name, loader) for name in options.sets for loader in names]
    return rounds.measure(options.rounds if names else 0, lambda number: rounds.turned(jobs, number),
                          lambda one, number: run(one, number, options), report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__, work="/tmp/forebay-audio", shared=command.SHARED, rounds=5, batch=32, threads=2, seed=1,
                            rivals=os.environ.get("FOREBAY_RIVALS", "/tmp/rivals"), loaders="all")
    parser.add_argument("--sets", nargs="+", default=list(sound_sets.SETS), choices=sound_sets.SETS)
    parser.add_argument("--files", type=int, help="of each set, at most")
    parser.add_argument("--epochs", type=int, default=3, help="timed, after one that warms up")
    parser.set_defaults(loaders=",".join(LOADERS))
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "audio")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
