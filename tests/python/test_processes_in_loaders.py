"""workers="processes" in a pipeline: what comes out is what threads give, in bytes, order, randomness and errors."""
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from loading import children, descriptors, epoch_ids, one_epoch, soon, threads

import forebay as fb
from forebay import WorkerDied
from forebay._processes import current_worker


def numbers(n=40):
    return fb.arrays(x=np.arange(n, dtype=np.int64))


def noisy(sample, rng):
    return {"x": sample["x"], "noise": rng.normal(size=50), "crop": rng.integers(0, 100), "name": f"é {sample['x']}",
            "raw": bytes(3), "large": np.full((100, 100), sample["x"], np.float32)}


class Squares:
    def __init__(self, n=40):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return {"n": i, "square": float(i * i), "name": f"number {i}", "picture": np.full((60, 50, 3), i, np.uint8)}


PIPELINES = {
    "map": lambda workers: numbers().shuffle().map(noisy, random=True, workers=workers).batch(8),
    "two maps and randomness between": lambda workers: numbers().shuffle().map(noisy, random=True, workers=workers)
    .map(noisy, random=True, workers=workers).batch(8),
    "one of two maps": lambda workers: numbers().map(noisy, random=True).map(noisy, random=True, workers=workers).batch(8),
    "map with fields": lambda workers: fb.arrays(a=np.arange(9), b=np.arange(9))
    .map(lambda sample: {"a": sample["a"] + 1, "c": 2.0}, fields=["a"], workers=workers).batch(2),
    "data set": lambda workers: fb.Dataset(Squares(), workers=workers).shuffle().batch(8),
    "data set and map": lambda workers: fb.Dataset(Squares(), workers=workers)
    .map(lambda sample: {"n": sample["n"], "small": sample["picture"][::2]}, workers=workers).batch(8),
    "data set of tuples": lambda workers: fb.Dataset([(np.full(2, i), i) for i in range(10)], workers=workers).batch(4),
    "before a filter": lambda workers: numbers().map(noisy, random=True, workers=workers)
    .filter(lambda sample: sample["crop"] > 30).batch(8),
}


@pytest.mark.parametrize("name", list(PIPELINES))
def test_functions_that_go_elsewhere_in_the_middle_of_an_epoch_give_the_same(name):
    """As the loader does it by itself once they turn out to hold Python's lock, and back where that was no faster."""
    pipeline = PIPELINES[name]
    expected = one_epoch(pipeline("threads"), seed=3)
    assert one_epoch(pipeline("auto"), seed=3) == expected
    with fb.Loader(pipeline("auto"), seed=3, threads=2) as loader:
        assert loader._workers.moves() == []
        first = iter(loader)
        next(first)
        assert loader._workers._where().size >= 2
        assert list(first)
        assert [where for _, _, where in loader._workers.moves()] == ["processes"]
        [decision] = [one for one in loader.tuning() if one["what"] == "workers"]
        assert (decision["from"], decision["to"]) == ("threads", "processes")
        loader.set_epoch(0)
        assert fb.digest(loader) == expected
        loader._workers._where.back()
        loader.set_epoch(0)
        assert fb.digest(loader) == expected


def test_a_function_that_cannot_be_sent_stays_on_threads(caplog):
    lock = threading.Lock()
    pipeline = numbers().map(lambda sample: {"x": sample["x"] + lock.locked()}, workers="auto").batch(8)
    with fb.Loader(pipeline, epochs=1) as loader:
        assert loader._workers._where() is None
        assert sum(len(batch) for batch in loader) == 40
    assert "stays on threads" in caplog.text


@pytest.mark.parametrize("name", list(PIPELINES))
def test_processes_give_the_same_digest_as_threads(name):
    pipeline = PIPELINES[name]
    for seed in (0, 3):
        expected = one_epoch(pipeline("threads"), seed=seed)
        assert one_epoch(pipeline("processes"), seed=seed, threads=3) == expected
        assert one_epoch(pipeline("processes"), seed=seed, threads=1) == expected


def test_pictures_decoded_by_the_engine_go_through_a_process(photos):
    def pipeline(workers):
        return (fb.images(photos).shuffle().decode_image().resize(32)
                .map(lambda sample: {"image": 255 - sample["image"]}, fields="image", workers=workers)
                .random_flip().normalize(fb.IMAGENET).batch(5))

    assert one_epoch(pipeline("processes"), seed=1, threads=2) == one_epoch(pipeline("threads"), seed=1)


