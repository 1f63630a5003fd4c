"""Every elementwise operator on every type gives the same, or refuses the same, wherever the values come from."""
import numpy as np
import pytest
from test_column_ops import NUMBERS, delivered, numbers, table_of

import forebay as fb

DTYPES = ["bool", *NUMBERS]
ROWS = 12

OPERATORS = {
    "clip": lambda p: p.clip(min=1, max=3, field="x"),
    "clip a fraction": lambda p: p.clip(min=2.5, field="x"),
    "clip from above by a fraction": lambda p: p.clip(max=2.5, field="x"),
    "clip beyond small types": lambda p: p.clip(min=-1000, max=1000, field="x"),
    "log1p": lambda p: p.log1p(field="x"),
    "cast to float32": lambda p: p.cast("float32", field="x"),
    "cast to int8": lambda p: p.cast("int8", field="x"),
    "cast to int8 that saturates": lambda p: p.cast("int8", field="x", errors="saturate"),
    "cast to bool": lambda p: p.cast("bool", field="x"),
    "normalize": lambda p: p.normalize(2.0, 3.0, field="x"),
    "hash_bucket": lambda p: p.hash_bucket(1000, field="x"),
    "stack": lambda p: p.stack(["x", "y"], name="x"),
}


def values_of(dtype, shape=()):
    if dtype == "bool":
        return np.random.default_rng(3).integers(0, 2, (ROWS, *shape)).astype(bool)
    return numbers(dtype, ROWS, shape)


class Rows:
    def __init__(self, columns):
        self.columns = columns

    def __len__(self):
        return ROWS

    def __getitem__(self, index):
        return {name: values[index] for name, values in self.columns.items()}


def sources(tmp_path, columns):
    """The same values, of a type that is known before and of one that only the samples tell."""
    yield "array", fb.arrays(**columns)
    yield "table", table_of(tmp_path / "table", columns, group=5)
    yield "dataset", fb.Dataset(Rows(columns))
    yield "behind a full map", fb.arrays(**columns).map(lambda sample: sample)
    yield "behind a map of the field", fb.arrays(**columns).map(lambda sample: {"x": sample["x"]}, fields="x")


def outcome(pipeline):
    """What comes out, or that it is refused."""
    try:
        values = delivered(pipeline, "x", batch=5)
    except fb.Error as error:
        assert not isinstance(error, fb.Internal), error
        return "refused", type(error)
    return values.dtype, values.shape, values.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_every_source_agrees(tmp_path, name, dtype):
    columns = {"x": values_of(dtype), "y": values_of(dtype)[::-1].copy()}
    outcomes = {source: outcome(OPERATORS[name](pipeline)) for source, pipeline in sources(tmp_path, columns)}
    first = outcomes["array"]
    for source, got in outcomes.items():
        assert got[0] == first[0] and (got[0] == "refused" or got == first), (source, outcomes)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0, 1, -1, 2.5, 300])
def test_every_source_agrees_on_padding(tmp_path, value, dtype):
    columns = {"x": values_of(dtype, (3,))}
    outcomes = {source: outcome(pipeline.pad("x", value, length=5)) for source, pipeline in sources(tmp_path, columns)}
    first = outcomes.pop("array")
    for source, got in outcomes.items():
        assert got[0] == first[0] and (got[0] == "refused" or got == first), (source, first, outcomes)


@pytest.mark.parametrize("source", [fb.Dataset([{"x": np.int64(i)} for i in range(4)]),
                                    fb.arrays(x=np.arange(4)).map(lambda sample: sample)])
def test_a_bound_that_the_type_does_not_have_is_refused_with_the_way_out(source):
    with pytest.raises(fb.InvalidArgument, match=r"min is 2\.5, and the field 'x' is int64.*cast"):
        delivered(source.clip(min=2.5, field="x"), "x")
    assert delivered(source.cast("float32", field="x").clip(min=2.5, field="x"), "x").tolist() == [2.5, 2.5, 2.5, 3.0]
