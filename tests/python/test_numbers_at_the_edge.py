"""Numbers at the edges of their types, wherever a user can write one: taken as they are, or refused by name with a way out."""
import json
import math

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from loading import one_epoch

import forebay as fb

EDGES = sorted({sign * 2**power + more for power in (0, 7, 8, 15, 16, 31, 32, 52, 53, 62, 63, 64, 65, 127)
                for more in (-1, 0, 1) for sign in (1, -1)} | {0, 10**19, 10**20, 10**400})
INTEGERS = st.one_of(st.sampled_from(EDGES), st.integers(-2**70, 2**70), st.integers())
FLOATS = st.one_of(st.floats(), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, 1.7e308]))


def numbers(n=8):
    return fb.arrays(x=np.arange(n, dtype=np.int64))


# pad


def test_each_value_to_pad_with_has_a_fingerprint_of_its_own():
    values = [math.nan, math.inf, -math.inf, 0, 1, -1, 5e-324, 1.7e308]
    prints = {fb.files("a").pad("x", value).fingerprint for value in values}
    assert len(prints) == len(values)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.5, -3])
def test_a_padded_pipeline_comes_back_from_json_and_does_the_same(tmp_path, value):
    np.save(tmp_path / "x.npy", np.zeros((4, 2), np.float32))
    pipeline = fb.arrays(x=tmp_path / "x.npy").pad("x", value, length=3).batch(2)
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert again.check() == [] and again.fingerprint == pipeline.fingerprint and again.to_json() == pipeline.to_json()
    with fb.Loader(again, epochs=1) as loader:
        for batch in loader:
            assert np.array_equal(batch["x"], np.tile(np.float32([0, 0, value]), (2, 1)), equal_nan=True)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.5, 1e300])
def test_integers_are_not_padded_with_what_they_cannot_hold(value):
    pipeline = fb.arrays(x=np.zeros((4, 2), np.int32)).pad("x", value, length=3).batch(2)
    with pytest.raises(fb.InvalidArgument, match="int32 cannot hold"):
        fb.Loader(pipeline)


@pytest.mark.parametrize("value", ["x", None, 10**400, [1], {}])
def test_what_is_no_number_to_pad_with_is_refused_where_it_is_written(value):
    with pytest.raises(fb.InvalidArgument, match="pad: value"):
        fb.files("a").pad("x", value)


# Arguments of operators

FLOAT_ARGUMENTS = {
    "random_flip": lambda p, v: p.random_flip(v), "normalize": lambda p, v: p.normalize(v, 1.0),
    "normalize std": lambda p, v: p.normalize([0.0], [v]), "jitter": lambda p, v: p.color_jitter(v),
    "jitter range": lambda p, v: p.color_jitter(contrast=(0.0, v)), "scale": lambda p, v: p.random_resized_crop(8, scale=(v, 1.0)),
    "ratio": lambda p, v: p.random_resized_crop(8, ratio=(0.75, v)), "clip": lambda p, v: p.clip(min=v, field="x"),
    "fill_null": lambda p, v: p.fill_null(v, "x"), "pad": lambda p, v: p.pad("x", v),
}


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FLOAT_ARGUMENTS)), FLOATS, FLOATS)
def test_different_floats_are_different_pipelines_and_json_keeps_them(name, one, other):
    make, base = FLOAT_ARGUMENTS[name], fb.files("a").decode_image()
    first, second = make(base, one), make(base, other)
    same = one == other or (math.isnan(one) and math.isnan(other))
    assume(not same or math.copysign(1, one) == math.copysign(1, other))
    if name != "clip":  # where an infinity is no limit, as none given is
        assert (first.fingerprint == second.fingerprint) == same
    assert ": null" not in first.to_json()
    again = fb.Pipeline.from_json(first.to_json())
    assert again.fingerprint == first.fingerprint and again.check() == first.check()


