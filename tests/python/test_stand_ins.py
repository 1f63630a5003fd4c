"""`replace` over tables where nothing of a row group, or of a whole block of them, can be read."""
import numpy as np
import pytest
from test_tables_bad_files import damage

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

GROUP = 20


def write(folder, groups, bad):
    """A table of row groups of 20 rows, with text and lists; those of `bad` are damaged."""
    rows = np.arange(groups * GROUP)
    columns = {"id": rows, "x": np.random.default_rng(1).random(len(rows)), "text": [f"row {i}" for i in rows],
               "list": pa.array([list(range(i % 4)) for i in rows], pa.list_(pa.int32()))}
    pq.write_table(pa.table(columns), folder / "t.parquet", row_group_size=GROUP, use_dictionary=False, compression="zstd",
                   write_page_checksum=True)
    for group in bad:
        damage(folder / "t.parquet", group)
    return fb.parquet(str(folder / "t.parquet"))


def contents(pipeline, world_size=1, **options):
    """Rows by their place in the global order: id, text, list."""
    parts = []
    for rank in range(world_size):
        with fb.Loader(pipeline, seed=3, on_error="replace", epochs=1, rank=rank, world_size=world_size, **options) as loader:
            for batch in loader:
                values, offsets = batch["list"]
                rows = zip(batch["id"].tolist(), batch["text"], (values[a:b].tolist() for a, b in zip(offsets, offsets[1:])))
                parts.append((batch.step, rank, list(rows)))
            errors = loader.errors()
    return [row for _, _, rows in sorted(parts, key=lambda part: part[:2]) for row in rows], errors


SHUFFLES = {
    "unshuffled": lambda p: p,
    "blocks of one": lambda p: p.shuffle(block=1),
    "blocks of two": lambda p: p.shuffle(block=2),
    "lanes of a row group": lambda p: p.shuffle(block=1, lanes=3),
    "row by row": lambda p: p.map(lambda s: {"x": s["x"]}, fields="x"),
    "row by row, shuffled": lambda p: p.shuffle(block=1).map(lambda s: {"x": s["x"]}, fields="x"),
}


@pytest.mark.parametrize("shuffled", SHUFFLES)
@pytest.mark.parametrize("bad", [(0,), (3,), (5,), (1, 2), (0, 5), (0, 1, 2, 3, 5)])
def test_replacements_for_whole_row_groups_come_from_elsewhere(tmp_path, bad, shuffled):
    pipeline = SHUFFLES[shuffled](write(tmp_path, 6, bad))
    expected, errors = contents(pipeline.batch(16), threads=1)
    assert len(expected) == 120 and len(errors) == GROUP * len(bad)
    assert not {row[0] // GROUP for row in expected} & set(bad)
    for number, text, values in expected:
        assert text == f"row {number}" and values == list(range(number % 4))
    assert contents(pipeline.batch(16), threads=4)[0] == expected
    assert contents(pipeline.batch(7), threads=2)[0] == expected
    assert contents(pipeline.batch(120), threads=2)[0] == expected


@pytest.mark.parametrize("shuffled", SHUFFLES)
def test_they_are_the_same_for_any_number_of_ranks(tmp_path, shuffled):
    pipeline = SHUFFLES[shuffled](write(tmp_path, 6, (0, 3)))
    digests = set()
    for world_size in (1, 2, 3):
        loaders = [fb.Loader(pipeline.batch(10), seed=3, on_error="replace", rank=rank, world_size=world_size)
                   for rank in range(world_size)]
        digests.add(fb.digest(*loaders))
        for loader in loaders:
            loader.close()
    assert len(digests) == 1


def test_a_table_of_which_nothing_can_be_read_is_an_error(tmp_path):
    pipeline = write(tmp_path, 3, (0, 1, 2))
    with fb.Loader(pipeline.batch(8), on_error="replace", epochs=1) as loader, pytest.raises(fb.Corrupt):
        next(iter(loader))


def test_little_memory_changes_nothing(tmp_path):
    pipeline = write(tmp_path, 6, (1, 2)).shuffle(block=1).batch(16)
    expected, _ = contents(pipeline, threads=2)
    memory = 1
    while True:
        try:
            assert contents(pipeline, threads=2, memory=memory)[0] == expected
            break
        except fb.OutOfBudget as error:
            assert error.bytes_needed > memory
            memory = error.bytes_needed
