"""What may happen to a host of a job, at random moments, and what the others lose by it."""
import errno
import random
import time
from dataclasses import dataclass, field

from job import Job, add

KINDS = ("killed", "frozen", "cut off", "slowed to 1 %", "disk full")
LINK = 1e9
JOB = {"peers": "addresses", "cache": {"ram": "256KiB", "disk": "2MiB"}, "disk_size": "4m", "side": 96, "shard_by": "count", "memory": "8MiB"}
USED_LIMIT_S = 90


def fill(job, host):
    """Leaves no byte on the host's disk."""
    path = job.lab.hosts[host].path(job.members[host].given["cache"]["dir"]) / "filler"
    try:
        with open(path, "wb", buffering=0) as file:
            while file.write(bytes(1 << 16)):
                pass
    except OSError as error:
        assert error.errno == errno.ENOSPC
    return path


def begin(job, kind, host):
    """Returns what makes an end of it."""
    member = job.members[host]
    if kind == "killed":
        owed = member.asked
        member.kill()

        def back():
            member.come_back().ready()
            for _ in range(owed):
                member.ask()
        return back
    if kind == "frozen":
        member.freeze()
        return member.thaw
    if kind == "cut off":
        job.lab.cut(host)
        return lambda: job.lab.mend(host)
    if kind == "slowed to 1 %":
        job.lab.set_link(host, LINK / 100)
        return lambda: job.lab.set_link(host, LINK)
    path = fill(job, host)
    return path.unlink


@dataclass
class Told:
    kind: str
    host: int
    step: int
    epochs: int            # that it was part of
    right: bool
    waited: float          # of the other that waited longest, in these epochs
    lasted: float          # the fault
    descriptors: list = field(default_factory=list)
    resident: list = field(default_factory=list)
    used_again: bool | None = None


class Trial:
    """A job that goes through epochs, in some of which something happens. `pace_s`: how long a training step takes."""

    def __init__(self, job: Job, truth, steps, seed, pace_s=0.0):
        self.job, self.truth, self.steps, self.pace_s = job, truth, steps, pace_s
        self.random = random.Random(seed)
        self.epoch, self.found = 0, {}

    def step(self, waited, members=None):
        members = self.job.members if members is None else members
        begun = time.monotonic()
        for member in members:
            member.ask()
        for member in members:
            told = member.answer()
            waited[member.rank] += told["waited"]
            add(self.found, [told])
        time.sleep(max(0.0, begun + self.pace_s - time.monotonic()))

    def healthy(self):
        """How long the member waited that waited longest."""
        waited = [0.0] * self.job.world
        for _ in range(self.steps):
            self.step(waited)
        assert self.ends() is True
        return max(waited)

    def ends(self):
        right = self.found.pop(self.epoch) == self.truth[self.epoch]
        self.epoch += 1
        return right

    def fault(self, kind, most_steps=None, comes_back_used=False):
        """It begins within an epoch and lasts for up to so many steps of the others; then all go on to the end of an epoch."""
        job, host, at = self.job, self.random.randrange(self.job.world), self.random.randrange(1, self.steps)
        lasts = self.random.randrange(1, (most_steps or self.steps) + 1)
        members, victim = job.members, job.members[host]
        others = [member for member in members if member is not victim]
        waited = [0.0] * job.world
        for _ in range(at):
            self.step(waited)
        begun = time.monotonic()
        end = begin(job, kind, host)
        for _ in range(lasts):
            self.step(waited, others)
        end()
        lasted = time.monotonic() - begun
        for _ in range(lasts):
            victim.ask()
        for _ in range(lasts):
            add(self.found, [victim.answer()])
        for _ in range(-(at + lasts) % self.steps):
            self.step(waited)
        epochs = -(-(at + lasts) // self.steps)
        right = all([self.ends() for _ in range(epochs)])
        told = Told(kind, host, at, epochs, right, max(waited[member.rank] for member in others), lasted,
                    [member.descriptors() for member in others], [member.resident() for member in others])
        if comes_back_used:
            told.used_again = self.is_used(host)
        return told

    def is_used(self, host):
        """Whether others get something from that host in later epochs."""
        name = f"peer {self.job.lab.address(host)}:"

        def got():
            return sum(store["bytes"] for member in self.job.members for store in member.stats()["stores"] if store["name"].startswith(name))

        before, until = got(), time.monotonic() + USED_LIMIT_S
        while self.epoch < len(self.truth) and time.monotonic() < until:
            self.healthy()
            if got() > before:
                return True
        return False
