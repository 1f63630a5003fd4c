#!/usr/bin/env python3
"""Measures loaders on photographs behind a gateway with latency, interleaved, each run in a process of its own. See README.md."""

import argparse
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import photos  # noqa: E402
import plans  # noqa: E402
import storage_report  # noqa: E402
from stand import BUCKET, MDS, PREFIX, SHARDS, Stand  # noqa: E402


def run_loader(run, options, stand):
    """One run: its record, or a record with `error`."""
    loader = plans.LOADERS[run.loader]
    result = os.path.join(options.work, "result.json")
    for old in (result, result + ".measuring", result + ".measured"):
        if os.path.exists(old):
            os.remove(old)
    if why := prepare(loader, options, stand):
        return {"error": why}
    stand.set(run.latency_ms, run.faults)
    job = {"module": loader.module, "list": stand.list, "root": stand.root, "endpoint": stand.endpoint,
           "control": stand.control.url, "bucket": BUCKET, "prefix": PREFIX, "shards": SHARDS, "mds": MDS, "work": options.work,
           "batch": options.batch, "workers": options.threads, "seed": options.seed, "requests": run.requests,
           "servers": stand.servers.processes, "warm_s": options.warm, "limit_s": options.limit,
           "samples": run.reads or len(stand.keys)} | dict(loader.extra)
    config = os.path.join(options.work, "job.json")
    with open(config, "w") as file:
        json.dump(job, file)
    python = os.path.join(options.rivals, loader.folder, "bin", "python") if loader.folder else options.forebay_python
    command = [python, os.path.join(HERE, "run_rival.py"), config, result]
    code, out, error, sampler = photos.run_process(command, photos.environment("") | stand.environment(), result)
    stand.tidy()
    try:
        with open(result) as file:
            record = json.load(file)
    except (OSError, ValueError):
        last = (error.strip() or out.strip()).splitlines()[-3:]
        with open(os.path.join(options.work, f"{run.loader}.failed.log"), "w") as file:
            file.write(out + error)
        return {"error": f"exit code {code}, no result: {' / '.join(last)}"}
    cores_s = record["seconds"] * os.cpu_count()
    return record | {"exit_code": code, "peak_bytes": sampler.peak,
                     "foreign_share": record["others_cpu_s"] / max(cores_s, 1e-9)}


def run_ceiling(run, options, stand):
    """The bare requests: samples, seconds and CPU seconds as a loader's record has them."""
    stand.set(run.latency_ms, {})
    command = [options.ceiling, stand.urls, str(run.requests), str(run.reads or len(stand.keys)),
               str(options.limit)]
    done = subprocess.run(command, env=os.environ | stand.environment(), capture_output=True, text=True,
                          timeout=photos.RUN_LIMIT_S)
    if done.returncode != 0:
        return {"error": f"exit code {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"}
    figures = json.loads(done.stdout)
    return {"name": "the stand's ceiling", "version": figures["version"].split()[0], "settings": {}, "samples": figures["reads"],
            "seconds": figures["seconds"], "cpu_s": figures["cpu_s"], "bytes": figures["bytes"], "problems": [], "exit_code": 0,
            "server": stand.control.status()["counts"], "foreign_share": 0.0}


def prepare(loader, options, stand):
    """Rivals that read only files of their own get them, once. What went wrong, if anything did."""
    if not loader.prepare or loader.prepare in stand.prepared:
        return None
    folder = os.path.join(options.work, f"{loader.prepare}-{len(stand.keys)}")
    if not os.path.exists(folder):
        python = os.path.join(options.rivals, loader.folder, "bin", "python")
        script = os.path.join(HERE, "rivals", f"write_{loader.prepare}.py")
        shutil.rmtree(folder + ".unfinished", ignore_errors=True)
        done = subprocess.run([python, script, stand.list, stand.root, folder + ".unfinished"], capture_output=True, text=True,
                              timeout=photos.RUN_LIMIT_S)
        if done.returncode != 0:
            return f"its files could not be made: {' / '.join(done.stderr.strip().splitlines()[-3:])}"
        os.rename(folder + ".unfinished", folder)
    stand.upload_folder(folder, loader.prepare)
    stand.prepared.add(loader.prepare)
    return None


