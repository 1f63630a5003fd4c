"""Text and bytes of tables: text that is not UTF-8, bytes that stand for nulls, and damage under a filter."""
import json

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow", reason="PYARROW ABSENT: tables were not tried")
pq = pytest.importorskip("pyarrow.parquet", reason="PYARROW ABSENT: tables were not tried")

BAD = [b"\xff", b"ab\xc3", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf4\x90\x80\x80", b"\x80"]


def text_array(values, dictionary=False):
    """Strings as Arrow keeps them, whatever their bytes."""
    array = pa.array(values, pa.binary()).view(pa.string())
    return array.dictionary_encode() if dictionary else array


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return str(path)


def ids(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        rows = [int(i) for batch in loader for i in batch.ids[: len(batch) - batch.padding]]
        return rows, loader.errors()


@pytest.mark.parametrize("bad", BAD)
def test_text_that_is_not_utf8_is_corrupt_with_its_place(tmp_path, bad):
    values = [b"plain", "größe".encode(), bad, "日本".encode()]
    path = write(tmp_path / "a.parquet", {"s": text_array(values), "n": range(4)}, row_group_size=4)
    with fb.Loader(fb.parquet(path).batch(4), epochs=1) as loader, pytest.raises(fb.Corrupt) as raised:
        next(iter(loader))
    for part in ("a.parquet row 2", "'s'", "UTF-8"):
        assert part in str(raised.value)


@pytest.mark.parametrize("dictionary", [False, True])
def test_the_policy_acts_on_rows_of_bad_text(tmp_path, dictionary):
    values = [b"\xfe" if i % 10 == 3 else f"é{i % 5}".encode() for i in range(100)]
    path = write(tmp_path / "a.parquet", {"s": text_array(values), "n": range(100)}, row_group_size=20, use_dictionary=dictionary)
    rows, errors = ids(fb.parquet(path).shuffle().batch(8), on_error="skip", seed=1)
    assert sorted(rows) == [i for i in range(100) if i % 10 != 3] and len(errors) == 10
    with fb.Loader(fb.parquet(path).batch(100), epochs=1, on_error="replace") as loader:
        (batch,) = loader
    assert len(batch["s"]) == 100 and all(text.startswith("é") for text in batch["s"])
    assert ids(fb.parquet(path, ["n"]).batch(8))[0] == list(range(100))  # nobody looks at it


def test_halves_of_a_character_in_two_rows_are_no_text(tmp_path):
    values = [b"a\xc3", b"\xa9b", b"fine", "é".encode()]
    path = write(tmp_path / "a.parquet", {"s": text_array(values)})
    assert ids(fb.parquet(path).batch(4), on_error="skip")[0] == [2, 3]
    values = [b"x" * 61 + b"\xe2\x82", b"\xac" + b"y" * 64, b"\xe2\x82\xac" + b"z" * 200]
    path = write(tmp_path / "b.parquet", {"s": text_array(values)})
    assert ids(fb.parquet(path).batch(4), on_error="skip")[0] == [2]


def test_bad_text_in_tables_in_memory_and_arrow_files(tmp_path):
    table = pa.table({"s": text_array([b"a", b"\xff", b"b"]), "large": text_array([b"a", b"b", b"c"]).cast(pa.large_string())})
    assert ids(fb.arrow(table).batch(3), on_error="skip")[0] == [0, 2]
    with pa.ipc.new_file(str(tmp_path / "a.arrow"), table.schema) as writer:
        writer.write(table)
    assert ids(fb.arrow(str(tmp_path / "a.arrow")).batch(3), on_error="skip")[0] == [0, 2]


def test_bad_text_that_a_filter_looks_at_is_bad_even_where_it_is_not_read(tmp_path):
    path = write(tmp_path / "a.parquet", {"s": text_array([b"a", b"\xff", b"b", b"a"]), "n": range(4)})
    rows, errors = ids(fb.parquet(path, ["n"], [("s", "==", "a")]).batch(4), on_error="skip")
    assert rows == [0, 3] and len(errors) == 1 and "UTF-8" in errors[0]["message"]
    with pytest.raises(fb.Corrupt, match="UTF-8"):
        ids(fb.parquet(path, ["n"], [("s", "==", "a")]).batch(4))


def test_random_bytes_are_text_exactly_where_python_says_so(tmp_path):
    draw = np.random.Generator(np.random.Philox(7))
    alphabet = [b"a", b"z" * 70, "é".encode(), "€".encode(), "𝄞".encode(), b"\xe2\x82", b"\xf0\x9d", b"\x80", b"\xff", b""]
    chances = [0.3, 0.1, 0.25, 0.15, 0.1, 0.02, 0.02, 0.02, 0.02, 0.02]
    values = [b"".join(alphabet[i] for i in draw.choice(10, size=draw.integers(0, 6), p=chances)) for _ in range(2000)]
    path = write(tmp_path / "a.parquet", {"s": text_array(values)}, row_group_size=7)

    def is_text(value):
        try:
            return value.decode() is not None
        except UnicodeDecodeError:
            return False

    good = [i for i, value in enumerate(values) if is_text(value)]
    assert 0 < len(good) < 2000
    assert ids(fb.parquet(path).batch(64), on_error="skip")[0] == good


# Bytes for nulls

def test_bytes_stand_for_nulls_of_binary_columns(tmp_path):
    columns = {"b": pa.array([b"x", None, b"z"], pa.binary()), "f": pa.array([None, b"12", b"34"], pa.binary(2)),
               "s": pa.array(["a", "b", None]), "n": range(3)}
    path = write(tmp_path / "a.parquet", columns)
    pipeline = fb.parquet(path, null={"b": b"\x00\xff", "f": bytearray(b"zz"), "s": "none"}).batch(3)
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert json.loads(pipeline.to_json()) == json.loads(again.to_json())
    for one in (pipeline, again):
        with fb.Loader(one, epochs=1) as loader:
            (batch,) = loader
        assert batch["b"] == [b"x", b"\x00\xff", b"z"] and batch["f"] == [b"zz", b"12", b"34"]
        assert batch["s"] == ["a", "b", "none"]


def test_bytes_that_are_no_text_leave_text_alone(tmp_path):
    path = write(tmp_path / "a.parquet", {"b": pa.array([None, b"y"], pa.binary()), "s": pa.array(["a", None])})
    rows, errors = ids(fb.parquet(path, null=b"\xff").batch(2), on_error="skip")
    assert rows == [0] and "'s' is null" in errors[0]["message"]
    with pytest.raises(fb.InvalidArgument, match="'s'"):
        fb.Loader(fb.parquet(path, null={"s": b"\xff"}).batch(2))


# Damage under a filter

@pytest.fixture
def damaged(tmp_path):
    """Five row groups of twenty rows; the values of `key` in the third are damaged."""
    path = tmp_path / "a.parquet"
    draw = np.random.Generator(np.random.Philox(3))
    key = draw.permutation(100)
    pq.write_table(pa.table({"key": key, "n": range(100)}), path, row_group_size=20, use_dictionary=False, compression="zstd",
                   write_page_checksum=True)
    place = pq.ParquetFile(path).metadata.row_group(2).column(0)
    data = bytearray(path.read_bytes())
    middle = place.data_page_offset + place.total_compressed_size * 2 // 3
    data[middle : middle + 8] = bytes(byte ^ 0xFF for byte in data[middle : middle + 8])
    path.write_bytes(data)
    return str(path), key


@pytest.mark.parametrize("columns", [None, ["n"]])
def test_damage_under_a_filter_goes_by_the_policy(damaged, columns):
    path, key = damaged
    pipeline = fb.parquet(path, columns, [("key", ">=", 50)]).batch(8)
    rows, errors = ids(pipeline, on_error="skip")
    assert rows == [i for i in range(100) if key[i] >= 50 and not 40 <= i < 60]
    assert len(errors) == 20 and all("row group 2" in one["key"] + one["message"] for one in errors)
    with pytest.raises(fb.Corrupt, match="row group 2"):
        ids(pipeline)
    with pytest.raises(fb.Error):
        ids(pipeline, on_error="skip", max_errors=10)


def test_damage_under_a_filter_stays_out_of_shared_caches(damaged, tmp_path):
    path, key = damaged
    cached = dict(ram=0, disk=64 << 20, dir=str(tmp_path / "cache"))
    everything = fb.parquet(path, ["n"]).cache(**cached).batch(8)
    assert ids(everything)[0] == list(range(100))
    filtered = fb.parquet(path, ["n"], [("key", ">=", 50)]).cache(**cached).batch(8)
    assert len(ids(filtered, on_error="skip")[1]) == 20
    assert ids(everything)[0] == list(range(100))
