"""Types of tables: files of one table come to one type, `types=` says what is wanted, and no value is changed in silence."""
import datetime
import decimal
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay as fb

D = decimal.Decimal


def write_parquet(path, table, **options):
    pq.write_table(table, path, **options)


def write_arrow(path, table):
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def write_stream(path, table):
    with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def sources(folder, table, **args):
    """The table in every way in which tables are given."""
    write_parquet(folder / "t.parquet", table)
    write_arrow(folder / "t.arrow", table)
    write_stream(folder / "s.arrow", table)
    yield "parquet", fb.parquet(folder / "t.parquet", **args)
    yield "file", fb.arrow(folder / "t.arrow", **args)
    yield "stream", fb.arrow(folder / "s.arrow", **args)
    yield "memory", fb.arrow(table, **args)


def column(pipeline, name, **loader):
    """All rows of a column, as Python objects."""
    values = []
    with fb.Loader(pipeline.batch(1), epochs=1, **loader) as opened:
        for batch in opened:
            value = batch[name]
            if isinstance(value, tuple):  # values and offsets of lists
                ends = value[1].tolist()
                values.extend(value[0][begin:end].tolist() for begin, end in zip(ends, ends[1:]))
            else:
                values.extend(value.tolist() if isinstance(value, np.ndarray) else value)
    return values


def rows(pipeline, **loader):
    with fb.Loader(pipeline.batch(100), epochs=1, **loader) as opened:
        return [{name: batch[name] for name in batch} for batch in opened]


PYARROW = int(pa.__version__.split(".")[0])
INTEGERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


def extremes(kind):
    """Values at the edges of a type, and how each is to come out."""
    if pa.types.is_integer(kind):
        info = np.iinfo(kind.to_pandas_dtype())
        return [(v, v) for v in (info.min, info.max, 0)]
    if pa.types.is_boolean(kind):
        return [(True, True), (False, False)]
    if pa.types.is_floating(kind):
        info = np.finfo(kind.to_pandas_dtype())
        values = [float(info.max), float(info.min), float(info.smallest_subnormal), -0.0, math.inf]
        return [(kind.to_pandas_dtype()(v) if kind == pa.float16() else v, v) for v in values]
    if pa.types.is_decimal(kind):
        with decimal.localcontext(prec=100):
            most = D(10) ** kind.precision - 1
            return [(v.scaleb(-kind.scale), v.scaleb(-kind.scale)) for v in (most, -most, D(1), D(0))]
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view():
        return [(v, v) for v in ("", "é\0x", "a" * 50)]
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or kind == pa.binary_view():
        return [(v, v) for v in (b"", b"\xff\0", b"b" * 50)]
    if pa.types.is_fixed_size_binary(kind):
        return [(b"\xff\0\1", b"\xff\0\1")]
    wide = np.iinfo(np.int32 if kind.bit_width == 32 else np.int64)
    ticks = [wide.max, wide.min, -1]
    if pa.types.is_time(kind):
        ticks = [0, 1]
    if pa.types.is_date64(kind):  # whole days alone are dates
        ticks = [86_400_000 * (2**31 - 1), -86_400_000, 0]
    if kind == pa.timestamp("s") and PYARROW < 25:  # which writes others to Parquet as other moments, without an error
        ticks = [wide.max // 1000, -(wide.max // 1000), -1]
    return [(v, v) for v in ticks]


TICKS = [pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")] + [
    make(unit) for make in (pa.timestamp, pa.duration) for unit in ("s", "ms", "us", "ns")]
SMALL_DECIMALS = [pa.decimal32(9, 4), pa.decimal64(18, 2), pa.decimal64(18, 0)] if hasattr(pa, "decimal32") else []  # from pyarrow 19 on
KINDS = INTEGERS + TICKS + SMALL_DECIMALS + [
    pa.bool_(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(), pa.string_view(), pa.binary(),
    pa.large_binary(), pa.binary_view(), pa.binary(3), pa.decimal128(38, 0), pa.decimal128(38, 38), pa.decimal128(15, 3), pa.decimal128(20, 0), pa.decimal256(76, 10)]


def array_of(values, kind):
    if pa.types.is_decimal(kind):
        with decimal.localcontext(prec=100):
            return pa.array([str(+v) if isinstance(v, str) else format(v, "f") for v in values]).cast(kind)
    if kind in TICKS:
        width = pa.int32() if kind.bit_width == 32 else pa.int64()
        return pa.array(values, width).cast(kind) if not pa.types.is_duration(kind) else pa.array(values, width).view(kind)
    return pa.array(values, kind)


def ways(kind, value):
    """One value alone, beside a null, in a list, a struct, a dictionary."""
    one = array_of([value], kind)
    yield "x", one
    yield "x", pa.ListArray.from_arrays([0, 1], one)
    yield "x.m", pa.StructArray.from_arrays([one], names=["m"])
    # Parquet forgets that durations in a dictionary are any.
    if kind not in (pa.string_view(), pa.binary_view(), pa.float16()) and not pa.types.is_duration(kind):
        yield "x", pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), one)


