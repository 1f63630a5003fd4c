"""Namespaced hosts that share slow storage: samples/s of the whole job, its first epoch, and what the simulator says of the same.

    python bench/cluster/hosts.py [--rounds 3] [--settings] [--json FILE]

Needs root (network namespaces), nginx and iproute2. Objects are random bytes and nothing is decoded, so that cores are no limit; hosts take their
steps together, as training does, and a step of training takes batch / train seconds. Storage gives all hosts together what one of them
trains with. Compared, from the second epoch on: regular loading (no cache, no peers), a `.cache()` alone, one Redis on the first host in which all keep
objects (redis_member.py), peers with the deal by count and by place; and the limit that is left, which is the training itself. --link gives the links another rate. --settings runs twelve other settings on 2, 4 and 8 hosts beside the simulator.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "cluster")]

import forebay as fb  # noqa: E402
from job import Job, Member  # noqa: E402
from lab import Lab, ObjectServer, absent  # noqa: E402
from servers.daemon import die_with_parent  # noqa: E402

SAMPLES, EPOCHS, WARM = 960, 9, 4
REDIS, REDIS_PORT = "shared Redis", 6399
WAYS = {"regular": {"peers": None, "cache": False, "deal": "count"}, "cache alone": {"peers": None, "cache": True, "deal": "count"},
        REDIS: None,
        "count": {"peers": "folder", "cache": True, "deal": "count"}, "local": {"peers": "folder", "cache": True, "deal": "local"}}
USUAL = {"hosts": 4, "batch": 16, "mean": 20_000, "train": 500, "link": 1e9, "feeds": 1.0, "share": None}
# Twelve: storage's rate (in hosts that it feeds), link, share of the data set that all hosts keep, batch, deal.
SETTINGS = [USUAL | change for change in (
    {"hosts": 2}, {"hosts": 2, "feeds": 0.5}, {"hosts": 2, "share": 0.5}, {"hosts": 2, "batch": 60, "way": "count"},
    {}, {"feeds": 0.5}, {"share": 0.5}, {"link": 100e6, "way": "count"},
    {"hosts": 8, "train": 250, "batch": 15}, {"hosts": 8, "train": 250, "batch": 15, "share": 0.5}, {"hosts": 8, "train": 250, "batch": 40, "way": "count"},
    {"hosts": 8, "train": 250, "batch": 15, "link": 100e6})]


def write_objects(folder, mean, seed=1):
    """So many random bytes that the logarithms of the sizes deviate by 0.3."""
    draw, sizes = random.Random(seed), []
    for name in ("a", "b", "c"):
        (folder / name).mkdir(parents=True)
        for i in range(SAMPLES // 3):
            sizes.append(max(int(draw.lognormvariate(0, 0.3) * mean / 1.046), 100))
            (folder / name / f"{i}.jpg").write_bytes(draw.randbytes(sizes[-1]))
    return sizes


def epochs_of(job, batch, train, epochs):
    """Seconds of each epoch."""
    seconds, step_s = [], batch / train
    for _ in range(epochs):
        begun = time.monotonic()
        for _ in range(SAMPLES // (batch * job.world)):
            due = time.monotonic() + step_s
            for member in job.members:
                member.ask("touch")
            for member in job.members:
                member.line()
            time.sleep(max(0.0, due - time.monotonic()))
        seconds.append(time.monotonic() - begun)
    return seconds


def measure(setting, way, objects):
    """A job of one epoch alone, and one whose later epochs count: prefetching would mix them."""
    first = in_folder(lambda folder: run(setting, way, objects, folder, 1))
    later = in_folder(lambda folder: run(setting, way, objects, folder, None))
    return first | {"later_s": statistics.median(later["seconds"][WARM:]), "seconds": later["seconds"]}


class RedisJob(Job):
    """A Redis on the first host, and a process of redis_member.py on each."""

    def __init__(self, lab, server, setting, epochs):
        self.world, self.members = setting["hosts"], []
        address = Lab.address(0)
        command = ["redis-server", "--bind", address, "--protected-mode", "no", "--port", REDIS_PORT, "--save", "", "--appendonly", "no",
                   "--dir", server.folder]
        self.redis = subprocess.Popen(lab.hosts[0].command(*command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, preexec_fn=die_with_parent)
        self._wait_for_it(lab, address)
        for rank in range(self.world):
            given = {"urls": server.urls(), "redis": [address, REDIS_PORT], "rank": rank, "world": self.world, "batch": setting["batch"], "epochs": epochs}
            self.members.append(Member(lab, rank, given, program=Path(__file__).with_name("redis_member.py")))

    @staticmethod
    def _wait_for_it(lab, address):
        for _ in range(100):
            try:
                return lab.hosts[0].run("redis-cli", "-h", address, "-p", REDIS_PORT, "ping")
            except RuntimeError:
                time.sleep(0.05)
        raise RuntimeError("Redis does not answer")

    def __exit__(self, *_):
        super().__exit__()
        self.redis.kill()
        self.redis.wait()


def run(setting, way, objects, folder, epochs):
    rate = setting["feeds"] * setting["train"] * setting["mean"]
    total = sum(path.stat().st_size for path in objects.rglob("*.jpg"))
    chosen = WAYS[way]
    room = int((setting["share"] or 1.4) * total / setting["hosts"])
    with Lab(setting["hosts"], link=setting["link"], storage_rate=rate * 8) as lab:
        server = ObjectServer(lab.storage, lab.STORAGE, folder / "store", objects)
        try:
            with RedisJob(lab, server, setting, epochs) if way == REDIS else Job(
                    lab, server, folder, peers=chosen["peers"], cache={"ram": room, "disk": 0} if chosen["cache"] else None, deal=chosen["deal"],
                    batch=setting["batch"], side=0, epochs=epochs, memory=f"{2 * room + (4 << 20)}B") as job:
                seconds = epochs_of(job, setting["batch"], setting["train"], epochs or EPOCHS)
        finally:
            server.close()
    return {"way": way, "first_s": seconds[0], "seconds": seconds, "storage_s": total / rate}


def bare(setting, objects, folder):
    """Seconds in which curl, on one host, gets every object once from the same storage, 16 at a time: D/R as it is on the wire."""
    with Lab(1, link=setting["link"], storage_rate=setting["feeds"] * setting["train"] * setting["mean"] * 8) as lab:
        server = ObjectServer(lab.storage, lab.STORAGE, folder / "store", objects)
        try:
            (folder / "list").write_text("".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in server.urls()))
            begun = time.monotonic()
            lab.hosts[0].run("curl", "--silent", "--fail", "--parallel", "--parallel-max", 16, "--config", folder / "list")
            return time.monotonic() - begun
        finally:
            server.close()


def simulated(setting, way, sizes, wire_s):
    """The last epoch is what later ones are like. Storage gives what curl gets of it: heads of packets and answers take a part."""
    rate = sum(sizes) / wire_s
    mean = sum(sizes) / len(sizes)
    found = fb.simulate(hosts=setting["hosts"], storage={"rate": rate}, link={"rate": setting["link"] / 8}, train=setting["train"],
                        ram=int((setting["share"] or 1.4) * sum(sizes) / setting["hosts"]), samples=SAMPLES, sample_bytes=int(mean),
                        spread=0.3, batch_size=setting["batch"], seed=7)
    run = next(run for run in found.data["runs"] if run["policy"] == way)
    return {"first_s": run["epochs"][0]["seconds"], "later_s": run["epochs"][-1]["seconds"]}


def in_folder(measured):
    with tempfile.TemporaryDirectory() as folder:
        return measured(Path(folder))


def usual(given, objects):
    USUAL["link"] = given.link
    rows, wire = [], []
    for number in range(given.rounds):
        wire.append(in_folder(lambda folder: bare(USUAL, objects, folder)))
        ways = list(WAYS)
        for way in ways[number % len(ways):] + ways[:number % len(ways)]:
            rows.append(measure(USUAL, way, objects))
    limit = USUAL["hosts"] * USUAL["train"]
    print(f"{USUAL['hosts']} hosts, {SAMPLES} objects of {USUAL['mean']} bytes, batch {USUAL['batch']} a host, links {USUAL['link']:.0e} bit/s, "
          f"training takes {limit} samples/s of all hosts, storage gives {USUAL['train']}; medians of {given.rounds} rounds")
    print(f"{'':<13}{'samples/s':>10}{'of limit':>10}{'÷ regular':>11}{'first epoch ÷ D/R':>19}{'÷ curl':>8}")
    later = {way: statistics.median(row["later_s"] for row in rows if row["way"] == way) for way in WAYS}
    for way in WAYS:
        first = statistics.median(row["first_s"] / row["storage_s"] for row in rows if row["way"] == way)
        print(f"{way:<13}{SAMPLES / later[way]:>10.0f}{SAMPLES / later[way] / limit:>10.2f}{later['regular'] / later[way]:>11.2f}{first:>19.2f}"
              f"{first * rows[0]['storage_s'] / statistics.median(wire):>8.2f}")
    return rows


def settings(objects, sizes):
    rows = []
    print(f"{'hosts':>5}{'batch':>6}{'feeds':>6}{'share':>6}{'link':>8}{'deal':>7}{'first s':>9}{'model':>7}{'later s':>9}{'model':>7}{'off by':>8}")
    for setting in SETTINGS:
        way = setting.get("way", "local")
        wire_s = in_folder(lambda folder: bare(setting, objects, folder))
        real, model = measure(setting, way, objects), simulated(setting, way, sizes, wire_s)
        off = model["later_s"] / real["later_s"] - 1
        rows.append({"setting": setting, "real": real, "model": model, "off": off})
        print(f"{setting['hosts']:>5}{setting['batch']:>6}{setting['feeds']:>6}{setting['share'] or 1:>6}{setting['link']:>8.0e}{way:>7}"
              f"{real['first_s']:>9.2f}{model['first_s']:>7.2f}{real['later_s']:>9.2f}{model['later_s']:>7.2f}{off:>8.1%}", flush=True)
    print(f"within 10 %: {sum(abs(row['off']) <= 0.1 for row in rows)} of {len(rows)}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", type=float, default=USUAL["link"], help="bits a second")
    parser.add_argument("--settings", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if why := absent():
        sys.exit(f"no hosts: {why}")
    with tempfile.TemporaryDirectory() as folder:
        objects = Path(folder) / "objects"
        sizes = write_objects(objects, USUAL["mean"])
        rows = settings(objects, sizes) if given.settings else usual(given, objects)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
