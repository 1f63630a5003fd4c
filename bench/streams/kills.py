"""Trainers that are killed with kill -9 at random moments and go on from their last state on other numbers of ranks: is any record lost or doubled?

    python bench/streams/kills.py [--kills 200] [--source redis|nats|lines|folder|rows] [--policy block|spill] [--seed 1]
        [--ranks 1,2,3] [--broker-kills] [--rehearse]

A producer writes while it goes on. Each life of the job has one of the numbers of ranks, a process each, which meet in a folder; after every few steps rank 0 writes the state, and
every rank which records it got up to it. A life ends by kill -9 of all ranks at a random moment. What is delivered counts up to the state that the next life goes on from. In the end what was delivered
must be the log: each record once. With --broker-kills Redis (appendfsync always) or NATS is killed and started again now and then, too; with --rehearse
each batch has old records beside the new ones, which are not counted.

Prints one line a hundred lives and a last one; exit code 1 where a record was lost or doubled. Wants `forebay` installed, and redis-server or nats-server.
"""
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "tests" / "python"), str(Path(__file__).resolve().parent)]

from nats_client import NatsClient  # noqa: E402

RANK = r"""
import json, os, sys
import forebay as fb
spec = json.loads(sys.argv[1])
rank, world, folder = spec["rank"], spec["world"], spec["folder"]
pipeline = fb.Pipeline.from_json(spec["pipeline"])
with fb.Loader(pipeline, seed=5, rank=rank, world_size=world, peers=f"file://{spec['meet']}" if world > 1 else None, steps_per_epoch=10**9) as loader:
    if spec["state"] is not None:
        loader.load_state_dict(spec["state"])
    got = []
    for step, batch in enumerate(loader):
        old = batch["rehearsed"] if "rehearsed" in batch else [False] * len(batch.ids)
        got += [value for value, again in zip(batch[spec["field"]], old) if not again]
        if step % 3 == 2:
            number = loader.state_dict()["streams"][""]["number"]
            name = f"{folder}/{spec['life']:06}.{number:012}.{rank}.{world}"
            with open(name + ".new", "w") as file:
                json.dump({"got": got, "state": loader.state_dict() if rank == 0 else None}, file)
            os.rename(name + ".new", name)
            got = []
"""


def newest(folder: Path, life: int) -> tuple[int, int, list[str], dict] | None:
    """Of a life: the furthest place that all its ranks have written; with what they got up to it."""
    by_number: dict[int, dict[int, Path]] = {}
    world = 0
    for path in folder.glob(f"{life:06}.*"):
        if path.suffix == ".new":
            continue
        _, number, rank, ranks = path.name.split(".")
        world = int(ranks)
        by_number.setdefault(int(number), {})[int(rank)] = path
    whole = [number for number in sorted(by_number) if len(by_number[number]) == world]
    if not whole:
        return None
    got: list[str] = []
    state = None
    for number in whole:
        for path in by_number[number].values():
            said = json.loads(path.read_text())
            got += said["got"]
            state = said["state"] or state
    return whole[-1], world, got, state


def place(name: str) -> int:
    return int(name.rstrip("'"))


