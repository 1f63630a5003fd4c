"""The user's own Python: map, filter and data sets run on Python's threads; order, randomness and exceptions are exact."""
import os
import threading
import traceback

import numpy as np
import pytest
from loading import epoch_ids, one_epoch
from PIL import Image

import forebay as fb


def numbers(n=20):
    return fb.arrays(x=np.arange(n, dtype=np.int64))


def only_batch(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        (batch,) = loader
        return batch


class Squares:
    def __init__(self, n=12):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"n": i, "square": float(i * i), "name": f"number {i}", "raw": bytes([i]), "row": np.full(3, i, np.uint8)}


# map


def test_map_makes_a_new_sample():
    batch = only_batch(numbers().map(lambda sample: {"double": sample["x"] * 2, "half": sample["x"] / 2}).batch(20))
    assert sorted(batch.keys()) == ["double", "half"]
    assert np.array_equal(batch["double"], np.arange(20) * 2) and batch["double"].dtype == np.int64
    assert np.array_equal(batch["half"], np.arange(20) / 2) and batch["half"].dtype == np.float64


def test_map_with_fields_updates_the_sample():
    pipeline = fb.arrays(a=np.arange(6), b=np.arange(6) * 10)
    seen = []

    def change(sample):
        seen.append(sorted(sample))
        return {"a": sample["a"] + 1, "c": np.float32(1)}

    batch = only_batch(pipeline.map(change, fields=["a"]).batch(6))
    assert seen == [["a"]] * 6
    assert np.array_equal(batch["a"], np.arange(6) + 1)
    assert np.array_equal(batch["b"], np.arange(6) * 10)
    assert batch["c"].dtype == np.float32


def test_maps_follow_each_other():
    pipeline = numbers().map(lambda s: {"y": s["x"] + 1}).map(lambda s: {"y": s["y"] * 2, "z": s["y"]}).batch(20)
    batch = only_batch(pipeline)
    assert np.array_equal(batch["y"], (np.arange(20) + 1) * 2)
    assert np.array_equal(batch["z"], np.arange(20) + 1)


def test_arrays_are_the_users_to_keep_and_to_write_to():
    data = np.arange(40).reshape(20, 2)
    kept = []

    def change(sample):
        kept.append(sample["x"])
        sample["x"] += 100
        return sample

    batch = only_batch(fb.arrays(x=data).map(change).batch(20))
    assert np.array_equal(batch["x"], data + 100)
    assert np.array_equal(data, np.arange(40).reshape(20, 2))
    assert np.array_equal(np.stack(sorted(kept, key=lambda row: row[0])), data + 100)


def test_text_and_bytes_go_in_and_out(photos):
    def describe(sample):
        assert isinstance(sample["key"], str) and isinstance(sample["image"], bytes)
        return {"key": sample["key"].upper(), "head": sample["image"][:2], "size": len(sample["image"])}

    batch = only_batch(fb.images(photos).map(describe).batch(21))
    assert batch["key"][0].startswith("CATS/") and batch["head"] == [b"\xff\xd8"] * 21
    assert batch["size"].dtype == np.int64


def test_a_decoded_picture_goes_through_map_and_on(photos):
    plain = only_batch(fb.images(photos).decode_image().resize(32).normalize(fb.IMAGENET).batch(21))
    through = only_batch(fb.images(photos).decode_image().resize(32).map(lambda s: {"image": s["image"]}, fields="image")
                         .normalize(fb.IMAGENET).batch(21))
    assert np.array_equal(plain["image"], through["image"])
    assert np.array_equal(plain["label"], through["label"])


@pytest.mark.parametrize("value", [1, 1.5, True, np.float32(2), np.uint8(3), [1, 2], np.zeros((2, 3), ">f4"), "text", b"bytes",
                                   np.zeros(0), np.asfortranarray(np.arange(6).reshape(2, 3))])
def test_values_of_many_kinds_come_back(value):
    batch = only_batch(numbers(2).map(lambda sample: {"v": value}).batch(2))
    for got in batch["v"]:
        if isinstance(value, (str, bytes)):
            assert got == value
        else:
            assert np.array_equal(got, np.asarray(value))
            assert got.dtype == np.asarray(value).dtype.newbyteorder("=")


@pytest.mark.parametrize("value, word", [(None, "NoneType"), (object(), "object"), (1j, "complex"), ([["a"], ["b"]], "list"),
                                         (np.array([["a"]]), "ndarray")])
def test_values_that_are_no_field_name_it(value, word):
    with pytest.raises(TypeError, match=f"'v' is of type {word}"):
        only_batch(numbers(2).map(lambda sample: {"v": value}).batch(2))


def test_forgetting_to_return_is_told():
    def forgetful(sample):
        sample["x"] += 1

    with pytest.raises(TypeError, match="forgetful.*did it forget to return"):
        only_batch(numbers(2).map(forgetful).batch(2))


