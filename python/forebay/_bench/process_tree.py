"""CPU seconds, memory and threads of a process and all its descendants, read from /proc."""

import collections
import dataclasses
import os

TICK_S = 1 / os.sysconf("SC_CLK_TCK")  # the unit of CPU times


@dataclasses.dataclass(frozen=True)
class Process:
    name: str
    parent: int
    cpu_s: float  # user and system time of the process and of the children it has waited for


def _process(pid):
    """Returns the process, or None if it is gone. Its name in /proc/PID/stat may contain spaces and
    brackets.
    """
    try:
        with open(f"/proc/{pid}/stat") as file:
            head, _, rest = file.read().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = rest.split()
    return Process(head.partition("(")[2], int(fields[1]), sum(map(int, fields[11:15])) * TICK_S)


def processes():
    """Returns {pid: Process} of all processes that are alive or not yet waited for."""
    found = {int(entry): _process(entry) for entry in os.listdir("/proc") if entry.isdigit()}
    return {pid: process for pid, process in found.items() if process}


def tree(root, among=None):
    """Returns the pids of `root` and its descendants, among these processes (by default all current
    ones).
    """
    among = processes() if among is None else among
    children = collections.defaultdict(list)
    for pid, process in among.items():
        children[process.parent].append(pid)
    found, todo = [], [root]
    while todo:
        pid = todo.pop()
        found += [pid] if pid in among else []
        todo += children.get(pid, [])
    return found


def cpu_seconds(root, among=None):
    """Returns user and system time of the tree, of living processes and of children that were
    waited for.
    """
    among = processes() if among is None else among
    return sum(among[pid].cpu_s for pid in tree(root, among))


def machine_cpu_seconds():
    """Returns the busy time of all cores since boot, over all processes."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) * TICK_S


def memory(root):
    """Returns (all bytes, bytes of mapped files among them) of the tree: proportional set size, so
    shared pages count once.
    """
    total = files = 0
    for pid in tree(root):
        try:
            with open(f"/proc/{pid}/smaps_rollup") as lines:
                for line in lines:
                    if line.startswith("Pss:"):
                        total += 1024 * int(line.split()[1])
                    elif line.startswith("Pss_File:"):
                        files += 1024 * int(line.split()[1])
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue  # ended since the tree was read
    return total, files


def threads(root):
    """Returns {name: number of the tree's threads of that name}."""
    names = collections.Counter()
    for pid in tree(root):
        try:
            tasks = os.listdir(f"/proc/{pid}/task")
        except (FileNotFoundError, ProcessLookupError):
            continue
        for task in tasks:
            try:
                with open(f"/proc/{pid}/task/{task}/comm") as file:
                    names[file.read().rstrip("\n")] += 1
            except (FileNotFoundError, ProcessLookupError):
                continue
    return dict(names)