INTEGER_ARGUMENTS = {
    "take": lambda v: numbers().take(v), "batch": lambda v: numbers().batch(v), "block": lambda v: numbers().shuffle(block=v),
    "lanes": lambda v: numbers().shuffle(lanes=v), "resize": lambda v: numbers().resize(v),
    "crop": lambda v: numbers().center_crop([v, 8]), "max_pixels": lambda v: numbers().decode_image(max_pixels=v),
    "length": lambda v: numbers().pad("x", 0, length=v), "hash_bucket": lambda v: numbers().hash_bucket(v, "x"),
    "salt": lambda v: numbers().hash_bucket(8, "x", salt=v), "ram": lambda v: numbers().cache(ram=v),
    "null": lambda v: fb.parquet("a", null=v), "filter": lambda v: fb.parquet("a", filter=[("x", ">", v)]),
    "null by column": lambda v: fb.parquet("a", null={"x": v}), "filter in": lambda v: fb.parquet("a", filter=[("x", "in", [v])]),
}


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(INTEGER_ARGUMENTS)), INTEGERS)
@example("take", 2**63)
@example("null", 2**63)
@example("filter", -2**63 - 1)
def test_integers_of_any_size_are_kept_or_refused_by_name(name, value):
    try:
        pipeline = INTEGER_ARGUMENTS[name](value)
    except fb.InvalidArgument as error:
        assert not -2**63 <= value < 2**63 and str(value) in str(error)
        return
    assert -2**63 <= value < 2**63
    pipeline.check()
    assert str(value) in str(pipeline)


# Options of a loader

OPTIONS = ["seed", "epochs", "rank", "world_size", "threads", "requests", "memory", "max_errors"]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(OPTIONS), st.one_of(INTEGERS, FLOATS, st.none(), st.text(max_size=5), st.booleans(), st.binary(max_size=2)))
@example("memory", 2**70)
@example("memory", 2**63)
@example("memory", 2**64 - 1)
@example("max_errors", 2**70)
@example("max_errors", 1.0)
@example("max_errors", np.float32(0.5))
@example("memory", "\ud800")
def test_loaders_take_a_number_or_name_the_option(name, value):
    assume(not (name == "threads" and isinstance(value, int) and not isinstance(value, bool) and 64 < value < 2**31))
    assume(not (name == "requests" and isinstance(value, int) and 1000 < value < 2**31))
    assume(not (name == "seed" and value is None))
    try:
        with fb.Loader(numbers().batch(2), **{name: value}) as loader:
            len(loader)
    except fb.OutOfBudget:
        assert name == "memory"
    except fb.InvalidArgument as error:
        assert name.replace("_", "") in str(error).replace("_", "").replace(" ", "")


@pytest.mark.parametrize("value", [None, 1, "Skip", "", b"skip", ["skip"], "ignore"])
def test_a_policy_that_is_none_is_refused_with_those_that_are(value):
    with pytest.raises(fb.InvalidArgument, match="on_error is .*'raise', 'skip' or 'replace'"):
        fb.Loader(numbers().batch(2), on_error=value)


@pytest.mark.parametrize("epoch", [2**63, -2**63 - 1, 2**70, -1, 2**63 - 1])
def test_epochs_beyond_all_are_refused(epoch):
    with fb.Loader(numbers().batch(2)) as loader, pytest.raises(fb.InvalidArgument, match="set_epoch"):
        loader.set_epoch(epoch)


@pytest.mark.parametrize("field", ["epoch", "position", "step", "samples"])
@pytest.mark.parametrize("value", [2**63, 2**64 - 1, 2**64, -1, 1.5, None, "1", math.inf])
def test_states_with_numbers_that_are_none_are_refused(field, value):
    with fb.Loader(numbers().batch(2)) as loader:
        with pytest.raises((fb.InvalidArgument, fb.StateMismatch)):
            loader.load_state_dict({**loader.state_dict(), field: value})


# Sizes in bytes: one parser


UNITS = {"": 1, "B": 1} | {f"{prefix}{end}": base ** (power + 1) for power, prefix in enumerate("KMGT")
                          for end, base in (("", 1000), ("B", 1000), ("i", 1024), ("iB", 1024))}


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**64), st.sampled_from(sorted(UNITS)), st.sampled_from([str, str.lower, str.upper]),
       st.sampled_from(["", " ", "\t"]))