def scalar(value):
    while isinstance(value, (list, np.ndarray)) and not isinstance(value, (str, bytes)):
        value = value[0]
    return value


def stored_type(name, path):
    return pq.read_schema(path).field(name.split(".")[0]).type


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_a_value_comes_out_as_it_was_or_is_an_error_that_names_the_column(tmp_path, kind):
    for value, expected in extremes(kind):
        for name, array in ways(kind, value):
            table = pa.table({"x": array})
            for way, pipeline in sources_or_skip(tmp_path, table):
                try:
                    got = scalar(column(pipeline, name))
                except fb.Error as error:
                    assert f"'{name}'" in str(error) and "types=" in str(error), (way, str(error))
                    assert pa.types.is_decimal(kind), (way, str(error))
                    continue
                if way == "parquet" and kind in TICKS:  # whose units Parquet may change
                    factor = 1000 if kind in (pa.timestamp("s"), pa.time32("s")) else 1
                    days = kind == pa.date64()
                    assert got in (expected, expected * factor, expected // 86_400_000 if days else expected), (way, got)
                elif pa.types.is_decimal(kind):
                    shown = D(f"{got:.{max(kind.scale, 0)}f}")
                    assert shown == expected, (way, got, expected)
                else:
                    assert got == expected or (got != got and expected != expected), (way, got, expected)


def sources_or_skip(folder, table):
    given = sources(folder, table)
    while True:
        try:
            yield next(given)
        except StopIteration:
            return
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            # What pyarrow does not write as Parquet is given in memory.
            yield "memory", fb.arrow(table)
            return


# What types= does with a value: as it comes out, or None where the row is bad.
READ_AS = [
    (pa.decimal128(38, 0), D("12345678901234567891"), "string", "12345678901234567891"),
    (pa.decimal128(38, 0), D("12345678901234567891"), "uint64", 12345678901234567891),
    (pa.decimal128(38, 0), D("12345678901234567891"), "int64", None),
    (pa.decimal128(38, 2), D("12.00"), "int64", 12),
    (pa.decimal128(38, 2), D("12.01"), "int64", None),
    (pa.decimal128(38, 38), D("-0.00000000000000000000000000000000000001"), "string", "-0." + "0" * 37 + "1"),
    (pa.decimal128(38, 10), D("1234567890123456789.0123456789"), "float64", 1234567890123456789.0123456789),
    (pa.decimal256(76, 0), D(10) ** 75, "float32", None),
    (pa.int64(), 2**53 + 1, "float64", None),
    (pa.int64(), -(2**53), "float64", -(2.0**53)),
    (pa.uint64(), 2**64 - 1, "float64", None),
    (pa.uint64(), 2**64 - 2048, "float64", 2.0**64 - 2048),
    (pa.int32(), 2**24 + 1, "float32", None),
    (pa.int32(), 2049, "float16", None),
    (pa.int64(), 70000, "float16", None),
    (pa.int64(), 300, "uint8", None),
    (pa.int64(), -1, "uint64", None),
    (pa.uint64(), 2**63, "int64", None),
    (pa.int8(), -128, "int64", -128),
    (pa.int64(), 7, "string", "7"),
    (pa.int64(), 1, "bool", True),
    (pa.int64(), 2, "bool", None),
    (pa.bool_(), True, "uint8", 1),
    (pa.bool_(), False, "string", "false"),
    (pa.float64(), 0.1, "float32", float(np.float32(0.1))),
    (pa.float64(), 1e300, "float32", None),
    (pa.float64(), math.inf, "float32", math.inf),
    (pa.float32(), 65520.0, "float16", None),
    (pa.float64(), 3.0, "int64", 3),
    (pa.float64(), 3.5, "int64", None),
    (pa.float64(), math.nan, "int64", None),
    (pa.float64(), 2.0**63, "int64", None),
    (pa.float64(), -(2.0**63), "int64", -(2**63)),
    (pa.float64(), 0.1, "string", "0.1"),
    (pa.float16(), np.float16(0.5), "float64", 0.5),
    (pa.string(), "00501", "string", "00501"),
    (pa.string(), "00501", "int64", 501),
    (pa.string(), "x", "int64", None),
    (pa.string(), "1.5", "float64", 1.5),
    (pa.string(), "é", "bytes", "é".encode()),
    (pa.binary(), b"abc", "string", "abc"),
    (pa.binary(), b"\xff", "string", None),
    (pa.binary(3), b"abc", "string", "abc"),
    (pa.timestamp("s"), 2**40, "datetime64[ns]", None),
    (pa.timestamp("s"), 86_400, "datetime64[ns]", 86_400 * 10**9),
    (pa.timestamp("ns"), 1, "datetime64[us]", None),
    (pa.timestamp("ns"), -1000, "datetime64[us]", -1),
    (pa.timestamp("us"), 86_400_000_000, "datetime64[D]", 1),
    (pa.timestamp("us"), 1, "datetime64[D]", None),
    (pa.timestamp("us"), 5, "int64", 5),
    (pa.date32(), 2**31 - 1, "datetime64[ns]", None),
    (pa.date32(), -1, "datetime64[us]", -86_400_000_000),
    (pa.duration("s"), 2**62, "timedelta64[ms]", None),
    (pa.duration("s"), -3, "timedelta64[ms]", -3000),
]


@pytest.mark.parametrize("kind,value,wanted,expected", READ_AS, ids=lambda one: str(one))
def test_types_say_what_a_column_is_read_as(tmp_path, kind, value, wanted, expected):
    for name, array in ways(kind, value):
        table = pa.table({"x": array})
        given = sources(tmp_path, table, types={name: wanted}) if name == "x" else [
            ("memory", fb.arrow(table, types={name: wanted}))]
        for way, pipeline in given:
            if expected is None:
                with pytest.raises(fb.Corrupt, match=f"'{name}'"):
                    column(pipeline, name)
                assert column(pipeline, name, on_error="skip") == []
                continue
            got = scalar(column(pipeline, name))
            got = got.item() if isinstance(got, np.generic) else got
            assert got == expected and isinstance(got, type(expected)), (way, got)


def test_types_are_refused_where_they_make_no_sense(tmp_path):
    table = pa.table({"when": pa.array([0], pa.timestamp("us")), "s": pa.StructArray.from_arrays([pa.array([1])], names=["m"])})
    write_parquet(tmp_path / "t.parquet", table)
    for types, text in [({"when": "flaot64"}, "did you mean 'float64'"), ({"wen": "int64"}, "did you mean 'when'"),
                        ({"when": "string"}, "'when' is timestamp"), ({"s": "int64"}, "'s.m'"), ({"when": 3}, "'3' is no type")]:
        with pytest.raises(fb.InvalidArgument, match=text):
            fb.Loader(fb.parquet(tmp_path / "t.parquet", types=types).batch(1)).close()
    assert column(fb.parquet(tmp_path / "t.parquet", types={"s.m": np.int8}), "s.m") == [1]
    assert column(fb.parquet(tmp_path / "t.parquet", types={"s.m": str}), "s.m") == ["1"]


@pytest.mark.skipif(PYARROW < 23, reason="pyarrow before 23 writes parts of seconds before 1970 as other moments")
def test_int96_timestamps_are_exact_in_any_unit_or_bad(tmp_path):
    written = [datetime.datetime(2024, 1, 1, 0, 0, 0, 1), datetime.datetime(9999, 12, 31, 3), datetime.datetime(1, 1, 1),
               datetime.datetime(1677, 9, 21, 0, 12, 43, 145225), None]
    path = tmp_path / "spark.parquet"
    pq.write_table(pa.table({"until": pa.array(written, pa.timestamp("us"))}), path, use_deprecated_int96_timestamps=True)
    got = column(fb.parquet(path, types={"until": "datetime64[us]"}, null=0), "until")
    assert [np.datetime64(v, "us") for v in got] == [np.datetime64(v, "us") if v else np.datetime64(0, "us") for v in written]
    assert column(fb.parquet(path, null=0), "until", on_error="skip") == [1704067200000001000, -9223372036854775000, 0]
    assert len(column(fb.parquet(path, types={"until": "datetime64[ms]"}, null=0), "until", on_error="skip")) == 3
    for name in ("l", "s"):
        nested = pa.array([[written[1]]]) if name == "l" else pa.array([{"m": written[1]}])
        pq.write_table(pa.table({name: nested}), path, use_deprecated_int96_timestamps=True)
        with pytest.raises(fb.Corrupt, match=r"datetime64\[us\]"):
            rows(fb.parquet(path))
        field = name if name == "l" else "s.m"
        got = column(fb.parquet(path, types={field: "datetime64[us]"}), field)
        assert np.datetime64(scalar(got), "us") == np.datetime64(written[1])


UNITED = [
    (pa.int32(), pa.int64(), "int64"),
    (pa.uint8(), pa.int8(), "int16"),
    (pa.int16(), pa.float32(), "float32"),
    (pa.float32(), pa.float64(), "float64"),
    (pa.int32(), pa.float64(), "float64"),
    (pa.int32(), pa.decimal128(10, 2), "float64"),
    (pa.timestamp("ms"), pa.timestamp("us"), "int64"),
    (pa.date32(), pa.timestamp("us"), "int64"),
    (pa.string(), pa.large_string(), None),
    (pa.string(), pa.dictionary(pa.int8(), pa.string()), None),
    (pa.list_(pa.int32()), pa.list_(pa.int64()), None),
    (pa.list_(pa.int32()), pa.large_list(pa.int32()), None),
    (pa.list_(pa.null()), pa.list_(pa.string()), None),
]
SAMPLE = {"i": [1, 2], "s": ["a", "b"], "l": [[1], [2, 3]], "e": [[], []]}


def sample(kind):
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = kind.value_type
        return pa.array(SAMPLE["e"] if pa.types.is_null(inner) else [["a"], []] if inner == pa.string() else SAMPLE["l"], kind)
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pa.array(SAMPLE["s"], pa.string()).cast(kind)
    if kind in TICKS:
        return array_of([1, 2], kind)
    return pa.array(["1", "2"]).cast(kind) if pa.types.is_decimal(kind) else pa.array(SAMPLE["i"], pa.int64()).cast(kind)


@pytest.mark.parametrize("one,other,dtype", UNITED, ids=str)
@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("null", ["error", fb.NULL_MASK], ids=["error", "masks"])
def test_files_of_other_widths_and_units_are_one_table(tmp_path, one, other, dtype, order, null):
    for i, kind in enumerate([one, other][:: -1 if order else 1]):
        write_parquet(tmp_path / f"{i}.parquet", pa.table({"x": sample(kind)}))
        write_stream(tmp_path / f"{i}.arrow", pa.table({"x": sample(kind)}))
    tables = [pa.table({"x": sample(kind)}) for kind in (one, other)]
    for pipeline in (fb.parquet(tmp_path, null=null), fb.arrow(tmp_path, null=null), fb.arrow(tables, null=null)):
        [batch] = rows(pipeline)
        if dtype:
            assert batch["x"].dtype == dtype
        assert len(column(pipeline, "x")) == 4
        if one == pa.date32():
            assert sorted(batch["x"].tolist()) == [1, 2, 86_400_000_000, 2 * 86_400_000_000]


@pytest.mark.parametrize("one,other", [(pa.int64(), pa.string()), (pa.int64(), pa.float64()), (pa.int8(), pa.uint64()),
                                       (pa.timestamp("s"), pa.int64()), (pa.int64(), pa.list_(pa.int64())),
                                       (pa.date32(), pa.duration("s"))], ids=str)
def test_what_cannot_be_united_names_column_types_files_and_the_way_out(tmp_path, one, other):
    write_parquet(tmp_path / "a.parquet", pa.table({"x": sample(one)}))
    write_parquet(tmp_path / "b.parquet", pa.table({"x": sample(other)}))
    with pytest.raises(fb.InvalidArgument) as error:
        rows(fb.parquet(tmp_path))
    text = str(error.value)
    assert "'x'" in text and "a.parquet" in text and "b.parquet" in text and "types={'x'" in text, text


def test_values_that_the_finer_unit_does_not_hold_are_bad(tmp_path):
    write_parquet(tmp_path / "a.parquet", pa.table({"t": pa.array([0, 2**60], pa.int64()).cast(pa.timestamp("us"))}))
    write_parquet(tmp_path / "b.parquet", pa.table({"t": pa.array([1], pa.int64()).cast(pa.timestamp("ns"))}))
    assert column(fb.parquet(tmp_path), "t", on_error="skip") == [0, 1]
    with pytest.raises(fb.Corrupt, match="'t'"):
        column(fb.parquet(tmp_path), "t")


def test_a_column_that_files_lack_is_null_there(tmp_path):
    struct = pa.array([{"a": 1, "b": "x"}], pa.struct([("a", pa.int16()), ("b", pa.string())]))
    late = {"n": pa.array([5], pa.int32()), "t": pa.array(["t"]), "l": pa.array([[1.5]]), "w": pa.array([["w", "v"]]),
            "f": pa.FixedSizeListArray.from_arrays(pa.array([1, 2], pa.uint8()), 2), "s": struct}
    write_parquet(tmp_path / "0.parquet", pa.table({"x": [0, 1]}))
    write_parquet(tmp_path / "1.parquet", pa.table({"x": [2], **late}))
    write_parquet(tmp_path / "2.parquet", pa.table({"x": [3], **{name: pa.nulls(1) for name in late}}))
    [batch] = rows(fb.parquet(tmp_path, null={"n": 7, "t": "-", "l": 0, "w": "", "f": 9, "s": -1, "s.b": "?"}))
    assert batch["n"].tolist() == [7, 7, 5, 7] and batch["t"] == ["-", "-", "t", "-"]
    assert batch["f"].tolist() == [[9, 9], [9, 9], [1, 2], [9, 9]]
    assert batch["s.a"].tolist() == [-1, -1, 1, -1] and batch["s.b"] == ["?", "?", "x", "?"]
    assert [list(one) for one in batch["w"]] == [[], [], ["w", "v"], []]
    [batch] = rows(fb.parquet(tmp_path, null=fb.NULL_MASK))
    for name in ("n", "t", "l", "w", "f", "s.a", "s.b"):
        assert batch[f"{name}_valid"].tolist() == [False, False, True, False], name
    assert column(fb.parquet(tmp_path), "x", on_error="skip") == [2]
    with pytest.raises(fb.Corrupt, match="'n' is null here, since '.*0.parquet' does not have it; give null="):
        rows(fb.parquet(tmp_path))
    assert column(fb.parquet(tmp_path, columns=["x"]), "x") == [0, 1, 2, 3]
    kept = column(fb.parquet(tmp_path, columns=["x"], filter=[("n", "==", 5)]), "x")
    assert kept == [2]


def test_a_file_that_shares_no_column_is_not_of_the_table(tmp_path):
    write_parquet(tmp_path / "a.parquet", pa.table({"x": [1]}))
    write_parquet(tmp_path / "b.parquet", pa.table({"q": [1]}))
    with pytest.raises(fb.InvalidArgument, match="none of the columns"):
        rows(fb.parquet(tmp_path, null=0))


def test_nulls_are_filled_in_the_united_type(tmp_path):
    write_parquet(tmp_path / "a.parquet", pa.table({"x": pa.array([1, None], pa.int8())}))
    write_parquet(tmp_path / "b.parquet", pa.table({"x": pa.array([None, 2.5], pa.float64())}))
    assert column(fb.parquet(tmp_path, null=-0.5), "x") == [1, -0.5, -0.5, 2.5]
    assert column(fb.parquet(tmp_path, null={"x": 1000}), "x") == [1, 1000, 1000, 2.5]
    with pytest.raises(fb.InvalidArgument, match="does not fit"):
        rows(fb.arrow(pa.table({"x": pa.array([None], pa.float64())}), null=2**53 + 1))


def test_a_filter_sees_the_united_type(tmp_path):
    write_parquet(tmp_path / "a.parquet", pa.table({"x": pa.array([1, 200], pa.int16())}))
    write_parquet(tmp_path / "b.parquet", pa.table({"x": pa.array([70_000, None], pa.int64())}))
    assert column(fb.parquet(tmp_path, filter=[("x", ">", 100)]), "x") == [200, 70_000]


# Names.


def test_an_exact_name_comes_before_the_members_of_a_struct(tmp_path):
    table = pa.table({"a": [1, 2], "a.b": pa.array([None, 3], pa.int64()),
                      "s": pa.array([{"x": 1}, {"x": 2}]), "s.y": [5, 6], "l": pa.array([[[1]], [[2, 3]]])})
    write_parquet(tmp_path / "t.parquet", table)
    for given in (lambda **args: fb.parquet(tmp_path / "t.parquet", **args), lambda **args: fb.arrow(table, **args)):
        [batch] = rows(given(columns=["a"]))
        assert list(batch) == ["a"] and batch["a"].tolist() == [1, 2]
        assert list(rows(given(columns=["s"]))[0]) == ["s.x"]
        assert list(rows(given(columns=["s.y"]))[0]) == ["s.y"]
        assert list(rows(given(columns=["l"]))[0]) == ["l", "l.lengths"]
        assert list(rows(given(columns=["a.b"], null={"a.b": 0}))[0]) == ["a.b"]
        with pytest.raises(fb.Corrupt, match="'a.b'"):
            rows(given(null={"a": 0}))


def test_nulls_of_a_struct_by_its_name():
    kind = pa.struct([("n", pa.int32()), ("t", pa.string()), ("in", pa.struct([("f", pa.float32())]))])
    table = pa.table({"s": pa.array([{"n": 1, "t": "a", "in": {"f": 0.5}}, None, {"n": None, "t": "b", "in": None}], kind)})
    [batch] = rows(fb.arrow(table, null={"s": 7, "s.t": "-"}))
    assert batch["s.n"].tolist() == [1, 7, 7] and batch["s.in.f"].tolist() == [0.5, 7, 7] and batch["s.t"] == ["a", "-", "b"]
    [batch] = rows(fb.arrow(table, null={"s": fb.NULL_MASK, "s.in": -1}))
    assert batch["s.n_valid"].tolist() == [True, False, False] and batch["s.in.f"].tolist() == [0.5, -1, -1]
    assert list(batch) == ["s.n", "s.n_valid", "s.t", "s.t_valid", "s.in.f"]
    [batch] = rows(fb.arrow(table, null=fb.NULL_MASK))
    assert batch["s.in.f_valid"].tolist() == [True, False, False]


# Kinds of columns and files.


def views(kind):
    if kind == "large_list":
        return pa.array([[1, 2], [], [3]], pa.large_list(pa.int64())), [[1, 2], [], [3]]
    if kind == "list_view":
        return pa.ListViewArray.from_arrays([2, 0, 1], [1, 0, 2], pa.array([1, 2, 3])), [[3], [], [2, 3]]
    if kind == "large_list_view":
        return pa.LargeListViewArray.from_arrays([2, 0, 1], [1, 0, 2], pa.array([1, 2, 3])), [[3], [], [2, 3]]
    if kind == "string_view":
        return pa.array(["", "short", "longer than twelve bytes"], pa.string_view()), ["", "short", "longer than twelve bytes"]
    return pa.array([[b"x"], [], [b"longer than twelve bytes"]], pa.list_(pa.binary_view())), [[b"x"], [], [b"longer than twelve bytes"]]


@pytest.mark.parametrize("kind", ["large_list", "list_view", "large_list_view", "string_view", "binary_views"])
def test_lists_and_views_of_every_kind_open(tmp_path, kind):
    array, expected = views(kind)
    for way, pipeline in sources_or_skip(tmp_path, pa.table({"x": array})):
        got = [one if isinstance(one, str) else list(one) for one in column(pipeline, "x")]
        assert got == expected, way


def test_a_stream_with_dictionaries_and_many_batches(tmp_path):
    words = pa.array(["a", "b", "c"] * 10).dictionary_encode()
    table = pa.table({"w": words, "i": pa.array(range(30))})
    write_stream(tmp_path / "s.arrow", table)
    assert column(fb.arrow(tmp_path / "s.arrow"), "w") == ["a", "b", "c"] * 10
    assert sorted(column(fb.arrow(tmp_path / "s.arrow", columns=["i"]).shuffle(), "i")) == list(range(30))
    whole = (tmp_path / "s.arrow").read_bytes()
    (tmp_path / "cut.arrow").write_bytes(whole[:-30])
    with pytest.raises(fb.Corrupt, match="Arrow stream ends within"):
        rows(fb.arrow(tmp_path / "cut.arrow"))
    (tmp_path / "text.arrow").write_text("no table at all, but text")
    with pytest.raises(fb.Error, match="expected an Arrow file or stream"):
        rows(fb.arrow(tmp_path / "text.arrow"))


def test_extension_types_are_read_as_what_they_are_stored_as(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"period": pd.period_range("2024-01", periods=2, freq="M"),
                          "interval": pd.interval_range(0, 2), "category": pd.Categorical(["a", "b"]),
                          "integer": pd.array([1, None], "Int64"), "flag": pd.array([True, None], "boolean"),
                          "text": pd.array(["x", None], "string")})
    table = pa.Table.from_pandas(frame)
    tensor = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.int32(), (2, 2)),
                                            pa.FixedSizeListArray.from_arrays(pa.array(range(8), pa.int32()), 4))
    table = table.append_column("tensor", tensor)
    for way, pipeline in sources(tmp_path, table, null=fb.NULL_MASK):
        [batch] = rows(pipeline)
        assert batch["period"].tolist() == [648, 649] and batch["interval.left"].tolist() == [0, 1], way
        assert batch["category"] == ["a", "b"] and batch["integer_valid"].tolist() == [True, False], way
        assert batch["tensor"].tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]], way


