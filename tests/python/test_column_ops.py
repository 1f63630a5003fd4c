"""Column operators against NumPy, over arrays (row by row) and over tables (whole row groups): the same bytes."""
import math
import random
import struct

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
NUMBERS = INTEGERS + ["float16", "float32", "float64"]
ROWS = 57


def numbers(dtype, rows=ROWS, shape=(), seed=0):
    """Numbers of all sizes, the ends of the type among them."""
    draw = np.random.default_rng(seed)
    count = rows * math.prod(shape)
    if np.dtype(dtype).kind == "f":
        values = draw.normal(size=count) * 10.0 ** draw.integers(-3, 4, count)
        values[: min(count, 5)] = [0.0, -0.0, 0.5, -1.0, 1.5][:count]
    else:
        info = np.iinfo(dtype)
        values = draw.integers(info.min, info.max, count, dtype=dtype, endpoint=True)
        values[: min(count, 3)] = [info.min, info.max, 0][:count]
    return values.astype(dtype).reshape(rows, *shape)


def table_of(folder, columns, group=10):
    """The columns in two Parquet files, `group` rows a row group."""
    arrays = {}
    for name, values in columns.items():
        if isinstance(values, np.ndarray) and values.ndim > 1:
            flat = pa.array(values.reshape(-1))
            arrays[name] = pa.FixedSizeListArray.from_arrays(flat, math.prod(values.shape[1:]))
        else:
            arrays[name] = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table(arrays)
    half = table.num_rows // 2
    folder.mkdir(exist_ok=True)
    pq.write_table(table.slice(0, half), folder / "a.parquet", row_group_size=group)
    pq.write_table(table.slice(half), folder / "b.parquet", row_group_size=group)
    return fb.parquet(folder)


def delivered(pipeline, name, batch=16):
    """A field of all rows in order of their ids: an array, or a list of arrays or strings."""
    with fb.Loader(pipeline.batch(batch)) as loader:
        parts = [part[name] for part in loader]
    if isinstance(parts[0], tuple):
        return [values[a:b] for values, offsets in parts for a, b in zip(offsets, offsets[1:])]
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else sum(parts, [])


def same_both_ways(tmp_path, columns, steps, expected):
    """`expected`: field → array. Steps over arrays and over a table give it, bit by bit."""
    for source in (fb.arrays(**columns), table_of(tmp_path / "table", columns)):
        pipeline = steps(source)
        for name, values in expected.items():
            got = delivered(pipeline, name)
            assert got.dtype == values.dtype and got.shape == values.shape
            assert got.tobytes() == values.tobytes(), name


@pytest.mark.parametrize("before", NUMBERS)
@pytest.mark.parametrize("after", ["bool", *NUMBERS])
def test_cast_that_saturates_is_astype_where_the_value_fits(tmp_path, before, after):
    x = numbers(before)
    with np.errstate(all="ignore"):
        if np.dtype(after).kind in "iu":
            info = np.iinfo(after)
            wide = np.array([min(max(int(v), info.min), info.max) for v in x.tolist()], dtype=object)
            expected = wide.astype(after)
        else:
            expected = x.astype(after)
    same_both_ways(tmp_path, {"x": x}, lambda p: p.cast(after, field="x", errors="saturate"), {"x": expected})


def fits(value, dtype):
    if np.dtype(dtype).kind not in "iu":
        return True
    return math.isfinite(value) and np.iinfo(dtype).min <= int(value) <= np.iinfo(dtype).max


@pytest.mark.parametrize("before", NUMBERS)
@pytest.mark.parametrize("after", ["bool", *NUMBERS])
def test_cast_skips_rows_that_the_type_cannot_hold(tmp_path, before, after):
    x = numbers(before)
    if np.dtype(before).kind == "f":
        x[-3:] = np.nan, np.inf, -np.inf
    good = [i for i, value in enumerate(x.tolist()) if fits(value, after)]
    with np.errstate(all="ignore"):
        expected = x[good].astype(after)
    for source in (fb.arrays(x=x), table_of(tmp_path / "table", {"x": x})):
        with fb.Loader(source.cast(after, field="x").batch(16), epochs=1, on_error="skip") as loader:
            got = np.concatenate([np.empty(0, after), *(batch["x"] for batch in loader)])
            bad = sorted(error["sample"] for error in loader.errors())
        assert got.dtype == expected.dtype and got.tobytes() == expected.tobytes()
        assert bad == sorted(set(range(ROWS)) - set(good))