def test_the_fingerprint_and_states_do_not_depend_on_where_code_runs():
    def pipeline(workers):
        return PIPELINES["map"](workers)

    assert pipeline("threads").fingerprint == pipeline("processes").fingerprint
    with fb.Loader(pipeline("threads"), seed=1, epochs=1) as loader:
        for _ in range(2):
            next(iter(loader))
        state = loader.state_dict()
        rest = epoch_ids(loader)
    with fb.Loader(pipeline("processes"), seed=1, epochs=1, threads=2) as loader:
        loader.load_state_dict(state)
        assert epoch_ids(loader) == rest


def whereabouts(sample):
    return {"pid": os.getpid(), "index": current_worker().index, "count": current_worker().count}


@pytest.mark.parametrize("count", [1, 3])
def test_there_are_as_many_processes_as_threads_were_asked_for(count):
    before = children()
    with fb.Loader(numbers(200).map(whereabouts, workers="processes").batch(10), epochs=1, threads=count) as loader:
        batches = list(loader)
        pids = {int(pid) for batch in batches for pid in batch["pid"]}
        assert 1 <= len(pids) <= count and pids <= children()
        assert len(children() - before) in (count, count + 1)  # and perhaps the process they are forked from
        assert {int(n) for batch in batches for n in batch["count"]} == {count}
    assert not pids & children()


def test_a_loader_with_several_functions_has_one_set_of_processes():
    before = len(children())
    pipeline = fb.Dataset(Squares(), workers="processes").map(dict, workers="processes").map(dict, workers="processes").batch(4)
    with fb.Loader(pipeline, threads=2) as loader:
        next(iter(loader))
        assert len(children()) - before <= 3


def test_a_loader_in_a_worker_may_have_processes_of_its_own():
    def inner(sample):
        return {"x": np.exp(sample["x"] * 0) + sample["x"]}

    def outer(sample):
        with fb.Loader(numbers(4).map(inner, workers="processes").batch(4), threads=1, epochs=1) as loader:
            return {"sum": next(iter(loader))["x"].sum()}

    with fb.Loader(numbers(2).map(outer, workers="processes").batch(2), threads=1, epochs=1) as loader:
        assert next(iter(loader))["sum"].tolist() == [10, 10]


# Errors


class Odd(Exception):
    pass


def picky(sample):
    if sample["x"] == 7:
        raise Odd("seven") from KeyError("the cause")
    return sample


def test_an_exception_comes_at_its_place_with_type_cause_key_and_traceback():
    with fb.Loader(numbers().map(picky, workers="processes").batch(4), epochs=1, threads=2) as loader:
        ids = []
        with pytest.raises(Odd) as caught:
            for batch in loader:
                ids += batch.ids.tolist()
        assert ids == [0, 1, 2, 3]
        assert str(caught.value) == "seven" and isinstance(caught.value.__cause__, KeyError)
        if hasattr(caught.value, "add_note"):
            notes = "\n".join(caught.value.__notes__)
            assert "in picky" in notes and "sample 7" in notes
        assert epoch_ids(loader) == list(range(8, 40))


@pytest.mark.parametrize("policy, rows", [("skip", 39), ("replace", 40)])
def test_policies_act_as_with_threads(policy, rows):
    def run(workers):
        with fb.Loader(numbers().shuffle().map(picky, workers=workers).batch(4), epochs=1, on_error=policy) as loader:
            return epoch_ids(loader), loader.errors()

    ids, errors = run("processes")
    assert len(ids) == rows
    assert (ids, errors) == run("threads")


@pytest.mark.parametrize("how, text", [(lambda: os._exit(3), "exit code 3"),
                                       (lambda: os.kill(os.getpid(), signal.SIGSEGV), "SIGSEGV")])
def test_a_worker_that_dies_is_an_error_that_names_the_sample_and_the_loader_goes_on(how, text):
    def deadly(sample):
        if sample["x"] == 5:
            how()
        return sample

    with fb.Loader(numbers(16).map(deadly, workers="processes").batch(4), epochs=1, threads=2) as loader:
        assert next(iter(loader)).ids.tolist() == [0, 1, 2, 3]
        with pytest.raises(WorkerDied, match=text) as caught:
            next(iter(loader))
        assert isinstance(caught.value, fb.Error)
        assert caught.value.sample == 5 and "deadly" in caught.value.operator and "deadly" in str(caught.value)
        assert epoch_ids(loader) == list(range(8, 16))