def test_functions_run_on_threads_of_pythons_several_at_a_time():
    names, barrier = set(), threading.Barrier(2, timeout=60)

    def meet(sample):
        names.add(threading.current_thread().name)
        barrier.wait()
        return sample

    only_batch(numbers(8).map(meet).batch(8), threads=2)
    assert len(names) == 2 and all(name.startswith("forebay-python-") for name in names)


def test_order_does_not_depend_on_how_long_the_function_takes():
    import time

    def slow(sample):
        time.sleep(0.003 * (int(sample["x"]) * 7 % 5))
        return sample

    fast = one_epoch(numbers().shuffle().batch(4), seed=1)
    assert one_epoch(numbers().shuffle().map(slow).batch(4), seed=1, threads=8) == fast


# exceptions


class Odd(Exception):
    pass


def picky(sample):
    if sample["x"] == 7:
        raise Odd("seven") from KeyError("the cause")
    return sample


def test_an_exception_keeps_type_cause_and_traceback_and_gains_the_key():
    with fb.Loader(numbers().map(picky).batch(4), epochs=1) as loader:
        with pytest.raises(Odd, match="seven") as caught:
            list(loader)
    error = caught.value
    assert isinstance(error.__cause__, KeyError)
    assert "picky" in [frame.name for frame in traceback.extract_tb(error.__traceback__)]
    if hasattr(error, "add_note"):
        (note,) = error.__notes__
        assert "picky" in note and "sample 7" in note


def test_the_first_exception_in_order_is_raised_and_the_loader_goes_on():
    def all_bad_after_5(sample):
        if sample["x"] >= 5:
            raise Odd(int(sample["x"]))
        return sample

    for threads in (1, 4):
        with fb.Loader(numbers(8).map(all_bad_after_5).batch(1), epochs=1, threads=threads) as loader:
            seen = []
            for _ in range(4):
                try:
                    for batch in loader:
                        seen.append(int(batch.ids[0]))
                except Odd as error:
                    seen.append(str(error))
            assert seen == [0, 1, 2, 3, 4, "5", "6", "7"]


@pytest.mark.parametrize("policy, rows", [("skip", 19), ("replace", 20)])
def test_policies_act_on_exceptions_of_the_user(policy, rows):
    with fb.Loader(numbers().map(picky).batch(4), epochs=1, on_error=policy) as loader:
        ids = epoch_ids(loader)
        (entry,) = loader.errors()
    assert len(ids) == rows and 7 not in ids
    assert entry["sample"] == 7 and entry["count"] == 1
    assert "Odd" in entry["message"] and "picky" in entry["operator"]


def test_max_errors_turns_a_policy_into_an_error():
    def bad(sample):
        if sample["x"] % 2:
            raise Odd("odd")
        return sample

    def run(max_errors):
        with fb.Loader(numbers().map(bad).batch(4), epochs=1, on_error="skip", max_errors=max_errors) as loader:
            return len(epoch_ids(loader))

    assert run(10) == run(0.5) == run(None) == 10
    for too_many in (0, 9, 0.4):
        with pytest.raises((fb.Error, Odd)):
            run(too_many)


def test_exceptions_that_were_skipped_are_let_go():
    class Counted(Exception):
        alive = 0

        def __init__(self):
            super().__init__()
            Counted.alive += 1

        def __del__(self):
            Counted.alive -= 1

    def bad(sample):
        raise Counted

    with fb.Loader(numbers(2000).map(bad).batch(4), epochs=1, on_error="skip") as loader:
        assert epoch_ids(loader) == []
        assert Counted.alive < 500
    del loader
    assert Counted.alive == 0


def test_system_exit_in_a_function_reaches_the_training_loop():
    def leave(sample):
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        only_batch(numbers(2).map(leave).batch(2))


# filter


def test_filter_keeps_what_it_says_and_lengths_are_known():
    pipeline = numbers(100).filter(lambda sample: sample["x"] % 3 == 0).shuffle().batch(8)
    with fb.Loader(pipeline, seed=1) as loader:
        assert loader.size == 34
        assert len(loader) == 5
        for _ in range(2):
            assert sorted(epoch_ids(loader)) == list(range(0, 100, 3))


def test_filter_reads_only_the_fields_named(photos):
    seen = []

    def is_dog(sample):
        seen.append(sorted(sample))
        return sample["label"] == 1

    with fb.Loader(fb.images(photos).filter(is_dog, fields=["label"]).select("label").batch(4), epochs=1) as loader:
        assert [set(batch["label"].tolist()) for batch in loader] == [{1}, {1}]
    assert seen == [["label"]] * 21


