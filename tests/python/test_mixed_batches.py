"""Samples that make no batch together: the error names both, by id and key."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import forebay as fb

VALUES = {"row": np.zeros(3, np.float32), "plane": np.zeros((2, 2), np.float32), "other plane": np.zeros((2, 3), np.float32),
          "integers": np.zeros((2, 2), np.int32), "number": np.float32(1), "text": "text", "bytes": b"bytes"}


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=9), st.integers(2, 4), st.booleans())
def test_the_two_samples_that_differ_are_named(kinds, n, shuffled):
    samples, order = fb.Dataset([{"v": VALUES[kind]} for kind in kinds]), fb.arrays(i=np.arange(len(kinds)))
    if shuffled:
        samples, order = samples.shuffle(), order.shuffle()
    with fb.Loader(samples.batch(n), seed=1, epochs=1) as loader, fb.Loader(order.batch(n), seed=1, epochs=1) as plain:
        batches, first = iter(loader), None
        for ids in (batch.ids.tolist() for batch in plain):
            first = first or kinds[ids[0]]
            if kinds[ids[0]] != first:
                return  # batches of two forms are another error
            odd = next((i for i in ids if kinds[i] != kinds[ids[0]]), None)
            if odd is None:
                assert next(batches).ids.tolist() == ids
                continue
            with pytest.raises(fb.InvalidArgument, match="the field 'v' is .* of the same batch") as caught:
                next(batches)
            assert caught.value.sample == odd and caught.value.key.endswith(f"[{odd}]")
            assert f"sample {ids[0]} ('" in str(caught.value) and f"(sample {odd})" in str(caught.value)
            return


def test_pictures_of_two_sizes_are_named_by_file(tmp_path):
    for name, size in (("a", (4, 4)), ("b", (4, 4)), ("c", (6, 4))):
        Image.new("RGB", size).save(tmp_path / f"{name}.png")
    pipeline = fb.files(str(tmp_path / "*.png")).decode_image().map(lambda s: s).batch(3)
    with fb.Loader(pipeline) as loader, pytest.raises(fb.InvalidArgument) as caught:
        list(loader)
    assert "c.png" in caught.value.key and "a.png" in caught.value.message and caught.value.sample == 2


@pytest.mark.parametrize("samples", [
    [{"a": 1}, {"a": 1}, {"a": 1, "b": 2}],
    [{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 1}],
    [{"b": 2, "a": 1}, {"b": 2, "a": 1}, {"a": 1}],
])
def test_a_field_that_only_some_samples_have_is_named_with_both(samples):
    pipeline = fb.Dataset(samples).batch(3)
    with fb.Loader(pipeline) as loader, pytest.raises(fb.InvalidArgument, match="'b' is in one of them only") as caught:
        list(loader)
    assert caught.value.sample == 2 and "sample 0" in caught.value.message
