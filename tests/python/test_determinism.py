"""Same bytes whatever the machinery; another seed or epoch gives others."""
import numpy as np
import pytest
from loading import epoch_ids, one_epoch

import forebay as fb


def full(photos, batch=4):
    return (fb.images(photos).shuffle().decode_image().random_resized_crop(48).random_flip().color_jitter(0.2, 0.2, 0.2, 0.1)
            .normalize(fb.IMAGENET).batch(batch))


@pytest.fixture(scope="module")
def expected(photos):
    return one_epoch(full(photos), seed=7, threads=1)


@pytest.mark.parametrize("threads", [1, 2, 3, 8, 16])
def test_threads_do_not_change_content(photos, expected, threads):
    assert one_epoch(full(photos), seed=7, threads=threads) == expected


@pytest.mark.parametrize("options", [{"requests": 1}, {"requests": 64}, {"memory": "6MiB"}, {"memory": "2GiB"}, {"epochs": 1}])
def test_requests_and_memory_do_not_change_content(photos, expected, options):
    assert one_epoch(full(photos), seed=7, **options) == expected


@pytest.mark.parametrize("batch", [1, 3, 5, 21, 100])
def test_the_batch_size_does_not_change_samples(photos, expected, batch):
    assert one_epoch(full(photos, batch), seed=7) == expected


def test_a_second_loader_in_the_same_process_gives_the_same(photos, expected):
    with fb.Loader(full(photos), seed=7) as one, fb.Loader(full(photos), seed=7) as two:
        for left, right in zip(one, two, strict=True):
            assert np.array_equal(left["image"], right["image"])
        assert one.fingerprint == two.fingerprint


def test_json_and_a_moved_folder_do_not_change_content(photos, expected, tmp_path):
    moved = tmp_path / "elsewhere"
    moved.symlink_to(photos)
    assert one_epoch(fb.Pipeline.from_json(full(moved).to_json()), seed=7) == expected


def test_seed_and_epoch_change_order_and_draws(photos, expected):
    assert one_epoch(full(photos), seed=8) != expected
    with fb.Loader(full(photos), seed=7) as loader:
        first, second = epoch_ids(loader), epoch_ids(loader)
        assert sorted(first) == sorted(second) == list(range(21))
        assert first != second
        assert loader.epoch == 2


def test_going_to_an_epoch_is_the_same_as_getting_there(photos):
    with fb.Loader(full(photos), seed=7) as loader:
        epoch_ids(loader)
        walked = fb.digest(loader)
    with fb.Loader(full(photos), seed=7) as loader:
        loader.set_epoch(1)
        assert fb.digest(loader) == walked


def test_without_shuffle_the_order_is_by_id(photos):
    with fb.Loader(fb.images(photos).select("label").batch(4)) as loader:
        assert epoch_ids(loader) == list(range(21))


def test_draws_of_a_sample_do_not_depend_on_operators_without_randomness(photos):
    def rows(pipeline):
        with fb.Loader(pipeline.batch(1), seed=7, epochs=1) as loader:
            return {batch.ids[0]: batch["image"][0] for batch in loader}

    base = fb.images(photos).decode_image()
    one, two = rows(base.random_crop(32)), rows(base.select("image").shuffle().random_crop(32))
    assert all(np.array_equal(one[i], two[i]) for i in one)


def test_user_randomness_is_a_function_of_seed_epoch_and_sample():
    def noisy(sample, rng):
        return {"x": rng.random(3)}

    pipeline = fb.arrays(x=np.zeros(40)).shuffle().map(noisy, random=True).batch(8)
    expected = one_epoch(pipeline, seed=1, threads=1)
    for threads in (2, 8):
        assert one_epoch(pipeline, seed=1, threads=threads) == expected
    assert one_epoch(pipeline, seed=2) != expected
    with fb.Loader(pipeline, seed=1, epochs=2) as loader:
        rows = np.concatenate([batch["x"] for _ in range(2) for batch in loader])
    assert len(np.unique(rows, axis=0)) == 80  # another draw for every sample and epoch


def test_two_random_steps_draw_differently():
    def one(sample, rng):
        return {"a": rng.random()}

    def two(sample, rng):
        return {"a": sample["a"], "b": rng.random()}

    pipeline = fb.arrays(x=np.zeros(10)).map(one, random=True).map(two, random=True).batch(10)
    with fb.Loader(pipeline, epochs=1) as loader:
        (batch,) = loader
        assert not np.any(batch["a"] == batch["b"])
