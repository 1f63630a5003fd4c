"""What columns of every type become, against pyarrow's reading; and that the order of imports does not matter."""
import csv
import datetime
import math
import subprocess
import sys

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def whole(source):
    """All rows of a source as one batch."""
    with fb.Loader(source.batch(1 << 20), epochs=1) as loader:
        return next(iter(loader))


def ragged(pair):
    values, offsets = pair
    return [values[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:], strict=True)]


def written(tmp_path, **columns):
    path = tmp_path / "table.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64", "float16", "float32", "float64", "bool"])
def test_numbers_keep_their_type_and_value(tmp_path, dtype):
    values = np.array([0, 1, 2, 100, 0, 7]).astype(dtype)
    batch = whole(fb.parquet(written(tmp_path, x=pa.array(values))))
    assert batch["x"].dtype == values.dtype
    np.testing.assert_array_equal(batch["x"], values)


def test_times_are_what_numpy_views_them_as(tmp_path):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
    batch = whole(fb.parquet(written(
        tmp_path, day=pa.array([moment.date()]), at=pa.array([moment], pa.timestamp("us")),
        ago=pa.array([datetime.timedelta(seconds=5)], pa.duration("ms")))))
    assert batch["day"].view("datetime64[D]")[0] == np.datetime64("2026-01-02")
    assert batch["at"].view("datetime64[us]")[0] == np.datetime64(moment)
    assert batch["ago"].view("timedelta64[ms]")[0] == np.timedelta64(5000, "ms")


def test_texts_bytes_and_dictionaries_give_their_values(tmp_path):
    batch = whole(fb.parquet(written(
        tmp_path, t=["a", "", "ünï"], b=pa.array([b"\0\1", b"", b"x"], pa.binary()),
        d=pa.array(["u", "v", "u"]).dictionary_encode())))
    assert list(batch["t"]) == ["a", "", "ünï"]
    assert list(batch["b"]) == [b"\0\1", b"", b"x"]
    assert list(batch["d"]) == ["u", "v", "u"]


def test_nested_columns_become_the_fields_that_the_page_on_tables_says(tmp_path):
    batch = whole(fb.parquet(written(
        tmp_path,
        l=[[1, 2], []], v=pa.array([[1, 2, 3], [4, 5, 6]], pa.list_(pa.float32(), 3)),
        p=[{"x": 1, "y": "a"}, {"x": 2, "y": "b"}],
        m=pa.array([[("k", 1)], [("l", 2), ("m", 3)]], pa.map_(pa.string(), pa.int32())),
        n=[[[1], [2, 3]], [[]]], s=[["ab", ""], ["c"]])))
    assert ragged(batch["l"]) == [[1, 2], []]
    np.testing.assert_array_equal(batch["v"], np.array([[1, 2, 3], [4, 5, 6]], np.float32))
    assert batch["p.x"].tolist() == [1, 2]
    assert list(batch["p.y"]) == ["a", "b"]
    assert batch["m.key"] == [["k"], ["l", "m"]]
    assert ragged(batch["m.value"]) == [[1], [2, 3]]
    assert ragged(batch["n"]) == [[1, 2, 3], []]
    assert ragged(batch["n.lengths"]) == [[1, 2], [0]]
    assert batch["s"] == [["ab", ""], ["c"]]
    assert "s.lengths" not in batch


def test_tables_in_memory_give_what_files_give(tmp_path):
    table = pa.table({"x": [1, 2, 3], "t": ["a", "b", "c"], "l": [[1.5], [], [2.5, 3.5]]})
    path = tmp_path / "table.arrow"
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    for source in (fb.arrow(table), fb.arrow(str(path))):
        batch = whole(source)
        assert batch["x"].tolist() == [1, 2, 3]
        assert list(batch["t"]) == ["a", "b", "c"]
        assert ragged(batch["l"]) == [[1.5], [], [2.5, 3.5]]


@pytest.mark.parametrize("name", ["delta_binary_packed", "delta_byte_array", "delta_encoding_optional_column",
                                  "delta_encoding_required_column"])
def test_the_expected_values_of_the_format_s_own_files_come_out(shared, name):
    folder = shared / "parquet" / "parquet-testing"
    batch = whole(fb.parquet(str(folder / f"{name}.parquet"), null=fb.NULL_MASK))
    with open(folder / f"{name}_expect.csv", newline="") as file:
        header, *rows = csv.reader(file)
    assert rows
    checked = 0
    for column, title in enumerate(header):
        field = title.strip() if title.strip() in batch else f"{title.strip()}:"  # one file has colons in its names
        values = batch[field]
        there = batch[f"{field}_valid"] if f"{field}_valid" in batch else np.ones(len(rows), bool)
        assert len(values) == len(rows)
        for value, valid, row in zip(values, there, rows, strict=True):
            if not valid:
                assert row[column] in ("", "NULL", "null")
            else:
                assert value == type(value)(row[column])
            checked += 1
    assert checked == len(rows) * len(header)