def test_cast_names_row_and_column_and_the_ways_out(tmp_path):
    x = np.arange(20) * 100
    for source in (fb.arrays(x=x), table_of(tmp_path / "table", {"x": x}), fb.arrays(x=x).map(lambda sample: sample)):
        with pytest.raises(fb.Unsupported, match=r"'x' has 300, and uint8 goes from 0 to 255.*errors=\"saturate\"") as told:
            delivered(source.cast("uint8", field="x"), "x")
        assert told.value.sample == 3 and told.value.operator == "cast"


def test_a_list_with_one_element_that_does_not_fit_is_a_bad_row(tmp_path):
    lists = pa.array([[1, 2], [], [3, -1, 4], [255], [256]], pa.list_(pa.int64()))
    pq.write_table(pa.table({"l": lists, "i": pa.array(range(5))}), tmp_path / "t.parquet")
    source = fb.parquet(tmp_path / "t.parquet")

    def rows(pipeline, **how):
        with fb.Loader(pipeline.batch(2), epochs=1, **how) as loader:
            batches = list(loader)
            told = {error["sample"]: error["message"].split(",")[0] for error in loader.errors()}
        return sum((batch["i"].tolist() for batch in batches), []), told

    ids, told = rows(source.cast("uint8", field="l"), on_error="skip")
    assert ids == [0, 1, 3] and told == {2: "the field 'l' has -1 at element 1", 4: "the field 'l' has 256 at element 0"}
    ids, told = rows(source.cast("uint8", field="l"), on_error="replace")
    assert len(ids) == 5 and {2, 4}.isdisjoint(ids) and set(told) == {2, 4}
    assert [row.tolist() for row in delivered(source.cast("uint8", field="l", errors="saturate"), "l")] == [
        [1, 2], [], [3, 0, 4], [255], [255]]


def test_casts_that_differ_in_what_becomes_of_errors_are_kept_apart(tmp_path):
    source = table_of(tmp_path / "table", {"x": np.array([1, 300, -7, 4])})

    def through_the_cache(errors, **how):
        pipeline = source.cast("uint8", field="x", errors=errors).cache(ram=0, disk="8MB", dir=str(tmp_path / "cache"))
        with fb.Loader(pipeline.batch(4), epochs=1, **how) as loader:
            return [batch["x"].tolist() for batch in loader]

    for _ in range(2):
        assert through_the_cache("saturate") == [[1, 255, 0, 4]]
        assert through_the_cache("raise", on_error="skip") == [[1, 4]]
    pipeline = source.cast("uint8", field="x")
    assert pipeline.fingerprint == source.cast("uint8", field="x", errors="raise").fingerprint
    assert pipeline.fingerprint != source.cast("uint8", field="x", errors="saturate").fingerprint
    saturating = fb.Pipeline.from_json(source.cast("uint8", field="x", errors="saturate").to_json())
    assert delivered(saturating, "x").tolist() == [1, 255, 0, 4]


def test_an_unknown_word_for_errors_is_told():
    (problem,) = fb.arrays(x=np.arange(3)).cast("int8", field="x", errors="ignore").check()
    assert problem.operator == "1: cast" and '"saturate"' in problem.remedy


def test_cast_of_what_numpy_leaves_open_is_the_same_everywhere(tmp_path):
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1e30, 255.9, -0.9], dtype="float64")
    same_both_ways(tmp_path, {"x": x}, lambda p: p.cast("uint8", field="x", errors="saturate"),
                   {"x": np.array([0, 255, 0, 255, 0, 255, 0], "uint8")})
    big = np.iinfo("int64")
    same_both_ways(tmp_path, {"x": x}, lambda p: p.cast("int64", field="x", errors="saturate"),
                   {"x": np.array([0, big.max, big.min, big.max, big.min, 255, 0], "int64")})


@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("shape", [(), (3,)])
def test_normalize_is_the_formula_in_float64(tmp_path, dtype, shape):
    x, y = numbers(dtype, shape=shape), numbers("float32", seed=1)
    mean, std = [0.37, -2], [3.1, 0.01]
    with np.errstate(over="ignore"):
        expected = {"x": ((x.astype("float64") - mean[0]) / std[0]).astype("float32"),
                    "y": ((y.astype("float64") - mean[1]) / std[1]).astype("float32")}
    same_both_ways(tmp_path, {"x": x, "y": y}, lambda p: p.normalize(mean, std, field=["x", "y"]), expected)
    with np.errstate(over="ignore"):
        once = ((x.astype("float64") - 1) / 2).astype("float32")
    same_both_ways(tmp_path, {"x": x, "y": y}, lambda p: p.normalize(1, 2, field="x"), {"x": once, "y": y})


