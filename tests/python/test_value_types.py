"""Every element type through every way in and out; bfloat16; and what is refused says the field, the types, and what to do."""
import importlib.util
import re

import numpy as np
import pytest
import torch

import forebay as fb

PLAIN = ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"]
HAS_ML_DTYPES = importlib.util.find_spec("ml_dtypes") is not None
needs_ml_dtypes = pytest.mark.skipif(not HAS_ML_DTYPES, reason="ml_dtypes is not installed")


def same(sample):
    return sample


class Rows:
    """Of a torch tensor, or of an array."""

    def __init__(self, values, name="x"):
        self.values, self.name = values, name

    def __len__(self):
        return len(self.values)

    def __getitem__(self, i):
        return {self.name: self.values[i]}


def bits(value):
    """The bytes of an array or a tensor, and what it calls its type."""
    tensor = value if isinstance(value, torch.Tensor) else None
    if tensor is not None:
        return str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tensor.contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
    return value.dtype.name, value.shape, np.ascontiguousarray(value).tobytes()


def example(dtype):
    if dtype == "bool":
        return torch.tensor([[True, False], [False, False], [True, True], [False, True]])
    values = torch.tensor([[0, 1], [2, 3], [5, 77], [100, 127]])
    return values.to(getattr(torch, dtype)) / 3 if dtype.startswith(("float", "bfloat")) else values.to(getattr(torch, dtype))


