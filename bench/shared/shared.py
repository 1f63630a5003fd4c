#!/usr/bin/env python3
"""One engine for a host against an engine in each process: co-trained models, one more of them, two ranks, hand-over.

    bench/shared/shared.py PHOTOS [--epochs 2] [--rounds 3] [--out FILE.json]

Each reader is a process that warms up for an epoch, whose digest it gives: all variants must give the same, or nothing is told. Then all
begin together. Variants take turns; the report has the median and the range of the rounds. CPU seconds are those of readers and server,
memory is the proportional set size of all of them while they read.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time

READER = r"""
import json, os, resource, sys, time
import forebay as fb
spec = json.loads(sys.argv[1])
pipeline = fb.images(spec["photos"]).shuffle().decode_image().resize(short_side=256)
if spec["cache"]:
    pipeline = pipeline.cache(ram="2GiB", disk=0)
pipeline = pipeline.random_crop(224).random_flip().normalize(fb.IMAGENET).batch(spec["batch"])
loader = fb.Loader(pipeline, seed=spec["seed"], **spec["options"])
def digest_of_an_epoch():
    digest = fb._core.EpochDigest()
    for batch in loader:
        digest.add(batch)
    return digest.hexdigest()
print(json.dumps({"digest": None if spec["first"] else digest_of_an_epoch()}), flush=True)
sys.stdin.readline()
cpu = resource.getrusage(resource.RUSAGE_SELF)
begun, samples, sums = time.monotonic(), 0, 0.0
for _ in range(spec["epochs"]):
    for batch in loader:
        samples += len(batch)
        sums += float(batch["image"][0, 0, 0, 0])
seconds = time.monotonic() - begun
after = resource.getrusage(resource.RUSAGE_SELF)
used = after.ru_utime + after.ru_stime - cpu.ru_utime - cpu.ru_stime
steps = {step["name"]: step["busy_seconds"] for step in loader.stats()["steps"]}
del batch
print(json.dumps({"samples": samples, "seconds": seconds, "cpu": used, "steps": steps}), flush=True)
sys.stdin.readline()
if spec["first"]:
    print(digest_of_an_epoch())
