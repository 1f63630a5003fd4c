"""What training gets where it is faster than its stream: old samples in the place of those that have not come."""

import itertools
import json
import threading
import time

import numpy as np
import pytest

import forebay as fb
from streaming import TOKEN, steps_of_ranks, xs

COMES_LATER = 60.0  # seconds that no test waits for


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)


class Tap:
    """A stream of numbers that gives no more than it was told to."""

    def __init__(self, first):
        self._allowed = first
        self._changed = threading.Condition()
        self._closed = False

    def let(self, more):
        with self._changed:
            self._allowed += more
            self._changed.notify_all()

    def close(self):
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __call__(self, offset):
        for i in itertools.count(offset):
            with self._changed:
                self._changed.wait_for(lambda: i < self._allowed or self._closed, COMES_LATER)
                if i >= self._allowed:
                    return
            yield {"x": i}


def repeating(tap, batch=4):
    return fb.stream(tap).buffer(on_underrun="repeat").batch(batch)


def arrived(loader, records):
    """Waits until so many have been read, so that no step is short of them."""
    end = time.monotonic() + COMES_LATER
    while loader.stats()["stream"]["arrived"] < records:
        assert time.monotonic() < end
        time.sleep(0.001)


def new_ones(seen):
    return [x for i, x in enumerate(seen) if x not in seen[:i]]


def test_the_latest_batch_comes_again_until_there_are_new_records():
    tap = Tap(8)
    with fb.Loader(repeating(tap), seed=3) as loader:
        batches = iter(loader)
        assert next(batches)["x"].tolist() == [0, 1, 2, 3]
        arrived(loader, 8)
        assert next(batches)["x"].tolist() == [4, 5, 6, 7]
        for _ in range(5):
            again = next(batches)
            assert sorted(again["x"].tolist()) == [4, 5, 6, 7]
            assert again.ids.tolist() == again["x"].tolist(), "a record has the id that it had"
        assert loader.stats()["stream"]["missing"] == 20
        tap.let(100)
        seen = list(range(8))
        while 107 not in seen:
            seen += next(batches)["x"].tolist()
        tap.close()
    assert new_ones(seen) == list(range(108)), "nothing is lost, and nothing comes in another order"


def test_a_step_has_the_records_that_came_and_old_ones_beside_them():
    tap = Tap(4)
    with fb.Loader(repeating(tap), seed=3) as loader:
        batches = iter(loader)
        assert next(batches)["x"].tolist() == [0, 1, 2, 3]
        tap.let(2)
        seen = []
        while not {4, 5} <= set(seen):  # they come soon, perhaps one after the other
            seen += next(batches)["x"].tolist()
        tap.close()
    assert set(seen) <= {0, 1, 2, 3, 4, 5}


def test_the_first_step_waits_for_a_whole_batch():
    tap = Tap(3)
    with fb.Loader(repeating(tap)) as loader:
        got = []
        reader = threading.Thread(target=lambda: got.append(next(iter(loader))["x"].tolist()))
        reader.start()
        reader.join(0.3)
        assert got == []
        tap.let(1)
        reader.join(COMES_LATER)
        assert got == [[0, 1, 2, 3]]
        tap.close()


def test_rehearsed_samples_stand_in_and_say_so():
    tap = Tap(40)
    pipeline = fb.stream(tap).buffer(on_underrun="rehearse").rehearse(2, capacity=10, by=None).batch(4)
    with fb.Loader(pipeline, seed=1) as loader:
        batches = iter(loader)
        steps = [next(batches)]
        arrived(loader, 40)
        steps += itertools.islice(batches, 13)
        kept = {i for _, _, _, _, ids in loader.state_dict()["rehearsal"]["classes"] for i in ids}
        tap.close()
    assert [x for batch in steps for x in batch["x"][~batch["rehearsed"]].tolist()] == list(range(40))
    for batch in steps[10:]:
        assert batch["rehearsed"].tolist() == [True] * 6
        assert len(set(batch["x"].tolist())) == 6 and set(batch["x"].tolist()) <= kept
    assert len({tuple(batch["x"].tolist()) for batch in steps[10:]}) > 1, "each step draws anew"


