"""The ledger adds up in generated runs: storage × operators × threads × consumer × tables, photographs and arrays × user code."""
import pathlib
import random
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from project import write_photos

import forebay as fb

RUNS = 40
LEAST_BATCHES, LEAST_SECONDS, MOST_BATCHES = 12, 0.25, 400
LEAST_CPU_SECONDS = 0.03  # a comparison of clocks wants something to compare


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adds_up")
    write_photos(folder / "photos")
    rows = 40_000
    columns = {"n": np.arange(rows), "x": np.arange(rows, dtype=np.float64), "name": [f"row {i}" for i in range(rows)]}
    pq.write_table(pa.table(columns), folder / "t.parquet", row_group_size=2500)
    for number in range(100):
        (folder / f"{number:03}.bin").write_bytes(bytes(number * 300))
    return folder


compared = []  # of each run that was made: had it CPU time enough


def waits(sample):
    time.sleep(0.001)
    return sample


def holds_the_lock(sample):
    for _ in range(2000):
        pass
    return sample


def source(chance, data):
    kind = chance.choice(["photographs", "table", "arrays", "files"])
    if kind == "photographs":
        pictures = fb.images(str(data / "photos")).decode_image()
        change = chance.choice([lambda p: p.resize((64, 64)), lambda p: p.random_resized_crop(48).random_flip(), lambda p: p.resize((96, 96))
                                .normalize(mean=(0.5, 0.5, 0.5), std=(0.2, 0.2, 0.2))])
        return kind, change(pictures), chance.choice([1, 4, 8])
    if kind == "table":
        return kind, fb.parquet(str(data / "t.parquet"), columns=chance.choice([["n", "x"], ["n", "x", "name"]])), chance.choice([256, 1500, 5000])
    if kind == "arrays":
        return kind, fb.arrays(x=np.arange(60_000, dtype=np.float32)), chance.choice([16, 1024])
    return kind, fb.files(f"{data}/*.bin"), chance.choice([4, 16])


def generated(seed, data):
    """Kind, pipeline, options of the loader, seconds that the consumer takes for a batch."""
    chance = random.Random(seed)
    kind, pipeline, batch = source(chance, data)
    if chance.random() < 0.7:
        pipeline = pipeline.shuffle(block=2) if kind == "table" and chance.random() < 0.5 else pipeline.shuffle()
    code = chance.choice([None, None, waits, holds_the_lock]) if batch <= 16 else None
    if code:
        pipeline = pipeline.map(code)
    options = {"threads": chance.choice([1, 2, 3, "auto"]), "seed": seed}
    if chance.random() < 0.4 and kind != "arrays":
        options["storage_options"] = {"imitate_latency_ms": chance.choice(["1", "4"])}
    return kind, pipeline.batch(batch), options, chance.choice([0, 0, 0.002])


def cpu_of_compute_threads():
    """By the kernel, in seconds: {thread: seconds}."""
    found = {}
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            if (task / "comm").read_text() == "forebay-compute\n":
                found[task.name] = int((task / "schedstat").read_text().split()[0]) * 1e-9
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found


def check_a_wait(before, after, measured, where):
    """Of one batch: its parts, and what the consumer's own clock says."""
    waited = after["consumer_wait_seconds"] - before["consumer_wait_seconds"]
    parts = sum(after["wait_seconds"].values()) - sum(before["wait_seconds"].values())
    assert parts == pytest.approx(waited, abs=1e-6), where
    assert 0 <= waited <= measured + 1e-6, where
    return measured - waited


def check_threads(stats, where):
    had = stats["threads"] * stats["elapsed_seconds"]
    assert sum(stats["thread_seconds"].values()) == pytest.approx(had, rel=0.01, abs=1e-6), where
    assert min(stats["thread_seconds"].values()) >= 0, where
    # Idle wall time is that of threads that may work, idle CPU time that of those that did.
    at_work = {part: seconds for part, seconds in stats["thread_cpu_seconds"].items() if part != "idle"}
    assert min(at_work.values()) >= 0, where
    assert sum(at_work.values()) <= sum(stats["thread_seconds"][part] for part in at_work) * 1.001 + 1e-5, where


@pytest.mark.parametrize("seed", range(RUNS))
def test_times_of_a_generated_run_add_up(seed, data):
    kind, pipeline, options, consumer_seconds = generated(seed, data)
    where = f"seed {seed}: {kind}, {options}, consumer {consumer_seconds} s"
    kernel_before = cpu_of_compute_threads()
    beside = []
    with fb.Loader(pipeline, **options) as loader:
        batches = (batch for _ in iter(int, 1) for batch in loader)  # epoch after epoch
        before, number, until = loader.stats(), 0, time.monotonic() + LEAST_SECONDS
        # Where other programs have the cores it takes longer until there is CPU time to compare.
        while number < LEAST_BATCHES or (number < MOST_BATCHES and (
            time.monotonic() < until or (time.monotonic() < until + 5 and cpu_since(kernel_before) < 1.5 * LEAST_CPU_SECONDS)
        )):
            number += 1
            begun = time.monotonic()
            next(batches)
            measured = time.monotonic() - begun
            after = loader.stats()
            beside.append(check_a_wait(before, after, measured, where))
            check_threads(after, where)
            before = after
            time.sleep(consumer_seconds)
        # What has ended is counted; what still runs is the kernel's alone: wait until all that was begun ahead is done.
        settled = wait_until_settled(loader)
        kernel = cpu_since(kernel_before)
    ours = sum(settled["thread_cpu_seconds"].values())
    steps = sum(step["busy_seconds"] for step in settled["steps"])
    # What is beside the wait is the hand-over, which other work of the machine only lengthens.
    assert sorted(beside)[len(beside) // 4] <= 0.001, (where, beside)
    assert ours <= kernel * 1.01 + 0.002, (where, ours, kernel)
    assert steps <= (settled["thread_cpu_seconds"]["rows"] + settled["thread_cpu_seconds"]["row_groups"]) * 1.01 + 0.002, where
    compared.append(kernel >= LEAST_CPU_SECONDS)
    print(f"{where}: CPU {ours:.4f} s of the kernel's {kernel:.4f} s ({ours / kernel:.3f}), steps {steps:.4f} s")
    if kernel >= LEAST_CPU_SECONDS:
        assert ours >= kernel * 0.97, (where, ours, kernel)


def cpu_since(before):
    return sum(seconds - before.get(thread, 0) for thread, seconds in cpu_of_compute_threads().items())


def test_most_runs_had_something_to_compare():
    assert len(compared) < RUNS or sum(compared) >= RUNS / 2, "the generated runs have become too short"


def wait_until_settled(loader, timeout_s=10):
    """stats(), when what is begun ahead has ended: no compute thread has taken CPU time between two looks."""
    last, until = None, time.monotonic() + timeout_s
    while time.monotonic() < until:
        now = sum(cpu_of_compute_threads().values())
        if now == last:
            break
        last = now
        time.sleep(0.01)
    return loader.stats()
