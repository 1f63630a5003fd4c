"""What a process holds beside what stats() says that it holds, in the five kinds of work.

    python bench/engine/memory_truth.py [--only photographs,lists] [--epochs 6] [--json]

Each kind runs in a process of its own (memory_truth_run.py), which looks at its resident memory before it opens a loader and
reports what came on top, beside the peak that the loader states. Inputs are made in a temporary folder.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.dirname(HERE), HERE]

import memory_truth_data as data  # noqa: E402

MIB = 1 << 20
ALLOWED_SHARE, ALLOWED_BYTES = 0.15, 16 * MIB


def measured(kind, spec):
    """What the process of one kind of work says of itself."""
    run = os.path.join(HERE, "memory_truth_run.py")
    done = subprocess.run([sys.executable, run, json.dumps(spec | {"kind": kind})], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{kind}: {done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def allowed(stated):
    return stated * (1 + ALLOWED_SHARE) + ALLOWED_BYTES


def all_measured(kinds, epochs, rows=None):
    """{kind: what its process says}, over inputs made for it."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as open_servers:
        results = {}
        for kind in kinds:
            spec = {"epochs": epochs, "folder": folder} | data.made(kind, folder, open_servers)
            results[kind] = measured(kind, spec)
        return results


def line(kind, found):
    stated = found["stated"]
    told = {name: value for name, value in stated.items() if name not in ("budget", "used", "peak") and value}
    return (f"{kind:12} stated {stated['peak'] / MIB:7.1f} MiB  resident +{found['peak'] / MIB:7.1f} "
            f"(anonymous +{found['anonymous'] / MIB:.1f})  allowed {allowed(stated['peak']) / MIB:7.1f}  "
            f"{'ok  ' if found['peak'] <= allowed(stated['peak']) else 'OVER'}  at the end +{found['end'] / MIB:.1f}, used "
            f"{stated['used'] / MIB:.1f} = " + ", ".join(f"{name} {value / MIB:.1f}" for name, value in told.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(data.KINDS))
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    results = all_measured(args.only.split(","), args.epochs)
    if args.json:
        print(json.dumps(results, indent=1, sort_keys=True))
        return
    for kind, found in results.items():
        print(line(kind, found))


if __name__ == "__main__":
    main()
