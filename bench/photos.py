#!/usr/bin/env python3
"""Measures loaders on photographs, interleaved, each run in a process of its own. See bench/README.md."""

import argparse
import collections
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import threading
import time

import photo_set
import process_tree
import report

HERE = os.path.dirname(os.path.abspath(__file__))
RUN_LIMIT_S = 900
SAMPLE_S = 0.1          # memory, until the timed epoch begins
SAMPLE_TIMED_S = 1.0    # memory, while it is timed: looking costs the measured process time

# loader -> (module in rivals/, environment below --rivals); "@q90" after a name: on the re-encoded files.
LOADERS = {
    "forebay": ("forebay_loader", None),
    "torch_pillow": ("torch_pillow_loader", "torch_pillow"),
    "torch_opencv": ("torch_opencv_loader", "torch_opencv"),
    "tfdata": ("tfdata_loader", "tfdata"),
    "tfdata_plain": ("tfdata_plain_loader", "tfdata"),
    "spdl": ("spdl_loader", "spdl"),
    "spdl_opencv": ("spdl_opencv_loader", "spdl_opencv"),
    "mlx_data": ("mlx_data_loader", "mlx_data"),
    "dali": ("dali_loader", "dali"),
    "ffcv": ("ffcv_loader", "ffcv"),
    "ffcv_nhwc": ("ffcv_nhwc_loader", "ffcv"),
}
DEFAULT = ["forebay", "torch_pillow", "torch_opencv", "tfdata", "tfdata_plain", "spdl", "spdl_opencv", "mlx_data", "dali",
           "forebay@q90", "ffcv@q90"]
RANK_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "SLURM_", "OMPI_", "PMI_")


class MemorySampler(threading.Thread):
    """The peak of a process tree's memory, until the timed epoch is over or stop()."""

    def __init__(self, pid, result):
        super().__init__(daemon=True)
        self.pid, self.result = pid, result
        self.peak, self.files_at_peak = 0, 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(SAMPLE_TIMED_S if os.path.exists(self.result + ".measuring") else SAMPLE_S):
            if os.path.exists(self.result + ".measured"):
                return
            total, files = process_tree.memory(self.pid)
            if total > self.peak:
                self.peak, self.files_at_peak = total, files

    def stop(self):
        self.over.set()
        self.join()


def environment(ffcv_file):
    kept = {key: value for key, value in os.environ.items() if not key.startswith(RANK_VARIABLES)}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)  # an import that compiles every time is not what users wait for
    return kept | {"CUDA_VISIBLE_DEVICES": "", "BENCH_FFCV_FILE": ffcv_file or ""}


def run_process(command, env, result):
    """Runs it to its end: (exit code, standard output, standard error, sampler)."""
    env = env | {"BENCH_STARTED_NS": str(time.monotonic_ns())}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
    sampler = MemorySampler(process.pid, result)
    sampler.start()
    try:
        out, error = process.communicate(timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, error = process.communicate()
        error += f"\nstopped after {RUN_LIMIT_S} s"
    finally:
        sampler.stop()
    return process.returncode, out, error, sampler


def run_loader(name, options, sets, proof):
    """One run: its record, or a record with `error`."""
    files = sets["q90" if name.endswith("@q90") else "originals"]
    result = os.path.join(options.work, "result.json")
    for old in (result, result + ".measuring", result + ".measured"):
        if os.path.exists(old):
            os.remove(old)
    load_before = os.getloadavg()[0]
    code, out, error, sampler = run_process(command_of(name, options, files, result, proof),
                                            environment(sets["ffcv_file"]), result)
    try:
        if name == "limit":
            record = json.loads(next(line for line in reversed(out.splitlines()) if line.startswith("{")))
        else:
            with open(result) as file:
                record = json.load(file)
    except (OSError, StopIteration, ValueError):
        last = (error.strip() or out.strip()).splitlines()[-3:]
        return {"error": f"exit code {code}, no result: {' / '.join(last)}"}
    record.setdefault("settings", {})
    record["foreign_share"] = record.get("others_cpu_s", 0.0) / max(record["seconds"] * os.cpu_count(), 1e-9)
    return record | {"exit_code": code, "peak_bytes": sampler.peak, "peak_file_bytes": sampler.files_at_peak,
                     "load_before": load_before, "kilobytes_each": files["bytes"] / len(files["paths"]) / 1000}


def command_of(name, options, files, result, proof):
    if name == "limit":
        return shlex.split(options.limit) + ["--list", files["list"], "--batch", str(options.batch),
                                             "--threads", str(options.threads), "--seed", str(options.seed)]
    module, folder = LOADERS[name.removesuffix("@q90")]
    python = os.path.join(options.rivals, folder, "bin", "python") if folder else options.forebay_python
    config = os.path.join(options.work, "config.json")
    with open(config, "w") as file:
        json.dump({"module": module, "list": files["list"], "batch": options.batch, "threads": options.threads,
                   "seed": options.seed, "proof": proof}, file)
    return [python, os.path.join(HERE, "one_run.py"), config, result]


def prepare(options, names):
    """The two sets of files, read once so that they are warm."""
    paths = photo_set.originals(options.shared, options.work, options.photos)
    sets = {"ffcv_file": None, "originals": described(paths, os.path.join(options.work, f"originals-{len(paths)}.tsv"))}
    if any(name.endswith("@q90") for name in names):
        python = os.path.join(options.rivals, "ffcv", "bin", "python")
        sets["ffcv_file"], copies = photo_set.quality_90(paths, options.work, python,
                                                         os.path.join(HERE, "rivals", "ffcv_write.py"))
        sets["q90"] = described(copies, os.path.join(options.work, f"q90-{len(paths)}.tsv"))
        photo_set.warm([sets["ffcv_file"]])
    return sets


def described(paths, listing):
    photo_set.write_list(paths, listing)
    classes = collections.Counter(os.path.basename(os.path.dirname(path)) for path in paths)
    return {"paths": paths, "list": listing, "bytes": photo_set.warm(paths), "per_class": dict(sorted(classes.items()))}


def machine():
    with open("/proc/cpuinfo") as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown CPU")
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}"


