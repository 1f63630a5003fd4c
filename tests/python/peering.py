"""Processes that are hosts of one job, told epoch by epoch to go on, and what lies between them."""
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import zlib

from materializing_far import LAUNCHERS

import forebay as fb

TOKEN = "0123456789abcdef-of-this-test"

HOST = """
import json, sys
import forebay as fb
from peering import pipeline, epoch_of
options = json.loads(sys.argv[1])
with fb.Loader(pipeline(**options["pipeline"]), seed=7, **options["loader"]) as loader:
    print(json.dumps("ready"), flush=True)
    for _ in sys.stdin:
        print(json.dumps({"samples": epoch_of(loader), "stats": loader.stats()}), flush=True)
"""


def pipeline(photos, ram="64MiB", disk=0, dir=None, batch=3):
    resized = fb.images(photos).shuffle().decode_image().resize(64)
    kept = resized.cache(ram=ram, disk=disk, dir=dir) if ram or disk else resized
    return kept.random_flip().normalize(fb.IMAGENET).batch(batch)


def epoch_of(loader):
    """What became of each sample in one epoch."""
    samples = {}
    for batch in loader:
        for row, sample in enumerate(batch.ids):
            samples[str(int(sample))] = zlib.crc32(batch["image"][row].tobytes()) + int(batch["label"][row])
    return samples


def truth(photos, epochs, **options):
    """The same without caches or peers: of each epoch what should come."""
    options = {"ram": 0, **options}
    with fb.Loader(pipeline(str(photos), **options), seed=7) as loader:
        return [epoch_of(loader) for _ in range(epochs)]


def free_addresses(count, host="127.0.0.1"):
    held = [socket.create_server((host, 0)) for _ in range(count)]
    addresses = [f"{host}:{each.getsockname()[1]}" for each in held]
    for each in held:
        each.close()
    return addresses


class Host:
    """One process of the job. Rows are dealt by count, so that much has to come from other hosts."""

    def __init__(self, rank, world, peers, photos, prefix=(), token=TOKEN, loader=None, variables=None, **options):
        environment = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
        environment |= {"PYTHONPATH": os.path.dirname(__file__), "FOREBAY_CLUSTER_TOKEN": token, **(variables or {})}
        given = {"pipeline": {"photos": str(photos), **options},
                 "loader": {"rank": rank, "world_size": world, "peers": peers, "threads": 2, "shard_by": "count", **(loader or {})}}
        self.process = subprocess.Popen([*prefix, sys.executable, "-c", HOST, json.dumps(given)], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)

    def ready(self):
        assert self._line() == "ready"
        return self

    def begin(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def end(self):
        told = self._line()
        self.stats = told["stats"]
        return told["samples"]

    def _line(self):
        assert select.select([self.process.stdout], [], [], 120)[0], "a host that says nothing"
        line = self.process.stdout.readline()
        assert line, self.process.communicate()[1]
        return json.loads(line)

    def storage_reads(self):
        """So far, of the data set."""
        store = self.stats["stores"][0]
        return store["warm_reads"] + store["cold_reads"]

    def peer_stores(self):
        return {store["name"]: store for store in self.stats["stores"] if store["name"].startswith("peer ")}

    def peer_hits(self):
        return self.stats["caches"][0]["peer_hits"]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        """Its messages."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.stdin.close()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
        text = self.process.stderr.read()
        for pipe in (self.process.stdout, self.process.stderr):
            pipe.close()
        return text


class Job:
    """All hosts together; ends with the `with`."""

    def __init__(self, hosts):
        self.hosts = hosts

    def __enter__(self):
        for host in self.hosts:
            host.ready()
        return self

    def __exit__(self, *_):
        for host in self.hosts:
            if not host.process.stdout.closed:
                host.close()

    def epoch(self, hosts=None):
        """What all of them gave in one epoch."""
        for host in hosts or self.hosts:
            host.begin()
        samples = {}
        for host in hosts or self.hosts:
            samples |= host.end()
        return samples

    def storage_reads(self):
        return sum(host.storage_reads() for host in self.hosts)


class Between:
    """A place before a host that passes on what comes, or damages it, or takes its time."""

    def __init__(self, to, flip=0.0, delay_s=0.0, seed=1):
        self.to, self.flip, self.delay_s = to, flip, delay_s
        self._random = random.Random(seed)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._server.close()

    def _accept(self):
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            host, port = self.to.rsplit(":", 1)
            try:
                server = socket.create_connection((host, int(port)))
            except OSError:
                client.close()
                continue
            threading.Thread(target=self._pass_on, args=(client, server, False), daemon=True).start()
            threading.Thread(target=self._pass_on, args=(server, client, True), daemon=True).start()

    def _pass_on(self, source, target, answers):
        try:
            while data := bytearray(source.recv(1 << 16)):
                if answers:
                    time.sleep(self.delay_s)
                    if self._random.random() < self.flip:
                        for _ in range(1 + len(data) // 256):
                            data[self._random.randrange(len(data))] ^= 1 << self._random.randrange(8)
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
