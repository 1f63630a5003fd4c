"""A state taken between any two batches goes on exactly there, also with other ranks, threads and batch sizes."""
import json
import time

import numpy as np
import pytest
from loading import epoch_ids

import forebay as fb


def numbers(n=50, batch=4):
    return fb.arrays(x=np.arange(n)).shuffle().batch(batch)


def all_states(pipeline, **options):
    """(ids so far, state) at every place of two epochs."""
    with fb.Loader(pipeline, **options) as loader:
        ids = []
        places = [([], loader.state_dict())]
        for _ in range(2):
            for batch in loader:
                ids = ids + batch.ids.tolist()
                places.append((ids, loader.state_dict()))
    return ids, places


def test_after_every_batch_of_two_epochs():
    ids, places = all_states(numbers(), seed=3)
    assert len(ids) == 100
    for before, state in places:
        with fb.Loader(numbers(), seed=3, epochs=2) as loader:
            loader.load_state_dict(json.loads(json.dumps(state)))
            after = epoch_ids(loader) + epoch_ids(loader)
        assert before + after == ids


def test_photographs_after_every_batch(photos):
    pipeline = fb.images(photos).shuffle().decode_image().random_resized_crop(24).batch(4)
    with fb.Loader(pipeline, seed=3) as loader:
        batches, states = [], []
        for batch in loader:
            states.append(loader.state_dict())
            batches.append(batch["image"].copy())
    for done, state in enumerate(states[:-1], start=1):
        with fb.Loader(pipeline, seed=3, epochs=1) as loader:
            loader.load_state_dict(state)
            for expected, batch in zip(batches[done:], loader, strict=True):
                assert np.array_equal(expected, batch["image"])


@pytest.mark.parametrize("batch, threads", [(1, 1), (3, 2), (7, 4), (50, 1)])
def test_with_another_batch_size_and_other_threads(batch, threads):
    ids, places = all_states(numbers(), seed=3)
    before, state = places[5]
    with fb.Loader(numbers(batch=batch), seed=3, threads=threads) as loader:
        loader.load_state_dict(state)
        assert before + epoch_ids(loader) == ids[:50]


def take_steps(loaders, steps):
    """The joined ids of some steps over all ranks, in global order, and a state."""
    iterators = [iter(loader) for loader in loaders]
    rows = []
    for _ in range(steps):
        for batch in map(next, iterators):
            rows += list(zip(batch.positions.tolist(), batch.ids.tolist()))
    states = [loader.state_dict() for loader in loaders]
    assert all(state == states[0] for state in states)
    return [i for _, i in sorted(rows)], states[0]


def test_across_ranks_3_then_2_then_5():
    ids, _ = all_states(numbers(100), seed=9)
    seen, state = [], None
    for world_size, steps in [(3, 2), (2, 3), (5, 2)]:
        loaders = [fb.Loader(numbers(100), seed=9, rank=rank, world_size=world_size) for rank in range(world_size)]
        for loader in loaders:
            if state is not None:
                loader.load_state_dict(state)
        part, state = take_steps(loaders, steps)
        seen += part
        for loader in loaders:
            loader.close()
    assert seen == ids[: len(seen)]
    assert len(seen) == 24 + 24 + 40


def test_the_state_is_small_plain_and_the_next_epochs_beginning_at_the_end():
    with fb.Loader(numbers(), seed=3) as loader:
        epoch_ids(loader)
        state = loader.state_dict()
        assert len(json.dumps(state)) < 1024
        assert state["epoch"] == 1
        assert loader.epoch == 1


def test_breaking_out_keeps_the_position():
    with fb.Loader(numbers(), seed=3) as loader:
        whole = [batch.ids.tolist() for batch in loader]
    with fb.Loader(numbers(), seed=3) as loader:
        seen = []
        for batch in loader:
            seen.append(batch.ids.tolist())
            if len(seen) == 5:
                break
        assert len(loader) == len(whole)
        seen += [batch.ids.tolist() for batch in loader]
    assert seen == whole


def test_the_usual_loop_works_after_a_resume():
    with fb.Loader(numbers(), seed=3) as loader:
        expected = [epoch_ids(loader) for _ in range(3)]
    with fb.Loader(numbers(), seed=3) as loader:
        epoch_ids(loader)
        next(iter(loader))
        state = loader.state_dict()
    with fb.Loader(numbers(), seed=3) as loader:
        loader.load_state_dict(state)
        assert len(loader) == 13
        for epoch in range(state["epoch"], 3):
            loader.set_epoch(epoch)
            assert epoch_ids(loader) == (expected[1][4:] if epoch == 1 else expected[epoch])


@pytest.mark.parametrize("other, options, word", [
    (lambda: fb.arrays(x=np.arange(51)).shuffle().batch(4), {"seed": 3}, "data"),
    (lambda: fb.arrays(x=np.arange(50)).batch(4), {"seed": 3}, "pipeline"),
    (lambda: numbers(), {"seed": 4}, "seed"),
])
def test_a_state_of_something_else_is_refused_and_says_what_differs(other, options, word):
    with fb.Loader(numbers(), seed=3) as loader:
        state = loader.state_dict()
    with fb.Loader(other(), **options) as loader:
        with pytest.raises(fb.StateMismatch, match=word):
            loader.load_state_dict(state)
        assert len(epoch_ids(loader)) == len(np.arange(50)) + (word == "data")


def test_strict_false_takes_the_position_all_the_same():
    with fb.Loader(numbers(), seed=3) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with fb.Loader(numbers(), seed=4) as loader:
        loader.load_state_dict(state, strict=False)
        assert len(epoch_ids(loader)) == 46
    with fb.Loader(numbers(51), seed=3) as loader, pytest.raises(fb.StateMismatch):
        loader.load_state_dict(state, strict=False)


@pytest.mark.parametrize("state", [{}, {"epoch": 1}, {"format": "x"}, {"position": -1}])
def test_nonsense_is_refused(state):
    with fb.Loader(numbers(), seed=3) as loader:
        with pytest.raises(fb.Error):
            loader.load_state_dict(state)
        assert len(epoch_ids(loader)) == 50


def test_loading_costs_the_same_early_and_late():
    pipeline = fb.arrays(x=np.arange(1_280_000, dtype=np.int32)).shuffle().batch(256)
    with fb.Loader(pipeline) as loader:
        state = loader.state_dict()

    def resume(share):
        with fb.Loader(pipeline) as loader:
            began = time.perf_counter()
            loader.load_state_dict({**state, "position": int(1_280_000 * share) // 256 * 256, "step": int(5000 * share)})
            next(iter(loader))
            return time.perf_counter() - began

    for share in (0.01, 0.99):
        assert min(resume(share) for _ in range(5)) < 0.5
