"""Which machine this is, and what others took of it while something was measured."""

import collections
import os
import platform

from harness import process_tree

NOISY_SHARE = 0.1  # of the machine's CPU time; above it a run is called noisy
FLOOR_S = 0.1      # CPU seconds of others that clock ticks cannot tell from nothing
NAMED = 3          # the busiest of the others are named


def machine():
    """One line: the CPU's name, cores, kernel."""
    with open("/proc/cpuinfo") as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "unknown CPU")
    return f"{model}, {os.cpu_count()} cores, Linux {platform.release()}"


def foreign_share(others_cpu_s, seconds):
    """Share of all cores' time that others had, 0 to 1; 0 where that cannot be told from nothing."""
    if others_cpu_s < FLOOR_S:
        return 0.0
    return others_cpu_s / max(seconds * os.cpu_count(), 1e-9)


def others_named(before, after, roots):
    """The busiest programs between two process_tree.processes(), but for the trees of `roots`: ["cc1plus 1.2 s", …].

    What began and ended in between is its parent's.
    """
    mine = {pid for root in roots for pid in process_tree.tree(root, after)}
    took = collections.Counter()
    for pid, cpu_s in cpu_seconds_between(before, after).items():
        if pid not in mine:
            took[after[pid].name] += cpu_s
    return [f"{name} {cpu_s:.1f} s" for name, cpu_s in took.most_common(NAMED) if cpu_s >= FLOOR_S]


def cpu_seconds_between(before, after):
    """{pid: CPU seconds} of those that are there at the end, their children that ended meanwhile included."""
    took = {pid: process.cpu_s - (before[pid].cpu_s if pid in before else 0) for pid, process in after.items()}
    for pid, process in before.items():
        if pid not in after:  # whoever waited for it was given the time from before, too
            heir = process.parent
            while heir not in after and heir in before:
                heir = before[heir].parent
            if heir in took:
                took[heir] -= process.cpu_s
    return took


def is_noisy(record):
    return record.get("foreign_share", 0.0) > NOISY_SHARE


def lines(records, where):
    """What a report says of its noisy runs, `where` naming a record; nothing where all were quiet."""
    told = []
    for record in filter(is_noisy, records):
        named = ", ".join(record.get("others", []))
        told.append(f"{where(record)} ({100 * record['foreign_share']:.0f} %{': ' + named if named else ''})")
    return [f"NOISY (other programs took over {100 * NOISY_SHARE:.0f} % of the CPU time): " + "; ".join(told), ""] if told else []