@pytest.mark.parametrize("dtype", NUMBERS)
def test_clip_is_numpy_clip(tmp_path, dtype):
    x = numbers(dtype, shape=(2,))
    low, high = (0, 100)
    expected = np.clip(x, np.dtype(dtype).type(low), np.dtype(dtype).type(high))
    same_both_ways(tmp_path, {"x": x}, lambda p: p.clip(low, high, field="x"), {"x": expected})
    same_both_ways(tmp_path, {"x": x}, lambda p: p.clip(max=high, field="x"),
                   {"x": np.minimum(x, np.dtype(dtype).type(high))})
    same_both_ways(tmp_path, {"x": x}, lambda p: p.clip(min=-math.inf, max=1e300, field="x"), {"x": x})


@pytest.mark.parametrize("dtype", NUMBERS)
def test_log1p_is_within_a_unit_of_the_last_place(tmp_path, dtype):
    x = numbers(dtype)
    out = "float64" if dtype == "float64" else "float32"
    for source in (fb.arrays(x=x), table_of(tmp_path / "table", {"x": x})):
        got = delivered(source.log1p("x"), "x")
        assert got.dtype == out
        with np.errstate(all="ignore"):
            truth = np.log1p(x.astype("float64")).astype(out)
        assert np.array_equal(np.isnan(got), np.isnan(truth))
        finite = np.isfinite(truth)
        assert np.array_equal(got[~finite & ~np.isnan(truth)], truth[~finite & ~np.isnan(truth)])
        np.testing.assert_array_max_ulp(got[finite], truth[finite], maxulp=2 if out == "float64" else 1)


def xxh3_of_integer(value, seed):
    """XXH3 with 64 bits of an int64, as its specification has it for 8 bytes."""
    mask = 2**64 - 1
    low, high = struct.unpack("<II", struct.pack("<q", value))
    seed &= mask
    seed ^= int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "little"), "big") << 32
    secret = bytes.fromhex("7c01812cf721ad1cded46de9839097db")
    flip = (int.from_bytes(secret[:8], "little") ^ int.from_bytes(secret[8:], "little")) - seed & mask
    h = (high + (low << 32)) ^ flip
    h ^= (h << 49 | h >> 15) & mask ^ (h << 24 | h >> 40) & mask
    h = h * 0x9FB21C651E98DF25 & mask
    h ^= (h >> 35) + 8
    h = h * 0x9FB21C651E98DF25 & mask
    return h ^ h >> 28


@pytest.mark.parametrize("salt", [0, 5, -3])
def test_hash_bucket_is_the_stated_definition(tmp_path, salt):
    integers = numbers("int64")
    texts = ["", "café", "x" * 1000, *(f"user{i:04}" for i in range(ROWS - 3))]
    table = table_of(tmp_path / "t", {
        "t": pa.array(texts), "b": pa.array([t.encode() for t in texts]), "i": integers, "u": numbers("uint64"),
        "l": pa.array([list(range(i % 4)) for i in range(ROWS)], pa.list_(pa.int16()))})
    hashed = table.hash_bucket(1000, ["t", "b", "i", "u", "l"], salt)
    got = {name: delivered(hashed, name) for name in "tbiul"}

    def bucket(value):
        return xxh3_of_integer(value, salt) * 1000 >> 64

    assert got["i"].dtype == np.int64
    assert got["i"].tolist() == [bucket(v) for v in integers.tolist()]
    assert got["u"].tolist() == [bucket(v) for v in numbers("uint64").view("int64").tolist()]
    assert [row.tolist() for row in got["l"]] == [[bucket(v) for v in range(i % 4)] for i in range(ROWS)]
    # Text is its bytes, and eight bytes are an integer.
    assert got["t"].tolist() == got["b"].tolist()
    assert got["t"][3:].tolist() == [bucket(struct.unpack("<q", t.encode())[0]) for t in texts[3:]]
    if salt == 0:
        assert got["t"][0] == 0x2D06800538D394C2 * 1000 >> 64
    assert np.array_equal(delivered(fb.arrays(i=integers).hash_bucket(1000, "i", salt), "i"), got["i"])