def test_a_journal_repeats_droughts(tmp_path):
    def run(tap, count, **options):
        with fb.Loader(repeating(tap), seed=2, **options) as loader:
            if "journal" not in options:
                loader.journal(tmp_path / "journal")
            got = []
            for i, batch in enumerate(itertools.islice(loader, count)):
                got.append(batch["x"].tolist())
                if "journal" not in options and i % 3 == 2:
                    tap.let(5)
            tap.close()
        return got

    first = run(Tap(6), 20)
    assert any("missing" in json.loads(line) for line in (tmp_path / "journal").read_text().splitlines()[1:])
    assert run(Tap(10**6), 20, journal=tmp_path / "journal", threads=1) == first
    with pytest.raises(fb.StateMismatch, match="on_underrun"):
        fb.Loader(fb.stream(Tap(10)).batch(4), seed=2, journal=tmp_path / "journal")


@pytest.mark.parametrize("batch", [4, 3])
def test_a_run_goes_on_from_a_drought(batch):
    tap = Tap(10)
    with fb.Loader(repeating(tap), seed=2) as loader:
        before = next(iter(loader))["x"].tolist()
        arrived(loader, 10)
        before += [x for b in itertools.islice(loader, 29) for x in b["x"].tolist()]
        state = json.loads(json.dumps(loader.state_dict()))
        tap.close()
    assert set(before) == set(range(10))
    tap = Tap(10)
    with fb.Loader(repeating(tap, batch), seed=2) as loader:
        loader.load_state_dict(state)
        batches = iter(loader)
        assert set(next(batches)["x"].tolist()) <= set(range(10)), "old ones are known from the state"
        tap.let(12)
        after = []
        while 21 not in after:
            after += next(batches)["x"].tolist()
        tap.close()
    assert [x for x in new_ones(after) if x >= 10] == list(range(10, 22))


def test_all_ranks_take_the_same_steps_through_a_drought(tmp_path):
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(f'{{"x": {i}}}\n' for i in range(30)))  # what has not come by now never comes

    def pipeline(world):
        return fb.jsonl(lines, fields={"x": "int64"}, follow=True).buffer(on_underrun="repeat").batch(2)

    steps, _ = steps_of_ranks(pipeline, 3, f"file://{tmp_path / 'peers'}", seed=1, steps=40)
    assert new_ones(xs(steps)) == list(range(30))
    assert all(len(step) == 6 for step in steps)


def test_old_photographs_are_augmented_anew(tmp_path):
    from PIL import Image

    Image.fromarray(np.arange(64 * 64 * 3, dtype=np.uint8).reshape(64, 64, 3)).save(tmp_path / "a.png")
    encoded = (tmp_path / "a.png").read_bytes()
    tap = Tap(4)
    records = lambda offset: ({"image": encoded} for _ in tap(offset))  # noqa: E731
    pipeline = fb.stream(records).buffer(on_underrun="repeat").decode_image().random_crop(16).batch(4)
    with fb.Loader(pipeline, seed=5) as loader:
        first, second, third = (batch["image"].copy() for batch in itertools.islice(loader, 3))
        tap.close()
    assert not np.array_equal(first, second) and not np.array_equal(second, third)


@pytest.mark.parametrize("build, message", [
    (lambda s: s.buffer(on_underrun="sleep").batch(2), 'unknown on_underrun "sleep"'),
    (lambda s: s.buffer(on_underrun="rehearse").batch(2), r"there is no \.rehearse\(\)"),
    (lambda s: s.buffer(on_underrun="repeat").rehearse(2, capacity=3, by=None).batch(2), 'give on_underrun="rehearse"'),
])
def test_mistakes_are_named(build, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(build(fb.stream(Tap(1))))


def test_a_state_from_inside_a_window_goes_on_with_the_rest_of_it():
    def pipeline(tap):
        return fb.stream(tap).buffer(on_underrun="repeat").shuffle(window=40).batch(4)

    tap = Tap(40)
    with fb.Loader(pipeline(tap), seed=3) as loader:
        batches = iter(loader)
        seen = [next(batches) for _ in range(3)]  # the first one waits for the whole window
        state = loader.state_dict()
        seen += [next(batches) for _ in range(7)]
        tap.close()
        whole = [batch["x"].tolist() for batch in seen]
    tap = Tap(40)
    with fb.Loader(pipeline(tap), seed=3) as loader:
        loader.load_state_dict(state)
        batches = iter(loader)
        assert [next(batches)["x"].tolist() for _ in range(7)] == whole[3:]
        assert loader.stats()["stream"]["missing"] == 0
        tap.close()
    assert sorted(sum(whole, [])) == list(range(40))