@pytest.mark.parametrize("policy", ["raise", "skip", "replace"])
def test_a_worker_that_is_killed_from_outside_is_no_matter_of_policy_and_the_batch_can_be_asked_for_again(tmp_path, policy):
    def deadly_once(sample):
        if sample["x"] == 5 and not (tmp_path / "killed").exists():
            (tmp_path / "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return sample

    pipeline = numbers(16).map(deadly_once, workers="processes").batch(4)
    with fb.Loader(pipeline, epochs=1, threads=2, on_error=policy) as loader:
        ids = next(iter(loader)).ids.tolist()
        with pytest.raises(WorkerDied, match="SIGKILL") as caught:
            next(iter(loader))
        assert caught.value.sample == 5 and not loader.errors()
        assert ids + epoch_ids(loader) == list(range(16))


def test_the_call_in_which_a_worker_died_is_not_repeated(tmp_path):
    def deadly(sample):
        with open(tmp_path / str(sample["x"]), "a") as file:
            file.write("x")
        if sample["x"] == 2:
            os._exit(1)
        return sample

    with fb.Loader(numbers(4).map(deadly, workers="processes").batch(4), epochs=1, threads=1) as loader:
        with pytest.raises(WorkerDied):
            list(loader)
    assert {name: (tmp_path / name).read_text() for name in os.listdir(tmp_path)} == dict.fromkeys("0123", "x")


@pytest.mark.parametrize("make, words", [
    (lambda: numbers().map(lambda sample, lock=threading.Lock(): sample, workers="processes"), ["lock", "default argument"]),
    (lambda: numbers().map(threading.Event().set, workers="processes"), ["lock", "Event"]),
    (lambda: fb.Dataset(Holder(), workers="processes"), ["TextIOWrapper", "attribute 'file' of Holder"])])
def test_what_cannot_be_pickled_is_told_when_the_loader_is_opened(make, words):
    with pytest.raises(fb.InvalidArgument) as caught:
        fb.Loader(make().batch(4))
    for word in [*words, "workers='threads'"]:
        assert word in str(caught.value)


class Holder(Squares):
    def __init__(self):
        super().__init__()
        self.file = open(os.devnull)


def test_results_that_are_no_fields_are_told_as_with_threads():
    with fb.Loader(numbers(2).map(lambda sample: {"v": object()}, workers="processes").batch(2)) as loader:
        with pytest.raises(TypeError, match="'v' is of type object"):
            next(iter(loader))


def test_workers_is_threads_or_processes():
    for call in (lambda: numbers().map(dict, workers="fibres"), lambda: fb.Dataset([1], workers="fibres")):
        with pytest.raises(fb.InvalidArgument, match="'fibres'.*'threads', 'processes' or 'auto'"):
            call()


# Ends


def test_closing_ends_the_processes_also_in_the_middle_of_calls():
    def slow(sample):
        time.sleep(0.05)
        return sample

    before = children()
    for stop_after in (0, 1, 3):
        loader = fb.Loader(numbers(1000).map(slow, workers="processes").batch(2), threads=2)
        for _, batch in zip(range(stop_after), loader):
            pass
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            loader.close()
        assert len(children() - before) <= 1


def test_code_that_does_not_return_is_killed_and_named(monkeypatch, tmp_path):
    monkeypatch.setattr("forebay._workers.STUCK_AFTER_S", 0.2)

    def forever(sample):
        (tmp_path / "running").touch()
        while True:
            time.sleep(1)

    before = children()
    loader = fb.Loader(numbers().map(forever, workers="processes").batch(2), threads=2)
    failed = []
    thread = threading.Thread(target=lambda: failed.append(pytest.raises(fb.Error, list, loader)), daemon=True)
    thread.start()
    while not (tmp_path / "running").exists():
        time.sleep(0.01)
    with pytest.warns(RuntimeWarning, match="killed: .*forever"):
        loader.close()
    assert len(children() - before) <= 1
    thread.join(60)
    assert failed


def test_loaders_in_a_row_leave_nothing():
    def round(read):
        loader = fb.Loader(numbers().map(dict, workers="processes").batch(4), threads=2)
        if read:
            next(iter(loader))
        loader.close()

    round(True)
    before = threads(), descriptors(), len(children())
    for i in range(30):
        round(i % 2)
    counts = threads, descriptors, lambda: len(children())
    assert all(soon(count, at_most) for count, at_most in zip(counts, before, strict=True))