@example(2, "G", str, "")
@example(2, "GiB", str.lower, "")
def test_sizes_are_powers_of_ten_or_with_an_i_of_two_in_any_case(number, unit, case, blank):
    from forebay.loader import _bytes

    text = blank + case(f"{number}{blank}{unit}") + blank
    expected = number * UNITS[unit]
    if expected >= 2**63:
        with pytest.raises(fb.InvalidArgument, match="memory"):
            _bytes("memory", text)
    else:
        assert _bytes("memory", text) == expected


@pytest.mark.parametrize("text", ["2G", "2gib", "64M", "1mb", "0.5GiB", "lots", "", "1e9", "-1", "2 GiB "])
def test_loader_and_cache_agree_on_what_is_a_size(text):
    from forebay.loader import _bytes

    found = [p for p in fb.files("a").cache(ram=text, disk=0).check() if "ram" in p.message]
    try:
        assert _bytes("memory", text) > 0 and not found
    except fb.InvalidArgument:
        assert found


# max_errors


def bad_in(bad):
    def function(sample):
        if int(sample["x"]) in bad:
            raise ValueError("bad")
        return sample

    return function


def epochs_of(bad, max_errors, policy="skip", epochs=3, n=20):
    with fb.Loader(numbers(n).map(bad_in(bad)).batch(4), epochs=epochs, on_error=policy, max_errors=max_errors) as loader:
        for _ in range(epochs):
            list(loader)
        return sum(entry["count"] for entry in loader.errors())


def test_a_share_of_one_is_all_of_them():
    assert epochs_of(range(20), 1.0, epochs=2) == 40
    assert epochs_of(range(20), 20, epochs=2) == 40
    with pytest.raises(ValueError, match="bad"):
        epochs_of(range(20), 19)


@pytest.mark.parametrize("policy", ["skip", "replace"])
@pytest.mark.parametrize("limit, borne", [(3, True), (2, False), (0.15, True), (0.149, False), (0, False), (0.0, False)])
def test_different_bad_samples_of_an_epoch_count_and_each_epoch_anew(limit, borne, policy):
    bad = {2, 11, 17}
    if borne:
        assert epochs_of(bad, limit, policy) >= 9
    else:
        with pytest.raises(ValueError, match="bad"):
            epochs_of(bad, limit, policy)


def test_a_bad_replacement_counts_once_however_often_it_is_drawn():
    # Of ten samples nine are bad: nearly every replacement is, too, and all of them are met many times.
    assert epochs_of(range(9), 9, "replace", n=10) > 9 * 3
    with pytest.raises(ValueError, match="bad"):
        epochs_of(range(9), 8, "replace", n=10)


# Manifests


def manifest(tmp_path, name, text):
    for i in range(4):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]))
    (tmp_path / name).write_text(text)
    return fb.manifest(tmp_path / name)


def column(tmp_path, values, name):
    """The field `n` of a manifest with these values, as it comes out."""
    if name.endswith("csv"):
        text = "path,n\n" + "".join(f"{i}.bin,{value}\n" for i, value in enumerate(values))
    else:
        text = "".join(f'{{"path": "{i}.bin", "n": {value}}}\n' for i, value in enumerate(values))
    with fb.Loader(manifest(tmp_path, name, text).select("n").batch(len(values)), epochs=1) as loader:
        (batch,) = loader
    return batch["n"]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(st.integers(-2**66, 2**66), st.sampled_from([v for v in EDGES if abs(v) < 10**300])), min_size=1,
                max_size=4), st.sampled_from(["list.csv", "list.jsonl"]))
