"""What the first batch of a process takes with one compute thread and with two.

    python bench/engine/first_batch.py FOLDER      (photographs, a folder per class)
    python bench/engine/first_batch.py FOLDER --start [--beside DIR]

Every run is a process of its own; runs with one and two threads take turns. Where other programs use the machine, wall time says how long
a thread waited for a core; so the CPU seconds of the busiest compute thread and of the consumer are told beside it, as the kernel counts
them (/proc/self/task/*/schedstat): they are what a machine with free cores would take. Ratios are medians over the rounds.

`--start` measures from the start of the process instead: to the end of `import forebay`, and to the first batch, whose array is there. An
interpreter that does nothing is told beside them. DIR is where another build was put by `pip install --target DIR`; the two take turns.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time

COMPUTE = "forebay-compute"


def threads_cpu_ms():
    """CPU time of each thread so far: {thread: (name, ms)}."""
    found = {}
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/comm") as name, open(f"/proc/self/task/{thread}/schedstat") as stat:
                found[thread] = name.read().strip(), int(stat.read().split()[0]) / 1e6
        except FileNotFoundError:  # it ended meanwhile
            continue
    return found


def pipeline(job):
    import forebay as fb
    crops = fb.images(job["folder"]).shuffle().decode_image().random_resized_crop(224).random_flip()
    return crops.normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)).batch(job["batch"])


def critical_ms(before, after):
    """Of the consumer and of the compute thread that had most to do: they follow each other."""
    used = {thread: (name, ms - before.get(thread, (name, 0))[1]) for thread, (name, ms) in after.items()}
    busiest = max((ms for name, ms in used.values() if name == COMPUTE), default=0)
    return used[str(os.getpid())][1] + busiest


def run(job):
    """In a process of its own, since only its first batch is one."""
    import forebay as fb
    with fb.Loader(pipeline(job), seed=0, threads=job["threads"]) as loader:
        before, began = threads_cpu_ms(), time.perf_counter()
        batches = iter(loader)
        next(batches)
        wall_ms, critical = (time.perf_counter() - began) * 1e3, critical_ms(before, threads_cpu_ms())
        return {"wall_ms": wall_ms, "critical_ms": critical}


def measured(job):
    made = subprocess.run([sys.executable, __file__, "--job", json.dumps(job)], check=True, capture_output=True, text=True)
    return json.loads(made.stdout.splitlines()[-1])


START = """
import json, sys, time
marks = []
def mark():
    marks.append((time.monotonic(), time.process_time()))
mark()
import forebay as fb
mark()
pipeline = fb.images(sys.argv[1]).shuffle().decode_image().random_resized_crop(224).random_flip().normalize(fb.IMAGENET).batch(int(sys.argv[2]))
with fb.Loader(pipeline, seed=0) as loader:
    next(iter(loader))["image"].shape
    mark()
print(json.dumps(marks))
"""


def started(arguments, folder):
    """Milliseconds from the start of a process: {phase: (wall, CPU)}. `folder`: where its Forebay is, or None."""
    environment = dict(os.environ)
    if folder:
        environment["PYTHONPATH"] = folder
    began = time.monotonic()
    made = subprocess.run([sys.executable, "-c", START, *arguments], check=True, capture_output=True, text=True, env=environment)
    marks = [((wall - began) * 1e3, cpu * 1e3) for wall, cpu in json.loads(made.stdout.splitlines()[-1])]
    interpreter, imported, batch = marks
    return {"interpreter": interpreter, "import forebay": (imported[0] - interpreter[0], imported[1] - interpreter[1]), "first batch, from the start": batch}


def report_start(runs):
    """Lines about {build: [started(), …]}."""
    for build, records in runs.items():
        for phase in records[0]:
            wall, cpu = ([record[phase][i] for record in records] for i in (0, 1))
            yield (f"{build}: {phase}: {statistics.median(wall):.1f} ms ({min(wall):.1f}–{max(wall):.1f}); "
                   f"CPU {statistics.median(cpu):.1f} ms ({min(cpu):.1f}–{max(cpu):.1f})")


def measure_start(options):
    builds = {"this build": None} | ({"the other": options.beside} if options.beside else {})
    runs = {build: [] for build in builds}
    for number in range(options.rounds + 1):
        for build in sorted(builds, reverse=number % 2 == 1):
            record = started([options.folder, str(options.batch)], builds[build])
            if number > 0:  # the first one compiles the modules of the package
                runs[build].append(record)
    yield from report_start(runs)


def report(rounds):
    """Lines about rounds of (record with one thread, record with two)."""
    for key, what in (("wall_ms", "wall time"), ("critical_ms", "CPU time on the critical path")):
        one, two = ([record[key] for record in records] for records in zip(*rounds, strict=True))
        ratio = statistics.median(b / a for a, b in zip(one, two, strict=True))
        yield (f"first batch, {what}: {statistics.median(one):.1f} ms with one thread, {statistics.median(two):.1f} ms with two: "
               f"{ratio:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rounds", type=int, help="7; 15 with --start")
    parser.add_argument("--start", action="store_true", help="measure from the start of the process")
    parser.add_argument("--beside", metavar="DIR", help="another build, for --start")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        return print(json.dumps(run(json.loads(options.job))))
    if not options.folder:
        parser.error("give a folder of photographs")
    options.rounds = options.rounds or (15 if options.start else 7)
    if options.start:
        for line in measure_start(options):
            print(line)
        return None
    rounds = [[measured({"folder": options.folder, "batch": options.batch, "threads": threads}) for threads in (1, 2)]
              for _ in range(options.rounds)]
    for line in report(rounds):
        print(line)


if __name__ == "__main__":
    main()
