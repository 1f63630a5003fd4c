"""`restart=True`: each `for` begins its epoch anew unless a state was just loaded, whatever ended the loop before."""
import itertools
import threading

import numpy as np
import pytest

import forebay as fb

STEPS = 5


def pipeline(n=20, batch=4):
    return fb.arrays(x=np.arange(n)).shuffle().batch(batch)


def items(batches):
    return [batch["x"].tolist() for batch in batches]


def whole(epochs, **options):
    with fb.Loader(pipeline(), seed=3, **options) as loader:
        return [items(loader) for _ in range(epochs)]


EPOCHS = whole(3)


def test_a_loop_that_was_left_begins_the_same_epoch_again():
    with fb.Loader(pipeline(), seed=3, restart=True) as loader:
        for taken in (2, 1, STEPS - 1):
            assert items(itertools.islice(loader, taken)) == EPOCHS[0][:taken]
        assert items(loader) == EPOCHS[0]
        assert items(itertools.islice(loader, 3)) == EPOCHS[1][:3]
        assert loader.epoch == 1 and len(loader) == STEPS
        assert items(loader) == EPOCHS[1]
        assert items(loader) == EPOCHS[2]


def test_a_loop_that_was_left_behind_the_last_batch_is_followed_by_the_next_epoch():
    with fb.Loader(pipeline(), seed=3, restart=True) as loader:
        assert items(itertools.islice(loader, STEPS)) == EPOCHS[0]
        assert items(loader) == EPOCHS[1]


def test_without_it_the_loader_keeps_its_place():
    with fb.Loader(pipeline(), seed=3) as loader:
        assert items(itertools.islice(loader, 2)) == EPOCHS[0][:2]
        assert items(loader) == EPOCHS[0][2:]


@pytest.mark.parametrize("taken", range(1, STEPS))
def test_a_state_that_was_just_loaded_is_gone_on_from_once(taken):
    with fb.Loader(pipeline(), seed=3, restart=True) as loader:
        items(itertools.islice(loader, taken))
        state = loader.state_dict()
    with fb.Loader(pipeline(), seed=3, restart=True) as resumed:
        resumed.load_state_dict(state)
        iter(resumed)  # as frameworks do that look at a loader first
        assert resumed.state_dict() == state
        assert items(itertools.islice(resumed, 1)) == EPOCHS[0][taken : taken + 1]
        assert items(resumed) == (EPOCHS[0] if taken + 1 < STEPS else EPOCHS[1])


def test_an_epoch_that_is_set_is_begun():
    with fb.Loader(pipeline(), seed=3, restart=True) as loader:
        items(itertools.islice(loader, 2))
        loader.set_epoch(0)
        assert items(itertools.islice(loader, 2)) == EPOCHS[0][:2]
        loader.set_epoch(2)
        assert items(loader) == EPOCHS[2]


def test_an_exception_of_the_loop_is_a_way_out_as_any_other():
    with fb.Loader(pipeline(), seed=3, restart=True) as loader:
        with pytest.raises(ZeroDivisionError):
            for _ in loader:
                1 / 0
        assert items(loader) == EPOCHS[0]


def test_an_iterator_of_an_earlier_loop_says_that_its_epoch_began_anew():
    with fb.Loader(pipeline(), seed=3, restart=True) as loader:
        first = iter(loader)
        next(first)
        second = iter(loader)
        assert next(second)["x"].tolist() == EPOCHS[0][0]
        with pytest.raises(fb.InvalidArgument, match="begun anew by a later `for`"):
            next(first)
        assert items(second) == EPOCHS[0][1:]


class Counted:
    """How often an item was asked for."""

    def __init__(self):
        self.asked, self.lock = [], threading.Lock()

    def __len__(self):
        return 40

    def __getitem__(self, i):
        with self.lock:
            self.asked.append(i)
        return {"x": i}

    def __copy__(self):
        raise TypeError("one for all threads")


@pytest.mark.filterwarnings("ignore:the data set")
def test_nothing_is_read_twice_where_no_loop_was_left():
    counted = Counted()
    with fb.Loader(fb.Dataset(counted).batch(4), epochs=3, restart=True) as loader:
        for _ in range(3):
            iter(loader)
            assert len(items(loader)) == 10
    assert sorted(counted.asked) == sorted(3 * list(range(40)))


def test_a_rest_that_a_state_has_is_read_once():
    with fb.Loader(fb.Dataset(Counted()).batch(4), epochs=1, restart=True) as loader:
        items(itertools.islice(loader, 4))
        state = loader.state_dict()
    counted = Counted()
    with fb.Loader(fb.Dataset(counted).batch(4), epochs=1, restart=True) as resumed:
        resumed.load_state_dict(state)
        assert len(items(resumed)) == 6
    assert set(counted.asked) >= set(range(16, 40)) and all(counted.asked.count(i) == 1 for i in range(16, 40))


def test_a_shuffled_evaluation_over_ranks():
    ranks = [fb.Loader(pipeline(), seed=3, rank=rank, world_size=2, restart=True) for rank in range(2)]
    looked = [items(itertools.islice(loader, 1)) for loader in ranks]
    assert looked == [items(itertools.islice(loader, 1)) for loader in ranks]
    assert sorted(sum(sum(map(items, ranks), []), [])) == list(range(20))
    for loader in ranks:
        loader.close()


def test_jax_batches_begin_anew():
    pytest.importorskip("jax", reason="JAX ABSENT")
    batches = fb.jax.iterate(pipeline(), seed=3, restart=True)
    assert items(itertools.islice(batches, 2)) == items(itertools.islice(batches, 2)) == EPOCHS[0][:2]
    assert items(batches) == EPOCHS[0]


def test_tensorflow_begins_anew_so_validation_steps_sees_the_same():
    pytest.importorskip("tensorflow", reason="TENSORFLOW ABSENT")
    batches = fb.tf.dataset(pipeline(), seed=3, restart=True)
    looked = [[batch["x"].numpy().tolist() for batch in batches.take(2)] for _ in range(2)]
    assert looked == [EPOCHS[0][:2]] * 2
    assert [batch["x"].numpy().tolist() for batch in batches] == EPOCHS[0]
