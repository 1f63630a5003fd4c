"""Several ranks that train on one Redis: what the server sends for a record, and records a second of all ranks together.

    python bench/streams/ranks.py [--ranks 1,2,4] [--records 40000] [--rounds 3] [--json FILE]

A rank is a process; partitions are streams of records of 3 KB. Every rank takes the same number of steps and its records are checked: each once over all ranks, with the bytes that were written. Rates are from
the first batch to the last of the slowest rank. Run it with another version's Python to compare. Wants redis-server.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import forebay as fb

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))
from redis_client import RedisClient  # noqa: E402

SIZE, PARTITIONS, BATCH = 3000, 8, 64


def write(client, records):
    pad = np.random.default_rng(0).integers(0, 256, SIZE - 8, dtype=np.uint8).tobytes()
    for at in range(0, records, 500):
        client.send(*(("XADD", f"s-{i % PARTITIONS}", "*", "x", i.to_bytes(8, "little") + pad) for i in range(at, min(at + 500, records))))


def one_rank(given):
    pipeline = fb.stream(f"redis://127.0.0.1:{given['port']}/0/s-{{0..{PARTITIONS - 1}}}", fields={"x": ("uint8", [SIZE])}).batch(BATCH)
    numbers, sums = [], 0
    with fb.Loader(pipeline, rank=given["rank"], world_size=given["ranks"], peers=f"file://{given['folder']}", steps_per_epoch=given["steps"], epochs=1) as loader:
        begun = None
        for batch in loader:
            begun = begun or time.monotonic()
            numbers += batch["x"][:, :8].copy().view("<u8").ravel().tolist()
            sums += int(batch["x"][:, 8:].sum())
        print(json.dumps({"begun": begun, "ended": time.monotonic(), "numbers": numbers, "sums": sums}))


def sent(client):
    (info,) = client.send(("INFO", "stats"))
    return int(next(line for line in info.decode().split("\r\n") if line.startswith("total_net_output_bytes:")).partition(":")[2])


def measure(client, port, ranks, records):
    steps = records // (BATCH * ranks)
    before = sent(client)
    with tempfile.TemporaryDirectory() as folder:
        given = [json.dumps({"rank": rank, "ranks": ranks, "port": port, "folder": folder, "steps": steps}) for rank in range(ranks)]
        processes = [subprocess.Popen([sys.executable, __file__, "--rank", one], stdout=subprocess.PIPE) for one in given]
        told = [json.loads(process.communicate(timeout=120)[0]) for process in processes]
    numbers = [number for one in told for number in one["numbers"]]
    assert len(set(numbers)) == len(numbers) == steps * BATCH * ranks
    pad = sum(np.random.default_rng(0).integers(0, 256, SIZE - 8, dtype=np.uint8).tolist())
    assert sum(one["sums"] for one in told) == pad * len(numbers)
    seconds = max(one["ended"] for one in told) - min(one["begun"] for one in told)
    return {"ranks": ranks, "rate": len(numbers) / seconds, "sent": (sent(client) - before) / (len(numbers) * SIZE)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--rank", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.rank:
        return one_rank(json.loads(given.rank))
    os.environ.setdefault("FOREBAY_CLUSTER_TOKEN", "0123456789abcdef0123456789abcdef")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        port = 6397
        server = subprocess.Popen(["redis-server", "--port", str(port), "--save", "", "--appendonly", "no", "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            os.environ["FOREBAY_TEST_REDIS"] = f"redis://127.0.0.1:{port}"
            client = RedisClient()
            write(client, given.records)
            for _ in range(given.rounds):
                rows += [measure(client, port, int(ranks), given.records) for ranks in given.ranks.split(",")]
        finally:
            server.kill()
            server.wait()
    print(f"{given.records} records of {SIZE} bytes in {PARTITIONS} partitions; medians (least to greatest) of {given.rounds} rounds")
    print(f"{'ranks':>6}{'records/s of all':>28}{'sent ÷ records':>18}")
    for ranks in dict.fromkeys(row["ranks"] for row in rows):
        mine = [row for row in rows if row["ranks"] == ranks]
        rates = sorted(row["rate"] for row in mine)
        print(f"{ranks:>6}{f'{statistics.median(rates):,.0f} ({rates[0]:,.0f}–{rates[-1]:,.0f})':>28}{statistics.median(row['sent'] for row in mine):>18.2f}")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