# Many bad rows.


@pytest.mark.parametrize("kind", ["nulls", "text", "lists", "lost", "lacking"])
def test_bad_rows_cost_a_bounded_number_of_decodes(tmp_path, kind):
    """Each chunk is decoded once, and once more when it is known how much memory its errors take."""
    count = 3000
    bad = {"nulls": pa.array([None] * count, pa.float32()), "lists": pa.array([[None]] * count, pa.list_(pa.int8())),
           "text": pa.array([b"\xff"] * count, pa.binary()).view(pa.string()),
           "lost": pa.array([D(2**53 + 1)] * count, pa.decimal128(38, 0)), "lacking": None}[kind]
    columns = {f"c{i}": bad for i in range(4)} if bad is not None else {}
    write_parquet(tmp_path / "a.parquet", pa.table({"x": pa.array(range(count)), **columns}))
    if bad is None:
        write_parquet(tmp_path / "b.parquet", pa.table({"x": [1], "c0": [1]}))
    for batch in (1, 7, count):
        for policy in ("skip", "raise"):
            loader = fb.Loader(fb.parquet(tmp_path).batch(batch), epochs=1, on_error=policy, max_errors=None)
            with loader:
                try:
                    for _ in loader:
                        pass
                except fb.Corrupt:
                    assert policy == "raise"
                stats = loader.stats()
            assert max(stats["chunks"]["decoded_times"]) <= 2, (kind, batch, policy, stats["chunks"])