class Broker:
    """A server in a process, which is killed and started again."""

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.start()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Redis(Broker):
    field = "name"

    def __init__(self, folder: Path, policy: str) -> None:
        self.folder, self.port = folder, random.randrange(20000, 40000)
        self.process = None
        self.start()
        names = "s-{0..2}"
        fields = {"name": "text", "pad": "bytes"}
        buffer = [{"op": "buffer", "policy": policy, "bytes": 200_000, **({"disk": 50_000_000} if policy == "spill" else {})}]
        self.pipeline = json.dumps({"forebay_pipeline": 1, "steps": [
            {"op": "stream", "url": f"redis://127.0.0.1:{self.port}/0/{names}", "fields": fields}, *buffer]})

    def start(self) -> None:
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "yes", "--appendfsync", "always",
             "--dir", str(self.folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = None

    def connect(self):
        from redis_client import RedisClient

        os.environ["FOREBAY_TEST_REDIS"] = f"redis://127.0.0.1:{self.port}"
        until = time.monotonic() + 30
        while self.client is None:
            try:
                self.client = RedisClient()
                self.client.send(("PING",))
            except OSError:
                self.client = None
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        return self.client

    def write(self, numbers: range) -> list[str]:
        """Those that are known to be in the log."""
        names = [f"{i}" for i in numbers]
        while names:
            try:
                self.connect().send(*(("XADD", f"s-{place(n) % 3}", "*", "name", n, "pad", b"x" * (place(n) % 700)) for n in names))
                return names
            except (ConnectionError, OSError):  # some may be there: names of such records are written anew under others
                self.client = None
                names = [n + "'" for n in names] if not names[0].endswith("'''") else []
        return []

    def log(self) -> list[str]:
        names = []
        for k in range(3):
            for _, entry in self.connect().send(("XRANGE", f"s-{k}", "-", "+"))[0]:
                names.append(entry[1].decode())
        return names


class Nats(Broker):
    field = "name"

    def __init__(self, folder: Path, policy: str) -> None:
        self.folder, self.port = folder, random.randrange(20000, 40000)
        self.client = None
        self.start()
        self.connect().make_stream("s")
        self.pipeline = json.dumps({"forebay_pipeline": 1, "steps": [
            {"op": "stream", "url": f"nats://127.0.0.1:{self.port}/s", "fields": {"name": "text"}},
            {"op": "buffer", "policy": policy, "bytes": 200_000, **({"disk": 50_000_000} if policy == "spill" else {})}]})

    def start(self) -> None:
        config = self.folder / "nats.conf"
        config.write_text(f'listen: 127.0.0.1:{self.port}\njetstream {{ store_dir: "{self.folder}" }}\n')
        self.process = subprocess.Popen(["nats-server", "-c", config], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.client = None

    def connect(self) -> NatsClient:
        until = time.monotonic() + 30
        while self.client is None:
            try:
                self.client = NatsClient(self.port)
            except OSError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        return self.client

    def write(self, numbers: range) -> list[str]:
        messages = {f"{i}": json.dumps({"name": f"{i}", "pad": "x" * (i % 700)}).encode() for i in numbers}
        until = time.monotonic() + 30
        while True:
            try:
                self.connect().publish("s", messages)
                return list(messages)
            except OSError:
                self.client = None
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)

    def log(self) -> list[str]:
        return [json.loads(body)["name"] for body in self.connect().read_all("s")]


class Lines:
    field = "name"

    def __init__(self, folder: Path, policy: str) -> None:
        self.paths = [folder / f"{k}.jsonl" for k in range(3)]
        for path in self.paths:
            path.touch()
        self.pipeline = json.dumps({"forebay_pipeline": 1, "steps": [
            {"op": "jsonl", "pattern": f"{folder}/*.jsonl", "fields": {"name": "text"}, "follow": True},
            {"op": "buffer", "policy": policy, "bytes": 100_000, **({"disk": 50_000_000} if policy == "spill" else {})}]})

    def write(self, numbers: range) -> list[str]:
        for i in numbers:
            line = json.dumps({"name": f"{i}", "pad": "x" * (i % 300)}) + "\n"
            with self.paths[i % 3].open("a") as file:
                for piece in (line[: i % 17], line[i % 17 :]):
                    file.write(piece)
                    file.flush()
        return [f"{i}" for i in numbers]

    def log(self) -> list[str]:
        return [json.loads(line)["name"] for path in self.paths for line in path.read_text().splitlines()]

    def kill(self) -> None:
        pass

    def stop(self) -> None:
        pass


class Folder:
    field = "key"

    def __init__(self, folder: Path, policy: str) -> None:
        self.folder = folder
        self.pipeline = json.dumps({"forebay_pipeline": 1, "steps": [
            {"op": "files", "pattern_or_list": f"{folder}/*.bin", "follow": True}, {"op": "buffer", "policy": policy, "bytes": 100_000}]})

    def write(self, numbers: range) -> list[str]:
        for i in numbers:
            hidden = self.folder / f".{i}"
            hidden.write_bytes(b"x" * (i % 5000))
            hidden.rename(self.folder / f"{i * 7919 % 10_000_019:08}.bin")
        return []

    def log(self) -> list[str]:
        return [path.name for path in self.folder.glob("*.bin")]

    def kill(self) -> None:
        pass

    def stop(self) -> None:
        pass


class Rows:
    """Of Parquet files, several row groups each."""
    field = "name"

    def __init__(self, folder: Path, policy: str) -> None:
        self.folder, self.written = folder, 0
        self.write(range(0))
        self.pipeline = json.dumps({"forebay_pipeline": 1, "steps": [
            {"op": "parquet", "pattern": f"{folder}/*.parquet", "follow": True},
            {"op": "buffer", "policy": policy, "bytes": 100_000, **({"disk": 50_000_000} if policy == "spill" else {})}]})

    def write(self, numbers: range) -> list[str]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = [f"{i}" for i in numbers]
        hidden = self.folder / f".{self.written}"
        table = pa.table({"name": pa.array(names, pa.string()), "pad": pa.array([b"x" * (i % 700) for i in numbers], pa.binary())})
        pq.write_table(table, hidden, row_group_size=1 + len(names) // 3)
        hidden.rename(self.folder / f"{self.written * 7919 % 10_000_019:08}.parquet")
        self.written += 1
        return names

    def log(self) -> list[str]:
        import pyarrow.parquet as pq

        return [name for path in self.folder.glob("*.parquet") for name in pq.read_table(path)["name"].to_pylist()]

    def kill(self) -> None:
        pass

    def stop(self) -> None:
        pass


def lives(source, folder: Path, rng: random.Random, options: argparse.Namespace) -> tuple[list[str], int]:
    """What was delivered, and how many lives it took."""
    states, meet = folder / "states", folder / "meet"
    states.mkdir()
    delivered: list[str] = []
    state = None
    done = threading.Event()
    written = 0

    def produce() -> None:
        nonlocal written
        while not done.is_set():
            source.write(range(written, written + options.rate))
            written += options.rate
            time.sleep(0.05)

    producer = threading.Thread(target=produce)
    producer.start()
    life = 0
    while True:
        last = life >= options.kills
        if last and not done.is_set():
            done.set()
            producer.join()
        world = rng.choice(options.ranks)
        steps = json.loads(source.pipeline)
        # Their last batches would wait for ever for a whole one; small ones leave little behind.
        if options.rehearse:
            steps["steps"].append({"op": "rehearse", "n": 1, "capacity": 50, "by": ""})
        steps["steps"].append({"op": "batch", "n": 1 if last else max(1, 6 // world)})
        if last:
            world = 1
        where = Path(f"{meet}-{life}")
        where.mkdir()
        ranks = [subprocess.Popen([sys.executable, "-c", RANK, json.dumps({
            "rank": rank, "world": world, "folder": str(states), "meet": str(where), "pipeline": json.dumps(steps), "state": state, "life": life,
            "field": source.field})], stderr=subprocess.PIPE if last else subprocess.DEVNULL) for rank in range(world)]
        began = time.monotonic()
        if last:
            # Until all is there, give or take the two steps that no state has told yet.
            wanted = len(source.log())
            while time.monotonic() - began < 120:
                told = newest(states, life)
                if told and told[0] + 2 >= wanted:
                    break
                time.sleep(0.1)
        else:
            time.sleep(rng.uniform(0.3, 2.0) * max(1.0, world / 3))  # they begin one after the other
            if options.broker_kills and rng.random() < 0.3:
                source.kill()
                time.sleep(rng.uniform(0.0, 0.5))
        for process in ranks:
            process.send_signal(signal.SIGKILL)
        for process in ranks:
            process.wait()
        told = newest(states, life)
        if told:
            delivered += told[2]
            state = told[3]
        for path in states.glob(f"{life:06}.*"):
            path.unlink()
        shutil.rmtree(where)
        life += 1
        if last:
            return delivered, life
        if life % 100 == 0:
            print(f"{life} lives, {len(delivered)} records delivered", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--source", choices=["redis", "nats", "lines", "folder", "rows"], default="redis")
    parser.add_argument("--policy", choices=["block", "spill"], default="block")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=lambda text: [int(one) for one in text.split(",")], default=[1, 2, 3])
    parser.add_argument("--broker-kills", action="store_true")
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("--rate", type=int, default=20, help="records written each 50 ms")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    os.environ.setdefault("FOREBAY_CLUSTER_TOKEN", "0123456789abcdef0123456789abcdef")
    os.environ.setdefault("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "log").mkdir()
        source = {"redis": Redis, "nats": Nats, "lines": Lines, "folder": Folder, "rows": Rows}[options.source](folder / "log", options.policy)
        try:
            delivered, count = lives(source, folder, rng, options)
            log = source.log()
        finally:
            source.stop()
    doubled = len(delivered) - len(set(delivered))
    strange = len(set(delivered) - set(log))
    missing = len(set(log) - set(delivered))
    good = doubled == 0 and strange == 0 and missing <= 2
    print(f"{options.source}, {options.policy}: {count} lives, {len(log)} records in the log, {len(set(delivered))} delivered once, {doubled} twice, "
          f"{missing} not yet (2 at most: steps behind the last state): {'right' if good else 'WRONG'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