@pytest.mark.parametrize("dtype", ["bool", *NUMBERS])
@pytest.mark.parametrize("count", [1, 2, 7, 40])
def test_stack_is_numpy_stack(tmp_path, dtype, count):
    columns = {f"c{i}": numbers("uint8", seed=i) % 2 == 0 if dtype == "bool" else numbers(dtype, seed=i) for i in range(count)}
    names = list(columns)
    random.Random(count).shuffle(names)
    expected = np.stack([columns[name] for name in names], axis=1)
    same_both_ways(tmp_path, columns, lambda p: p.stack(names, name="x"), {"x": expected})


def test_stack_of_tensors_and_of_stacks(tmp_path):
    columns = {"a": numbers("float32", shape=(2,)), "b": numbers("float32", shape=(2,), seed=1), "label": numbers("int64")}
    both = np.stack([columns["a"], columns["b"]], axis=1)
    same_both_ways(tmp_path, columns, lambda p: p.stack(["a", "b"], "x"), {"x": both, "label": columns["label"]})
    single = {"a": columns["a"], "b": columns["b"]}
    same_both_ways(tmp_path, single, lambda p: p.stack(["a", "b"], "x").stack(["x"], "y"), {"y": both[:, None]})


@pytest.mark.parametrize("seed", range(5))
def test_lists_keep_their_lengths(tmp_path, seed):
    draw = np.random.default_rng(seed)
    rows = [draw.normal(size=draw.integers(0, 6)) * 100 for _ in range(ROWS)]
    source = table_of(tmp_path / "t", {"l": pa.array(rows, pa.list_(pa.float64()))})
    got = delivered(source.clip(-50, 50, field="l").normalize(1, 4, field="l").cast("float64", field="l"), "l")
    for row, values in zip(rows, got, strict=True):
        assert np.array_equal(values, ((np.clip(row, -50, 50) - 1) / 4).astype("float32").astype("float64"))
    padded = delivered(source.cast("int16", field="l").pad("l", -1, 6), "l")
    assert padded.dtype == np.int16 and padded.shape == (ROWS, 6)
    for row, values in zip(rows, padded, strict=True):
        assert values.tolist() == np.trunc(row).astype(int).tolist() + [-1] * (6 - len(row))


def test_a_list_that_is_too_long_for_pad_is_a_bad_sample(tmp_path):
    rows = [[1], [1, 2, 3], [1, 2], []]
    source = table_of(tmp_path / "t", {"l": pa.array(rows, pa.list_(pa.int32()))}).pad("l", 0, length=2)
    with pytest.raises(fb.Unsupported, match="'l' has 3 elements, more than length=2"):
        delivered(source, "l")
    with fb.Loader(source.batch(4), on_error="skip") as loader:
        (batch,) = loader
        assert batch["l"].tolist() == [[1, 0], [1, 2], [0, 0]]
        (error,) = loader.errors()
        assert error["sample"] == 1 and error["operator"] == "pad"


def test_fill_null_is_pyarrow_fill_null(tmp_path):
    n = ROWS
    columns = {
        "i": pa.array([None if i % 3 == 0 else i for i in range(n)], pa.int32()),
        "f": pa.array([None if i % 5 == 0 else i / 7 for i in range(n)], pa.float64()),
        "b": pa.array([None if i % 2 == 0 else i % 4 == 1 for i in range(n)], pa.bool_()),
        "s": pa.array([None if i % 4 == 0 else "é" * (i % 3) for i in range(n)]),
        "y": pa.array([None if i % 4 == 1 else b"\xff" * (i % 3) for i in range(n)]),
        "whole": pa.array(range(n)),
        "l": pa.array([None if i % 6 == 0 else [None if j % 2 else j for j in range(i % 4)] for i in range(n)], pa.list_(pa.int16())),
    }
    table_of(tmp_path / "t", columns)
    source = fb.parquet(tmp_path / "t", null=fb.NULL_MASK)
    filled = (source.fill_null(-7, ["i", "f", "whole", "l"]).fill_null(True, "b").fill_null("none", "s").fill_null(b"no", "y"))
    for name, value in {"i": -7, "f": -7.0, "b": True, "s": "none", "y": b"no", "whole": 0}.items():
        expected = columns[name].fill_null(value)
        got = delivered(filled, name)
        assert list(got) == expected.to_pylist(), name
        if isinstance(got, np.ndarray):
            assert got.dtype == expected.to_numpy(zero_copy_only=False).dtype
    assert [row.tolist() for row in delivered(filled, "l")] == [
        [] if row is None else [-7 if v is None else v for v in row] for row in columns["l"].to_pylist()]
    with fb.Loader(filled.batch(8)) as loader:
        assert set(next(iter(loader)).keys()) == set(columns)
    nan = delivered(source.fill_null(math.nan, "f"), "f")
    assert np.isnan(nan[0]) and nan[1] == 1 / 7


