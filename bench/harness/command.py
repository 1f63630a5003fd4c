"""The arguments that benchmarks have in common, and the way from measuring to an exit code."""

import argparse
import os
import sys

from harness import rounds
from harness.runs import BENCH

SHARED = os.environ.get("FOREBAY_SHARED") or os.path.join(BENCH, "..", "..", "shared")


def parser(description, **defaults):
    """A parser with the options that have a default here: rounds, batch, threads, seed, rivals, loaders, shared, photos."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--work", default=defaults.get("work"), help="folder for data, caches and records")
    made.add_argument("--forebay-python", default=sys.executable, help="a Python that can import forebay")
    made.add_argument("--out", help="JSON lines, one a run (default: in WORK)")
    made.add_argument("--table", help="Markdown (default: in WORK)")
    made.add_argument("--report", metavar="JSONL", help="measure nothing: check and print a recorded file")
    for name, text in (("rounds", "of all contestants in turn"), ("batch", "samples a batch"),
                       ("threads", "or workers, of each contestant"), ("seed", "of the order"),
                       ("photos", "how many photographs")):
        if name in defaults:
            made.add_argument(f"--{name}", type=int, default=defaults[name], help=f"{text} (default: {defaults[name]})")
    if "rivals" in defaults:
        made.add_argument("--rivals", default=defaults["rivals"], help="where bench/rivals/install put the environments")
    if "loaders" in defaults:
        made.add_argument("--loaders", help=f"comma-separated; default: {defaults['loaders']}")
    if "shared" in defaults:
        made.add_argument("--shared", default=defaults["shared"], help="where data/IMAGES.tsv is")
    return made


def parse(parser, name):
    """The options; name(options) is what the files in WORK are called. WORK is made unless nothing is to be measured."""
    options = parser.parse_args()
    if options.report:
        return options
    if not options.work:
        parser.error("--work is needed")
    options.work = os.path.abspath(options.work)
    os.makedirs(options.work, exist_ok=True)
    options.out = options.out or os.path.join(options.work, f"{name(options)}.jsonl")
    options.table = options.table or os.path.join(options.work, f"{name(options)}.md")
    return options


def run(options, measure, table, problems):
    """Measures (or reads --report), prints and writes the report: the exit code.

    measure(options) gives records, table(records) a text; problems(records) are what makes the exit code 1.
    """
    records = rounds.recorded(options.report) if options.report else measure(options)
    if not records:
        print("nothing was measured: no contestant can run here", file=sys.stderr)
        return 1
    text = table(records)
    print(text)
    if options.table:
        with open(options.table, "w") as file:
            file.write(text)
    return 1 if problems(records) else 0
