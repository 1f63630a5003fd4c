#!/usr/bin/env python3
"""Measures loaders on photographs, interleaved, each run in a process of its own. See bench/README.md."""

import collections
import os
import shlex
import sys

import photos_report
from data_sets import photo_set
from harness import command, contestants, rounds, runs
from harness.contestants import Contestant

HERE = os.path.dirname(os.path.abspath(__file__))

# "@q90" after a name: on the re-encoded files.
LOADERS = {
    "forebay": Contestant("forebay_loader"),
    "limit": Contestant(program="limit"),
    "torch_pillow": Contestant("torch_pillow_loader", "torch_pillow"),
    "torch_opencv": Contestant("torch_opencv_loader", "torch_opencv"),
    "tfdata": Contestant("tfdata_loader", "tfdata"),
    "tfdata_plain": Contestant("tfdata_plain_loader", "tfdata"),
    "spdl": Contestant("spdl_loader", "spdl"),
    "spdl_opencv": Contestant("spdl_opencv_loader", "spdl_opencv"),
    "mlx_data": Contestant("mlx_data_loader", "mlx_data"),
    "dali": Contestant("dali_loader", "dali"),
    "ffcv": Contestant("ffcv_loader", "ffcv"),
    "ffcv_nhwc": Contestant("ffcv_nhwc_loader", "ffcv"),
}
DEFAULT = ("forebay,torch_pillow,torch_opencv,tfdata,tfdata_plain,spdl,spdl_opencv,mlx_data,dali,"
           "forebay@q90,ffcv@q90")


def loader_of(name):
    return LOADERS[name.removesuffix("@q90")]


def files_of(name, sets):
    return sets["q90" if name.endswith("@q90") else "originals"]


def run(name, options, sets, proof):
    """One run: its record, or a record with `error`."""
    files = files_of(name, sets)
    facts = {"loader": name, "photos": len(files["paths"]), "expected_per_class": files["per_class"],
             "kilobytes_each": files["bytes"] / len(files["paths"]) / 1000, "settings": {}}
    if loader_of(name).program:
        return facts | runs.run_program(shlex.split(options.limit) + [
            "--list", files["list"], "--batch", str(options.batch), "--threads", str(options.threads),
            "--seed", str(options.seed)])
    job = {"module": loader_of(name).module, "list": files["list"], "batch": options.batch, "threads": options.threads,
           "seed": options.seed, "proof": proof}
    python = contestants.python_of(loader_of(name), options)
    return facts | runs.run_job(python, os.path.join(HERE, "photos_run.py"), job, options.work, name,
                                runs.environment(BENCH_FFCV_FILE=sets["ffcv_file"] or ""))


def prepare(options, names):
    """The two sets of files, read once so that they are warm."""
    paths = photo_set.originals(options.shared, options.work, options.photos)
    sets = {"ffcv_file": None, "originals": described(paths, os.path.join(options.work, f"originals-{len(paths)}.tsv"))}
    if any(name.endswith("@q90") for name in names):
        python = contestants.python_of(LOADERS["ffcv"], options)
        sets["ffcv_file"], copies = photo_set.quality_90(paths, options.work, python,
                                                         os.path.join(HERE, "rivals", "ffcv_write.py"))
        sets["q90"] = described(copies, os.path.join(options.work, f"q90-{len(paths)}.tsv"))
        photo_set.warm([sets["ffcv_file"]])
    return sets


def described(paths, listing):
    photo_set.write_list(paths, listing)
    classes = collections.Counter(os.path.basename(os.path.dirname(path)) for path in paths)
    return {"paths": paths, "list": listing, "bytes": photo_set.warm(paths), "per_class": dict(sorted(classes.items()))}


def choose(options):
    names = contestants.known((options.loaders or DEFAULT).split(","), LOADERS, ", each also with @q90")
    if options.limit and "limit" not in names:
        names.insert(1, "limit")
    wrong = [name for name in names if name.startswith("ffcv") and not name.endswith("@q90")]
    if wrong:
        sys.exit(f"FFCV reads re-encoded files only: {', '.join(name + '@q90' for name in wrong)}")
    return without_files(contestants.present(names, LOADERS, options), options)


def without_files(names, options):
    """FFCV's environment makes the files of @q90: where it is missing nobody can run on them."""
    why = contestants.why_missing(LOADERS["ffcv"], options)
    left = [name for name in names if why and name.endswith("@q90")]
    if left:
        print(f"NO RE-ENCODED FILES, left out: {', '.join(left)} ({why})", file=sys.stderr)
    return [name for name in names if name not in left]


def measure(options):
    names = choose(options)
    sets = prepare(options, names) if names else None
    return rounds.measure(options.rounds, lambda number: rounds.turned(names, number),
                          lambda name, number: run(name, options, sets, number == 0), photos_report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__, rivals="", loaders=DEFAULT, shared=command.SHARED, rounds=5, photos=2100, batch=64,
                            threads=2, seed=7)
    parser.add_argument("--limit", help="command of the bare loop (bench/limit.cc)")
    return parser


if __name__ == "__main__":
    chosen = command.parse(arguments(), lambda options: "photos")
    sys.exit(command.run(chosen, measure, photos_report.table, photos_report.problems))
