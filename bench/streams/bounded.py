"""A producer a hundred times too fast, for as many records as training takes in an hour: what memory and disk does each policy use?

    python bench/streams/bounded.py [--pace 200] [--times 100] [--record 3000] [--hours 1]

One producer appends lines to a file, `times` as fast as training takes them (`pace` records a second), until there are as many as training takes in `hours`: with the defaults 720,000 records of 3 KB, 2.2 GB,
in 36 s. A trainer of each policy reads it meanwhile, in a process of its own with memory="200MB", .buffer(bytes="64MB", disk="256MB"). Told: the most that the process took above what it had when the loader was
open, the most on disk, what was delivered and dropped. Exit code 1 where a budget was passed, or where the records that were delivered, dropped and waiting are not those that were read.
"""
import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEMORY, BUFFER, DISK = 200_000_000, 64_000_000, 256_000_000
POLICIES = ["block", "drop_oldest", "sample", "spill"]
BATCH = 50

TRAINER = r"""
import json, os, sys, time
import forebay as fb

def resident():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("RssAnon"))

spec = json.loads(sys.argv[1])
pipeline = fb.text(spec["path"], follow=True).buffer(spec["policy"], bytes=spec["buffer"], disk=spec["disk"], dir=spec["dir"]).batch(spec["batch"])
most = disk = delivered = 0
with fb.Loader(pipeline, memory=spec["memory"], steps_per_epoch=10**9) as loader:
    batches = iter(loader)
    next(batches)
    base = resident()
    print("begun", flush=True)
    end = time.monotonic() + spec["seconds"]
    delivered = spec["batch"]
    due = time.monotonic()
    while time.monotonic() < end:
        delivered += len(next(batches).ids)
        due = max(due + spec["batch"] / spec["pace"], time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
        stats = loader.stats()
        most, disk = max(most, resident() - base), max(disk, stats["stream"]["disk_bytes"])
    state = loader.state_dict()
    stats = loader.stats()
(part,) = stats["partitions"]
print(json.dumps({"most": most, "disk": disk, "delivered": delivered, "arrived": stats["stream"]["arrived"], "waiting": part["waiting"],
                  "dropped": part["dropped"], "counted": stats["memory"]["peak_bytes"] if "memory" in stats else None,
                  "state": len(json.dumps(state))}))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pace", type=float, default=200)
    parser.add_argument("--times", type=float, default=100)
    parser.add_argument("--record", type=int, default=3000)
    parser.add_argument("--hours", type=float, default=1)
    options = parser.parse_args()
    records = int(options.pace * 3600 * options.hours)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.txt"
        pad = "x" * (options.record - 11)
        with path.open("w") as log:
            log.writelines(f"{i:010d}{pad}\n" for i in range(BATCH))
            log.flush()
            seconds = records / (options.pace * options.times) + 2
            trainers = {}
            for policy in POLICIES:
                spec = {"path": str(path), "policy": policy, "buffer": BUFFER, "disk": DISK, "dir": folder, "memory": MEMORY, "batch": BATCH,
                        "pace": options.pace, "seconds": seconds}
                trainers[policy] = subprocess.Popen([sys.executable, "-c", TRAINER, json.dumps(spec)], stdout=subprocess.PIPE, text=True)
            for trainer in trainers.values():
                trainer.stdout.readline()
            began, written = time.monotonic(), BATCH
            while written < records:
                due = min(records, int((time.monotonic() - began) * options.pace * options.times) + BATCH)
                log.writelines(f"{i:010d}{pad}\n" for i in range(written, due))
                log.flush()
                written = max(written, due)
                time.sleep(0.005)
            took = time.monotonic() - began
        print(f"{written:,} records, {path.stat().st_size / 1e9:.2f} GB in {took:.0f} s: {written / took / options.pace:.0f} times what training takes")
        failed = False
        for policy, trainer in trainers.items():
            got = json.loads(trainer.communicate()[0])
            left = got["arrived"] - got["delivered"] - got["dropped"] - got["waiting"]  # in batches that are being prepared
            good = got["most"] <= MEMORY and got["disk"] <= DISK and 0 <= left <= 10_000
            failed |= not good
            print(f"{policy:12} memory {got['most'] / 1e6:6.1f} MB of {MEMORY / 1e6:.0f}, disk {got['disk'] / 1e6:6.1f} MB of {DISK / 1e6:.0f}; read {got['arrived']:,}: "
                  f"{got['delivered']:,} delivered, {got['dropped']:,} dropped, {got['waiting']:,} wait, {left} in preparation; state {got['state']} bytes"
                  f"{'' if good else ': WRONG'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