@example([2**63], "list.csv")
@example([2**63], "list.jsonl")
@example([1, 2**64 - 1], "list.jsonl")
@example([2**64], "list.csv")
@example([-1, 2**63], "list.jsonl")
@example([2**63, -1], "list.jsonl")
@example([2**64], "list.jsonl")
def test_whole_numbers_of_manifests_are_never_rounded(tmp_path_factory, values, name):
    fits = [kind for kind in (np.int64, np.uint64) if all(np.iinfo(kind).min <= v <= np.iinfo(kind).max for v in values)]
    folder = tmp_path_factory.mktemp("manifest")
    if not fits and name.endswith("jsonl"):
        with pytest.raises(fb.Corrupt, match=r"line \d+: 'n' .*write (it|them) as text"):
            column(folder, values, name)
        return
    got = column(folder, values, name)
    if fits:
        assert got.dtype == fits[0] and got.tolist() == values
    else:
        assert got == [str(value) for value in values]


@pytest.mark.parametrize("values", [[1.5, 2**63], [2**63, 1.5], [1, 2**63, -1.5]])
def test_whole_numbers_beside_floats_become_floats_where_no_digit_is_lost(tmp_path, values):
    assert column(tmp_path, values, "list.jsonl").tolist() == [float(value) for value in values]
    assert column(tmp_path, values, "list.csv") == [str(value) for value in values], "the float would not print as the cell"


def test_a_null_in_a_parquet_manifest_is_told_with_a_way_out_that_there_is(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    (tmp_path / "a.bin").write_bytes(b"a")
    pq.write_table(pa.table({"path": ["a.bin", "a.bin"], "n": [1, None]}), tmp_path / "list.parquet")
    with pytest.raises(fb.Corrupt, match="row 2: the column 'n' is null") as caught:
        fb.Loader(fb.manifest(tmp_path / "list.parquet").batch(1))
    assert "null=" not in str(caught.value) and "fill it in" in str(caught.value)


# Nulls and axes


def test_an_empty_dict_of_nulls_names_no_column(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"n": [1, 2]}), tmp_path / "a.parquet")
    plain = fb.parquet(tmp_path / "a.parquet", null="error").batch(2)
    pipeline = fb.parquet(tmp_path / "a.parquet", null={}).batch(2)
    assert pipeline.check() == [] and one_epoch(pipeline) == one_epoch(plain)


@pytest.mark.parametrize("axes", range(1, 12))
def test_arrays_of_many_axes(axes):
    values = np.zeros((2,) * axes)
    if axes <= 8:
        with fb.Loader(fb.arrays(x=values).batch(2), epochs=1) as loader:
            (batch,) = loader
            assert batch["x"].shape == values.shape
    else:
        with pytest.raises(fb.InvalidArgument, match=f"'x' has {axes} axes"):
            fb.arrays(x=values)


@pytest.mark.parametrize("axes", range(0, 11))
@pytest.mark.parametrize("how", ["map", "data set", "stack"])
def test_samples_of_many_axes(axes, how):
    value = np.ones((1,) * axes, np.float32)
    if how == "stack":
        if axes > 7:
            return  # no source gives such samples
        pipeline = fb.arrays(x=np.stack([value] * 2), y=np.stack([value] * 2)).stack(["x", "y"], name="v")
        value = np.stack([value, value])
    else:
        pipeline = (numbers(2).map(lambda sample: {"v": value}) if how == "map" else fb.Dataset([{"v": value}] * 2))
    try:
        with fb.Loader(pipeline.batch(2), epochs=1) as loader:
            (batch,) = loader
            assert batch["v"].shape == (2, *value.shape) and value.ndim <= 7
    except (TypeError, fb.InvalidArgument) as error:
        assert value.ndim > 7 and "axes" in str(error)


def test_json_numbers_out_of_range_are_refused():
    for number in ("1e999", "-1e999", str(2**63), str(2**64), "1" * 400):
        text = json.dumps({"forebay_pipeline": 1, "steps": [{"op": "files", "pattern_or_list": "a"}, {"op": "take", "n": "N"}]})
        try:
            assert fb.Pipeline.from_json(text.replace('"N"', number)).check()
        except fb.InvalidArgument as error:
            assert "range" in str(error)
