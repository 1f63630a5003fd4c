"""A job over the hosts of a lab: a process on each, led step by step, and what becomes of it when something happens to one."""
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from lab import Lab
from servers.daemon import die_with_parent

LINE_LIMIT_S = 120
LAUNCHERS = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK",
             "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "FOREBAY_CLUSTER_ADDRESS", "FOREBAY_CLUSTER_TOKEN", "TORCHELASTIC_RESTART_COUNT")
PORT = 4100
TOKEN = "0123456789abcdef-of-this-lab"


class Member:
    """The process of one rank, on the host of that number."""

    def __init__(self, lab, rank, given, space=None, program=Path(__file__).with_name("member.py")):
        self.lab, self.rank, self.given, self.program = lab, rank, given, program
        self.space = space or lab.hosts[rank]
        self.state, self._text, self.asked = None, b"", 0
        self._start()

    def _start(self):
        environment = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
        environment |= {"FOREBAY_CLUSTER_ADDRESS": f"{Lab.address(self.rank)}:{PORT}", "FOREBAY_CLUSTER_TOKEN": TOKEN}
        told = json.dumps(self.given | {"state": self.state})
        command = self.space.command(sys.executable, self.program, told)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                        preexec_fn=die_with_parent)
        os.set_blocking(self.process.stderr.fileno(), False)
        self._text, self.asked, self.said = b"", 0, ""

    def ready(self):
        assert self.line() == "ready"
        return self

    def ask(self, what="go"):
        self.process.stdin.write(f"{what}\n".encode())
        self.process.stdin.flush()
        self.asked += what == "go"

    def answer(self):
        """The batch it was asked for."""
        told = self.line()
        self.asked -= 1
        self.state = told["state"]
        return told

    def stats(self):
        self.ask("stats")
        return self.line()

    def line(self):
        until = time.monotonic() + LINE_LIMIT_S
        while b"\n" not in self._text:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                raise AssertionError(f"rank {self.rank} says nothing for {LINE_LIMIT_S} s: {self.messages()}")
            more = os.read(self.process.stdout.fileno(), 1 << 16)
            assert more, f"rank {self.rank} ended: {self.messages()}"
            self._text += more
        line, _, self._text = self._text.partition(b"\n")
        return json.loads(line)

    def messages(self):
        """What it has written to its log."""
        self.said += (self.process.stderr.read() or b"").decode()
        return self.said

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def resident(self):
        """Bytes of memory that are its own: files that are mapped do not count."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split("RssAnon:")[1].split()[0]) * 1024

    def kill(self):
        self.process.kill()
        self.process.wait()
        self._close_pipes()

    def come_back(self):
        """A new process, which goes on where the last batch ended that it told of."""
        self._start()
        return self

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        if self.process.poll() is None:
            self.thaw()
            self.process.stdin.close()
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.messages()
        self._close_pipes()
        return self.said

    def _close_pipes(self):
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if not pipe.closed:
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass


class Job:
    """`peers`: "addresses", "folder" or None. `cache`: what `.cache()` is given; a folder is put below the host's own disk."""

    def __init__(self, lab, server, folder, peers="folder", cache=None, batch=4, side=64, disk_size=None, storage=None, **loader):
        world = len(lab.hosts)
        self.lab, self.world = lab, world
        meets = {"folder": f"file://{folder}/meeting", "addresses": [f"{Lab.address(i)}:{PORT}" for i in range(world)], None: None}[peers]
        self.members = []
        for rank in range(world):
            kept = dict(cache) if cache else None
            if kept and kept.get("disk"):
                kept["dir"] = str(Path(folder) / f"disk-{rank}")
                Path(kept["dir"]).mkdir(exist_ok=True)
                if disk_size:
                    lab.hosts[rank].mount_disk(kept["dir"], disk_size)
            options = {"rank": rank, "world_size": world, "threads": 1, "peers": meets, "hosts": world,
                       "storage_options": server.storage_options() | (storage or {}), **loader}
            self.members.append(Member(lab, rank, {"url": server.URL, "side": side, "batch": batch, "cache": kept, "loader": options}))

    def __enter__(self):
        try:
            for member in self.members:
                member.ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for member in self.members:
            member.close()

    def step(self, members=None):
        """A batch of each, together, as training takes them."""
        members = self.members if members is None else members
        for member in members:
            member.ask()
        return [member.answer() for member in members]

    def steps(self, count, epochs):
        """So many steps of all; their samples are added to `epochs`."""
        for _ in range(count):
            add(epochs, self.step())

    def sum_of(self, number):
        """Over all members, of a number that is found in their stats."""
        return sum(number(member.stats()) for member in self.members)


def add(epochs, answers):
    for told in answers:
        epochs.setdefault(told["epoch"], {}).update(told["samples"])


def peer_hits(stats):
    return stats["caches"][0]["peer_hits"]


def truth(lab, server, epochs, side=64, batch=4):
    """What should come of each epoch: one host without caches and peers."""
    given = {"url": server.URL, "side": side, "batch": batch, "cache": None, "loader": {"rank": 0, "world_size": 1,
             "storage_options": server.storage_options()}}
    alone = Member(lab, 0, given, space=lab.storage).ready()
    found = {}
    try:
        while True:
            alone.ask()
            told = alone.answer()
            if told["epoch"] == epochs:
                return [found[epoch] for epoch in range(epochs)]
            add(found, [told])
    finally:
        alone.close()
