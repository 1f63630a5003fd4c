"""Epochs of which nothing is to be had are epochs all the same: loops over them end."""
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import forebay as fb

EMPTY = {
    "no samples": lambda: fb.arrays(x=np.zeros((0, 2))).batch(4),
    "less than a batch": lambda: fb.arrays(x=np.arange(3)).batch(4, last="drop"),
    "none are kept": lambda: fb.arrays(x=np.arange(9)).filter(lambda s: False).batch(4),
    "an empty data set": lambda: fb.Dataset([]).batch(4, last="pad"),
}


@pytest.mark.parametrize("kind", EMPTY)
@pytest.mark.parametrize("epochs", [None, 3])
def test_a_loop_until_an_epoch_ends(kind, epochs):
    with fb.Loader(EMPTY[kind](), epochs=epochs) as loader:
        assert loader.epoch == 0 and len(loader) == 0
        for expected in (1, 2, 3):
            assert list(loader) == [] and loader.epoch == expected
        list(loader)
        assert loader.epoch == (3 if epochs else 4)  # there is no fifth one of three


@pytest.mark.parametrize("kind", EMPTY)
def test_set_epoch_goes_where_it_says(kind):
    with fb.Loader(EMPTY[kind]()) as loader:
        for epoch in (1, 5, 0, 2**40):
            loader.set_epoch(epoch)
            assert loader.epoch == epoch and loader.state_dict()["epoch"] == epoch
            assert list(loader) == [] and loader.epoch == epoch + 1


def test_a_digest_of_nothing_ends_the_epoch():
    with fb.Loader(EMPTY["no samples"]()) as loader:
        assert fb.digest(loader) == fb.digest(loader) and loader.epoch == 2


@pytest.mark.parametrize("done", [4, 8])
def test_a_resume_with_less_than_a_global_batch_left_is_still_in_its_epoch(done):
    pipeline = fb.arrays(x=np.arange(10))
    with fb.Loader(pipeline.batch(2, last="drop")) as loader:
        batches = iter(loader)
        for _ in range(done // 2):
            next(batches)
        state = loader.state_dict()
    assert (state["epoch"], state["position"]) == (0, done)
    with fb.Loader(pipeline.batch(8, last="drop"), epochs=3) as loader:
        loader.load_state_dict(state)
        assert loader.epoch == 0 and len(loader) == state["step"] and loader.state_dict() == state
        assert list(loader) == [] and loader.epoch == 1
        assert [batch.epoch for batch in loader] == [1] and loader.epoch == 2
        assert [batch.epoch for batch in loader] == [2] and list(loader) == [] and loader.epoch == 3


@settings(max_examples=150, deadline=None)
@given(size=st.integers(0, 12), batch=st.integers(1, 5), world=st.integers(1, 3), last=st.sampled_from(["partial", "drop", "pad"]),
       position=st.integers(0, 12), epochs=st.one_of(st.none(), st.integers(0, 3)), epoch=st.integers(0, 3))
def test_each_loop_is_one_epoch_from_anywhere(size, batch, world, last, position, epochs, epoch):
    """From every place, a `for` gives what is left of the epoch there and ends it, until `epochs` are over."""
    pipeline = fb.arrays(x=np.arange(size)).batch(batch, last=last)
    options = {"rank": 0, "world_size": world, "epochs": epochs, "threads": 1}
    with fb.Loader(pipeline, **options) as loader:
        state = loader.state_dict()
        state.update(epoch=epoch, position=min(position, size), step=0)
        loader.load_state_dict(state)
        left = max(0, size - state["position"])
        steps = left // (batch * world) if last == "drop" else -(-left // (batch * world))
        whole = size // (batch * world) if last == "drop" else -(-size // (batch * world))
        for number in range(epoch, epoch + 4):
            over = epochs is not None and number >= epochs
            if over and left == 0 and number == epoch:
                break  # a state from behind the end
            got = list(loader)
            assert len(got) == (0 if over else steps) and all(one.epoch == number for one in got)
            if over:
                break
            assert loader.epoch == number + 1
            steps = whole
