#!/usr/bin/env python3
"""Measures loaders on tables, interleaved, each run in a process of its own. See README.md."""

import argparse
import glob
import json
import os
import shlex
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.dirname(HERE)]
sys.dont_write_bytecode = True

import photo_set  # noqa: E402
import photos  # noqa: E402
import plans  # noqa: E402
import tables_report  # noqa: E402

ERROR_LENGTH = 250


def python_of(name, options):
    folder = plans.LOADERS[name].folder
    return os.path.join(options.rivals, folder, "bin", "python") if folder else options.forebay_python


def installed(name, options):
    if not plans.LOADERS[name].module:
        return bool(options.limit_program)
    return shutil.which(python_of(name, options)) is not None


def described(table, options):
    """What a run is told about its table; the files are made where they are not there, and read once: they are warm."""
    script = "import sys, json, table_set as s, table_values as v; " \
             "w, t, n = sys.argv[1], sys.argv[2], int(sys.argv[3]); " \
             "print(json.dumps({'folder': s.write(w, t, n), 'columns': [c.name for c in v.TABLES[t].read], " \
             "'key': v.TABLES[t].key, 'group_rows': s.group_rows(n)}))"
    done = subprocess.run([options.data_python, "-c", script, options.work, table, str(options.rows)], cwd=HERE,
                          check=True, stdout=subprocess.PIPE, text=True,
                          env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    facts = json.loads(done.stdout)
    facts["bytes"] = photo_set.warm(glob.glob(os.path.join(facts["folder"], "*.parquet")))
    with open(os.path.join(facts["folder"], "_sums.json")) as file:
        return facts | {"table": table, "rows": options.rows, "sums": json.load(file)}


def run_limit(run, facts, options):
    """The bare loop: rows and seconds as a loader's record has them."""
    command = [*shlex.split(options.limit_program), *plans.LOADERS[run.loader].flags, "--folder", facts["folder"],
               "--columns", ",".join(facts["columns"]), "--key", facts["key"], "--threads", str(options.threads),
               "--seed", str(options.seed)]
    code, out, error, sampler = photos.run_process(command, dict(os.environ), os.path.join(options.work, "none"))
    if code != 0:
        return {"error": f"exit code {code}: {error.strip()[-300:]}"}
    found = json.loads(out)
    wrong = [name for name, value in found.pop("sums").items() if value != facts["sums"][name]]
    return found | {"exit_code": 0, "peak_bytes": sampler.peak, "others_cpu_s": 0.0,
                    "claims": {"order": "rows", "partial": None},
                    "delivery": {"epochs": [], "problems": [f"wrong values of {', '.join(wrong)}"] if wrong else []}}


def job_of(run, facts, batch, proof, options):
    keep = ("folder", "columns", "group_rows", "table", "rows", "sums")
    job = {"module": plans.LOADERS[run.loader].module, "batch": batch, "threads": options.threads, "seed": options.seed,
           "warm_s": options.limit, "limit_s": options.limit, "proof_s": options.limit, "proof": proof,
           "work": os.path.join(options.work, "run"), "latency_ms": run.latency_ms, "cache": None, "early": False,
           "output": "numpy",
           "null": 0 if run.table == "criteo_nulls" else None, "step_ms": plans.STEP_MS if run.trains else 0}
    return job | {key: facts[key] for key in keep} | dict(plans.LOADERS[run.loader].extra)


def run_loader(run, facts, batch, proof, options):
    """One run: its record, or a record with `error`."""
    job = job_of(run, facts, batch, proof, options)
    config, result = (os.path.join(options.work, name) for name in ("job.json", "result.json"))
    for old in (result, result + ".measuring", result + ".measured"):
        if os.path.exists(old):
            os.remove(old)
    shutil.rmtree(job["work"], ignore_errors=True)
    os.makedirs(job["work"])
    with open(config, "w") as file:
        json.dump(job, file)
    command = [python_of(run.loader, options), os.path.join(HERE, "run_rival.py"), config, result]
    code, out, error, sampler = photos.run_process(command, photos.environment(""), result)
    shutil.rmtree(job["work"], ignore_errors=True)
    try:
        with open(result) as file:
            record = json.load(file)
    except (OSError, ValueError):
        with open(os.path.join(options.work, f"{run.loader}.failed.log"), "w") as file:
            file.write(out + error)
        last = [line.strip() for line in (error.strip() or out.strip()).splitlines() if line.strip()][-2:]
        return {"error": f"exit code {code}, no result: {' / '.join(last)[:ERROR_LENGTH]}"}
    return record | {"exit_code": code, "peak_bytes": sampler.peak}


def measure(options):
    names = plans.names(options)
    present = [name for name in names if installed(name, options)]
    if missing := sorted(set(names) - set(present)):
        print(f"NOT INSTALLED, left out: {', '.join(missing)} (bench/rivals/install {options.rivals}; "
              "--limit-program for the bare loop)", file=sys.stderr)
    records, known, batches = [], {}, {}
    with open(options.out, "w") as out:
        for number in range(options.rounds):
            for run in plans.runs(options, number, present):
                if run.table not in known:
                    known[run.table] = described(run.table, options)
                facts = known[run.table]
                batch = batches.get(run.table, options.batch) if run.trains else options.batch
                made = run_loader(run, facts, batch, number == 0, options) if plans.LOADERS[run.loader].module else \
                    run_limit(run, facts, options)
                loader = plans.LOADERS[run.loader]
                record = {"what": options.what, "loader": run.loader, "table": run.table, "trains": run.trains,
                          "round": number, "latency_ms": run.latency_ms, "table_rows": options.rows, "batch": batch,
                          "threads": options.threads, "groups": -(-options.rows // facts["group_rows"]),
                          "known": list(loader.known), "cannot": run.table in loader.cannot, "bytes": facts["bytes"],
                          "machine": photos.machine(), "cores": os.cpu_count()} | made
                if options.what == "trainer" and not run.trains and "error" not in record:
                    batches[run.table] = max(1, int(plans.DEMAND * tables_report.rate(record) * plans.STEP_MS / 1000))
                records.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
                print(tables_report.one_line(record), file=sys.stderr, flush=True)
    return records


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--what", choices=sorted(plans.PLANS), default="epoch", help="which measurement (README.md)")
    parser.add_argument("--work", help="folder for the tables and the loaders' own files (8 GB)")
    parser.add_argument("--rivals", default="", help="where bench/rivals/install put the environments")
    parser.add_argument("--loaders", help="comma-separated; default: those of the measurement")
    parser.add_argument("--tables",
                        help=f"comma-separated; default: {','.join(plans.TABLES)}; also criteo_hex, criteo_nulls")
    parser.add_argument("--forebay-python", default=sys.executable, help="a Python that can import forebay")
    parser.add_argument("--data-python", help="a Python with PyArrow, to write the tables (default: --forebay-python)")
    parser.add_argument("--limit-program", metavar="COMMAND", help="the program bench_tables_limit")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--batch", type=int, default=8192)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--limit", type=float, default=30, metavar="S",
                        help="each part of a run ends with an epoch, or after this")
    parser.add_argument("--out", help="JSON lines, one a run (default: WORK/tables-WHAT.jsonl)")
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
        options.data_python = options.data_python or options.forebay_python
        os.makedirs(options.work, exist_ok=True)
        options.out = options.out or os.path.join(options.work, f"tables-{options.what}.jsonl")
        records = measure(options)
    text = tables_report.table(records)
    print(text)
    if not options.report:
        with open(os.path.splitext(options.out)[0] + ".md", "w") as file:
            file.write(text)
    return 1 if tables_report.problems(records) else 0


if __name__ == "__main__":
    sys.exit(main())
