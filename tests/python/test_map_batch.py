"""Functions on whole batches: the same as doing it in the training loop, but ahead of it and on other threads."""
import gc
import json
import threading
import weakref

import numpy as np
import pytest
from loading import soon

import forebay as fb


def numbers(n=40, size=4, **batch):
    return fb.arrays(x=np.arange(n, dtype=np.int64), y=np.arange(n) * 0.5).shuffle().batch(size, **batch)


def all_of(pipeline, name="x", **options):
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        return [batch[name].tolist() for batch in loader]


def doubled(batch):
    batch["x"] = batch["x"] * 2
    return batch


def test_it_is_what_the_loop_would_do():
    with fb.Loader(numbers(), seed=3, epochs=1) as plain, fb.Loader(numbers().map_batch(doubled), seed=3, epochs=1) as mapped:
        for by_hand, made in zip(plain, mapped, strict=True):
            assert np.array_equal(made["x"], by_hand["x"] * 2) and np.array_equal(made["y"], by_hand["y"])
            assert np.array_equal(made.ids, by_hand.ids) and made.step == by_hand.step and len(made) == len(by_hand)


def test_functions_follow_each_other():
    pipeline = numbers().map_batch(doubled).map_batch(lambda batch: {"x": batch["x"] + 1})
    with fb.Loader(pipeline, epochs=1) as loader:
        batches = list(loader)
    assert all(batch.keys() == ["x"] for batch in batches)
    assert [batch["x"].tolist() for batch in batches] == [(batch.ids * 2 + 1).tolist() for batch in batches]


@pytest.mark.parametrize("rows", [
    {"text": ["a", "", "ü"], "raw": [b"1", b"", b"\0x"], "tags": [["a", "b"], [], ["c"]], "blobs": [[], [b"1"], [b"", b"2"]]},
    {"words": [[], [], []], "none": [["x"], [], []]}, {"ragged": [[1, 2], [], [3]]}])
def test_fields_of_every_form_go_in_and_out(rows):
    def sample(s):
        made = {name: values[int(s["i"])] for name, values in rows.items()}
        return {**made, **({"ragged": np.array(made["ragged"], np.int32)} if "ragged" in made else {})}

    seen = []
    before = fb.arrays(i=np.arange(3)).map(sample).batch(3)
    with fb.Loader(before, epochs=1) as plain, fb.Loader(before.map_batch(lambda b: seen.append(b) or b), epochs=1) as mapped:
        (by_hand,), (made,) = plain, mapped
        assert made.keys() == by_hand.keys()
        for name in rows:
            for values in (made[name], seen[0][name]):
                told, wanted = (values, by_hand[name]) if isinstance(values, list) else (
                    [np.asarray(one).tolist() for one in values], [np.asarray(one).tolist() for one in by_hand[name]])
                assert told == wanted and type(values) is type(by_hand[name])


def test_rows_may_be_others_and_another_number():
    pipeline = numbers(12).map_batch(lambda batch: {"both": np.concatenate([batch["x"], -batch["x"]]), "names": ["n"] * 8})
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            assert len(batch) == 8 and batch["both"][:4].tolist() == batch.ids.tolist() and len(batch["names"]) == 8
        assert loader.stats()["samples"] == 12
        assert loader.stats()["steps"][-1]["samples"] == 12
        loader.set_epoch(0)
    with fb.Loader(pipeline) as loader, pytest.raises(fb.InvalidArgument, match="made 8 rows of 4 samples"):
        fb.digest(loader)


def test_output_makes_the_arrays():
    torch = pytest.importorskip("torch")
    with fb.Loader(numbers().map_batch(lambda batch: {"x": torch.from_numpy(batch["x"]) + 1}), epochs=1, output="torch") as loader:
        batch = next(iter(loader))
        assert torch.equal(batch["x"], torch.from_numpy(batch.ids) + 1)


