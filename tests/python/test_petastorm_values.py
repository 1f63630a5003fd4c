"""Values, names and fields of petastorm's reader on real tables: times, structs, transforms; and that a data set is opened once."""
import datetime
import http.server
import re
import threading
import warnings

import numpy as np
import pytest

from forebay.petastorm import TransformSpec, make_batch_reader

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

NOON = datetime.datetime(2026, 1, 31, 12)
ROWS = range(12)
LATER = [NOON + datetime.timedelta(hours=i) for i in ROWS]


def url(folder):
    return f"file://{folder}"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Three row groups of four rows; the second has nulls."""
    folder = tmp_path_factory.mktemp("values")
    gaps = [None if 4 <= i < 6 else moment for i, moment in zip(ROWS, LATER)]
    days = [moment and moment.date() for moment in gaps]
    points = [{"x": i, "name": None if i == 5 else f"p{i}"} for i in ROWS]
    table = pa.table({
        "id": pa.array(ROWS, pa.int32()),
        "us": pa.array(gaps, pa.timestamp("us")), "ms": pa.array(gaps, pa.timestamp("ms")),
        "zone": pa.array(gaps, pa.timestamp("us", tz="Europe/Berlin")), "sure": pa.array(LATER, pa.timestamp("us")),
        "day": pa.array(days, pa.date32()), "named_day": pa.array(days, pa.date32()).dictionary_encode(),
        "clock": pa.array([None if i == 4 else datetime.time(i) for i in ROWS], pa.time64("us")),
        "days": pa.array([[day, day] for day in days], pa.list_(pa.date32())),
        "steps": pa.array([[LATER[i]] * (i % 3) for i in ROWS], pa.list_(pa.timestamp("us"))),
        "point": pa.array(points), "grid": pa.array([[[i], [i, i]] for i in ROWS], pa.list_(pa.list_(pa.int32()))),
    })
    pq.write_table(table, folder / "a.parquet", row_group_size=4)
    return folder


def read(folder, **options):
    with make_batch_reader(url(folder), shuffle_row_groups=False, **options) as reader:
        return list(reader)


def same(values, expected, dtype):
    assert values.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(values, np.array(expected, dtype=dtype))  # NaT equals NaT


@pytest.mark.parametrize("name, dtype", [("us", "datetime64[us]"), ("ms", "datetime64[ms]"), ("zone", "datetime64[us]")])
def test_timestamps_are_datetime64_with_and_without_nulls(store, name, dtype):
    groups = [getattr(item, name) for item in read(store)]
    same(groups[0], LATER[:4], dtype)
    same(groups[1], [None, None, *LATER[6:8]], dtype)
    assert np.isnat(groups[1]).tolist() == [True, True, False, False]
    same(groups[2], LATER[8:], dtype)


def test_dates_and_times_of_day(store):
    first, second, _ = read(store)
    days = [moment.date() for moment in LATER]
    for name in ("day", "named_day"):
        same(getattr(first, name), days[:4], "datetime64[D]")
        same(getattr(second, name), [None, None, *days[6:8]], "datetime64[D]")
    same(second.clock, [None] + [datetime.timedelta(hours=i) for i in (5, 6, 7)], "timedelta64[us]")


def test_times_in_lists(store):
    first, second, _ = read(store)
    assert second.days.shape == (4, 2)
    same(second.days, [[None, None], [None, None]] + [[moment.date()] * 2 for moment in LATER[6:8]], "datetime64[D]")
    assert [len(row) for row in first.steps] == [0, 1, 2, 0]
    same(first.steps[2], [LATER[2]] * 2, "datetime64[us]")


def test_the_schema_knows_times(store):
    with make_batch_reader(url(store)) as reader:
        assert reader.schema.us.numpy_dtype is np.datetime64 and reader.schema.day.numpy_dtype is np.datetime64
        assert reader.schema.clock.numpy_dtype is np.timedelta64 and reader.schema.id.numpy_dtype is np.int32


def test_members_of_structs_have_names(store):
    first, second, _ = read(store)
    assert first.point_x.tolist() == [0, 1, 2, 3] and first.point_name.tolist() == ["p0", "p1", "p2", "p3"]
    assert second.point_name.tolist() == ["p4", None, "p6", "p7"]
    assert first.grid[1].tolist() == [1, 1, 1] and first.grid_lengths[1].tolist() == [1, 2]
    for pattern in ("point.x", "point_x", r"point\.x"):
        assert read(store, schema_fields=[pattern])[0]._fields == ("point_x",)
    assert not any(re.match(r"_\d", name) for name in first._fields)


WORDS = [["a"], ["b", "ü", ""], None, ["c", None], [], ["d", "e"]]
PAIRS = [["a", "b"], ["", "c"], ["d", None], ["e", "f"], ["g", "h"], ["i", "j"]]


@pytest.fixture(scope="module", params=[pa.string(), pa.binary()], ids=str)
def words(tmp_path_factory, request):
    """Three row groups of two rows."""
    folder = tmp_path_factory.mktemp("words")
    made = {name: pa.array(as_strings(rows, request.param), pa.list_(request.param)) for name, rows in (("words", WORDS), ("pair", PAIRS))}
    pq.write_table(pa.table({"id": range(6), **made}), folder / "a.parquet", row_group_size=2)
    return folder, request.param


def as_strings(rows, kind):
    return [row and [text.encode() if kind == pa.binary() and text is not None else text for text in row] for row in rows]


def test_lists_of_strings_are_arrays_of_objects(words):
    folder, kind = words
    for shuffle in (False, True):
        found = read(folder, shuffle_rows=shuffle, seed=3)
        for item in found:
            assert item.words.dtype == object and item.words.shape == (2,)
            assert item.pair.dtype == object and item.pair.shape == (2, 2), "of one length: a matrix, as petastorm makes it"
            assert all(row is None or (type(row) is np.ndarray and row.dtype == object) for row in item.words)
            for place, number in enumerate(item.id):
                expected = as_strings(WORDS, kind)[number]
                assert (item.words[place] is None) if expected is None else item.words[place].tolist() == expected
                assert item.pair[place].tolist() == as_strings(PAIRS, kind)[number]
    assert found[0]._fields == ("id", "words", "pair"), "there is no field of lengths or masks"
    with make_batch_reader(url(folder)) as reader:
        assert reader.schema.words.shape == (None,)
        assert reader.schema.words.numpy_dtype is (np.str_ if kind == pa.string() else np.bytes_)


def test_functions_written_for_petastorm_get_lists_of_strings(words):
    pytest.importorskip("pandas")
    folder, kind = words
    seen = []

    def count(frame):
        seen.extend(list(row) for row in frame["pair"])
        frame["words"] = [-1 if row is None else len(row) for row in frame["words"]]
        return frame

    found = read(folder, transform_spec=TransformSpec(count, edit_fields=[("words", np.int64, (), False)]))
    assert [item.words.tolist() for item in found] == [[1, 3], [-1, 2], [0, 2]]
    assert seen == as_strings(PAIRS, kind)
    assert sum((item.pair.tolist() for item in found), []) == as_strings(PAIRS, kind)


def test_names_that_would_meet_stay_apart(tmp_path):
    pq.write_table(pa.table({"a": [{"b": 1}], "a_b": [2], "c d": [3]}), tmp_path / "a.parquet")
    with make_batch_reader(url(tmp_path)) as reader:
        assert list(reader.schema.fields) == ["a.b", "a_b", "c_d"]
        item = next(reader)
    assert item.a_b.tolist() == [2] and item.c_d.tolist() == [3] and item[0].tolist() == [1]


def test_a_transform_may_remove_every_known_field(store):
    pandas = pytest.importorskip("pandas")
    known = ["id", "us", "ms", "zone", "sure", "day", "named_day", "clock", "days", "steps"]

    def only_new(frame):
        assert "point_x" not in frame and "grid" not in frame  # nor does petastorm give them
        return pandas.DataFrame({"square": frame["id"] ** 2, "tensor": [np.full((2, 3), i) for i in frame["id"]]})

    edits = [("square", np.int32, (), False), ("tensor", np.float32, (2, 3), False)]
    first = read(store, transform_spec=TransformSpec(only_new, edits, removed_fields=known))[0]
    assert first._fields == ("square", "tensor") and first.square.tolist() == [0, 1, 4, 9] and first.tensor.shape == (4, 2, 3)
    nothing = read(store, transform_spec=TransformSpec(removed_fields=known))
    assert [item._fields for item in nothing] == [()] * 3


def test_a_transform_gets_nested_fields_that_are_named(store):
    pytest.importorskip("pandas")
    named = read(store, schema_fields=["id", "point.x"], transform_spec=TransformSpec(lambda frame: frame))[0]
    assert named._fields == ("id", "point_x")
    selected = read(store, transform_spec=TransformSpec(selected_fields=["point_x", "id"]))[0]
    assert selected._fields == ("point_x", "id") and selected.point_x.tolist() == [0, 1, 2, 3]


def test_times_pass_a_transform(store):
    pandas = pytest.importorskip("pandas")

    def shifted(frame):
        frame["next"] = frame["us"] + pandas.Timedelta(days=1)
        return frame

    spec = TransformSpec(shifted, [("next", np.datetime64, (), True)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = read(store, schema_fields=["us", "day"], transform_spec=spec)[1]
    same(second.us, [None, None, *LATER[6:8]], "datetime64[us]")
    same(second.day, [None, None] + [moment.date() for moment in LATER[6:8]], "datetime64[D]")
    assert np.isnat(second.next[:2]).all() and second.next[2] == np.datetime64(LATER[6]) + np.timedelta64(1, "D")


class CountingServer(http.server.ThreadingHTTPServer):
    """Gives one object and notes which of its ranges were asked for."""

    def __init__(self, body):
        self.body, self.asked = body, []
        super().__init__(("127.0.0.1", 0), Answers)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.server.body
        begin, end = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers["Range"]).groups()
        begin, end = int(begin), min(int(end), len(body) - 1)
        self.server.asked.append((begin, end))
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {begin}-{end}/{len(body)}")
        self.send_header("Content-Length", str(end + 1 - begin))
        self.end_headers()
        self.wfile.write(body[begin : end + 1])

    def do_HEAD(self):
        self.server.asked.append("size")
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()

    def log_message(self, *args):
        pass


def test_a_data_set_is_opened_once(tmp_path):
    noise = np.random.Generator(np.random.Philox(1)).random(40_000)
    pq.write_table(pa.table({"id": range(40_000), "noise": noise}), tmp_path / "a.parquet", row_group_size=10_000)
    server = CountingServer((tmp_path / "a.parquet").read_bytes())
    last = len(server.body) - 1
    place = f"http://127.0.0.1:{server.server_address[1]}/a.parquet"
    try:
        with make_batch_reader([place], schema_fields=["noise"], shuffle_row_groups=False, filters=[("id", ">=", 100)]) as reader:
            read_again = np.concatenate([item.noise for item in reader])
            reader.reset()
            next(reader)
    finally:
        server.shutdown()
        server.server_close()
    np.testing.assert_array_equal(read_again, noise[100:])
    index = [one for one in server.asked if one == "size" or one[1] == last]
    assert len(index) == len(set(index)), index  # the size and the footer, each once


class Keeps:
    """A predicate of one function, which remembers what it got."""

    def __init__(self, fields, keep):
        self.fields, self.keep, self.got = fields, keep, []

    def get_fields(self):
        return self.fields

    def do_include(self, values):
        self.got.append(values)
        return self.keep(values)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Two row groups of three rows in each of shard=a, shard=b and shard=c."""
    root = tmp_path_factory.mktemp("folders")
    for at, name in enumerate("abc"):
        (root / f"shard={name}").mkdir()
        pq.write_table(pa.table({"id": pa.array(range(6 * at, 6 * at + 6))}), root / f"shard={name}" / "0.parquet", row_group_size=3)
    return root


