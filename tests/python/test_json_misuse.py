"""Pipelines from JSON and by hand that cannot be what was meant: refused by `check()` with the step's name; what can be kept is kept."""
import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from loading import one_epoch

import forebay as fb


@pytest.fixture(autouse=True, scope="module")
def own_folders(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOREBAY_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.chdir(tmp_path_factory.mktemp("folder"))
        yield


def of_steps(*steps):
    return fb.Pipeline.from_json(json.dumps({"forebay_pipeline": 1, "steps": list(steps)}))


FILES = {"op": "files", "pattern_or_list": "nowhere/*"}


def operators(problems):
    return [problem.operator for problem in problems]


# Steps that only a program can have


@pytest.mark.parametrize("step, op", [
    ({"op": "map"}, "map"), ({"op": "map", "fields": "bytes"}, "map"), ({"op": "map", "version": "1", "random": True}, "map"),
    ({"op": "filter"}, "filter"), ({"op": "filter", "fields": ["key"]}, "filter")])
def test_a_step_without_its_function_is_refused_and_named(step, op):
    pipeline = of_steps(FILES, {"op": "shuffle"}, step, {"op": "batch", "n": 2})
    (problem,) = pipeline.check()
    assert problem.operator == f"2: {op}" and "function" in problem.message and f".{op}(" in problem.remedy
    with pytest.raises(fb.InvalidArgument, match=f"2: {op}: its function is missing"):
        fb.Loader(pipeline)


@pytest.mark.parametrize("source, word", [
    ({"op": "dataset", "size": 5}, "data set itself is missing"), ({"op": "dataset"}, "data set itself is missing"),
    ({"op": "arrays", "fields": ["x"]}, "arrays themselves are missing")])
def test_a_source_without_its_object_is_refused(source, word):
    pipeline = of_steps(source, {"op": "batch", "n": 2})
    assert any(problem.operator.startswith("0: ") and word in problem.message for problem in pipeline.check())
    with pytest.raises(fb.InvalidArgument, match=word):
        fb.Loader(pipeline)


# Arguments of sources

SOURCES = {
    "images": {"root": "photos"}, "files": {"pattern_or_list": "a/*"}, "manifest": {"url": "list.csv"},
    "arrays": {"fields": {"x": "x.npy"}}, "parquet": {"pattern": "a.parquet"}, "arrow": {"pattern": "a.arrow"}}
NAMES = {"images": {"root", "split_by"}, "files": {"pattern_or_list"}, "manifest": {"url", "root", "path", "header"}, "arrays": {"fields"},
         "parquet": {"pattern", "columns", "filter", "null"}, "arrow": {"pattern", "columns", "filter", "null"}}


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(SOURCES)), st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=12))
def test_an_argument_that_a_source_does_not_have_is_refused(source, name):
    found = of_steps({"op": source, **SOURCES[source], name: "x"}).check() if name not in NAMES[source] | {"op"} else None
    assert found is None or (f"0: {source}" in operators(found) and any(f"'{name}'" in problem.message for problem in found))
    assert of_steps({"op": source, **SOURCES[source]}).check() == []


@pytest.mark.parametrize("source, meant", [({"op": "images", "rot": "a"}, "root"), ({"op": "manifest", "url": "a.csv", "pth": "b"}, "path")])
def test_a_mistyped_argument_of_a_source_gets_a_suggestion(source, meant):
    assert any(f"did you mean '{meant}'" in problem.message for problem in of_steps(source).check())


@pytest.mark.parametrize("source", sorted(SOURCES))
@pytest.mark.parametrize("value", [None, 5, True, 1.5, {}, {"a": 1}, [1], [[]], [None]])
def test_arguments_of_sources_of_a_wrong_type_are_refused(source, value):
    required = next(iter(SOURCES[source]))
    problems = of_steps({"op": source, required: value}).check()
    assert problems and set(operators(problems)) == {f"0: {source}"}


# Steps by hand


def test_a_second_shuffle_is_refused():
    pipeline = fb.files("a").shuffle().take(5).shuffle(block=2).batch(2)
    (problem,) = pipeline.check()
    assert problem.operator == "3: shuffle" and "already" in problem.message


@pytest.mark.parametrize("make", [
    lambda p: p.map(lambda s: s, fields=[]), lambda p: p.filter(bool, fields=()), lambda p: p.select(),
    lambda p: p.cast("int8", field=[]), lambda p: p.log1p([]), lambda p: p.stack([], "x"), lambda p: p.map(lambda s: s, fields=5)])
def test_no_fields_at_all_are_never_all_of_them(make):
    (problem, *_) = make(fb.files("a")).check()
    assert problem.operator.startswith("1: ") and "field" in problem.message and problem.remedy


# What is no JSON


