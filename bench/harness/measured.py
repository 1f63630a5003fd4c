"""The inside of a measured process: SCRIPT JOB RESULT, started by harness.runs with the contestant's own Python.

Import it first: what it cannot learn from outside it counts from its import.
"""

import time

ENTERED_NS = time.monotonic_ns()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import types  # noqa: E402

from harness import noise, process_tree  # noqa: E402


class TimedPart:
    """Between begin() and end() counts seconds, CPU seconds of this process tree, and what others had of the machine.

    RESULT.measuring and RESULT.measured mark it for the memory sampler outside, if there is one. `servers` ({name: pid})
    work for the measured process: their CPU seconds are counted apart, and are nobody's noise.
    """

    def __init__(self, result=None, servers=None):
        self.result, self.servers = result, servers or {}

    def _mark(self, name):
        if self.result:
            open(f"{self.result}.{name}", "w").close()

    def begin(self):
        self._mark("measuring")
        self.before, self.machine_s = process_tree.processes(), process_tree.machine_cpu_seconds()
        self.began = time.monotonic()

    def seconds(self):
        """Since begin()."""
        return time.monotonic() - self.began

    def end(self):
        """{seconds, cpu_s, others_cpu_s, foreign_share, others}, and server_cpu_s ({name: CPU seconds}) if there are any."""
        seconds, after = self.seconds(), process_tree.processes()
        machine_s = process_tree.machine_cpu_seconds() - self.machine_s
        self._mark("measured")
        cpu_s = self._cpu_s(os.getpid(), after)
        server_cpu_s = {name: self._cpu_s(pid, after) for name, pid in self.servers.items()}
        others_s = max(0.0, machine_s - cpu_s - sum(server_cpu_s.values()))
        found = {"seconds": seconds, "cpu_s": cpu_s, "others_cpu_s": others_s,
                 "foreign_share": noise.foreign_share(others_s, seconds),
                 "others": noise.others_named(self.before, after, [os.getpid(), *self.servers.values()])}
        return found | ({"server_cpu_s": server_cpu_s} if self.servers else {})

    def _cpu_s(self, pid, after):
        return process_tree.cpu_seconds(pid, after) - process_tree.cpu_seconds(pid, self.before)


def first_batch(constructed_ns, first_ns):
    """Seconds to the first batch, from the moment before the loader is made and before the process is started."""
    started_ns = int(os.environ.get("BENCH_STARTED_NS", ENTERED_NS))
    return {"first_batch_from_loader_s": (first_ns - constructed_ns) / 1e9,
            "first_batch_from_process_s": (first_ns - started_ns) / 1e9}


def main(measure):
    """Writes the record that measure(job, result) gives; `result` is the path for TimedPart."""
    path, result = sys.argv[1:]
    with open(path) as file:
        job = types.SimpleNamespace(**json.load(file))
    record = measure(job, result)
    with open(result, "w") as file:
        json.dump(record, file)
