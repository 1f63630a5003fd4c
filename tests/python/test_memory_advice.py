"""What OutOfBudget advises is enough: no hang, no second refusal, the same bytes as with plenty of memory."""
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from random_memory import LIMIT_S, advised, run

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PROGRAM = Path(__file__).with_name("random_memory.py")


@pytest.mark.parametrize("begin", range(0, 80, 20))
def test_random_pipelines_run_with_exactly_what_is_advised(begin):
    """Each seed has a time limit of its own, so a hang ends with that seed's number and the stacks of all threads. Many more:
    `python tests/python/random_memory.py 1000 9000`."""
    done = subprocess.run([sys.executable, str(PROGRAM), str(begin), str(begin + 20)], capture_output=True, text=True,
                          timeout=20 * LIMIT_S + 60)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-6000:]


def one_row_groups(folder, rows=60, **columns):
    path = folder / "rows.parquet"
    pq.write_table(pa.table({"id": np.arange(rows), **columns}), path, row_group_size=1)
    return fb.parquet(str(path))


def memory_that_is_enough(pipeline, **options):
    """The first figure, which has to be the last."""
    got, needed = advised(pipeline, 1, **options)
    assert got is None
    got, more = advised(pipeline, needed, **options)
    assert more is None, f"{needed} was advised, then {more}"
    assert got == run(pipeline, **options)
    return needed


@pytest.mark.parametrize("lanes", [1, 3])
@pytest.mark.parametrize("batch", [1, 7, 50])
def test_row_groups_of_one_row(tmp_path, batch, lanes):
    pipeline = one_row_groups(tmp_path, text=["x" * 80] * 60).shuffle(block=1, lanes=lanes).batch(batch)
    needed = memory_that_is_enough(pipeline, threads=4)
    for memory in range(needed // 4, needed, needed // 40):  # less may do, and otherwise is told of
        got, more = advised(pipeline, memory, threads=4)
        assert got or more <= needed


def test_rows_far_longer_than_the_others(tmp_path):
    texts = ["x" * (300_000 if i in (17, 18, 41) else 3) for i in range(60)]
    memory_that_is_enough(one_row_groups(tmp_path, text=texts).shuffle(block=1, lanes=3).batch(10), threads=2)


def test_lists_of_strings_whose_offsets_are_most_of_what_there_is(tmp_path):
    tags = [["", "x"] * (2_000 if i % 20 == 7 else i % 3) for i in range(60)]
    pipeline = one_row_groups(tmp_path, tags=tags)
    for steps in (pipeline.shuffle(block=1, lanes=3), pipeline.shuffle(block=4).map(lambda sample: sample)):
        memory_that_is_enough(steps.batch(10), threads=2)


def test_pictures_that_are_made_on_the_way():
    pixels = np.random.default_rng(0).integers(0, 255, (3, 10, 9, 4), "u1")
    for batch in (1, 2, 64):
        memory_that_is_enough(fb.arrays(image=pixels).resize([29, 27]).resize(5).batch(batch, last="pad"), threads=1)


def test_columns_that_grow(tmp_path):
    lists = pa.array([np.arange(i * 40 % 900, dtype="u1") for i in range(60)], pa.list_(pa.uint8()))
    pipeline = one_row_groups(tmp_path, l=lists).cast("float64", field="l").cast("float64", field="id").shuffle(block=2).batch(20)
    memory_that_is_enough(pipeline, threads=2)


@pytest.mark.parametrize("steps", [
    lambda p: p.resize(40, field="x"), lambda p: p.resize((3, 90), field="x").color_jitter(0.5, 0.5, 0.5, 0.2, field="x"),
    lambda p: p.random_resized_crop(64, field="x").normalize(fb.IMAGENET, field="x"),
    lambda p: p.resize(90, field="x").resize(5, field="x").cast("float64", field="x"),
])
def test_arrays_whose_operators_need_memory_to_work_in(steps):
    memory_that_is_enough(steps(fb.arrays(x=np.random.default_rng(1).integers(0, 255, (20, 70, 50, 3), "u1"))).batch(4), threads=3)


def test_files_of_very_different_sizes(tmp_path):
    for number in range(30):
        (tmp_path / f"{number:02}.bin").write_bytes(bytes(400_000 if number == 21 else number))
    memory_that_is_enough(fb.files(str(tmp_path / "*.bin")).shuffle().batch(8), threads=2)