def test_batches_keep_their_order_and_run_at_once():
    third = threading.Event()

    def function(batch):
        # The first batch is finished after the third has begun.
        if 8 in batch["x"]:
            third.set()
        assert third.wait(20)
        return batch

    pipeline = fb.arrays(x=np.arange(40)).batch(4).map_batch(function)
    assert all_of(pipeline, threads=4) == [list(range(i, i + 4)) for i in range(0, 40, 4)]


def test_it_runs_ahead_of_the_loop():
    begun = [threading.Event() for _ in range(3)]
    by = set()

    def function(batch):
        by.add(threading.get_ident())
        step = int(batch["x"][0]) // 4
        if step < 3:
            begun[step].set()
        return batch

    with fb.Loader(fb.arrays(x=np.arange(40)).batch(4).map_batch(function)) as loader:
        next(iter(loader))
        assert begun[1].wait(20) and begun[2].wait(20), "the loop has asked for one batch only"
        assert threading.get_ident() not in by


def test_random_numbers_are_the_same_for_any_number_of_threads_and_others_in_each_epoch():
    def mixup(batch, rng):
        share = rng.beta(0.4, 0.4, len(batch["x"]))
        return {"x": share * batch["x"] + (1 - share) * batch["x"][rng.permutation(len(share))]}

    pipeline = numbers().map_batch(mixup, random=True)
    with fb.Loader(pipeline, seed=5, threads=1) as one, fb.Loader(pipeline, seed=5, threads=4) as four:
        epochs = [[[batch["x"].tolist() for batch in loader] for _ in range(2)] for loader in (one, four)]
    assert epochs[0] == epochs[1]
    assert epochs[0][0] != epochs[0][1]
    assert all_of(pipeline, seed=6) != epochs[0][0]


def test_steps_draw_numbers_of_their_own_that_earlier_random_steps_do_not_change():
    def draw(name):
        return lambda batch, rng: {**batch, name: rng.random(len(batch["x"]))}

    plain = numbers().map_batch(draw("a"), random=True).map_batch(draw("b"), random=True)
    shuffled = fb.arrays(x=np.arange(40)).map(lambda s, rng: s, random=True).shuffle().batch(4).map_batch(draw("a"), random=True)
    assert all_of(plain, "a", seed=1) == all_of(shuffled, "a", seed=1)
    assert all_of(plain, "a", seed=1) != all_of(plain, "b", seed=1)


def test_ranks_draw_different_numbers_and_a_resume_the_same():
    pipeline = numbers().map_batch(lambda batch, rng: {"x": rng.random(len(batch["x"]))}, random=True)
    ranks = [all_of(pipeline, seed=2, rank=rank, world_size=2) for rank in range(2)]
    assert not set(sum(ranks[0], [])) & set(sum(ranks[1], []))
    with fb.Loader(pipeline, seed=2, rank=1, world_size=2) as loader:
        batches = iter(loader)
        next(batches), next(batches)
        state = loader.state_dict()
    with fb.Loader(pipeline, seed=2, rank=1, world_size=2) as loader:
        loader.load_state_dict(state)
        assert [batch["x"].tolist() for batch in loader] == ranks[1][2:]


def test_a_state_does_not_depend_on_the_function():
    with fb.Loader(numbers()) as loader:
        next(iter(loader))
        state = loader.state_dict()
        rest = [batch["x"].tolist() for batch in loader]
    with fb.Loader(numbers().map_batch(lambda batch: {"x": batch["x"] + 1})) as loader:
        loader.load_state_dict(state)
        assert len(loader) == 10
        assert [(batch["x"] - 1).tolist() for batch in loader] == rest


def test_a_batch_of_many_data_sets_has_its_parts():
    parts = {"a": fb.arrays(x=np.arange(20)).shuffle(), "b": fb.arrays(x=np.arange(100, 120)).map(lambda s: {"x": s["x"]}).shuffle()}
    pipeline = fb.mix(parts, field="part").map(lambda s: {**s, "z": s["x"] + 1}).batch(5).map_batch(
        lambda batch: {"x": batch["x"], "is_b": batch["part"] == 1})
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            assert batch["is_b"].tolist() == (batch["x"] >= 100).tolist() == (batch.parts == 1).tolist()