def test_operators_leave_the_order_the_others_and_the_digest_alone(tmp_path):
    columns = {"a": numbers("float32"), "b": numbers("int64"), "c": numbers("float32", seed=2)}

    def steps(p):
        return (p.shuffle(block=2).clip(-5, 5, field="a").log1p("c").hash_bucket(17, "b").stack(["a", "c"], "x")
                .select("x", "b").rename(b="bucket"))

    source = table_of(tmp_path / "t", columns)
    digests = set()
    for batch, threads in ((4, 1), (16, 2), (57, 3)):
        with fb.Loader(steps(source).batch(batch), seed=3, threads=threads) as loader:
            digests.add(fb.digest(loader))
    assert len(digests) == 1
    with fb.Loader(steps(source).batch(57), seed=3) as loader:
        (batch,) = loader
        assert set(batch.keys()) == {"x", "bucket"}
        assert np.array_equal(batch["x"][:, 0], np.clip(columns["a"], -5, 5)[batch.ids])


def test_empty_tables_pass_through(tmp_path):
    for source in (fb.arrays(a=np.zeros(0, "f4"), b=np.zeros(0, "f4")),
                   table_of(tmp_path / "t", {"a": np.zeros(0, "f4"), "b": np.zeros(0, "f4")})):
        with fb.Loader(source.clip(0, 1, field="a").log1p("b").stack(["a", "b"], "x").batch(4)) as loader:
            assert list(loader) == []


def test_pictures_are_normalized_as_before():
    pixels = np.random.default_rng(0).integers(0, 256, (3, 4, 5, 3), dtype="uint8")
    got = delivered(fb.arrays(image=pixels).normalize([0.5] * 3, [0.25] * 3), "image")
    np.testing.assert_allclose(got, ((pixels / 255 - 0.5) / 0.25).transpose(0, 3, 1, 2), atol=1e-5)


def test_all_problems_are_told_at_once_with_field_type_and_remedy():
    source = fb.arrays(a=np.zeros(4, "f4"), b=np.zeros(4, "i8"), c=np.zeros(4, "?"))

    def told(pipeline):
        with pytest.raises(fb.InvalidArgument) as raised:
            fb.Loader(pipeline.batch(2))
        return str(raised.value)

    before_the_types_are_known = told(source.clip(3, 2, field="a").hash_bucket(0, "b").fill_null(0, ["nothing", "c"]))
    for part in ("min is 3 and max is 2", "buckets is 0", "no field 'nothing'", "without the mask 'c_valid'"):
        assert part in before_the_types_are_known, part
    text = told(source.clip(0.5, field="b").log1p("c").stack(["a", "b"], "x"))
    for part in ("min is 0.5, and the field 'b' is int64", "the field 'c' is bool, and .log1p works on numbers",
                 "'a' is float32, 'b' is int64", '.cast("float32", field=[\'b\']) before .stack'):
        assert part in text, part


def test_pipelines_that_say_the_same_have_the_same_fingerprint():
    base = fb.arrays(a=np.zeros(4, "f4"))
    assert base.clip(0, 1, field="a").fingerprint == base.clip(0.0, np.float32(1), field=["a"]).fingerprint
    assert base.clip(0, 1, field="a").fingerprint != base.clip(0, 2, field="a").fingerprint
    assert base.fill_null(0, "a").fingerprint == base.fill_null(0.0, ["a"]).fingerprint
    again = fb.Pipeline.from_json(fb.files("x").fill_null(math.nan, "a").clip(0, field="a").stack(["a"], "x").to_json())
    assert str(again) == str(fb.files("x").fill_null(math.nan, "a").clip(0, field="a").stack("a", "x"))
    with pytest.raises(fb.InvalidArgument, match="is not UTF-8"):
        base.fill_null(b"\xff", "a")
