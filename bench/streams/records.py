"""Records of 3 KB from Redis to batches of a trainer, records a second: forebay, beside redis-py in an IterableDataset of PyTorch's with two workers.

    python bench/streams/records.py [--records 100000] [--batch 256] [--rounds 5]

All rounds interleaved, medians with their spread; every way must give each record once (checked by their numbers and the sum of their bytes). A bare client's figure is in bench/streams/logs.cc. Also prints the delay
from a record's arrival to the batch that it completes, at half of the rate that forebay reaches: p50 and p99, and what of it is the time in which a batch fills.
Wants redis-server; redis (redis-py) and torch for the rival.
"""
import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import forebay as fb

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))
from redis_client import RedisClient  # noqa: E402

SIZE = 3000


def fill(client: RedisClient, name: str, first: int, records: int) -> None:
    pad = np.random.default_rng(0).integers(0, 256, SIZE - 8, dtype=np.uint8).tobytes()
    for at in range(first, first + records, 500):
        client.send(*(("XADD", name, "*", "x", i.to_bytes(8, "little") + pad) for i in range(at, min(at + 500, first + records))))


def forebay(port: int, names: list[str], records: int, batch: int) -> tuple[float, set]:
    pipeline = fb.stream(f"redis://127.0.0.1:{port}/0/s-{{0..{len(names) - 1}}}", fields={"x": ("uint8", [SIZE])}).batch(batch)
    seen = np.zeros(records, bool)
    with fb.Loader(pipeline, steps_per_epoch=records // batch) as loader:
        began = time.perf_counter()
        for rows in loader:
            seen[rows["x"][:, :8].copy().view("<u8").ravel()] = True
        return records // batch * batch / (time.perf_counter() - began), int(seen.sum())


def rival(port: int, names: list[str], records: int, batch: int) -> tuple[float, set]:
    import redis
    import torch

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            info = torch.utils.data.get_worker_info()
            client = redis.Redis(port=port)
            mine = {name: "0-0" for i, name in enumerate(names) if i % info.num_workers == info.id}
            while True:
                answer = client.xread(mine, count=500)
                if not answer:
                    return
                for name, entries in answer:
                    for _, fields in entries:
                        yield torch.frombuffer(bytearray(fields[b"x"]), dtype=torch.uint8)
                    mine[name.decode()] = entries[-1][0]

    seen = np.zeros(records, bool)
    loader = torch.utils.data.DataLoader(Stream(), batch_size=batch, num_workers=2, prefetch_factor=8)
    began = time.perf_counter()
    count = 0
    for rows in loader:
        seen[rows[:, :8].numpy().copy().view("<u8").ravel()] = True
        count += len(rows)
    return count / (time.perf_counter() - began), int(seen.sum())


def delays(port: int, client: RedisClient, rate: float, batch: int) -> tuple[list[float], float]:
    """Of each record, seconds from its arrival to its batch, where `rate` arrive a second."""
    client.send(("DEL", "timed"))
    pipeline = fb.stream(f"redis://127.0.0.1:{port}/0/timed", fields={"at": "float64", "x": "bytes"}).batch(batch)
    seconds, pad, stop = 5.0, b"x" * SIZE, threading.Event()
    waits: list[float] = []

    def produce() -> None:
        began, sent = time.time(), 0
        while not stop.is_set() and time.time() - began < seconds + 2:
            due = int((time.time() - began) * rate)
            if due > sent:
                now = repr(time.time())
                client.send(*(("XADD", "timed", "*", "at", now, "x", pad) for _ in range(min(due - sent, 500))))
                sent = min(due, sent + 500)
            time.sleep(0.001)

    with fb.Loader(pipeline, steps_per_epoch=10**6) as loader:
        writer = threading.Thread(target=produce)
        writer.start()
        began = time.time()
        for rows in loader:
            now = time.time()
            if now - began > 1:
                waits += (now - rows["at"]).tolist()
            if now - began > seconds:
                break
        stop.set()
        writer.join()
    return waits, batch / rate


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--batch", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    port = random.randrange(20000, 40000)
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder],
                                  stdout=subprocess.DEVNULL)
        try:
            os.environ["FOREBAY_TEST_REDIS"] = f"redis://127.0.0.1:{port}"
            time.sleep(0.5)
            client = RedisClient()
            names = ["s-0", "s-1"]
            half = options.records // 2
            for k, name in enumerate(names):
                fill(client, name, k * half, half)
            ways = {"forebay": forebay}
            try:
                import redis  # noqa: F401
                import torch  # noqa: F401

                ways["redis-py, IterableDataset, 2 workers"] = rival
            except ImportError as error:
                print(f"rival left out: {error}")
            rates: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(options.rounds):
                for name, way in ways.items():
                    rate, seen = way(port, names, 2 * half, options.batch)
                    assert seen == 2 * half // options.batch * options.batch, f"{name} gave {seen} of {2 * half} records"
                    rates[name].append(rate)
            for name, values in rates.items():
                print(f"{name:40} {spread(values)} records/s")
            if len(rates) == 2:
                ours, theirs = rates.values()
                print(f"{'forebay / redis-py':40} {statistics.median(a / b for a, b in zip(ours, theirs)):.1f}")
            half_load = min(statistics.median(rates["forebay"]) / 2, 20_000)
            waits, filling = delays(port, client, half_load, options.batch)
            waits.sort()
            print(f"delay at {half_load:,.0f} records/s: p50 {1000 * waits[len(waits) // 2]:.1f} ms, p99 {1000 * waits[int(0.99 * len(waits))]:.1f} ms; "
                  f"a batch fills in {1000 * filling:.1f} ms ({len(waits)} records; the producer is Python, beside it)")
        finally:
            server.kill()
            server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
