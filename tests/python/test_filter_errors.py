"""A sample that a filter cannot decide on is a bad sample like any other: the policy says what becomes of it."""

import numpy as np
import pytest

import forebay as fb


def undecided(sample):
    if sample["x"] in (3, 7):
        raise ValueError("no idea")
    return sample["x"] % 2 == 1


def pipeline():
    return fb.arrays(x=np.arange(10)).filter(undecided).batch(4)


def test_raise_is_the_default_and_names_the_sample():
    with fb.Loader(pipeline(), epochs=1) as loader, pytest.raises(ValueError, match="no idea") as caught:
        len(loader)
    assert "sample 3" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("policy", ["skip", "replace"])
def test_it_is_left_out_and_told(policy):
    with fb.Loader(pipeline(), epochs=1, on_error=policy) as loader:
        assert np.concatenate([batch["x"] for batch in loader]).tolist() == [1, 5, 9]
        assert [entry["sample"] for entry in loader.errors()] == [3, 7]


def test_too_many_are_an_error():
    with fb.Loader(pipeline(), epochs=1, on_error="skip", max_errors=1) as loader, pytest.raises(ValueError, match="no idea"):
        len(loader)
