"""`.rename(a="b", b="a")` of which only some fields are looked at behind it."""
import numpy as np
import pyarrow as pa

import forebay as fb


def values(pipeline, field):
    with fb.Loader(pipeline.batch(1), epochs=1) as loader:
        return [batch[field][0].tolist() for batch in loader]


def test_behind_user_code_that_gives_both():
    table = pa.table({"a": pa.array([1, 2], "uint32"), "b": pa.array([5, 6], "int64")})
    doubled = fb.arrow(table).map(lambda s: {**s, "a": np.stack([s["a"]] * 2)}).rename(a="b", b="a").cast("int8", field="b")
    assert values(doubled.select("b"), "b") == [[1, 1], [2, 2]]


def test_of_a_dataset_before_a_map_of_one_field():
    items = fb.Dataset([{"x": 1, "text": 2}]).rename(text="x", x="text")
    assert values(items.map(lambda s: {"new": s["text"] + 1}, fields="text").select("new"), "new") == [2]


def test_before_user_code_that_replaces_the_other():
    arrays = fb.arrays(label=np.arange(2), mask=np.ones((2, 3)), value=np.arange(2) + 7).rename(mask="label", label="mask")
    drawn = arrays.map(lambda s, rng: {"image": rng.random(3)}, fields="label", random=True)
    assert values(drawn.map(lambda s: {"mask": 1}, fields="image").select("value"), "value") == [7, 8]


def test_behind_a_choice_of_which_one_is_left():
    exchanged = fb.arrays(value=np.arange(2) + 7, x=np.arange(2)).select("x", "value").rename(x="value", value="x")
    assert values(exchanged.select("x"), "x") == [7, 8]


def test_of_a_file_that_nobody_looks_at(tmp_path):
    """The missing one is not missed."""
    (tmp_path / "a.jpg").write_bytes(b"a")
    (tmp_path / "list.csv").write_text("path\na.jpg\nmissing.jpg\n")
    files = fb.manifest(str(tmp_path / "list.csv")).rename(bytes="key", key="bytes").select("bytes")
    assert values_of_text(files, "bytes") == ["a.jpg", "missing.jpg"]


def values_of_text(pipeline, field):
    with fb.Loader(pipeline.batch(1), epochs=1) as loader:
        return [batch[field][0] for batch in loader]
