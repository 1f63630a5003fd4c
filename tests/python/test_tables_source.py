"""Parquet and Arrow sources: which rows there are, under which ids and names, and what is told where files are not one table."""
import datetime
import functools
import http.server
import itertools
import json
import threading

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow", reason="PYARROW ABSENT: tables were not tried")
pq = pytest.importorskip("pyarrow.parquet", reason="PYARROW ABSENT: tables were not tried")
ds = pytest.importorskip("pyarrow.dataset", reason="PYARROW ABSENT: tables were not tried")

DAY = datetime.date(2026, 1, 1)


def column(batches, name):
    """All rows of one field, as a list."""
    rows = []
    for batch in batches:
        values = batch[name]
        rows += list(values) if isinstance(values, list) else values.tolist()
    return rows


def read(pipeline, *names):
    """The ids of the epoch, and the fields named, as lists."""
    with fb.Loader(pipeline.batch(64), epochs=1) as loader:
        batches = list(loader)
        assert len(batches) == len(loader)
    return [column([{"id": batch.ids} for batch in batches], "id")] + [column(batches, name) for name in names]


def refused(kind, pipeline, *parts):
    """What opening raises."""
    with pytest.raises(kind) as caught:
        fb.Loader(pipeline.batch(4))
    for part in parts:
        assert part in str(caught.value)
    return str(caught.value)


