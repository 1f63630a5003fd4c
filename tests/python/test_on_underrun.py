"""What training gets where it is faster than its stream: old samples in the place of those that have not come."""

import itertools
import json
import threading
import time
import uuid

import numpy as np
import pytest

import forebay as fb
from redis_client import RedisClient
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
    (lambda s: fb.mix({"a": s.buffer(on_underrun="rehearse")}, weights={"a": 1}).batch(2), r"there is no \.rehearse\(\)"),
    (lambda s: fb.mix({"a": s.buffer(on_underrun="repeat")}, weights={"a": 1}).rehearse(2, capacity=3, by=None).batch(2), 'give on_underrun="rehearse"'),
])
def test_mistakes_are_named(build, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(build(fb.stream(Tap(1))))


LIVE = 10**6  # x of the first record of a stream beside other parts


def beside(tap, batch=8, more=None, on_underrun="repeat", build=lambda mixed: mixed):
    """A mix in equal shares of old samples and a stream; with `more`, of another stream that waits for its records."""
    live = fb.stream(lambda offset: ({"x": LIVE + record["x"]} for record in tap(offset))).buffer(on_underrun=on_underrun)
    parts = {"old": fb.arrays(x=np.arange(5000)), "live": live}
    if more:
        parts["news"] = fb.stream(lambda offset: ({"x": 2 * LIVE + record["x"]} for record in more(offset)))
    return build(fb.mix(parts, weights=dict.fromkeys(parts, 1), samples=2048)).batch(batch)


def planned(batch, batches, **more):
    """x of the same mix with all its records."""
    with fb.Loader(beside(Tap(10**6), batch, on_underrun="wait", **more), seed=3) as loader:
        return [step["x"].tolist() for step in itertools.islice(loader, batches)]


def test_in_a_mix_old_samples_stand_at_the_positions_of_the_stream():
    whole = planned(8, 40)
    first = sum(x >= LIVE for step in whole[:20] for x in step)
    tap = Tap(first)
    with fb.Loader(beside(tap), seed=3) as loader:
        batches = iter(loader)
        steps = [next(batches)]
        arrived(loader, first)
        steps += itertools.islice(batches, 29)
        got = [step["x"].tolist() for step in steps]
        assert got[:20] == whole[:20]
        new = sum(got[:20], [])
        for step, expected in zip(got[20:], whole[20:]):
            latest = new[-8:]
            for x, planned_x in zip(step, expected):
                assert x == planned_x if planned_x < LIVE else x in latest, "the other part goes on; the latest new samples stand in"
            new += [x for x in expected if x < LIVE]
        late = sum(x >= LIVE for step in whole[20:30] for x in step)
        assert loader.stats()["stream"]["missing"] >= late
        tap.let(500)
        seen = sum(got, [])
        while LIVE + first + 99 not in seen:
            seen += next(batches)["x"].tolist()
        tap.close()
    live = new_ones([x for x in seen if x >= LIVE])
    assert live[: first + 100] == list(range(LIVE, LIVE + first + 100)), "no record is lost, and none comes in another order"


def test_in_a_mix_a_journal_repeats_droughts_and_a_state_goes_on_from_one(tmp_path):
    tap = Tap(30)
    with fb.Loader(beside(tap), seed=3, epochs=1) as loader:
        loader.journal(tmp_path / "journal")
        got, states = [], []
        for i, batch in enumerate(itertools.islice(loader, 60)):
            got.append(batch["x"].tolist())
            states.append(json.loads(json.dumps(loader.state_dict())))
            if i % 9 == 8:
                tap.let(11)
        missing = loader.stats()["stream"]["missing"]
        tap.close()
    assert missing > 0
    with fb.Loader(beside(Tap(10**6)), seed=3, epochs=1, journal=tmp_path / "journal", threads=1) as loader:
        assert [batch["x"].tolist() for batch in itertools.islice(loader, 60)] == got
    live = new_ones([x for step in got for x in step if x >= LIVE])
    for at in (7, 20, 41):
        seen = [x for step in got[: at + 1] for x in step if x >= LIVE]
        tap = Tap(10**4)
        with fb.Loader(beside(tap, 6), seed=3, epochs=1) as loader:
            loader.load_state_dict(states[at])
            seen += [x for batch in itertools.islice(loader, 30) for x in batch["x"].tolist() if x >= LIVE]
            tap.close()
        assert new_ones(seen) == list(range(LIVE, LIVE + len(new_ones(seen)))) and len(new_ones(seen)) > len(live) // 4


def test_in_a_mix_nothing_stands_in_while_another_stream_is_waited_for():
    whole = planned(9, 2, more=Tap(10**6))
    needs = [[sum(first <= x < first + LIVE for x in sum(whole[: at + 1], [])) for at in range(2)] for first in (LIVE, 2 * LIVE)]
    first = [3 * -(-of[0] // 3) for of in needs]  # a decision has the stream's share of a batch
    assert all(of[1] > there for of, there in zip(needs, first)), "both are short of records for the second step"
    tap, more = Tap(first[0]), Tap(first[1])
    with fb.Loader(beside(tap, 9, more, "rehearse", lambda mixed: mixed.rehearse(4, capacity=30, by=None)), seed=3) as loader:
        batches = iter(loader)
        assert next(batches)["x"].tolist() == whole[0]
        arrived(loader, sum(first))
        got = []
        reader = threading.Thread(target=lambda: got.extend(itertools.islice(batches, 1)))
        reader.start()
        reader.join(0.3)
        assert got == [] and loader.stats()["stream"]["missing"] == 0
        more.let(100)
        reader.join(COMES_LATER)
        assert loader.stats()["stream"]["missing"] == needs[0][1] - first[0]
        assert got[0]["rehearsed"].sum() == 4 + needs[0][1] - first[0]
        assert [x for x in got[0]["x"][~got[0]["rehearsed"]].tolist() if x >= 2 * LIVE] == [x for x in whole[1] if x >= 2 * LIVE], "the other stream has its records"
        for one in (tap, more):
            one.close()


def test_in_a_mix_all_ranks_take_the_same_steps_through_a_drought(tmp_path):
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(f'{{"x": {LIVE + i}}}\n' for i in range(60)))  # what has not come by now never comes

    def pipeline(world):
        live = fb.jsonl(lines, fields={"x": "int64"}, follow=True).buffer(on_underrun="rehearse")
        parts = {"old": fb.arrays(x=np.arange(5000)), "live": live}
        return fb.mix(parts, weights={"old": 1, "live": 2}, samples=4000).rehearse(6 // world, capacity=20, by=None).batch(12 // world)

    steps, state = steps_of_ranks(pipeline, 3, f"file://{tmp_path / 'peers'}", seed=1, steps=40)
    assert new_ones([x for x in xs(steps) if x >= LIVE]) == list(range(LIVE, LIVE + 60))
    assert [len(step) for step in steps] == [12] + 39 * [18]
    (tmp_path / "again").mkdir()
    more, _ = steps_of_ranks(pipeline, 2, f"file://{tmp_path / 'again'}", seed=1, steps=10, state=state)
    assert all(len(step) == 18 for step in more)
    old = [x for x in xs(steps) + xs(more) if x < LIVE]
    assert new_ones(old) == list(range(len(new_ones(old))))


def test_in_a_mix_old_records_of_any_topic_stand_in_on_all_ranks(servers, monkeypatch, tmp_path):
    url = servers("redis_tls")["FOREBAY_TEST_REDIS_TLS_PLAIN"]
    monkeypatch.setenv("FOREBAY_TEST_REDIS", url)
    names = [f"late-{i}-{uuid.uuid4().hex[:8]}" for i in range(2)]
    writer = RedisClient()
    for name, first, records in zip(names, (0, LIVE), (60, 3000)):
        writer.send(*(("XADD", f"{name}-{i % 2}", "*", "x", first + i) for i in range(records)))
    writer.close()

    def pipeline(world):
        late, live = (fb.stream(f"{url}/{name}-{{0..1}}", fields={"x": "int64"}) for name in names)
        return fb.mix({"late": late.buffer(on_underrun="repeat"), "live": live}, weights={"late": 1, "live": 1}).batch(24 // world)

    steps, _ = steps_of_ranks(pipeline, 2, f"file://{tmp_path}", seed=1, steps=40)
    got = xs(steps)
    assert len(got) == 40 * 24 and sorted({x for x in got if x < LIVE}) == list(range(60))
    new = new_ones([x for x in got if x >= LIVE])
    assert len(new) == pytest.approx(480, abs=24) and sorted(new) == sorted(set(new)), "the other topic goes on"
    assert any(x >= LIVE for before, step in zip(steps, steps[1:]) for _, x in step if x in {one for _, one in before}), "old records of it stand in"


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
