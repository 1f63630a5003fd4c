#!/usr/bin/env python3
"""Measures loaders on tables, interleaved, each run in a process of its own. See README.md."""

import glob
import json
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import photo_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
import tables_plans as plans  # noqa: E402
import tables_report  # noqa: E402


def described(table, options):
    """What a run is told about its table; the files are made where they are not there, and read once: they are warm."""
    done = subprocess.run([options.data_python, "-m", "data_sets.table_set", options.work, table, str(options.rows)],
                          cwd=runs.BENCH, check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    facts = json.loads(done.stdout)
    return facts | {"bytes": photo_set.warm(glob.glob(os.path.join(facts["folder"], "*.parquet")))}


def run_limit(run, facts, options):
    """The bare loop: rows and seconds as a loader's record has them."""
    record = runs.run_program([*shlex.split(options.limit_program), *plans.LOADERS[run.loader].flags, "--folder", facts["folder"],
                               "--columns", ",".join(facts["columns"]), "--key", facts["key"],
                               "--threads", str(options.threads), "--seed", str(options.seed)])
    if "error" in record:
        return record
    wrong = [name for name, value in record.pop("sums").items() if value != facts["sums"][name]]
    return record | {"claims": {"order": "rows", "partial": None},
                     "delivery": {"epochs": [], "problems": [f"wrong values of {', '.join(wrong)}"] if wrong else []}}


def job_of(run, facts, batch, proof, options):
    keep = ("folder", "columns", "group_rows", "table", "rows", "sums")
    job = {"module": plans.LOADERS[run.loader].module, "batch": batch, "threads": options.threads, "seed": options.seed,
           "warm_s": options.limit, "limit_s": options.limit, "proof_s": options.limit, "proof": proof,
           "latency_ms": run.latency_ms, "cache": None, "early": False, "ramp": False, "output": "numpy",
           "null": 0 if run.table == "criteo_nulls" else None, "step_ms": plans.STEP_MS if run.trains else 0}
    return job | {key: facts[key] for key in keep} | dict(plans.LOADERS[run.loader].extra)


class Measurement:
    """What is known from earlier runs: the tables, and the batches that emulated trainers take of each."""

    def __init__(self, options):
        self.options, self.facts, self.batches = options, {}, {}

    def table(self, name):
        if name not in self.facts:
            self.facts[name] = described(name, self.options)
        return self.facts[name]

    def run(self, run, number):
        """One run: its record, or a record with `error`."""
        options, loader, facts = self.options, plans.LOADERS[run.loader], self.table(run.table)
        batch = self.batches.get(run.table, options.batch) if run.trains else options.batch
        head = {"what": options.what, "loader": run.loader, "table": run.table, "trains": run.trains,
                "latency_ms": run.latency_ms, "table_rows": options.rows, "batch": batch, "threads": options.threads,
                "groups": -(-options.rows // facts["group_rows"]), "known": list(loader.known),
                "cannot": run.table in loader.cannot, "bytes": facts["bytes"]}
        made = run_limit(run, facts, options) if loader.program else runs.run_job(
            contestants.python_of(loader, options), os.path.join(HERE, "tables_run.py"),
            job_of(run, facts, batch, number == 0, options), options.work, run.loader)
        if options.what == "trainer" and not run.trains and "error" not in made:
            self.batches[run.table] = max(1, int(plans.DEMAND * tables_report.rate(made) * plans.STEP_MS / 1000))
        return head | made


def measure(options):
    options.data_python = options.data_python or options.forebay_python
    present = contestants.present(plans.names(options), plans.LOADERS, options)
    if not present:
        return []
    return rounds.measure(options.rounds, lambda number: plans.runs(options, number, present), Measurement(options).run,
                          tables_report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__, rivals="", loaders="those of the measurement", rounds=3, batch=8192, threads=2, seed=7)
    parser.add_argument("--what", choices=sorted(plans.PLANS), default="epoch", help="which measurement (README.md)")
    parser.add_argument("--tables",
                        help=f"comma-separated; default: {','.join(plans.TABLES)}; also criteo_hex, criteo_nulls")
    parser.add_argument("--data-python", help="a Python with PyArrow, to write the tables (default: --forebay-python)")
    parser.add_argument("--limit-program", metavar="COMMAND", help="the program bench_tables_limit")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--limit", type=float, default=30, metavar="S",
                        help="each part of a run ends with an epoch, or after this")
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: f"tables-{options.what}")
    sys.exit(command.run(chosen, measure, tables_report.table, tables_report.problems))