def rows(begin, end):
    """`n` is the number of the row; the other columns follow it, some with nulls."""
    numbers = list(range(begin, end))
    return pa.table({
        "n": pa.array(numbers, pa.int64()),
        "small": pa.array([None if i % 7 == 0 else i % 5 for i in numbers], pa.int8()),
        "big": pa.array([2**63 + i for i in numbers], pa.uint64()),
        "real": pa.array([float("nan") if i % 11 == 0 else i / 4 for i in numbers], pa.float32()),
        "flag": pa.array([i % 3 == 0 for i in numbers]),
        "name": pa.array([None if i % 13 == 0 else f"row {i:04}" for i in numbers]),
        "day": pa.array([DAY + datetime.timedelta(days=i // 10) for i in numbers]),
        "at": pa.array([datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=i) for i in numbers], pa.timestamp("ms")),
    })


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """600 rows in folders by kind and month; files come in another order than their rows were made."""
    root = tmp_path_factory.mktemp("source") / "table"
    for i, (kind, month) in enumerate(itertools.product(["b", "a c", "__HIVE_DEFAULT_PARTITION__"], [1, 12])):
        folder = root / f"kind={kind.replace(' ', '%20')}" / f"month={month:02}"
        folder.mkdir(parents=True)
        pq.write_table(rows(i * 100, i * 100 + 100), folder / "part.parquet", row_group_size=33)
    (root / "_SUCCESS").touch()
    (root / "._SUCCESS.crc").write_bytes(b"crc")
    (root / "_temporary").mkdir()
    (root / "_temporary" / "half.parquet").write_bytes(b"PAR1")
    return root


MASKED = {"null": fb.NULL_MASK}

FILTERS = [
    [("n", "<", 17)],
    [("n", ">=", 95.5), ("n", "<=", 205)],
    [("n", "in", [5, 599, 10_000, 333])],
    [("n", "not in", list(range(10, 590)))],
    [("small", "==", 3)],
    [("small", "!=", 3)],
    [("real", "<", 10.0)],
    [("real", "!=", 2.5), ("n", "<", 40)],
    [("flag", "==", True)],
    [("name", ">=", "row 0590")],
    [("name", "in", {"row 0001", "row 0599", "none"})],
    [("day", ">=", datetime.date(2026, 2, 20))],
    [("at", "<", datetime.datetime(2026, 1, 2, 5))],
    [("kind", "==", "a c"), ("n", ">", 250)],
    [("month", "==", 12), ("n", "<", 150)],
    [[("kind", "==", "b"), ("n", "<", 3)], [("month", "==", 1), ("n", ">=", 490)]],
    [("n", ">", 10_000)],
]


@pytest.mark.parametrize("filter", FILTERS, ids=map(str, range(len(FILTERS))))
def test_a_filter_keeps_the_rows_that_pyarrow_keeps(table, filter):
    dataset = ds.dataset(table, partitioning=ds.partitioning(pa.schema([("kind", pa.string()), ("month", pa.int32())]),
                                                             flavor="hive"))
    expected = sorted(dataset.to_table(filter=pq.filters_to_expression(plain(filter)))["n"].to_pylist())
    if not expected:
        with fb.Loader(fb.parquet(table, ["n"], filter, **MASKED).batch(64), epochs=1) as loader:
            assert len(loader) == 0 and list(loader) == []
        return
    ids, numbers = read(fb.parquet(table, ["n"], filter, **MASKED), "n")
    assert sorted(numbers) == expected

    # Ids are those of the whole table.
    all_ids, all_numbers = read(fb.parquet(table, ["n"]), "n")
    number_of = dict(zip(all_ids, all_numbers))
    assert [number_of[i] for i in ids] == numbers


def plain(filter):
    """As pyarrow wants it: lists instead of sets."""
    if isinstance(filter, tuple):
        return tuple(list(part) if isinstance(part, set) else part for part in filter)
    return [plain(part) for part in filter]


def test_unsigned_numbers_are_compared_as_what_they_are(table):
    assert len(read(fb.parquet(table, ["n"], [("big", ">", 100)]))[0]) == 600
    assert read(fb.parquet(table, ["n"], [("big", "<", 2.0**63 + 4096), ("n", "<", 3)]), "n")[1] == [0, 1, 2]
    assert read(fb.parquet(table, ["n"], [("big", "not in", [-1, 5]), ("n", "==", 7)]), "n")[1] == [7]


def test_filters_of_numpy_and_text_values_mean_the_same(table):
    kept = read(fb.parquet(table, ["n"], [("day", ">=", datetime.date(2026, 2, 20))]), "n")
    assert kept == read(fb.parquet(table, ["n"], [("day", ">=", "2026-02-20")]), "n")
    assert kept == read(fb.parquet(table, ["n"], [("day", ">=", np.datetime64("2026-02-20"))]), "n")
    assert kept == read(fb.parquet(table, ["n"], (("n", ">=", np.int32(500)),)), "n")


def test_files_come_in_byte_order_of_their_keys_and_folders_are_columns(table):
    ids, numbers, kinds, months, known = read(
        fb.parquet(table, ["n", "kind", "month"], **MASKED), "n", "kind", "month", "kind_valid")
    assert ids == list(range(600))
    order = [4, 5, 2, 3, 0, 1]  # "kind=__HIVE…", "kind=a%20c", "kind=b"
    assert numbers == [n for part in order for n in range(part * 100, part * 100 + 100)]
    assert kinds == [""] * 200 + ["a c"] * 200 + ["b"] * 200
    assert months == ([1] * 100 + [12] * 100) * 3
    assert known == [False] * 200 + [True] * 400


def test_a_null_folder_needs_a_policy_only_where_it_is_looked_at(table):
    refused(fb.InvalidArgument, fb.parquet(table), "kind", "is null", "NULL_MASK")
    assert len(read(fb.parquet(table, ["n"]))[0]) == 600
    assert len(read(fb.parquet(table, ["n", "kind"], [("kind", ">", "")]))[0]) == 400
    kinds = read(fb.parquet(table, ["kind"], null={"kind": "unknown"}), "kind")[1]
    assert kinds[0] == "unknown" and kinds[-1] == "b"


def test_one_name_a_pattern_a_folder_and_a_list(table, tmp_path):
    base = table / "kind=b"
    files = sorted(base.rglob("*.parquet"))
    for pattern in [base, f"{base}/", f"{base}/**/*.parquet", f"{base}/month={{01,12}}/part.parquet", files, files[::-1] + files,
                    [str(file) for file in files]]:
        ids, numbers, months = read(fb.parquet(pattern, ["n", "month"]), "n", "month")
        assert ids == numbers and numbers == list(range(200)), pattern
        assert months == [1] * 100 + [12] * 100
    assert read(fb.parquet(files[1], ["n"]), "n")[1] == list(range(100, 200))
    refused(fb.InvalidArgument, fb.parquet(files[1], ["month"]), "no column 'month'")


def test_nulls_follow_the_policy(table):
    file = table / "kind=b" / "month=01" / "part.parquet"
    small = pq.read_table(file)["small"].to_pylist()
    _, values, valid = read(fb.parquet(file, ["small"], null=fb.NULL_MASK), "small", "small_valid")
    assert values == [value or 0 for value in small] and valid == [value is not None for value in small]
    assert read(fb.parquet(file, ["small"], null={"small": -1}), "small")[1] == [-1 if value is None else value for value in small]
    with fb.Loader(fb.parquet(file, ["small"]).batch(100), epochs=1) as loader, pytest.raises(fb.Corrupt, match="small") as caught:
        next(iter(loader))
    assert "part.parquet row 0" in str(caught.value)
    with fb.Loader(fb.parquet(file, ["small"]).batch(100), epochs=1, on_error="skip") as loader:
        assert column(loader, "small") == [value for value in small if value is not None]
    refused(fb.InvalidArgument, fb.parquet(file, ["small"], null={"small": 1000}), "small", "1000")
    refused(fb.InvalidArgument, fb.parquet(file, ["small"], null=1000), "small", "1000")
    assert read(fb.parquet(file, ["n"], null=1000), "n")[1] == list(range(100)), "nobody asks what stands for nulls of `small`"


def test_what_is_not_one_table_is_told_all_at_once(tmp_path):
    pq.write_table(pa.table({"x": [1], "y": [1.0], "at": pa.array([1], pa.timestamp("ms"))}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["1"], "y": ["1.0"], "at": pa.array([1], pa.timestamp("us"))}), tmp_path / "b.parquet")
    text = refused(fb.InvalidArgument, fb.parquet(tmp_path), "a.parquet", "b.parquet", "columns=")
    for part in ["column 'x' as text", "has it as int64", "types={'x'"]:
        assert part in text
    refused(fb.InvalidArgument, fb.parquet(tmp_path, ["x"]), "column 'x' as text")

    pq.write_table(pa.table({"x": [1, 2], "q": [1, 2]}), tmp_path / "c.parquet")
    assert read(fb.parquet([tmp_path / "a.parquet", tmp_path / "c.parquet"], ["x"]), "x")[1] == [1, 1, 2]


def test_damaged_files_are_told_with_the_way_out(table, tmp_path):
    good = (table / "kind=b" / "month=01" / "part.parquet").read_bytes()
    (tmp_path / "good.parquet").write_bytes(good)
    for name, data in {"cut": good[:-100], "empty": b"", "text": b"not a table\n" * 100,
                       "footer": good[:-300] + bytes(292) + good[-8:]}.items():
        (tmp_path / f"{name}.parquet").write_bytes(data)
        refused(fb.Corrupt, fb.parquet(tmp_path / f"{name}.parquet"), f"{name}.parquet", "leave it out")
    refused(fb.Corrupt, fb.parquet(tmp_path), "4 of 5 files", "cut.parquet", "empty.parquet", "footer.parquet", "text.parquet")

    hurt = bytearray(good)
    hurt[4:2000] = bytes(1996)
    (tmp_path / "hurt.parquet").write_bytes(hurt)
    with fb.Loader(fb.parquet(tmp_path / "hurt.parquet", null=0).batch(100), epochs=1) as loader:
        with pytest.raises(fb.Corrupt, match=r"hurt\.parquet, row group 0"):
            next(iter(loader))


def test_mistakes_are_found_before_anything_is_read():
    def problem(pipeline):
        (found,) = pipeline.check()
        return f"{found.operator} {found.message} {found.remedy}"

    assert fb.parquet("no/such/folder", ["a"], [("a", "==", 1)], fb.NULL_MASK).check() == []
    assert "'~'" in problem(fb.parquet("x", filter=[("a", "~", 1)]))
    assert "no condition" in problem(fb.parquet("x", filter=["a", "==", 1]))
    assert "a list of values" in problem(fb.parquet("x", filter=[("a", "in", 1)]))
    assert "one value" in problem(fb.parquet("x", filter=[("a", "==", [1, 2])]))
    for wrong in [lambda: fb.parquet("x", filter=ds.field("a") == 1), lambda: fb.parquet("x", filter=[("a", "==", b"bytes")]),
                  lambda: fb.parquet("x", null=object()), lambda: fb.arrow(17), lambda: fb.arrow([1, 2])]:
        with pytest.raises(fb.InvalidArgument):
            wrong()
    refused(fb.NotFound, fb.parquet("no/such/folder/*.parquet"), "nothing matches", "no/such/folder")
    refused(fb.InvalidArgument, fb.parquet(""), "nothing is given")


def test_wrong_columns_and_values_are_named(table):
    file = table / "kind=b" / "month=01" / "part.parquet"
    refused(fb.InvalidArgument, fb.parquet(file, ["smal"]), "no column 'smal'", "did you mean 'small'")
    refused(fb.InvalidArgument, fb.parquet(file, filter=[("nm", "==", 1)]), "no column 'nm'")
    refused(fb.InvalidArgument, fb.parquet(file, filter=[("n", "==", "one")]), "n: int64", "'one'")
    refused(fb.InvalidArgument, fb.parquet(file, filter=[("name", "==", 1)]), "name: text", "give a text")
    refused(fb.InvalidArgument, fb.parquet(file, filter=[("day", "==", "soon")]), "'2026-01-31'")


def test_a_description_says_all_of_it_again(table):
    pipeline = fb.parquet(table, ["n", "kind"], [("n", "in", [3, 1]), ("real", "<", float("inf"))], null={"kind": "error"}).batch(8)
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert str(again) == str(pipeline)
    assert json.loads(pipeline.to_json())["steps"][0]["columns"] == ["n", "kind"]
    with fb.Loader(pipeline, epochs=1) as one, fb.Loader(again, epochs=1) as two:
        assert one.fingerprint == two.fingerprint
        assert fb.digest(one) == fb.digest(two)
    with fb.Loader(fb.parquet(table, ["n", "kind"], null="x").batch(8)) as other, fb.Loader(pipeline) as loader:
        assert other.fingerprint != loader.fingerprint


def stream(table):
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=50))


