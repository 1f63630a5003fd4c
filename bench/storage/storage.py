#!/usr/bin/env python3
"""Measures loaders on photographs behind a gateway with latency, interleaved, each run in a process of its own. See README.md."""

import os
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from harness import command, contestants, rounds, runs  # noqa: E402
from stand import BUCKET, MDS, PREFIX, SHARDS, Stand  # noqa: E402
import storage_plans as plans  # noqa: E402
import storage_report  # noqa: E402


def run_loader(run, options, stand):
    """One run: its record, or a record with `error`."""
    loader = plans.LOADERS[run.loader]
    if why := prepare(loader, options, stand):
        return {"error": why}
    stand.set(run.latency_ms, run.faults)
    job = {"module": loader.module, "list": stand.list, "root": stand.root, "endpoint": stand.endpoint,
           "control": stand.control.url, "bucket": BUCKET, "prefix": PREFIX, "shards": SHARDS, "mds": MDS,
           "batch": options.batch, "workers": options.threads, "seed": options.seed, "requests": run.requests,
           "servers": stand.servers.processes, "warm_s": options.warm, "limit_s": options.limit,
           "samples": run.reads or len(stand.keys)} | dict(loader.extra)
    record = runs.run_job(contestants.python_of(loader, options), os.path.join(HERE, "storage_run.py"), job, options.work,
                          run.loader, runs.environment(**stand.environment()))
    stand.tidy()
    return record


def run_ceiling(run, options, stand):
    """The bare requests: samples, seconds and CPU seconds as a loader's record has them."""
    stand.set(run.latency_ms, {})
    found = runs.run_program([*shlex.split(options.ceiling), stand.urls, str(run.requests), str(run.reads or len(stand.keys)),
                              str(options.limit)], runs.environment(**stand.environment()), stand.servers.processes)
    if "error" in found:
        return found
    return found | {"name": "the stand's ceiling", "version": found["version"].split()[0], "settings": {},
                    "samples": found["reads"], "problems": [], "server": stand.control.status()["counts"]}


def prepare(loader, options, stand):
    """Rivals that read only files of their own get them, once. What went wrong, if anything did."""
    if not loader.prepare or loader.prepare in stand.prepared:
        return None
    folder = os.path.join(options.work, f"{loader.prepare}-{len(stand.keys)}")
    if not os.path.exists(folder):
        script = os.path.join(HERE, "rivals", f"write_{loader.prepare}.py")
        shutil.rmtree(folder + ".unfinished", ignore_errors=True)
        done = subprocess.run([contestants.python_of(loader, options), script, stand.list, stand.root, folder + ".unfinished"],
                              capture_output=True, text=True, timeout=runs.RUN_LIMIT_S)
        if done.returncode != 0:
            return f"its files could not be made: {' / '.join(done.stderr.strip().splitlines()[-3:])}"
        os.rename(folder + ".unfinished", folder)
    stand.upload_folder(folder, loader.prepare)
    stand.prepared.add(loader.prepare)
    return None


def run_of(run, options, stand):
    return {"what": options.what, "loader": run.loader, "latency_ms": run.latency_ms, "requests": run.requests,
            "faults": run.faults, "photos": len(stand.keys), "batch": options.batch, "threads": options.threads,
            "mean_bytes": stand.bytes / len(stand.keys)} | (
                run_ceiling if run.loader == "ceiling" else run_loader)(run, options, stand)


def measure(options):
    todo = plans.runs(options)
    if not todo:
        return []
    with Stand(options.work, options.shared, options.photos) as stand:
        return rounds.measure(options.rounds or plans.PLANS[options.what].rounds, lambda number: rounds.turned(todo, number),
                              lambda run, number: run_of(run, options, stand), storage_report.one_line, options.out)


def numbers(text):
    return [int(part) for part in text.split(",")]


def arguments():
    parser = command.parser(__doc__, rivals="", loaders="those of the measurement", shared=command.SHARED, photos=2000,
                            batch=64, threads=2, seed=7)
    parser.add_argument("--what", choices=sorted(plans.PLANS), default="fetch", help="which measurement (README.md)")
    parser.add_argument("--latencies", type=numbers, help="milliseconds added per request, comma-separated")
    parser.add_argument("--requests", help="comma-separated numbers or auto (sweep, local)")
    parser.add_argument("--reads", type=int, default=0, help="samples of the timed part (default: an epoch; sweep: 20,000)")
    parser.add_argument("--ceiling", help="the program bench_storage_ceiling")
    parser.add_argument("--rounds", type=int, help="default: 3; sweep: 1; local: 9")
    parser.add_argument("--warm", type=float, default=10, metavar="S", help="the warm-up ends with an epoch, or after this")
    parser.add_argument("--limit", type=float, default=60, metavar="S", help="the timed part ends after this, if not before")
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: f"storage-{options.what}")
    sys.exit(command.run(chosen, measure, storage_report.table, storage_report.problems))