def installed(name, options):
    loader = plans.LOADERS.get(name)
    if name == "ceiling":
        return bool(options.ceiling)
    return not loader.folder or os.path.exists(os.path.join(options.rivals, loader.folder, "bin", "python"))


def measure(options):
    runs = plans.runs(options)
    missing = sorted({run.loader for run in runs if not installed(run.loader, options)})
    if missing:
        print(f"NOT INSTALLED, left out: {', '.join(missing)} (bench/rivals/install {options.rivals}; --ceiling for the ceiling)",
              file=sys.stderr)
    records = []
    with Stand(options.work, options.shared, options.photos) as stand, open(options.out, "w") as out:
        for number in range(options.rounds):
            for run in runs:
                if run.loader in missing:
                    continue
                record = {"what": options.what, "loader": run.loader, "round": number, "latency_ms": run.latency_ms,
                          "requests": run.requests, "faults": run.faults, "photos": len(stand.keys), "batch": options.batch,
                          "threads": options.threads, "cores": os.cpu_count(), "machine": photos.machine(),
                          "mean_bytes": stand.bytes / len(stand.keys)}
                record |= (run_ceiling if run.loader == "ceiling" else run_loader)(run, options, stand)
                records.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
                print(storage_report.one_line(record), file=sys.stderr, flush=True)
    return records


def numbers(text):
    return [int(part) for part in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    shared = os.environ.get("FOREBAY_SHARED", os.path.join(HERE, "..", "..", "..", "shared"))
    parser.add_argument("--what", choices=sorted(plans.PLANS), default="fetch", help="which measurement (README.md)")
    parser.add_argument("--work", help="folder for the photographs' copies (0.4 GB)")
    parser.add_argument("--rivals", default="", help="where bench/rivals/install put the environments")
    parser.add_argument("--loaders", help="comma-separated; default: those of the measurement")
    parser.add_argument("--latencies", type=numbers, help="milliseconds added per request, comma-separated")
    parser.add_argument("--requests", help="comma-separated numbers or auto (sweep, local)")
    parser.add_argument("--reads", type=int, default=0, help="samples of the timed part (default: an epoch; sweep: 20,000)")
    parser.add_argument("--forebay-python", default=sys.executable, help="a Python that can import forebay")
    parser.add_argument("--ceiling", help="the program bench_storage_ceiling")
    parser.add_argument("--shared", default=shared, help="where data/IMAGES.tsv is")
    parser.add_argument("--rounds", type=int, help="default: 3; local: 9")
    parser.add_argument("--photos", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--warm", type=float, default=10, metavar="S", help="the warm-up ends with an epoch, or after this")
    parser.add_argument("--limit", type=float, default=60, metavar="S", help="the timed part ends after this, if not before")
    parser.add_argument("--out", help="JSON lines, one a run (default: WORK/storage-WHAT.jsonl)")
    parser.add_argument("--table", help="Markdown (default: WORK/storage-WHAT.md)")
    parser.add_argument("--report", metavar="JSONL", help="measure nothing: check and print a recorded file")
    options = parser.parse_args()
    if not options.report and not options.work:
        parser.error("--work is needed")
    return options


def main():
    options = arguments()
    if options.report:
        with open(options.report) as lines:
            records = [json.loads(line) for line in lines]
    else:
        options.work = os.path.abspath(options.work)
        os.makedirs(options.work, exist_ok=True)
        options.rounds = options.rounds or plans.PLANS[options.what].rounds
        options.out = options.out or os.path.join(options.work, f"storage-{options.what}.jsonl")
        options.table = options.table or os.path.join(options.work, f"storage-{options.what}.md")
        records = measure(options)
    text = storage_report.table(records)
    print(text)
    if options.table:
        with open(options.table, "w") as file:
            file.write(text)
    return 1 if storage_report.problems(records) else 0


if __name__ == "__main__":
    sys.exit(main())