@pytest.mark.parametrize("given", [
    lambda t: t, lambda t: t.to_batches()[0], stream, lambda t: t.to_batches(max_chunksize=33), lambda t: [t.slice(0, 90), t.slice(90)],
    lambda t: pytest.importorskip("pandas", reason="PANDAS ABSENT") and t.to_pandas(),
    lambda t: pytest.importorskip("polars", reason="POLARS ABSENT").from_arrow(t),
    lambda t: pytest.importorskip("duckdb", reason="DUCKDB ABSENT").from_arrow(t),
], ids=["table", "record batch", "reader", "batches", "tables", "pandas", "polars", "duckdb"])
def test_tables_in_memory_come_from_everywhere(given):
    made = rows(0, 200).select(["n", "flag"])
    made = made.append_column("text", pa.array([f"text {i}" for i in range(200)]))
    pipeline = fb.arrow(given(made))
    for _ in range(2):  # what was a stream can be opened again
        ids, numbers, texts, flags = read(pipeline, "n", "text", "flag")
        assert ids == numbers == list(range(200))
        assert texts == made["text"].to_pylist() and flags == made["flag"].to_pylist()
    with pytest.raises(fb.InvalidArgument, match="table of 200 rows"):
        pipeline.to_json()
    assert "200 rows" in str(pipeline)