def whole(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        (batch,) = loader
        return batch["x"]


SOURCES = {
    "a data set": lambda values: fb.Dataset(Rows(values)),
    "arrays": lambda values: fb.arrays(x=values),
    "a map": lambda values: fb.arrays(i=np.arange(len(values))).map(lambda sample: {"x": values[int(sample["i"])]}),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("dtype", [*PLAIN, "bfloat16"])
def test_types_come_out_as_they_went_in(source, dtype):
    values = example(dtype)
    pipeline = SOURCES[source](values).batch(len(values))
    assert bits(whole(pipeline, output="torch")) == bits(values)
    if dtype != "bfloat16":
        assert bits(whole(pipeline)) == bits(values.numpy())


class AllTypes:
    """A field of each type."""

    def __init__(self, dtypes):
        self.dtypes = dtypes

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return {dtype: example(dtype)[i] for dtype in self.dtypes}


@pytest.mark.parametrize("output, dtypes", [("torch", [*PLAIN, "bfloat16"]), ("numpy", PLAIN)])
def test_types_come_out_of_worker_processes_as_they_went_in(output, dtypes):
    with fb.Loader(fb.Dataset(AllTypes(dtypes), workers="processes").batch(4), epochs=2, output=output) as loader:
        for _ in range(2):
            (batch,) = loader
            for dtype in dtypes:
                assert bits(batch[dtype]) == bits(example(dtype) if output == "torch" else example(dtype).numpy()), dtype


@pytest.mark.parametrize("dtype", [*PLAIN, "bfloat16"])
def test_steps_keep_or_change_types(tmp_path, dtype):
    values = example(dtype)
    source = fb.arrays(x=values)
    assert bits(whole(source.cache(dir=tmp_path).batch(4), output="torch")) == bits(values)
    assert bits(whole(source.cache(dir=tmp_path).batch(4), output="torch")) == bits(values), "from the disk"
    padded = whole(source.pad("x", 1, length=3).batch(4), output="torch")
    assert bits(padded[:, :2]) == bits(values) and (padded[:, 2].double() == 1).all()
    ragged = fb.Dataset(Rows([values[i, : 1 + i % 2] for i in range(4)])).batch(4)
    flat, offsets = whole(ragged, output="torch")
    assert offsets.tolist() == [0, 1, 3, 4, 6] and bits(flat) == bits(torch.cat([values[i, : 1 + i % 2] for i in range(4)]))
    digests = set()
    for threads in (1, 3):
        with fb.Loader(source.batch(threads), threads=threads) as loader:
            digests.add(fb.digest(loader))
    assert len(digests) == 1


def test_bfloat16_leaves_by_dlpack_without_a_copy():
    with fb.Loader(fb.arrays(x=example("bfloat16")).batch(4), epochs=1, output="torch") as loader:
        (batch,) = loader
        assert batch["x"].data_ptr() == batch.buffers("x")[0].data_ptr()
        assert batch["x"].data_ptr() % 64 == 0


def test_cast_to_bfloat16_rounds_to_nearest_even():
    every_half = np.arange(65536, dtype=np.uint32) << 16
    rng = np.random.default_rng(3)
    floats = np.concatenate([every_half, every_half | 0x8000, every_half | 0x7FFF, every_half | 0x8001,
                             rng.integers(0, 2**32, 100_000, dtype=np.uint32)]).astype(np.uint32).view(np.float32)
    expected = torch.from_numpy(floats).to(torch.bfloat16)
    found = whole(fb.arrays(x=floats).cast("bfloat16", field="x").batch(len(floats)), output="torch")
    nan = torch.isnan(expected)
    assert torch.equal(torch.isnan(found), nan)
    assert torch.equal(found[~nan].view(torch.int16), expected[~nan].view(torch.int16))


@pytest.mark.parametrize("value, expected", [
    (1 + 2**-8 + 2**-40, 1 + 2**-7), (1 + 2**-8 - 2**-40, 1.0), (1 + 2**-8, 1.0), (1 + 3 * 2**-8, 1 + 2**-6), (-1 - 2**-8 - 2**-45, -1 - 2**-7),
    (3.39e38, 3.3895313892515355e38), (3.4e38, np.inf), (1e300, np.inf), (-1e300, -np.inf), (2.0**-133, 2.0**-133), (2.0**-135, 0.0),
])
def test_doubles_round_once(value, expected):
    found = whole(fb.arrays(x=np.array([value])).cast("bfloat16", field="x").batch(1), output="torch")
    assert found.double().tolist() == [expected]


def test_integers_of_64_bits_round_once():
    values = np.array([2**60 + 2**52 + 1, 2**60 + 2**52, -(2**60 + 2**52 + 1)])
    found = whole(fb.arrays(x=values).cast("bfloat16", field="x").batch(3), output="torch")
    assert found.double().tolist() == [2.0**60 + 2.0**53, 2.0**60, -(2.0**60 + 2.0**53)]


@pytest.mark.parametrize("dtype", PLAIN)
def test_bfloat16_casts_to_every_type(dtype):
    values = torch.tensor([0.0, 1, 2.5, 100]).to(torch.bfloat16)
    found = whole(fb.arrays(x=values).cast(dtype, field="x").batch(4))
    expected = values.float().numpy().astype(dtype)
    assert found.dtype == expected.dtype and found.tolist() == expected.tolist()


def test_column_steps_work_on_bfloat16():
    values = torch.tensor([[-2.0, 0.5], [1.0, 3.0]]).to(torch.bfloat16)
    clipped = whole(fb.arrays(x=values).clip(0, 2, field="x").batch(2), output="torch")
    assert clipped.dtype == torch.bfloat16 and clipped.tolist() == [[0, 0.5], [1, 2]]


@pytest.mark.skipif(HAS_ML_DTYPES, reason="ml_dtypes is installed")
def test_without_ml_dtypes_the_field_and_the_ways_out_are_named():
    with pytest.raises(fb.Unsupported, match=r"'x' is bfloat16.*pip install ml_dtypes.*output=\"torch\".*cast"):
        whole(fb.arrays(x=example("bfloat16")).batch(4))


@needs_ml_dtypes
def test_numpy_arrays_of_ml_dtypes_come_and_go():
    import ml_dtypes

    values = np.arange(8, dtype=np.float32).reshape(4, 2).astype(ml_dtypes.bfloat16)
    for pipeline in (fb.arrays(x=values), fb.Dataset(Rows(values)), fb.arrays(x=values[:, ::-1]).map(lambda s: {"x": s["x"][::-1]})):
        found = whole(pipeline.batch(4))
        assert found.dtype == ml_dtypes.bfloat16 and found.tolist() == values.tolist()
    half = fb.arrays(x=values).map(lambda s: {"x": s["x"] / 2}, workers="processes")
    assert bits(whole(half.batch(4), output="torch")) == bits(torch.arange(8).reshape(4, 2).to(torch.bfloat16) / 2)


@pytest.mark.parametrize("form", ["arrow", "wds"])
def test_bfloat16_is_not_materialized_and_named(tmp_path, form):
    pipeline = fb.Dataset(Rows(example("bfloat16")), version="1").cast("bfloat16", field="x")
    with pytest.raises(fb.Unsupported, match=r"'x' is bfloat16.*cast\(\"float32\"\)"):
        fb.materialize(pipeline, tmp_path / "kept", cut="last", format=form)


REFUSED = {
    "complex64": (np.zeros(2, np.complex64), "view"),
    "complex tensor": (torch.zeros(2, dtype=torch.complex64), "view_as_real"),
    "objects": (np.array([object(), 1], object), "make numbers"),
    "dates": (np.array(["2020-01-01"], "datetime64[D]"), r"astype\('int64'\)"),
    "durations": (np.array([3], "timedelta64[s]"), r"astype\('int64'\)"),
    "records": (np.zeros(2, [("a", "f4"), ("b", "i4")]), r"\{'a': a\['a'\]"),
    "long doubles": (np.zeros(2, np.longdouble), r"float64"),
    "rows of text": (np.array([["a"]]), "list of str"),
    "no value": (None, "leave the field out"),
    "lists of two lengths": ([[1, 2], [3]], "pad its rows"),
    "dicts in a list": ([{"bbox": [1, 2, 3, 4]}], "reshape"),
    "a sparse tensor": (torch.eye(2).to_sparse(), "convert"),
    "float8": (torch.zeros(2).to(torch.float8_e4m3fn), "convert"),
    "a tensor without memory": (torch.empty(2, device="meta"), "convert"),
    "void": (np.zeros(2, "V2"), "bfloat16"),
    "what raises": (type("Odd", (), {"__array__": lambda self, *args, **more: 1 / 0})(), "convert"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("source", ["a data set", "a map"])
def test_what_is_no_field_is_refused_by_name_with_types_and_a_way_out(name, source):
    value, way = REFUSED[name]
    with pytest.raises(TypeError, match=rf"(?s)the field 'odd\.one' .*bfloat16.*{way}"):
        pipeline = {
            "a data set": lambda: fb.Dataset([{"odd": {"one": value}}]),
            "a map": lambda: fb.arrays(i=np.arange(1)).map(lambda sample: {"odd.one": value}),
        }[source]()
        with fb.Loader(pipeline.batch(1), epochs=1) as loader:
            list(loader)


def test_what_is_no_field_is_refused_in_worker_processes_by_name_with_types_and_a_way_out():
    unlike_behind_a_pickle = ("a sparse tensor", "a tensor without memory", "objects", "what raises")
    names = [name for name in REFUSED if name not in unlike_behind_a_pickle]
    rows = [{"good": np.arange(2)}, *({"odd": {"one": REFUSED[name][0]}} for name in names)]
    with fb.Loader(fb.Dataset(rows, workers="processes").batch(1), epochs=1, on_error="skip") as loader:
        list(loader)
        told = {error["sample"]: error["message"] for error in loader.errors()}
    assert sorted(told) == list(range(1, len(rows)))
    for number, name in enumerate(names, 1):
        assert re.search(rf"(?s)TypeError: the field 'odd\.one' .*bfloat16.*{REFUSED[name][1]}", told[number]), (name, told[number])


@pytest.mark.parametrize("name", [name for name in REFUSED if isinstance(REFUSED[name][0], (np.ndarray, torch.Tensor))])
def test_arrays_refuse_the_same(name):
    value, way = REFUSED[name]
    if name == "rows of text":
        way = "each column"
    with pytest.raises(fb.InvalidArgument, match=rf"'odd'.*{way}"):
        fb.arrays(odd=value)


MASKED = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])


@pytest.mark.parametrize("value", [MASKED, [1.0, np.ma.masked], [MASKED, MASKED], np.ma.masked, np.ma.masked_array([1, 2], [True, False])])
def test_masks_are_not_lost_in_silence(value):
    with pytest.raises(TypeError, match=r"the field 'x' is a masked array with \d of \d.*filled.*x_valid|the field 'x' is a masked.*<name>_valid"):
        whole(fb.Dataset([{"x": value}]).batch(1))
    with pytest.raises(TypeError, match="masked"):
        whole(fb.arrays(i=np.arange(1)).map(lambda s: {"x": value}).batch(1))
    if isinstance(value, np.ma.MaskedArray) and value.ndim:
        with pytest.raises(fb.InvalidArgument, match=r"'x' is a masked array.*filled"):
            fb.arrays(x=value)


def test_masked_arrays_with_nothing_masked_and_the_way_out_go_through():
    plain = np.ma.masked_array([1.0, 2.0, 3.0])
    assert whole(fb.arrays(x=plain).batch(3)).tolist() == [1, 2, 3]
    assert whole(fb.Dataset([{"x": plain}]).batch(1)).tolist() == [[1, 2, 3]]
    pipeline = fb.arrays(x=MASKED.filled(0), x_valid=~np.ma.getmaskarray(MASKED)).batch(3)
    with fb.Loader(pipeline, epochs=1) as loader:
        (batch,) = loader
        assert batch["x"].tolist() == [1, 0, 3] and batch["x_valid"].tolist() == [True, False, True]


def test_nulls_of_arrow_are_not_lost_in_silence():
    pa = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match=r"'x' has 1 nulls.*fill_null"):
        whole(fb.Dataset([{"x": pa.array([1, None])}]).batch(1))
    assert whole(fb.Dataset([{"x": pa.array([1, 2])}]).batch(1)).tolist() == [[1, 2]]
