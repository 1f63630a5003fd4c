#!/usr/bin/env python3
"""Windows of an HDF5 file to RMS, active power and CUSUM: Forebay beside h5py in PyTorch's DataLoader.

    bench/rivals/install /tmp/rivals torch_h5py
    bench/presto/signals.py --work /tmp/bench --rivals /tmp/rivals
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import signal_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402
from presto import signals_report as report  # noqa: E402

LOADERS = {"forebay": Contestant("forebay_signals", needs=("forebay", "numpy", "h5py")), "torch": Contestant("torch_signals", "torch_h5py")}
WINDOW = 4096
STRIDES = {"apart": WINDOW, "half over": WINDOW // 2}


def run(one, number, options):
    """One way to cut windows by one loader: its record, or a record with `error`."""
    windows, loader = one
    job = {"module": LOADERS[loader].module, "path": options.path, "window": WINDOW, "stride": STRIDES[windows], "period": signal_set.PERIOD,
           "batch": options.batch, "threads": options.threads, "seed": options.seed, "epochs": options.epochs}
    head = {"windows": windows, "loader": loader, "batch": options.batch, "threads": options.threads, "megabytes": options.megabytes}
    python = contestants.python_of(LOADERS[loader], options)
    return head | runs.run_job(python, os.path.join(HERE, "signals_run.py"), job, options.work, f"{windows.replace(' ', '-')}-{loader}")


def measure(options):
    names = contestants.present(contestants.known(options.loaders.split(","), LOADERS), LOADERS, options)
    if names:
        options.path = signal_set.make(options.shared, options.work, options.megabytes)
        signal_set.warm(options.path)
    jobs = [(windows, loader) for windows in STRIDES for loader in names]
    return rounds.measure(options.rounds if names else 0, lambda number: rounds.turned(jobs, number),
                          lambda one, number: run(one, number, options), report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__.partition("\n")[0], work="/tmp/forebay-signals", shared=command.SHARED, rounds=5, batch=64, threads=2, seed=1,
                            rivals=os.environ.get("FOREBAY_RIVALS", "/tmp/rivals"), loaders="all")
    parser.add_argument("--megabytes", type=int, default=100, help="of values, before they are compressed")
    parser.add_argument("--epochs", type=int, default=2, help="timed, after one that warms up")
    parser.set_defaults(loaders=",".join(LOADERS))
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "signals")
    sys.exit(command.run(chosen, measure, report.table, report.problems))