@pytest.mark.parametrize("text, word", [
    ("", "breaks off in line 1"), ('{"forebay_pipeline": 1,\n "steps": [', "breaks off in line 2"), ("{\n\n]", "line 3"),
    ("nonsense", "line 1"), ("NaN", "line 1"), ("[1e999]", "range")])
def test_it_says_where_the_text_is_no_json(text, word):
    with pytest.raises(fb.InvalidArgument, match=word):
        fb.Pipeline.from_json(text)


JSON = st.recursive(st.none() | st.booleans() | st.integers(-2**65, 2**65) | st.floats(allow_nan=False, allow_infinity=False)
                    | st.text(max_size=6) | st.sampled_from(["image", "bytes", "key", "x"]),
                    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3), max_leaves=6)
ARGUMENTS = ["n", "field", "fields", "size", "value", "length", "mean", "std", "root", "url", "path", "pattern", "columns", "null",
             "filter", "names", "ram", "disk", "pattern_or_list", "version", "random", "workers", "p", "dtype", "min", "last"]
OPERATORS = ["images", "files", "manifest", "arrays", "dataset", "parquet", "arrow", "shuffle", "take", "decode_image", "resize",
             "center_crop", "random_crop", "random_flip", "normalize", "cast", "clip", "map", "filter", "select", "rename", "pad",
             "cache", "stack", "fill_null", "hash_bucket", "layout", "batch", "nonsense", ""]


@settings(max_examples=500, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(OPERATORS), st.dictionaries(st.sampled_from(ARGUMENTS), JSON, max_size=4)), min_size=1,
                max_size=5))
def test_any_json_is_a_pipeline_or_refused_and_none_hangs(steps):
    """What `check()` finds nothing wrong with opens or fails with an error that says why, and never with Internal."""
    pipeline = of_steps(*({**arguments, "op": name} for name, arguments in steps))
    problems = pipeline.check()
    assert all(problem.operator and problem.message for problem in problems)
    assert str(pipeline) and fb.Pipeline.from_json(pipeline.to_json()).fingerprint == pipeline.fingerprint
    if problems:
        with pytest.raises(fb.InvalidArgument):
            fb.Loader(pipeline)
        return
    try:
        with fb.Loader(pipeline, epochs=1, threads=1) as loader:
            list(loader)
    except fb.Error as error:
        assert not isinstance(error, fb.Internal)


# Saving


def test_arrays_in_files_are_saved_by_their_paths(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(10))
    np.save(tmp_path / "y.npy", np.arange(20.0).reshape(10, 2))
    pipeline = fb.arrays(y=tmp_path / "y.npy", x=str(tmp_path / "x.npy")).shuffle().batch(3)
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert again.fingerprint == pipeline.fingerprint and again.check() == [] and str(again) == str(pipeline)
    assert one_epoch(again, seed=3) == one_epoch(pipeline, seed=3)
    with fb.Loader(again) as loader, fb.Loader(pipeline) as other:
        assert list(next(iter(loader)).keys()) == list(next(iter(other)).keys()) == ["y", "x"]
        assert loader.fingerprint == other.fingerprint
    assert pickle.loads(pickle.dumps(pipeline)).to_json() == pipeline.to_json()


def test_arrays_in_memory_are_not_saved_and_named():
    with pytest.raises(fb.InvalidArgument, match="arrays"):
        fb.arrays(x=np.arange(3), y="y.npy").to_json()


@pytest.mark.parametrize("make", [
    lambda: fb.arrays(x=np.arange(6)), lambda: fb.arrays(x=np.arange(6)).map(lambda s: s), lambda: fb.Dataset(list(range(6))),
    lambda: fb.arrays(x=np.arange(6)).filter(lambda s: s["x"] > 2)])
def test_every_pipeline_can_be_copied(make):
    pipeline = make().batch(2)
    for again in (copy.copy(pipeline), copy.deepcopy(pipeline), copy.deepcopy([pipeline])[0]):
        assert again.fingerprint == pipeline.fingerprint and one_epoch(again) == one_epoch(pipeline)


# Names


@pytest.mark.parametrize("typed, meant", [("random_crp", "random_crop"), ("shufle", "shuffle"), ("normalise", "normalize"),
                                          ("Batch", "batch"), ("decode_imag", "decode_image"), ("to_jsn", "to_json")])
def test_a_mistyped_operator_gets_a_suggestion(typed, meant):
    with pytest.raises(AttributeError, match=f"no operator '{typed}'; did you mean '.{meant}'") as caught:
        getattr(fb.files("a"), typed)
    assert caught.value.name == typed and isinstance(caught.value.obj, fb.Pipeline)


def test_a_name_that_is_near_to_nothing_gets_none():
    with pytest.raises(AttributeError, match=r"help\(forebay.Pipeline\)"):
        fb.files("a").zzzzzzzz
    assert not hasattr(fb.files("a"), "__array__") and not hasattr(fb.files("a"), "\ud800")