def test_tables_in_memory_know_what_they_are():
    def fingerprint(table, **options):
        with fb.Loader(fb.arrow(table, **options).batch(8)) as loader:
            return loader.fingerprint

    table = pa.table({"x": [1, 2, 3]})
    assert fingerprint(table) == fingerprint(pa.table({"x": [1, 2, 3]}))
    assert fingerprint(table) != fingerprint(pa.table({"x": [1, 2, 4]}))
    assert fingerprint(table) != fingerprint(table, null=fb.NULL_MASK)
    assert read(fb.arrow(table, filter=[("x", ">", 1)], null=fb.NULL_MASK), "x")[1] == [2, 3]
    refused(fb.Unsupported, fb.arrow(table, filter=[("x", ">", 1)]), "NULL_MASK")
    assert read(fb.arrow(table.rename_columns(["y"]), ["y"]).rename(y="z"), "z")[1] == [1, 2, 3]


def test_a_table_in_memory_is_cached_without_a_word(tmp_path, capfd):
    pipeline = fb.arrow(pa.table({"x": [1, 2, 3]})).cache(dir=tmp_path, disk=0)
    assert read(pipeline, "x")[1] == [1, 2, 3]
    with fb.Loader(pipeline) as loader:
        assert [fb.digest(loader), loader.stats()["caches"][0]["ram"]["entries"]] == [fb.digest(loader), 1]
    assert "cache" not in capfd.readouterr().err


def test_a_cache_too_small_for_any_row_group_is_refused_with_the_numbers(table, tmp_path):
    file = table / "kind=b" / "month=01" / "part.parquet"
    refused(fb.InvalidArgument, fb.parquet(file, ["n"]).cache(dir=tmp_path, ram=4, disk=0), "ram=4 B", "one entry takes, 8 B")