def test_packed_blocks():
    rows = fb.Dataset([{"tokens": np.arange(1, 1 + i % 5, dtype=np.int32)} for i in range(1, 60)])
    pipeline = rows.pack(8).batch(2)
    with fb.Loader(pipeline, epochs=1) as plain, fb.Loader(pipeline.map_batch(lambda b: {"t": b["tokens"] + 1}), epochs=1) as mapped:
        for by_hand, made in zip(plain, mapped, strict=True):
            assert np.array_equal(made["t"], by_hand["tokens"] + 1)


def test_rows_of_one_form_are_decided_by_the_first_batch_as_in_the_loop():
    lengths = [2] * 4 + [1, 2, 3, 4] + [3] * 4
    seen = {}
    pipeline = fb.arrays(i=np.arange(12)).map(lambda s: {"i": s["i"], "r": np.zeros(lengths[int(s["i"])])}).batch(4, ragged="r")
    list(fb.Loader(pipeline.map_batch(lambda b: seen.setdefault(int(b["i"][0]), type(b["r"])) and b), epochs=1))
    assert seen == {0: tuple, 4: tuple, 8: tuple}


def test_an_exception_keeps_its_type_and_says_where():
    def function(batch):
        if 9 in batch["x"]:
            raise KeyError("no such thing")
        return batch

    with fb.Loader(fb.arrays(x=np.arange(16)).batch(4).map_batch(function), on_error="skip") as loader:
        batches = iter(loader)
        assert [int(next(batches)["x"][0]) for _ in range(2)] == [0, 4]
        with pytest.raises(KeyError, match="no such thing") as caught:
            next(batches)
        (note,) = caught.value.__notes__
        assert "in .map_batch(" in note and "at step 2 of epoch 0, first sample 8" in note
        assert caught.traceback[-1].name == "function"
        assert next(batches)["x"].tolist() == [12, 13, 14, 15]


@pytest.mark.parametrize("returned, error, words", [
    (None, TypeError, "forget to return the batch"), (3, TypeError, "returned int, not a dict"), ({}, ValueError, "no fields"),
    ({"x": [1, 2], "y": [1, 2, 3]}, ValueError, "different numbers of rows: 'x' has 2, 'y' has 3"),
    ({"x": 0.5}, TypeError, "a single number.*np.full"), ({"x": "abc"}, TypeError, "a list with one for each row"),
    ({"x": [[1], [1, 2]]}, TypeError, r"\(values, offsets\)"), ({"x": ([1, 2, 3], [0, 2])}, ValueError, "offsets"),
    ({"x": (1, 2, 3)}, TypeError, "a tuple of 3"), ({1: [1]}, TypeError, "names of fields are text"), ({"x": ["a", 1]}, TypeError, "among str"),
    ({"x": np.zeros((2,) * 9)}, TypeError, "9 axes"), ({"x": np.zeros(2, complex)}, TypeError, "complex")])
def test_what_is_no_batch_is_told(returned, error, words):
    with fb.Loader(numbers().map_batch(lambda batch: returned)) as loader, pytest.raises(error, match=words):
        next(iter(loader))


def problems(pipeline):
    return [(problem.operator, problem.message + "; " + problem.remedy) for problem in pipeline.check()]