"""


def cpu_seconds(process):
    fields = open(f"/proc/{process}/stat").read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(processes):
    """Proportional set size of all of them, bytes."""
    total = 0
    for process in processes:
        for line in open(f"/proc/{process}/smaps_rollup"):
            if line.startswith("Pss:"):
                total += 1024 * int(line.split()[1])
    return total


class Server:
    def __init__(self, socket):
        self.program, self.socket = shutil.which("forebay") or os.path.join(sysconfig.get_path("scripts"), "forebay"), socket
        self.process = subprocess.Popen([self.program, "serve", "--socket", socket], stderr=subprocess.DEVNULL)
        while not os.path.exists(socket):
            time.sleep(0.01)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def measure(specs, server):
    """What these readers do together: samples a second summed, CPU seconds a sample, memory, digests."""
    readers = [subprocess.Popen([sys.executable, "-c", READER, json.dumps(spec)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True) for spec in specs]
    digests = [json.loads(reader.stdout.readline())["digest"] for reader in readers]  # None: these are to be seen in their first epoch
    before = cpu_seconds(server.process.pid) if server else 0
    for reader in readers:
        reader.stdin.write("go\n")
        reader.stdin.flush()
    time.sleep(1)
    held = memory([reader.pid for reader in readers] + ([server.process.pid] if server else []))
    results = [json.loads(reader.stdout.readline()) for reader in readers]
    served = cpu_seconds(server.process.pid) - before if server else 0
    ends = [reader.communicate("end\n")[0].strip() for reader in readers]
    digests = [digest or end for digest, end in zip(digests, ends)]
    samples = sum(result["samples"] for result in results)
    return {"samples_per_second": sum(result["samples"] / result["seconds"] for result in results),
            "cpu_ms_per_sample": 1e3 * (served + sum(result["cpu"] for result in results)) / samples,
            "memory_bytes": held, "digests": sorted(set(digests)), "steps_ms_per_sample": steps_of(results, samples)}


def steps_of(results, samples):
    """CPU ms a sample of each step. Clients of a server have those of their loaders there."""
    names = {name for result in results for name in result["steps"]}
    return {name: 1e3 * sum(result["steps"].get(name, 0) for result in results) / samples for name in sorted(names)}


def variants(arguments, socket):
    """name → (specs, whether a server is needed)."""
    def specs(count, seeds=None, cache=False, first=False, **options):
        return [{"photos": arguments.photos, "batch": 32, "epochs": 1 if first else arguments.epochs, "seed": seeds[i] if seeds else 1,
                 "cache": cache, "first": first, "options": options} for i in range(count)]

    def ranks(cache=False, **options):
        return [spec | {"options": options | {"rank": rank, "world_size": 2}} for rank, spec in enumerate(specs(2, cache=cache))]

    apart = [1, 2, 3, 4]
    return {
        "four models, four loaders": (specs(4), False),
        "four models, together": (specs(4, share=socket, together=4), True),
        "five models, together": (specs(5, share=socket, together=5), True),
        "four models, own orders, four loaders": (specs(4, seeds=apart), False),
        "four models, own orders, one engine": (specs(4, seeds=apart, share=socket), True),
        "two models, first epoch, two engines": (specs(2, seeds=apart, first=True), False),
        "two models, first epoch, one engine": (specs(2, seeds=apart, first=True, share=socket), True),
        "two ranks, two engines": (ranks(), False),
        "two ranks, one engine": (ranks(share=socket), True),
        "two ranks with a cache, two engines": (ranks(cache=True), False),
        "two ranks with a cache, one engine": (ranks(cache=True, share=socket), True),
    }


def must_agree(found):
    """Digests of those that do the same work."""
    for names in (["four models, four loaders", "four models, together", "five models, together"],
                  ["four models, own orders, four loaders", "four models, own orders, one engine"],
                  ["two models, first epoch, two engines", "two models, first epoch, one engine"],
                  ["two ranks, two engines", "two ranks, one engine"],
                  ["two ranks with a cache, two engines", "two ranks with a cache, one engine"]):
        digests = {tuple(run["digests"]) for name in names for run in found.get(name, [])}
        if len(digests) > 1:
            sys.exit(f"other batches in {names}: {digests}")


def told(found):
    for name, runs in found.items():
        def of(key, scale=1.0):
            values = [run[key] * scale for run in runs]
            return f"{statistics.median(values):9.2f} ({min(values):.2f} to {max(values):.2f})"
        steps = ", ".join(f"{step} {statistics.median(run['steps_ms_per_sample'].get(step, 0) for run in runs):.3f}"
                          for step in runs[0]["steps_ms_per_sample"])
        print(f"{name:40} samples/s {of('samples_per_second')}, CPU ms a sample {of('cpu_ms_per_sample')}, "
              f"MiB {of('memory_bytes', 2.0 ** -20)}; steps: {steps}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("photos")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="variants whose name begins so")
    parser.add_argument("--out")
    arguments = parser.parse_args()
    arguments.photos = os.path.abspath(arguments.photos)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.rounds):
            socket = os.path.join(folder, f"{number}.sock")
            for name, (specs, needed) in variants(arguments, socket).items():
                if not name.startswith(arguments.only):
                    continue
                if needed:
                    with Server(socket) as server:
                        run = measure(specs, server)
                else:
                    run = measure(specs, None)
                found.setdefault(name, []).append(run)
                print(f"round {number + 1}: {name}: {run['samples_per_second']:.0f} samples/s", file=sys.stderr)
    must_agree(found)
    told(found)
    if arguments.out:
        with open(arguments.out, "w") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