def test_arrow_files_are_read_as_parquet_files_are(tmp_path):
    feather = pytest.importorskip("pyarrow.feather")
    for part in range(3):
        folder = tmp_path / f"part={part}"
        folder.mkdir()
        feather.write_feather(rows(part * 100, part * 100 + 100), folder / "x.arrow", chunksize=30, compression="lz4")
    ids, numbers, parts = read(fb.arrow(tmp_path, ["n", "part"], [("n", ">=", 150)]), "n", "part")
    assert ids == numbers == list(range(150, 300))
    assert parts == [1] * 50 + [2] * 100


def test_petastorms_tables_are_read(shared):
    stores = sorted(path for path in (shared / "parquet" / "petastorm").iterdir() if path.is_dir())
    assert stores
    for store in stores:
        dataset = ds.dataset(store, partitioning="hive", exclude_invalid_files=True)
        expected = sorted(dataset.to_table(columns=["id"])["id"].to_pylist())
        ids, numbers, keys = read(fb.parquet(store, ["id", "partition_key"]), "id", "partition_key")
        assert sorted(numbers) == expected and ids == list(range(len(expected)))
        assert set(keys) == {path.name.partition("=")[2] for path in store.iterdir() if "=" in path.name}


def test_many_small_files_are_one_table(tmp_path):
    for number in range(400):
        pq.write_table(pa.table({"x": [number]}), tmp_path / f"{number:05}.parquet")
    pq.write_table(pa.table({"x": pa.array([], pa.int64())}), tmp_path / "empty.parquet")
    assert read(fb.parquet(tmp_path), "x") == [list(range(400))] * 2


def test_a_parquet_file_lists_objects_as_a_text_file_does(tmp_path):
    names = [f"{number:02}.bin" for number in range(30)]
    for name in names:
        (tmp_path / name).write_bytes(name.encode() * 3)
    table = pa.table({"path": names[::-1], "n": pa.array(range(30), pa.int16()), "kind": ["x", "y"] * 15})
    pq.write_table(table, tmp_path / "list.parquet", row_group_size=7)
    ids, found, keys, numbers, kinds = read(fb.manifest(tmp_path / "list.parquet"), "bytes", "key", "n", "kind")
    assert ids == numbers == list(range(30)) and keys == names[::-1] and kinds == ["x", "y"] * 15
    assert found == [name.encode() * 3 for name in names[::-1]]
    with fb.Loader(fb.manifest(tmp_path / "list.parquet").batch(30)) as loader:
        assert next(iter(loader))["n"].dtype == np.int16
    with pytest.raises(fb.InvalidArgument, match="no column 'file'"):
        fb.Loader(fb.manifest(tmp_path / "list.parquet", path="file").batch(4))


class Ranged(http.server.SimpleHTTPRequestHandler):
    """Files with ranges; notes what was asked for."""

    asked = []

    def do_GET(self):
        data = open(self.translate_path(self.path), "rb").read()
        first, _, last = self.headers.get("Range", "bytes=0-").removeprefix("bytes=").partition("-")
        begin, end = int(first), min(int(last or len(data) - 1), len(data) - 1)
        self.asked.append((self.path, begin, end))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{end}/{len(data)}")
        self.send_header("Content-Length", str(end - begin + 1))
        self.end_headers()
        self.wfile.write(data[begin:end + 1])

    def log_message(self, *_):
        pass


@pytest.fixture
def web(table):
    Ranged.asked.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Ranged, directory=table)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_files_behind_a_web_server_are_read_in_ranges(web, table):
    urls = [f"{web}/kind=b/month={month}/part.parquet" for month in ("01", "12")]
    for pattern in [urls, f"{web}/kind=b/month={{01,12}}/part.parquet"]:
        assert read(fb.parquet(pattern, ["n", "month"]), "n", "month")[1] == list(range(200))
    assert read(fb.parquet(urls, ["n"], [("month", "==", 12)]), "n")[1] == list(range(100, 200))
    refused(fb.Unsupported, fb.parquet(f"{web}/*.parquet"), "cannot be listed", "braces")
    refused(fb.NotFound, fb.parquet([*urls, f"{web}/kind=b/month=02/none.parquet"]), "none.parquet")