def test_filter_is_part_of_the_state():
    def pipeline(rest):
        return numbers(100).filter(lambda sample: sample["x"] % 3 == rest).shuffle().batch(8)

    with fb.Loader(pipeline(0), seed=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
        left = epoch_ids(loader)
    with fb.Loader(pipeline(0), seed=1) as loader:
        loader.load_state_dict(state)
        assert epoch_ids(loader) == left
    with fb.Loader(pipeline(1), seed=1) as loader, pytest.raises(fb.StateMismatch):
        loader.load_state_dict(state)


def test_an_exception_in_a_filter_arrives():
    def bad(sample):
        raise Odd("filter")

    with fb.Loader(numbers().filter(bad).batch(4)) as loader, pytest.raises(Odd, match="filter"):
        len(loader)


def test_a_filter_that_keeps_nothing_is_an_empty_epoch_or_is_told():
    with fb.Loader(numbers().filter(lambda sample: False).batch(4), epochs=1) as loader:
        try:
            assert len(loader) == 0 and epoch_ids(loader) == []
        except fb.Error as error:
            assert "filter" in str(error) or "empty" in str(error)


# Dataset


def test_dataset_of_dicts():
    batch = only_batch(fb.Dataset(Squares()).batch(12))
    assert np.array_equal(batch["n"], np.arange(12))
    assert np.array_equal(batch["square"], np.arange(12.0) ** 2)
    assert batch["name"] == [f"number {i}" for i in range(12)]
    assert batch["raw"] == [bytes([i]) for i in range(12)]
    assert batch["row"].shape == (12, 3) and batch["row"].dtype == np.uint8


def test_dataset_of_tuples_and_of_arrays():
    batch = only_batch(fb.Dataset([(np.full(2, i), i) for i in range(5)]).batch(5))
    assert sorted(batch.keys()) == ["0", "1"]
    assert np.array_equal(batch["0"], np.arange(5)[:, None].repeat(2, 1)) and np.array_equal(batch["1"], np.arange(5))
    batch = only_batch(fb.Dataset(np.arange(10).reshape(5, 2)).batch(5))
    assert np.array_equal(batch["0"], np.arange(10).reshape(5, 2))


def test_dataset_goes_through_other_steps():
    pipeline = fb.Dataset(Squares(40)).shuffle().map(lambda s: {"n": s["n"]}).filter(lambda s: s["n"] > 9).batch(7)
    with fb.Loader(pipeline, seed=1, epochs=1) as loader:
        assert len(loader) == 5
        assert sorted(np.concatenate([batch["n"] for batch in loader]).tolist()) == list(range(10, 40))


def test_a_dataset_of_pictures_uses_image_operators(photos):
    paths = sorted(photos.rglob("*.jpg"))

    class Pictures:
        def __len__(self):
            return len(paths)

        def __getitem__(self, i):
            return {"image": Image.open(paths[i]).convert("RGB"), "label": i}

    batch = only_batch(fb.Dataset(Pictures()).random_resized_crop(24).normalize(fb.IMAGENET).batch(21))
    assert batch["image"].shape == (21, 3, 24, 24) and batch["image"].dtype == np.float32


def test_dataset_that_lacks_something_is_refused():
    with pytest.raises(fb.InvalidArgument, match="no length"):
        fb.Dataset(iter([1, 2]))
    with pytest.raises(fb.InvalidArgument, match="__getitem__"):
        fb.Dataset({1, 2})


def test_an_exception_in_a_dataset_names_it():
    class Broken(Squares):
        def __getitem__(self, i):
            return {"n": 1 // (i - 5)}

    with pytest.raises(ZeroDivisionError) as caught:
        only_batch(fb.Dataset(Broken()).batch(12))
    if hasattr(caught.value, "add_note"):
        assert "Broken" in caught.value.__notes__[0] and "sample 5" in caught.value.__notes__[0]


def test_threads_and_digest_of_a_dataset():
    pipeline = fb.Dataset(Squares(100)).shuffle().batch(8)
    assert len({one_epoch(pipeline, seed=5, threads=threads) for threads in (1, 2, 8)}) == 1


def test_fields_that_only_some_samples_have_are_told_whichever_is_first():
    for odd in (0, 1):
        pipeline = fb.arrays(x=np.arange(8)).map(lambda sample: {"y": 1} if sample["x"] % 2 == odd else {}).batch(4)
        with pytest.raises(fb.InvalidArgument, match="same fields"):
            only_batch(pipeline)


def test_what_a_cache_on_disk_has_of_a_dataset_is_read_where_nothing_is_at_hand(tmp_path):
    """Nothing else of such a pipeline is fetched, so nothing had memory for it: it was asked for again and again."""
    pipeline = fb.Dataset(Squares(100), version="1").cache(ram=0, disk="1GiB", dir=str(tmp_path)).batch(8)
    expected = one_epoch(pipeline)
    assert one_epoch(pipeline, storage_options={"imitate_latency_ms": 1}) == expected
    for data in tmp_path.rglob("*.data"):
        with open(data, "rb") as file:  # out of the page cache
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    with fb.Loader(pipeline) as loader:
        assert fb.digest(loader) == expected
        assert sum(cache["disk"]["hits"] for cache in loader.stats()["caches"]) >= 100
        assert sum(cache["misses"] for cache in loader.stats()["caches"]) == 0
