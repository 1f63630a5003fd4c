"""Arrays of text become text fields, from memory and from .npy files; complex numbers are refused with the way out."""
import numpy as np
import pytest

import forebay as fb

WORDS = ["", "a", "zwölf", "日本", "🙂 smile", "with\0inside", "x" * 40, "\udcff not UTF-8"]


def delivered(pipeline, name="t"):
    with fb.Loader(pipeline.batch(3), epochs=1) as loader:
        batches = [batch[name] for batch in loader]
    assert all(isinstance(batch, list) for batch in batches)
    return sum(batches, [])


def both_ways(tmp_path, array):
    np.save(tmp_path / "t.npy", array)
    return fb.arrays(t=array), fb.arrays(t=tmp_path / "t.npy")


@pytest.mark.parametrize("order", ["=", ">"])
def test_code_points_are_delivered_as_str(tmp_path, order):
    array = np.array(WORDS).astype(np.array(WORDS).dtype.newbyteorder(order))
    assert delivered(fb.arrays(t=array)) == WORDS == array.tolist()
    if order == "=":
        assert delivered(both_ways(tmp_path, array)[1]) == WORDS
    else:
        with pytest.raises(fb.Unsupported, match="newbyteorder"):
            delivered(both_ways(tmp_path, array)[1])


def test_bytes_are_delivered_as_str(tmp_path):
    array = np.array([b"cat", b"", b"z\xc3\xb6", b"\xff"])
    for pipeline in both_ways(tmp_path, array):
        assert delivered(pipeline) == ["cat", "", "zö", "\udcff"]


@pytest.mark.parametrize("array", [np.array(WORDS)[::2], np.array(WORDS)[::-1], np.array([], "U5"), np.array(["", ""]), np.zeros(3, "U0"),
                                   np.array(WORDS[:-1], np.dtypes.StringDType() if hasattr(np.dtypes, "StringDType") else "U")])
def test_every_form_of_text_is_text(array):
    assert delivered(fb.arrays(t=array)) == array.tolist()


def test_text_is_what_it_is_in_tables(tmp_path):
    names = np.array(["b", "a", "b", "c"] * 5)
    x = np.arange(20)
    pipeline = fb.arrays(t=names, x=x).shuffle().filter(lambda s: s["t"] != "c").hash_bucket(1000, field="t")
    assert pipeline.check() == []
    with fb.Loader(pipeline.batch(4), epochs=1, seed=1) as loader:
        got = {int(i): int(t) for batch in loader for i, t in zip(batch["x"], batch["t"])}
    pa = pytest.importorskip("pyarrow")
    table = fb.arrow(pa.table({"t": names.tolist(), "x": x})).hash_bucket(1000, field="t")
    with fb.Loader(table.batch(20), epochs=1) as loader:
        (batch,) = loader
        expected = {int(i): int(t) for i, t in zip(batch["x"], batch["t"]) if names[int(i)] != "c"}
    assert got == expected and len(got) == 15


def test_text_and_numbers_together_are_mapped_and_resumed():
    pipeline = fb.arrays(t=np.array([f"row {i}" for i in range(10)]), x=np.arange(10)).map(lambda s: {**s, "t": s["t"].upper()}).shuffle()
    with fb.Loader(pipeline.batch(2), epochs=1, seed=5) as loader:
        pairs = [(t, int(x)) for batch in loader for t, x in zip(batch["t"], batch["x"])]
    assert sorted(x for _, x in pairs) == list(range(10)) and all(t == f"ROW {x}" for t, x in pairs)


def test_text_and_its_numbers_are_different_data():
    text = np.array(["ab", "cd"])
    with fb.Loader(fb.arrays(t=text).batch(2)) as one, fb.Loader(fb.arrays(t=text.view("uint32").reshape(2, 2)).batch(2)) as other:
        with pytest.raises(fb.StateMismatch):
            other.load_state_dict(one.state_dict())


def test_what_no_text_holds_is_a_bad_sample():
    array = np.array(["good", "\ud800", "fine"])
    with fb.Loader(fb.arrays(t=array).batch(3), epochs=1, on_error="skip") as loader:
        assert [batch["t"] for batch in loader] == [["good", "fine"]]
        (told,) = loader.errors()
    assert told["sample"] == 1 and "U+D800" in told["message"] and "'t'" in told["message"]


def test_several_texts_a_sample_are_refused_with_the_way_out(tmp_path):
    array = np.array([["a", "b"], ["c", "d"]])
    with pytest.raises(fb.InvalidArgument, match="each column by itself"):
        fb.arrays(t=array)
    np.save(tmp_path / "t.npy", array)
    with pytest.raises(fb.Unsupported, match="each column"):
        fb.Loader(fb.arrays(t=tmp_path / "t.npy").batch(1))


@pytest.mark.parametrize("dtype, half", [("complex64", "float32"), ("complex128", "float64")])
def test_complex_numbers_are_refused_with_the_way_out(tmp_path, dtype, half):
    array = (np.arange(6) + 1j).astype(dtype).reshape(3, 2)
    with pytest.raises(fb.InvalidArgument, match=rf"view\('{half}'\)"):
        fb.arrays(z=array)
    np.save(tmp_path / "z.npy", array)
    with pytest.raises(fb.Unsupported, match="side by side"):
        fb.Loader(fb.arrays(z=tmp_path / "z.npy").batch(1))
    pairs = array.view(half).reshape(*array.shape, 2)
    with fb.Loader(fb.arrays(z=pairs).batch(3), epochs=1) as loader:
        (batch,) = loader
        assert (batch["z"].view(dtype)[..., 0] == array).all()