def test_places_where_it_cannot_stand_are_told():
    x = fb.arrays(x=np.arange(4))
    ((place, text),) = problems(x.map_batch(doubled).batch(2))
    assert place == "1: map_batch" and "no .batch() before it" in text and ".map(fn) works on single samples" in text
    ((place, text),) = problems(x.batch(2).map(doubled))
    assert place == "2: map" and "behind .batch()" in text and ".map_batch(fn)" in text
    ((place, text),) = problems(x.batch(2).collate(list).map_batch(doubled))
    assert place == "3: map_batch" and "behind .collate()" in text
    (told,) = {text for place, text in problems(fb.concat(x.map_batch(doubled), x).batch(2))}
    assert "no batches of its own" in told
    with pytest.raises(fb.InvalidArgument, match="3 is not a function"):
        x.batch(2).map_batch(3)
    with pytest.raises(fb.InvalidArgument, match="workers is 'fibres'"):
        x.batch(2).map_batch(doubled, workers="fibres")
    with pytest.raises(fb.InvalidArgument, match="step 2: map_batch.*JSON cannot"):
        fb.files("nowhere/*").batch(2).map_batch(doubled).to_json()
    with pytest.raises(fb.InvalidArgument, match="share=.*arrays"):
        fb.Loader(x.batch(2).map_batch(doubled), share="auto")


def test_worker_processes():
    pipeline = numbers().map_batch(np_doubled, workers="processes")
    assert all_of(pipeline, threads=2) == [(np.array(row) * 2).tolist() for row in all_of(numbers())]


def np_doubled(batch):
    return {"x": batch["x"] * 2, "names": [str(x) for x in batch["x"]]}


def test_epochs_a_break_and_a_close_in_the_middle():
    with fb.Loader(numbers().map_batch(doubled), seed=4) as loader:
        for number, _ in enumerate(loader):
            if number == 2:
                break
        assert len(list(loader)) == 7
        assert len(list(loader)) == 10 and loader.epoch == 2


def test_close_while_functions_run():
    inside, leave = threading.Event(), threading.Event()

    def function(batch):
        inside.set()
        leave.wait(20)
        return batch

    loader = fb.Loader(numbers().map_batch(function))
    waiting = threading.Thread(target=lambda: pytest.raises(fb.Cancelled, next, iter(loader)))
    waiting.start()
    assert inside.wait(20)
    closing = threading.Thread(target=loader.close)
    closing.start()
    waiting.join(20)
    leave.set()
    closing.join(20)
    assert loader.closed and not waiting.is_alive() and not closing.is_alive()


def test_fields_that_are_passed_on_are_not_copied():
    seen = set()

    def function(batch):
        seen.add(batch["x"].ctypes.data)
        return {"x": batch["x"], "tail": batch["x"][2:].repeat(2)}

    with fb.Loader(numbers().map_batch(function), epochs=1) as loader:
        assert {batch["x"].ctypes.data for batch in loader} <= seen


def test_arrays_of_the_function_are_freed():
    made = []

    class Array(np.ndarray):
        pass

    def function(batch):
        array = np.ones(len(batch["x"])).view(Array)
        made.append(weakref.ref(array))
        return {"x": array}

    with fb.Loader(numbers().map_batch(function), epochs=1) as loader:
        assert all(batch["x"].sum() == 4 for batch in loader)
    gc.collect()
    assert len(made) == 10 and all(array() is None for array in made)


def test_batches_made_ahead_are_counted():
    checked = threading.Event()

    def function(batch):
        if 8 in batch["x"]:
            checked.wait(20)
        return {"big": np.zeros((4, 1 << 15))}

    with fb.Loader(fb.arrays(x=np.arange(64)).batch(4).map_batch(function), memory="64MiB") as loader:
        next(iter(loader))
        lacking = lambda: int(loader.stats()["memory_bytes"]["batches"] < 1 << 20)  # noqa: E731
        assert soon(lacking, 0), "the second batch is made and waits for the loop"
        checked.set()


@pytest.mark.parametrize("step", ["map_batch", "collate"])
def test_a_pipeline_of_json_has_no_functions(step):
    text = json.loads(fb.files("nowhere/*").batch(2).to_json())
    text["steps"].append({"op": step})
    ((place, words),) = problems(fb.Pipeline.from_json(json.dumps(text)))
    assert place == f"2: {step}" and "its function is missing" in words and f".{step}(function)" in words
