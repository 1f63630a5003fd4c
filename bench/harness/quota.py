"""A part of the cores for a process: a control group of the kernel's, where one may be made."""

import os
import uuid

MOUNTED = "/sys/fs/cgroup"
PERIOD_US = 100_000


class Quota:
    """`with Quota(0.5) as quota`: processes that are added share half a core. OSError where that is not allowed."""

    def __init__(self, cores):
        self._first = cores
        self._group = os.path.join(_parent(), f"forebay-{uuid.uuid4().hex[:8]}")

    @staticmethod
    def possible():
        try:
            with Quota(1):
                return True
        except OSError:
            return False

    @classmethod
    def of_group(cls, group):
        """One that was made elsewhere."""
        quota = cls(None)
        quota._group = group
        return quota

    @property
    def group(self):
        return self._group

    def set(self, cores):
        """From now on so many."""
        quota = str(int(cores * PERIOD_US))
        if os.path.exists(os.path.join(self._group, "cpu.cfs_quota_us")):
            _write(self._group, "cpu.cfs_quota_us", quota)
        else:
            _write(self._group, "cpu.max", f"{quota} {PERIOD_US}")

    def add(self, process):
        _write(self._group, "cgroup.procs", str(process))

    def add_this_process(self):
        self.add(os.getpid())

    def __enter__(self):
        os.mkdir(self._group)
        try:
            self.set(self._first)
        except OSError:
            os.rmdir(self._group)
            raise
        return self

    def __exit__(self, *exc_info):
        try:
            with open(os.path.join(self._group, "cgroup.procs")) as file:
                left = file.read().split()
            for process in left:
                _write(_parent(), "cgroup.procs", process)
        finally:
            os.rmdir(self._group)


def _parent():
    one = os.path.join(MOUNTED, "cpu")  # version 1 has a tree for each controller
    return one if os.path.isdir(one) else MOUNTED


def _write(group, name, text):
    with open(os.path.join(group, name), "w") as file:
        file.write(text)
