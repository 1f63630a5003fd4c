"""Namespaced hosts that share slow storage: samples/s of the whole job, its first epoch, and what the simulator says of the same.

    python bench/cluster/hosts.py [--rounds 3] [--samples 960] [--train 500] [--later 3] [--settings] [--json FILE]

Needs root (network namespaces), nginx and iproute2. Objects are random bytes and nothing is decoded, so that cores are no limit; hosts take their
steps together, as training does, and a step of training takes batch / train seconds. Storage gives all hosts together what one of them
trains with. Compared, from the second epoch on: regular loading (no cache, no peers), a `.cache()` alone, one Redis on the first host in which all keep
objects (redis_member.py), peers with the deal by count and by place; and the limit that is left, which is the training itself. --link gives the links another rate, --samples the data set another size (a multiple of 960), and so the first epoch another length. --train lets each host
train with another number of samples/s; storage gives what it gave. --later measures more epochs after the first four, where they are short.

--settings runs twelve other settings on 2, 4 and 8 hosts beside the simulator: seconds of an epoch, how many of them are waited, and bytes from storage and from
peers, of the first epoch and of later ones. A number is within 10 % where the model's is, or where both are less than 2 % of the epoch, or of the data set, apart.
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

WARM = 4
REDIS, REDIS_PORT = "shared Redis", 6399
WAYS = {"regular": {"peers": None, "cache": False, "shard_by": "count"}, "cache alone": {"peers": None, "cache": True, "shard_by": "count"},
        REDIS: None,
        "count": {"peers": "folder", "cache": True, "shard_by": "count"}, "local": {"peers": "folder", "cache": True, "shard_by": "locality"}}
USUAL = {"samples": 960, "hosts": 4, "batch": 16, "mean": 20_000, "train": 500, "link": 1e9, "feeds": 1.0, "share": None, "later": 3}
# Twelve: storage's rate (in hosts that it feeds), link, share of the data set that all hosts keep, batch, deal.
SETTINGS = [USUAL | change for change in (
    {"hosts": 2}, {"hosts": 2, "feeds": 0.5}, {"hosts": 2, "share": 0.5}, {"hosts": 2, "batch": 60, "way": "count"},
    {}, {"feeds": 0.5}, {"share": 0.5}, {"link": 50e6, "way": "count"},
    {"hosts": 8, "train": 250, "batch": 15}, {"hosts": 8, "train": 250, "batch": 15, "share": 0.5}, {"hosts": 8, "train": 250, "batch": 40, "way": "count"},
    {"hosts": 8, "train": 250, "batch": 15, "link": 30e6, "way": "count"})]


def write_objects(folder, samples, mean, seed=1):
    """So many random bytes that the logarithms of the sizes deviate by 0.3."""
    draw, sizes = random.Random(seed), []
    for name in ("a", "b", "c"):
        (folder / name).mkdir(parents=True)
        for i in range(samples // 3):
            sizes.append(max(int(draw.lognormvariate(0, 0.3) * mean / 1.046), 100))
            (folder / name / f"{i}.jpg").write_bytes(draw.randbytes(sizes[-1]))
    return sizes


class Traffic:
    """What came from storage and what from peers since it was last asked; bytes of objects, without heads."""

    def __init__(self, server, job):
        self.server, self.job, self.peers = server, job, 0
        self.sizes = {f"/bucket/{path.relative_to(server.folder / 'root' / 'bucket')}": path.stat().st_size for path in server.paths}
        self.mean = server.bytes / len(server.paths)

    def since(self):
        storage = sum(self.sizes[path] * len(by) for path, by in self.server.reads().items())
        before, self.peers = self.peers, self.job.sum_of(self._from_peers) if not isinstance(self.job, RedisJob) else 0
        return {"storage": storage, "peers": (self.peers - before) * self.mean}

    @staticmethod
    def _from_peers(stats):
        return stats["caches"][0]["peer_hits"] if stats["caches"] else 0


def epochs_of(job, server, setting, epochs):
    """Of each epoch its seconds, those of them that were waited, and the bytes that came meanwhile: prefetching is ahead of the trainer."""
    found, step_s, traffic = [], setting["batch"] / setting["train"], Traffic(server, job)
    steps = setting["samples"] // (setting["batch"] * job.world)
    for _ in range(epochs):
        begun = time.monotonic()
        for _ in range(steps):
            due = time.monotonic() + step_s
            for member in job.members:
                member.ask("touch")
            for member in job.members:
                member.line()
            time.sleep(max(0.0, due - time.monotonic()))
        seconds = time.monotonic() - begun
        found.append({"seconds": seconds, "waited": seconds - steps * step_s} | traffic.since())
    return found


def measure(setting, way, objects):
    """A job of one epoch alone, and one whose later epochs count: prefetching would mix them."""
    first = in_folder(lambda folder: run(setting, way, objects, folder, 1))
    later = in_folder(lambda folder: run(setting, way, objects, folder, None))
    epochs = later["epochs"][WARM:]
    usual = {what: statistics.median(epoch[what] for epoch in epochs) for what in epochs[0]}
    return {"way": way, "storage_s": first["storage_s"], "first": first["epochs"][0], "later": usual, "epochs": later["epochs"],
            "first_s": first["epochs"][0]["seconds"], "later_s": statistics.fmean(epoch["seconds"] for epoch in epochs)}


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
                    lab, server, folder, peers=chosen["peers"], cache={"ram": room, "disk": 0} if chosen["cache"] else None, shard_by=chosen["shard_by"],
                    batch=setting["batch"], side=0, epochs=epochs, memory=f"{2 * room + (4 << 20)}B") as job:
                found = epochs_of(job, server, setting, epochs or WARM + setting["later"])
        finally:
            server.close()
    return {"epochs": found, "storage_s": total / rate}


def bare(setting, objects, folder):
    """Seconds in which curl, on one host with a fast link, gets every object once from the same storage, 16 at a time: D/R as it is on the wire."""
    with Lab(1, link=1e9, storage_rate=setting["feeds"] * setting["train"] * setting["mean"] * 8) as lab:
        server = ObjectServer(lab.storage, lab.STORAGE, folder / "store", objects)
        try:
            (folder / "list").write_text("".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in server.urls()))
            begun = time.monotonic()
            lab.hosts[0].run("curl", "--silent", "--fail", "--parallel", "--parallel-max", 16, "--config", folder / "list")
            return time.monotonic() - begun
        finally:
            server.close()


def simulated(setting, way, sizes, wire_s):
    """The last epoch is what later ones are like. Storage gives what curl gets of it: heads of packets and answers take a part, and of links as much."""
    rate = sum(sizes) / wire_s
    heads = rate / (setting["feeds"] * setting["train"] * setting["mean"])
    mean = sum(sizes) / len(sizes)
    found = fb.simulate(hosts=setting["hosts"], storage={"rate": rate}, link={"rate": heads * setting["link"] / 8}, train=setting["train"],
                        ram=int((setting["share"] or 1.4) * sum(sizes) / setting["hosts"]), samples=len(sizes), sample_bytes=int(mean),
                        spread=0.3, batch_size=setting["batch"], epochs=4, seed=7)
    run = next(run for run in found.data["runs"] if run["policy"] == way)
    first, later = (
        {"seconds": epoch["seconds"], "waited": epoch["wait_seconds"], "storage": epoch["bytes"]["storage"], "peers": epoch["bytes"]["peers"]}
        for epoch in (run["epochs"][0], run["epochs"][-1]))
    return {"first": first, "later": later}


def is_close(real, model, whole):
    return abs(model - real) <= max(0.1 * real, 0.02 * whole)


def in_folder(measured):
    with tempfile.TemporaryDirectory() as folder:
        return measured(Path(folder))


def usual(given, objects):
    USUAL.update(link=given.link, samples=given.samples, later=given.later, feeds=USUAL["train"] * USUAL["feeds"] / given.train, train=given.train)
    rows, wire = [], []
    for number in range(given.rounds):
        wire.append(in_folder(lambda folder: bare(USUAL, objects, folder)))
        ways = list(WAYS)
        for way in ways[number % len(ways):] + ways[:number % len(ways)]:
            rows.append(measure(USUAL, way, objects))
    limit, samples = USUAL["hosts"] * USUAL["train"], USUAL["samples"]
    print(f"{USUAL['hosts']} hosts, {USUAL['samples']} objects of {USUAL['mean']} bytes, batch {USUAL['batch']} a host, links {USUAL['link']:.0e} bit/s, "
          f"training takes {limit:.0f} samples/s of all hosts, storage gives {USUAL['feeds'] * USUAL['train']:.0f}; medians of {given.rounds} rounds")
    print(f"{'':<13}{'samples/s':>10}{'of limit':>10}{'÷ regular':>11}{'first epoch ÷ D/R':>19}{'÷ curl':>8}")
    later = {way: statistics.median(row["later_s"] for row in rows if row["way"] == way) for way in WAYS}
    for way in WAYS:
        first = statistics.median(row["first_s"] / row["storage_s"] for row in rows if row["way"] == way)
        print(f"{way:<13}{samples / later[way]:>10.0f}{samples / later[way] / limit:>10.2f}{later['regular'] / later[way]:>11.2f}{first:>19.2f}"
              f"{first * rows[0]['storage_s'] / statistics.median(wire):>8.2f}")
    return rows


WHAT = ("seconds", "waited", "storage", "peers")


def settings(objects, sizes):
    rows, right = [], dict.fromkeys([(when, what) for when in ("first", "later") for what in WHAT], 0)
    print("seconds, seconds waited, MB from storage and from peers of an epoch: measured / the model's; ! is not within 10 %")
    for change in SETTINGS:
        setting = change | {"samples": len(sizes)}
        way = setting.get("way", "local")
        wire_s = in_folder(lambda folder: bare(setting, objects, folder))
        real, model = measure(setting, way, objects), simulated(setting, way, sizes, wire_s)
        row = {"setting": setting, "real": real, "model": model}
        rows.append(row)
        told = []
        for when in ("first", "later"):
            for what in WHAT:
                bytes_of_it = what in ("storage", "peers")
                whole = sum(sizes) if bytes_of_it else real[when]["seconds"]
                within = is_close(real[when][what], model[when][what], whole)
                right[when, what] += within
                scale = 1e-6 if bytes_of_it else 1
                told.append(f"{scale * real[when][what]:.2f}/{scale * model[when][what]:.2f}{'' if within else '!'}")
        print(f"{setting['hosts']} hosts, batch {setting['batch']}, feeds {setting['feeds']}, share {setting['share'] or 1}, link {setting['link']:.0e}, {way}: "
              f"first {' '.join(told[:4])}; later {' '.join(told[4:])}", flush=True)
    for (when, what), count in right.items():
        print(f"{when} {what}: within 10 % in {count} of {len(rows)}")
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--link", type=float, default=USUAL["link"], help="bits a second")
    parser.add_argument("--train", type=float, default=USUAL["train"], help="samples a second that each host trains with")
    parser.add_argument("--later", type=int, default=USUAL["later"], help="epochs that are measured")
    parser.add_argument("--samples", type=int, default=USUAL["samples"])
    parser.add_argument("--settings", action="store_true")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if why := absent():
        sys.exit(f"no hosts: {why}")
    with tempfile.TemporaryDirectory() as folder:
        objects = Path(folder) / "objects"
        sizes = write_objects(objects, given.samples, USUAL["mean"])
        rows = settings(objects, sizes) if given.settings else usual(given, objects)
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