def test_a_predicate_on_partition_folders_gets_single_values_once_a_row_group(folders):
    only = Keeps({"shard"}, lambda values: values["shard"] in ("a", "c"))  # the `in` of a Series means something else
    found = read(folders, predicate=only)
    assert [item.id.tolist() for item in found] == [[0, 1, 2], [3, 4, 5], [12, 13, 14], [15, 16, 17]]
    assert [item.shard.tolist() for item in found] == [["a"] * 3] * 2 + [["c"] * 3] * 2
    assert only.got == [{"shard": name} for name in "aabbcc"] and isinstance(only.got[0]["shard"], str)


def test_a_predicate_on_folders_and_columns_gets_a_frame(folders):
    pytest.importorskip("pandas")
    both = Keeps({"shard", "id"}, lambda frame: (frame["shard"] == "b") & (frame["id"] % 2 == 0))
    assert [item.id.tolist() for item in read(folders, predicate=both)] == [[6, 8], [10]]


def test_a_column_that_is_only_called_like_a_mask_is_a_field_of_its_own(tmp_path):
    schema = pa.schema([pa.field("x", pa.int32(), nullable=False), pa.field("x_valid", pa.bool_(), nullable=False), ("y", pa.int32())])
    pq.write_table(pa.table({"x": [1, 2, 3], "x_valid": [False, True, False], "y": [4, None, 6]}, schema=schema), tmp_path / "a.parquet")
    (found,) = read(tmp_path)
    assert found._fields == ("x", "x_valid", "y")
    assert found.x.dtype == np.int32 and found.x.tolist() == [1, 2, 3]
    assert found.x_valid.tolist() == [False, True, False]
    same(found.y, [4, np.nan, 6], np.float64)
    (alone,) = read(tmp_path, schema_fields=["x"])
    assert alone._fields == ("x",) and alone.x.tolist() == [1, 2, 3]
