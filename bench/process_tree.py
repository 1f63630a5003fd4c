"""CPU seconds and memory of a process and everything below it, read from /proc."""

import os

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def _fields(pid):
    """The fields of /proc/PID/stat after the name, which may hold spaces and brackets; None if it is gone."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def tree(root):
    """{pid: fields} of `root` and its descendants that are alive or not yet waited for."""
    processes = {int(entry): _fields(entry) for entry in os.listdir("/proc") if entry.isdigit()}
    children = {}
    for pid, fields in processes.items():
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
    found, todo = {}, [root]
    while todo:
        pid = todo.pop()
        if processes.get(pid):
            found[pid] = processes[pid]
        todo += children.get(pid, [])
    return found


def cpu_seconds(root):
    """User and system time, of the living and of the children that were waited for."""
    ticks = sum(int(value) for fields in tree(root).values() for value in fields[11:15])
    return ticks / TICKS_PER_SECOND


def machine_cpu_seconds():
    """Busy time of all cores since boot, everybody's."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, irq, softirq, steal = map(int, file.readline().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND


def memory(root):
    """(all bytes, of these bytes of mapped files): proportional set size, so shared pages count once."""
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
