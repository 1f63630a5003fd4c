"""How often an object is read from storage, counted by the server, over a grid of data sets and jobs.

    python bench/cluster/read_once.py [--objects 1,2,50,250,1000,5000] [--ranks 1,2,3,4] [--kinds list,bucket] [--versions yes,no]
                                      [--epochs 3] [--rounds 1] [--json FILE]

Each rank goes at its own pace through its epochs, with a cache in memory that holds all, and asks the others (`peers=`). Of each cell the reads
an object are told, which are 1.00 where everything is read once; a second run over a disk cache is a row of its own (its reads should be none).
The program exits with 1 where a cell has more than 1.01 reads an object.
"""
import argparse
import itertools
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent / "tests" / "python"))

from counting import Objects, run_job  # noqa: E402

IN_MEMORY = {"ram": "64MiB", "disk": 0}
MOST = 1.01


def measure(objects, kind, versions, ranks, epochs):
    with Objects(objects, versions=versions) as server:
        took = run_job(ranks, take=epochs, source=server.source(kind), cache=IN_MEMORY, batch=max(1, min(16, objects // ranks)), threads=1)
        assert all(sorted(set(epoch)) == list(range(objects)) for epoch in took), "samples are missing"
        return server.reads() / objects


def second_run(objects, kind, epochs):
    with Objects(objects) as server, tempfile.TemporaryDirectory() as folder:
        reads = []
        for _ in range(2):
            run_job(1, take=epochs, source=server.source(kind), cache={"ram": 0, "disk": "64MiB", "dir": folder}, batch=16, threads=1)
            reads.append(server.reads() / objects)
        return reads


def numbers(text):
    return [int(each) for each in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--objects", type=numbers, default=numbers("1,2,50,250,1000,5000"))
    parser.add_argument("--ranks", type=numbers, default=numbers("1,2,3,4"))
    parser.add_argument("--kinds", default="list,bucket")
    parser.add_argument("--versions", default="yes,no")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows, worst = [], 0.0
    kinds = [(kind, versions == "yes") for kind in given.kinds.split(",") for versions in given.versions.split(",")]
    cells = [(kind, versions) for kind, versions in kinds if versions or kind == "list"]  # a listing tells versions always
    for _, (kind, versions), objects, ranks in itertools.product(range(given.rounds), cells, given.objects, given.ranks):
        reads = measure(objects, kind, versions, ranks, given.epochs)
        worst = max(worst, reads)
        rows.append({"kind": kind, "versions": versions, "objects": objects, "ranks": ranks, "reads": reads})
        print(f"{kind:6} {'with' if versions else 'no  '} versions, {objects:5} objects, {ranks} rank{'s' if ranks > 1 else ' '}: {reads:.4f} reads an object", flush=True)
    for kind, objects in itertools.product(sorted({kind for kind, _ in cells}), given.objects):
        first, second = second_run(objects, kind, given.epochs)
        worst = max(worst, first, 1 + second)
        rows.append({"kind": kind, "objects": objects, "first run": first, "second run": second})
        print(f"{kind:6} on disk, {objects:5} objects: first run {first:.4f}, second run {second:.4f} reads an object", flush=True)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))
    sys.exit(worst > MOST)


if __name__ == "__main__":
    main()