def test_floats_of_real_files_are_equal_to_the_bit(shared):
    path = shared / "parquet" / "parquet-testing" / "alltypes_tiny_pages.parquet"
    batch, table = whole(fb.parquet(str(path), null=fb.NULL_MASK)), pq.read_table(path)
    for name in ("float_col", "double_col"):
        expected = table[name].to_pylist()
        assert all(v == e or (e is None) or math.isnan(e) for v, e in zip(batch[name].tolist(), expected, strict=True))


@pytest.mark.parametrize("before, after", [("", ""), ("import pyarrow", ""), ("import pyarrow.dataset, numpy", ""),
                                           ("", "import pyarrow.parquet")])
def test_the_order_of_imports_does_not_matter(tmp_path, before, after):
    path = written(tmp_path, x=[1, 2, 3])
    code = f"""
{before}
import sys
import forebay as fb
assert {bool(before)} or "pyarrow" not in sys.modules
with fb.Loader(fb.parquet({path!r}).batch(3), epochs=1) as loader:
    assert next(iter(loader))["x"].tolist() == [1, 2, 3]
{after}
import pyarrow.parquet
assert pyarrow.parquet.read_table({path!r}).num_rows == 3
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


def test_a_column_comes_before_a_member_of_a_struct_with_its_whole_name_and_that_is_told(tmp_path):
    both = pa.table([pa.array([{"b": 1, "c": 5}, {"b": 2, "c": 6}]), pa.array([10, 20])], names=["a", "a.b"])
    pq.write_table(both, tmp_path / "both.parquet")
    with pa.OSFile(str(tmp_path / "both.arrow"), "wb") as file, pa.ipc.new_file(file, both.schema) as writer:
        writer.write_table(both)
    for source in (lambda **how: fb.parquet(tmp_path / "both.parquet", **how), lambda **how: fb.arrow(tmp_path / "both.arrow", **how),
                   lambda **how: fb.arrow(both, **how)):
        for columns, expected in [(None, {"a.b": [10, 20], "a.c": [5, 6]}), (["a"], {"a.c": [5, 6]}), (["a.b"], {"a.b": [10, 20]})]:
            with pytest.warns(fb.DataWarning, match=r"'a\.b'"), fb.Loader(source(columns=columns).batch(2), epochs=1) as loader:
                (told,) = loader.warnings()
                assert (told["kind"], told["count"], told["first"]) == ("twofold_names", 1, "a.b")
                assert {name: batch[name].tolist() for batch in loader for name in batch} == expected
    with fb.Loader(fb.arrow(both.select(["a"])).batch(2), epochs=1) as loader:
        assert not loader.warnings()


def as_footer_number(value):
    """A number in Parquet's footer: zigzag, in groups of seven bits."""
    value, groups = 2 * value, []
    while value >= 128:
        groups.append(value % 128 + 128)
        value //= 128
    return bytes([*groups, value])


@pytest.mark.skipif(int(pa.__version__.split(".")[0]) < 21, reason="pyarrow before 21 has no 64-bit offsets for them")
@pytest.mark.parametrize("type", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
@pytest.mark.parametrize("layout", ["struct", "list", "list of structs"])
def test_strings_in_structs_and_lists_that_a_row_group_has_more_than_2_gib_of(tmp_path, type, layout):
    """The footer says that there are 3 GiB, so they are read as such are: without the Arrow schema that the writer kept."""
    texts = [("é" * (i % 7)).encode() if i % 5 else None for i in range(3000)]
    values = pa.array([text if text is None or "binary" in str(type) else text.decode() for text in texts], type)
    struct = pa.StructArray.from_arrays([values, pa.array(range(3000), pa.int16())], names=["bytes", "n"])
    column = struct if layout == "struct" else pa.ListArray.from_arrays(pa.array(range(0, 3001, 3), pa.int32()), values if layout == "list" else struct)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": column}), path)
    plain = fb.parquet(path, null="?" if "string" in str(type) else fb.NULL_MASK).batch(1000)
    with fb.Loader(plain, epochs=1) as loader:
        expected = fb.digest(loader)
    file = path.read_bytes()
    size = sum(len(text) for text in texts if text)
    footer = file[-8 - int.from_bytes(file[-8:-4], "little"):-8]
    assert footer.count(as_footer_number(size)) == 1, "of the bytes of the strings"
    grown = footer.replace(as_footer_number(size), as_footer_number(3 << 30))
    path.write_bytes(file[:-8 - len(footer)] + grown + len(grown).to_bytes(4, "little") + b"PAR1")
    with fb.Loader(plain, epochs=1, memory="40GiB") as loader:
        assert fb.digest(loader) == expected