def installed(name, options):
    if name == "limit":
        return bool(options.limit)
    folder = LOADERS[name.removesuffix("@q90")][1]
    return not folder or os.path.exists(os.path.join(options.rivals, folder, "bin", "python"))


def choose(options):
    names = options.loaders.split(",") if options.loaders else list(DEFAULT)
    if options.limit and "limit" not in names:
        names.insert(1, "limit")
    unknown = [name for name in names if name != "limit" and name.removesuffix("@q90") not in LOADERS]
    if unknown:
        sys.exit(f"no such loader: {', '.join(unknown)} (there are: {', '.join(LOADERS)}, each also with @q90)")
    missing = [name for name in names if not installed(name, options)]
    if missing:
        print(f"NOT INSTALLED, left out: {', '.join(missing)} (bench/rivals/install {options.rivals})", file=sys.stderr)
    wrong = [name for name in names if name.startswith("ffcv") and not name.endswith("@q90")]
    if wrong:
        sys.exit(f"FFCV reads re-encoded files only: {', '.join(name + '@q90' for name in wrong)}")
    return [name for name in names if name not in missing]


def measure(options, names):
    sets = prepare(options, names)
    records = []
    with open(options.out, "w") as out:
        for number in range(options.rounds):
            for name in names:
                files = sets["q90" if name.endswith("@q90") else "originals"]
                record = {"loader": name, "round": number, "photos": len(files["paths"]), "machine": machine(),
                          "expected_per_class": files["per_class"]} | run_loader(name, options, sets, number == 0)
                records.append(record)
                out.write(json.dumps(record) + "\n")
                out.flush()
                print(one_line(record), file=sys.stderr, flush=True)
    return records


def one_line(record):
    head = f"round {record['round']} {record['loader']:14}"
    if "error" in record:
        return f"{head} FAILED: {record['error']}"
    return (f"{head} {report.rate(record):7.0f} samples/s  {1000 * record['cpu_s'] / record['timed']['samples']:5.2f} CPU s "
            f"per 1,000  {record['peak_bytes'] / 1e6:6.0f} MB")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    shared = os.environ.get("FOREBAY_SHARED", os.path.join(HERE, "..", "..", "shared"))
    parser.add_argument("--work", help="folder for the photographs' copies (0.4 GB)")
    parser.add_argument("--rivals", default="", help="where bench/rivals/install put the environments")
    parser.add_argument("--loaders", help="comma-separated; default: " + ",".join(DEFAULT))
    parser.add_argument("--forebay-python", default=sys.executable, help="a Python that can import forebay")
    parser.add_argument("--limit", help="command of the bare loop (bench/limit.cc)")
    parser.add_argument("--shared", default=shared, help="where data/IMAGES.tsv is")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--photos", type=int, default=2100)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--out", help="JSON lines, one a run (default: WORK/photos.jsonl)")
    parser.add_argument("--table", help="Markdown (default: WORK/photos.md)")
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
        options.out = options.out or os.path.join(options.work, "photos.jsonl")
        records = measure(options, choose(options))
    text = report.table(records)
    print(text)
    if not options.report or options.table:
        with open(options.table or os.path.join(options.work, "photos.md"), "w") as file:
            file.write(text)
    return 1 if report.problems(records) else 0


if __name__ == "__main__":
    sys.exit(main())
