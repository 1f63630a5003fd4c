#!/usr/bin/env python3
"""Pages of HTML to batches of tokens: Forebay beside PyTorch's DataLoader with a parser and `tokenizers`.

    bench/presto/tokens.py --work /tmp/tokens --rivals /tmp/rivals [--pages 4000] [--rounds 5]

The pages are made of novels (bench/data_sets/page_set.py); the tokenizer is trained on them, of GPT-2's kind with 16,000 tokens. Each contestant
reads every page from the page cache, takes its text, encodes it, and hands out batches of (ids, offsets). Equal work: the same ids of the same pages, by hash.
"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.dirname(HERE))
sys.dont_write_bytecode = True

from data_sets import page_set  # noqa: E402
from harness import command, contestants, rounds, runs  # noqa: E402
from harness.contestants import Contestant  # noqa: E402
from presto import tokens_report as report  # noqa: E402

LOADERS = {"forebay": Contestant("forebay_tokens", needs=("forebay", "numpy")), "selectolax": Contestant("torch_tokens", "html_tokens", ("selectolax",)),
           "lxml": Contestant("torch_tokens", "html_tokens", ("lxml",))}


def trained(options, folder):
    """A tokenizer.json, made by the package `tokenizers` in Forebay's Python or a rival's."""
    path = os.path.join(folder, "tokenizer.json")
    if os.path.exists(path):
        return path
    pythons = [options.forebay_python] + [contestants.python_of(one, options) for one in LOADERS.values() if one.folder and options.rivals]
    python = next((one for one in pythons if not contestants.lacking(one, ("tokenizers",))), None)
    if python is None:
        sys.exit("no Python here has the package tokenizers, which trains the tokenizer")
    done = runs.run_job(python, os.path.join(HERE, "tokens_run.py"), {"module": "train_tokens", "folder": folder, "path": path}, options.work, "train")
    return path if os.path.exists(path) else sys.exit(str(done))


def run(loader, options):
    """One run: its record, or a record with `error`."""
    contestant = LOADERS[loader]
    job = {"module": contestant.module, "parser": (contestant.extra or ("",))[0], "folder": options.folder, "tokenizer": options.tokenizer,
           "batch": options.batch, "threads": options.threads}
    head = {"loader": loader, "pages": options.pages, "batch": options.batch, "threads": options.threads}
    return head | runs.run_job(contestants.python_of(contestant, options), os.path.join(HERE, "tokens_run.py"), job, options.work, loader)


def measure(options):
    chosen = options.loaders.split(",") if options.loaders else list(LOADERS)
    names = contestants.present(contestants.known(chosen, LOADERS), LOADERS, options)
    options.folder = page_set.make(options.shared, options.work, options.pages)
    options.tokenizer = trained(options, options.folder)
    return rounds.measure(options.rounds if names else 0, lambda number: rounds.turned(names, number), lambda loader, number: run(loader, options),
                          report.one_line, options.out)


def arguments():
    parser = command.parser(__doc__.partition("\n")[0], work="/tmp/forebay-tokens", rounds=5, batch=32, threads=2, rivals="/tmp/rivals",
                            loaders=",".join(LOADERS), shared=command.SHARED)
    parser.add_argument("--pages", type=int, default=4000)
    return parser


if __name__ == "__main__":
    options = command.parse(arguments(), lambda chosen: "tokens")
    sys.exit(command.run(options, measure, report.table, report.problems))
