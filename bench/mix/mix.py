#!/usr/bin/env python3
"""Three parts mixed by weights: Forebay's fb.mix beside the mixtures of other loaders.

    bench/mix/mix.py --work /tmp/mix --rivals /tmp/rivals [--kinds arrays json] [--rounds 5] [--quick]

Each contestant mixes the same three parts by 0.7, 0.2 and 0.1 into shuffled batches: arrays of 16 float32, and JSON lines that are read and decoded to fields.
Equal work: the samples are those of their sources, and the parts come in their shares.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

import mix_report as report  # noqa: E402
from data_sets import mix_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402

RUN = os.path.join(HERE, "mix_run.py")
KINDS = ("arrays", "json")
LOADERS = {"forebay": Contestant("forebay_mix"), "torch": Contestant("torch_mix", "mixes"), "grain": Contestant("grain_mix", "mixes"),
           "tfdata": Contestant("tfdata_mix", "tfdata"), "hf": Contestant("hf_mix", "mixes"), "streaming": Contestant("streaming_mix", "streaming"),
           "webdataset": Contestant("webdataset_mix", "mixes")}
CONVERTS = ("hf", "streaming", "webdataset")
ONLY_JSON = ("webdataset",)  # a member of a tar archive takes a kilobyte at least, sixteen times an array's sample
QUICK = {"arrays": (3000, 1500, 500), "json": (1500, 600, 200)}


def job_of(kind, options):
    rows = QUICK[kind] if options.quick else mix_set.ROWS[kind]
    first_used_up = min(int(count / weight) for count, weight in zip(rows, mix_set.WEIGHTS, strict=True))
    return {"kind": kind, "paths": mix_set.files(options.work, kind, rows), "weights": mix_set.WEIGHTS, "batch": options.batch, "threads": options.threads,
            "seed": options.seed, "seconds": options.seconds, "epoch": first_used_up // options.batch * options.batch,
            "proof": 2000 if options.quick else 10_240, "convert": False}


def run(kind, loader, job, options):
    contestant = LOADERS[loader]
    head = {"kind": kind, "loader": loader, "load": os.getloadavg()[0], "batch": options.batch, "threads": options.threads, "weights": mix_set.WEIGHTS,
            "epoch": job["epoch"]}
    return head | runs.run_job(contestants.python_of(contestant, options), RUN, job | {"module": contestant.module}, options.work, f"{kind}-{loader}")


def convert(kind, loader, job, options):
    """Has a loader write the parts in its own format, once."""
    mark = os.path.join(os.path.dirname(job["paths"][0]), f"{loader}.converted")
    if loader in CONVERTS and not os.path.exists(mark):
        done = run(kind, loader, job | {"convert": True}, options)
        if "error" in done:
            sys.exit(f"{kind}, {loader}: cannot convert: {done['error']}")
        open(mark, "w").close()


def measure(options):
    chosen = contestants.known(options.loaders.split(",") if options.loaders else list(LOADERS), LOADERS)
    names = contestants.present(chosen, LOADERS, options)
    jobs = {kind: job_of(kind, options) for kind in options.kinds}
    todo = [(kind, name) for kind in jobs for name in names if kind == "json" or name not in ONLY_JSON]
    for kind, name in todo:
        convert(kind, name, jobs[kind], options)
    return rounds.measure(options.rounds if todo else 0, lambda number: rounds.turned(todo, number),
                          lambda one, number: run(*one, jobs[one[0]] | {"resume": number == 0 and not options.no_resume}, options), report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__.partition("\n")[0], work="/tmp/forebay-mix", rounds=5, batch=256, threads=2, seed=7, rivals="/tmp/rivals",
                            loaders=",".join(LOADERS))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--seconds", type=float, default=3, help="that are timed")
    parser.add_argument("--no-resume", action="store_true", help="leave out the resuming, for which a loader first goes through 90 %% of an epoch")
    parser.add_argument("--quick", action="store_true", help="a thousandth of the data, and a tenth of a second")
    return parser


if __name__ == "__main__":
    options = command.parse(arguments(), lambda chosen: "mix")
    options.seconds = 0.1 if options.quick else options.seconds
    sys.exit(command.run(options, measure, report.table, report.problems))
