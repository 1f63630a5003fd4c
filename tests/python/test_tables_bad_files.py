"""Tables that are damaged: an error that names the file, or the policy for bad samples, never a crash or memory beyond the budget."""
import shutil

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def read_all(path, **options):
    """Rows delivered, and errors told, of one epoch."""
    with fb.Loader(fb.parquet(str(path), null=fb.NULL_MASK).batch(100), epochs=1, **options) as loader:
        return sum(len(batch) for batch in loader), loader.stats()["errors"]


def test_no_damaged_file_of_the_collections_does_worse_than_an_error(shared, tmp_path):
    files = sorted((shared / "malformed" / "parquet").glob("*.parquet")) + sorted(
        file for file in (shared / "malformed" / "parquet-fuzz").iterdir() if file.is_file())
    assert len(files) > 40
    told = 0
    for file in files:
        copy = tmp_path / "damaged.parquet"
        shutil.copy(file, copy)
        for policy in ("raise", "skip"):
            try:
                read_all(copy, on_error=policy, memory="256MiB")
            except fb.Error as error:
                told += 1
                assert "damaged.parquet" in str(error) or isinstance(error, (fb.OutOfBudget, fb.InvalidArgument)), str(error)
    assert told > 40


@pytest.fixture
def folder(tmp_path):
    """Three files of four row groups of 50 rows."""
    for number in range(3):
        rows = np.arange(number * 200, number * 200 + 200)
        pq.write_table(pa.table({"id": rows, "x": rows * 0.5}), tmp_path / f"{number}.parquet", row_group_size=50,
                       use_dictionary=False, compression="zstd", write_page_checksum=True)
    return tmp_path


def damage(file, row_group):
    """Bytes in the middle of a row group's pages."""
    place = pq.read_metadata(file).row_group(row_group).column(0)
    data = bytearray(file.read_bytes())
    begin = place.data_page_offset + place.total_compressed_size // 3
    data[begin: begin + 16] = b"\xff" * 16
    file.write_bytes(data)


def test_a_damaged_row_group_is_named_and_costs_its_own_rows_alone(folder):
    damage(folder / "1.parquet", 2)
    with fb.Loader(fb.parquet(str(folder)).shuffle(block=3).batch(32), seed=3, on_error="skip", epochs=1) as loader:
        ids = np.concatenate([batch["id"] for batch in loader])
        errors = loader.errors()
    assert sorted(ids.tolist()) == [i for i in range(600) if not 300 <= i < 350]
    assert len(errors) == 50 and all("1.parquet" in one["key"] + one["message"] for one in errors)
    with fb.Loader(fb.parquet(str(folder)).batch(600), epochs=1) as loader, pytest.raises(fb.Corrupt) as raised:
        next(iter(loader))
    assert "1.parquet" in str(raised.value)


def test_replacements_for_a_damaged_row_group_come_from_the_same_block_and_stay_the_same(folder):
    damage(folder / "0.parquet", 0)
    seen = []
    for threads in (1, 8):
        pipeline = fb.parquet(str(folder)).shuffle(block=4).batch(32)
        with fb.Loader(pipeline, seed=3, on_error="replace", epochs=1, threads=threads) as loader:
            seen.append(np.concatenate([batch["id"] for batch in loader]))
    assert len(seen[0]) == 600 and np.array_equal(seen[0], seen[1])
    assert seen[0].min() >= 50


@pytest.mark.parametrize("keep", [0, 3, 100, -1, -9])
def test_a_file_that_was_cut_short_is_told_when_it_is_opened(folder, keep):
    file = folder / "2.parquet"
    data = file.read_bytes()
    file.write_bytes(data[:keep])
    with pytest.raises(fb.Error) as raised:
        fb.Loader(fb.parquet(str(folder)).batch(4))
    assert "2.parquet" in str(raised.value)


def test_a_null_is_an_error_of_its_row_unless_something_is_said(tmp_path):
    pq.write_table(pa.table({"id": range(6), "x": [1.0, None, 3.0, 4.0, None, 6.0]}), tmp_path / "n.parquet")
    path = str(tmp_path / "n.parquet")
    with fb.Loader(fb.parquet(path).batch(6)) as loader, pytest.raises(fb.Error) as raised:
        next(iter(loader))
    assert "'x'" in str(raised.value) and "null=" in str(raised.value)
    with fb.Loader(fb.parquet(path).batch(6), on_error="skip") as loader:
        assert next(iter(loader))["id"].tolist() == [0, 2, 3, 5]
    with fb.Loader(fb.parquet(path, null=-1).batch(6)) as loader:
        assert next(iter(loader))["x"].tolist() == [1, -1, 3, 4, -1, 6]
    with fb.Loader(fb.parquet(path, null=fb.NULL_MASK).batch(6)) as loader:
        batch = next(iter(loader))
        assert batch["x_valid"].tolist() == [True, False, True, True, False, True]
