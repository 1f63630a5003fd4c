"""Streams as parts of a mix: at the positions that the plan gives each, its records in their order, with states, ranks and ends."""

import contextlib
import itertools
import json
import random
import threading
import uuid

import numpy as np
import pytest

import forebay as fb
from redis_client import RedisClient
from streaming import TOKEN, on_ranks, parts, steps_of_ranks

OLD = 700
LIVE = 10**6  # x of the first record of a stream; those of old samples are below it


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)


def old(size=OLD):
    return fb.arrays(x=np.arange(size)).shuffle()


def recorded(end=None):
    """factory(offset): record i has x = LIVE + i."""
    return lambda offset: ({"x": LIVE + i} for i in (itertools.count(offset) if end is None else range(offset, end)))


def mixed(live, batch=32, weights=None, last="partial", **more):
    return fb.mix({"old": old(), "live": live}, weights=weights or {"old": 1, "live": 3}, **more).batch(batch, last=last)


def as_data_set(batch=32, records=40_000, weights=None, **more):
    """The same mix of a data set that has the records of recorded() in their order."""
    return mixed(fb.arrays(x=np.arange(LIVE, LIVE + records)), batch, weights, **more)


def rows_of(batch):
    real = len(batch.ids) - batch.padding
    return list(zip([batch.epoch] * real, batch.positions.tolist()[:real], batch["x"].tolist()[:real], batch.ids.tolist()[:real]))


def rows(loader, batches=None):
    return [row for batch in itertools.islice(loader, batches) for row in rows_of(batch)]


def all_rows(loader, epochs):
    return sum((rows(loader) for _ in range(epochs)), [])


def live_of(got):
    return [x for _, _, x, _ in got if x >= LIVE]


@pytest.mark.parametrize(("parts", "batches"), [
    (lambda live: fb.mix({"live": live}, weights={"live": 1}), None),
    (lambda live: fb.mix({"old": old(), "live": live}, weights={"old": 0, "live": 1}), None),
    (lambda live: fb.mix({"old": old(), "live": live}, weights={"old": 0, "live": 1}, samples=640), 20),
    (lambda live: fb.mix({"old": old(), "live": live}, weights={"old": 1, "live": 1}, samples=640), 20),
])  # fmt: skip
def test_a_mix_that_only_a_stream_could_end_has_no_length(parts, batches):
    with fb.Loader(parts(fb.stream(recorded())).batch(32)) as loader:
        if batches is not None:
            assert len(loader) == batches == len(list(loader))
            return
        with pytest.raises(TypeError, match="a stream has no length: give the loader steps_per_epoch=, or fb.mix samples= if it is a part"):
            len(loader)
        assert len(live_of(rows(loader, 8))) > 100, "batches come all the same"


def test_a_schedule_lets_a_stream_begin_behind_a_data_set_as_a_concat_would():
    schedule = [(0, {"old": 1, "live": 0}), (OLD, {"old": 0, "live": 1})]
    whole = fb.mix({"old": old(), "live": fb.stream(recorded())}, schedule=schedule, samples=2 * OLD).batch(32, last="partial")
    with fb.Loader(whole, seed=4) as loader:
        got = [x for _, _, x, _ in rows(loader)]
        assert sorted(got[:OLD]) == list(range(OLD)) and got[OLD:] == list(range(LIVE, LIVE + OLD))
        got = [x for _, _, x, _ in rows(loader)]
        assert got == list(range(LIVE + OLD, LIVE + 3 * OLD)), "the schedule goes on over the epochs"


def test_a_stream_gives_what_a_data_set_of_its_records_would_give():
    for weights, more in (({"old": 1, "live": 3}, {}), ({"old": 5, "live": 1}, {"samples": 5000}),
                          (None, {"schedule": [(0, {"old": 1, "live": 0}), (1500, {"old": 0, "live": 1})], "ramp": "linear", "samples": 4000})):
        build = {"weights": weights} if weights else {}
        stream = fb.mix({"old": old(), "live": fb.stream(recorded())}, **build, **more).batch(32)
        data = fb.mix({"old": old(), "live": fb.arrays(x=np.arange(LIVE, LIVE + 40_000))}, **build, **more).batch(32)
        with fb.Loader(stream, seed=3, epochs=2) as a, fb.Loader(data, seed=3, epochs=2) as b:
            assert len(a) == len(b)
            got = all_rows(a, 2)
            assert got == all_rows(b, 2)
            assert rows(a) == [] and [part["samples"] for part in a.stats()["parts"]] == [part["samples"] for part in b.stats()["parts"]]
        assert live_of(got) == list(range(LIVE, LIVE + len(live_of(got)))), "each record once, in its order, also over epochs"
        assert [number for _, _, x, number in got if x >= LIVE] == list(range(len(live_of(got)))), "an id is the record's number"


def test_steps_behind_the_mix_and_in_the_part_see_records_as_samples():
    live = fb.stream(recorded()).map(lambda sample: {"x": sample["x"] + 1, "new": np.bool_(True)})
    both = fb.mix({"old": old().map(lambda sample: {"x": sample["x"], "new": np.bool_(False)}), "live": live}, weights={"old": 1, "live": 1}, field="origin")
    with fb.Loader(both.map(lambda sample: {**sample, "x": sample["x"] * 2}).batch(50)) as loader:
        for batch in itertools.islice(loader, 8):
            assert batch["new"].tolist() == (batch["origin"] == 1).tolist() == (batch["x"] > LIVE).tolist()
            assert all(x % 2 == 0 for x in batch["x"])


@pytest.mark.parametrize("last", ["partial", "drop", "pad"])
def test_the_run_ends_before_the_first_position_that_has_no_record(last):
    with fb.Loader(as_data_set(), seed=1, epochs=4) as whole:
        expected = all_rows(whole, 4)
    for records in (0, 1, 5, 333, 1000, 2200):
        until = next(i for i, (_, _, x, _) in enumerate(expected) if x == LIVE + records)
        with fb.Loader(mixed(fb.stream(recorded(records)), last=last), seed=1, epochs=4) as loader:
            got = all_rows(loader, 4)
            assert rows(loader) == []
        if last == "drop":  # the ends of epochs are dropped, too
            kept = set(got)
            assert got == [row for row in expected[:until] if row in kept] and until - len(got) < 32 * (1 + expected[until][0])
        else:
            assert got == expected[:until]


def test_a_state_of_any_step_goes_on_there_with_any_batch_size():
    def build(batch):
        return mixed(fb.stream(recorded()).shuffle(window=300), batch, weights={"old": 1, "live": 2})

    with fb.Loader(build(16), seed=9, epochs=3) as loader:
        whole, states = [], []
        for _ in range(3):
            for batch in loader:
                whole += rows_of(batch)
                states.append((len(whole), loader.state_dict()))
    assert sorted(live_of(whole)) != live_of(whole) and len(set(live_of(whole))) == len(live_of(whole)), "no record comes twice"
    for delivered, state in random.Random(4).sample(states, 12) + states[:2] + states[-2:]:
        with fb.Loader(build(random.choice([16, 10, 33])), seed=9, epochs=3, threads=1) as loader:
            loader.load_state_dict(json.loads(json.dumps(state)))
            rest = []
            while loader.epoch < 3:
                rest += rows(loader)
        assert rest == whole[delivered:]
    assert len(json.dumps(states[-1][1])) < 1024


def test_going_back_and_forth_within_a_loader():
    with fb.Loader(mixed(fb.stream(recorded())), seed=2) as loader:
        rows(loader, 5)
        state = loader.state_dict()
        first = rows(loader, 12)
        for _ in range(3):
            loader.load_state_dict(state)
            assert rows(loader, 12) == first


@pytest.mark.parametrize("world", [2, 3])
def test_all_ranks_together_have_the_rows_of_one(tmp_path, world):
    def build(ranks):
        return mixed(fb.stream(recorded(1500)).shuffle(window=100), 24 // ranks, samples=4000)

    alone, _ = steps_of_ranks(build, 1, "", seed=5, epochs=2)
    (tmp_path / "all").mkdir()
    together, _ = steps_of_ranks(build, world, f"file://{tmp_path}/all", seed=5, epochs=2)
    assert together == alone
    (tmp_path / "some").mkdir()
    begun, state = steps_of_ranks(build, world, f"file://{tmp_path}/some", 17, seed=5, epochs=2)
    rest, _ = steps_of_ranks(build, 1, "", state=state, seed=5, epochs=2)
    assert begun + rest == alone and len(begun) == 17


def test_partitions_are_merged_and_lose_and_double_nothing(tmp_path):
    ends = (2000, 150, 700)

    def build(ranks):
        below = fb.arrays(x=-1 - np.arange(OLD)).shuffle()
        return fb.mix({"old": below, "live": fb.stream(parts(*ends), partition=[0, 1, 2])}, weights={"old": 1, "live": 3}, samples=20_000).batch(24 // ranks)

    begun, state = steps_of_ranks(build, 2, f"file://{tmp_path}", 20, seed=5)
    rest, _ = steps_of_ranks(build, 1, "", state=state, seed=5)
    got = [x for step in begun + rest for _, x in step]
    for partition, end in enumerate(ends):
        of = [x - 10**6 * partition for x in got if x // 10**6 == partition]
        assert of == list(range(end)), "each partition in its order, to its end"


def test_ranks_need_peers_and_the_same_weights(tmp_path):
    with pytest.raises(fb.InvalidArgument, match="give peers="):
        fb.Loader(mixed(fb.stream(recorded())), rank=0, world_size=2)

    for number, (weights, epochs) in enumerate([((3, 4), (2, 2)), ((3, 3), (2, 3))]):
        (tmp_path / str(number)).mkdir()

        def run(rank):
            pipeline = mixed(fb.stream(recorded()), weights={"old": 1, "live": weights[rank]})
            with fb.Loader(pipeline, rank=rank, world_size=2, epochs=epochs[rank], peers=f"file://{tmp_path}/{number}") as loader:
                rows(loader, 200)

        with pytest.raises(fb.StateMismatch, match="the same parts, weights, steps and epochs="):
            on_ranks(2, run)


def test_a_broker_sends_each_record_to_one_rank_and_a_run_goes_on_with_more_ranks(servers, monkeypatch, tmp_path):
    url = servers("redis_tls")["FOREBAY_TEST_REDIS_TLS_PLAIN"]
    monkeypatch.setenv("FOREBAY_TEST_REDIS", url)
    name = f"mix-{uuid.uuid4().hex[:8]}"
    writer = RedisClient()
    for i in range(1200):
        writer.send(("XADD", f"{name}-{i % 3}", "*", "x", LIVE + i))
    writer.close()

    def build(ranks):
        return mixed(fb.stream(f"{url}/{name}-{{0..2}}", fields={"x": "int64"}), 24 // ranks, weights={"old": 1, "live": 1}, samples=2048)

    (tmp_path / "first").mkdir()
    begun, state = steps_of_ranks(build, 2, f"file://{tmp_path}/first", 30, seed=5, epochs=2)
    (tmp_path / "second").mkdir()
    rest, _ = steps_of_ranks(build, 3, f"file://{tmp_path}/second", state=state, seed=5, epochs=2)
    got = [x for step in begun + rest for _, x in step]
    live = [x for x in got if x >= LIVE]
    assert len(got) == 2048 and len(set(live)) == len(live) == pytest.approx(1024, abs=1), "no record comes twice"
    for partition in range(3):
        of = [x for x in got if x >= LIVE and (x - LIVE) % 3 == partition]
        assert of == list(range(LIVE + partition, LIVE + partition + 3 * len(of), 3)), "each partition in its order"
    (tmp_path / "third").mkdir()

    def run(rank):
        with fb.Loader(build(2), rank=rank, world_size=2, peers=f"file://{tmp_path}/third", seed=5, epochs=2) as loader:
            return rows(loader), loader.stats()["stream"]

    ranks = on_ranks(2, run)
    assert sum(stats["from_ranks"] for _, stats in ranks) > 0
    assert all(stats["reread"] == 0 for _, stats in ranks)


def test_a_stream_that_starts_now_has_what_comes_after_the_state(servers, monkeypatch):
    url = servers("redis_tls")["FOREBAY_TEST_REDIS_TLS_PLAIN"]
    monkeypatch.setenv("FOREBAY_TEST_REDIS", url)
    name = f"mix-now-{uuid.uuid4().hex[:8]}"
    writer = RedisClient()
    writer.send(*(("XADD", name, "*", "x", LIVE - 1) for _ in range(5)))
    pipeline = mixed(fb.stream(f"{url}/{name}", fields={"x": "int64"}, start="now"))
    with fb.Loader(pipeline) as loader:
        state = loader.state_dict()
    writer.send(*(("XADD", name, "*", "x", LIVE + i) for i in range(200)))
    writer.close()
    with fb.Loader(pipeline) as loader, fb.Loader(as_data_set()) as data:
        loader.load_state_dict(state)
        assert rows(loader, 5) == rows(data, 5)


def test_files_are_followed_while_training_goes_on(tmp_path):
    log = tmp_path / "log.jsonl"
    log.write_text("".join(f'{{"x": {LIVE + i}}}\n' for i in range(200)))
    pipeline = mixed(fb.jsonl(str(log), follow=True, fields={"x": "int64"}), 16, weights={"old": 1, "live": 1})
    with fb.Loader(pipeline, seed=3) as loader, fb.Loader(as_data_set(16, weights={"old": 1, "live": 1}), seed=3) as data:
        got = rows(loader, 20)
        with open(log, "a") as more:
            more.write("".join(f'{{"x": {LIVE + i}}}\n' for i in range(200, 600)))
        got += rows(loader, 30)
        assert got == rows(data, 50)
    (tmp_path / "old.jsonl").write_text("".join(f'{{"x": {i}}}\n' for i in range(OLD)))
    files = fb.mix({"old": fb.jsonl(str(tmp_path / "old.jsonl")).shuffle(), "live": fb.jsonl(str(log), follow=True, fields={"x": "int64"})},
                   weights={"old": 1, "live": 1}, samples=800).batch(16)
    with fb.Loader(files, seed=3, epochs=1) as loader, fb.Loader(fb.Pipeline.from_json(files.to_json()), seed=3, epochs=1) as read:
        got = rows(loader)
        assert got == rows(read) and live_of(got) == list(range(LIVE, LIVE + len(live_of(got))))


def test_records_that_come_too_fast_are_dropped_as_the_buffer_says():
    with fb.Loader(mixed(fb.stream(recorded(50_000)).buffer(policy="drop_oldest", bytes="20KB"), samples=4096), seed=3) as loader:
        got = rows(loader)
        live = live_of(got)
        assert live == sorted(set(live))
        left_out = live[-1] - LIVE + 1 - len(live)
        assert 0 < left_out <= loader.stats()["partitions"][0]["dropped"]
        assert loader.state_dict()["streams"]["live"]["number"] == len(live)


def test_the_next_step_waits_for_its_records_and_no_record_is_read_that_finds_no_room():
    made, gate = [0], threading.Event()

    def factory(offset):
        for i in itertools.count(offset):
            if i >= 2000:
                gate.wait(30)
            made[0] = i + 1
            yield {"x": LIVE + i, "rest": np.zeros(1000, np.uint8)}

    pipeline = mixed(fb.stream(factory).buffer(bytes="100KB").select("x"), 20)
    with fb.Loader(pipeline, seed=3) as loader:
        first = rows(loader, 5)
        assert made[0] < 2000, "records wait where they are made while the trainer is busy"
        threading.Timer(0.2, gate.set).start()
        got = first + rows(loader, 135) + rows(loader, 60)
        assert loader.stats()["stream"]["arrived"] >= len(live_of(got))
    with fb.Loader(as_data_set(20), seed=3) as data:
        assert got == rows(data, 140) + rows(data, 60) and len(live_of(got)) > 2000


def test_a_journal_repeats_the_records_of_a_run(tmp_path):
    def build(batch=24):
        return mixed(fb.stream(parts(3000, 3000), partition=[0, 1]), batch)

    with fb.Loader(build(), seed=5, epochs=2) as loader:
        loader.journal(str(tmp_path / "run.journal"))
        got = rows(loader, 25)
    with fb.Loader(build(12), seed=5, epochs=2, journal=str(tmp_path / "run.journal")) as loader:
        again = all_rows(loader, 2)
    assert again[: len(got)] == got
    lines = [json.loads(line) for line in (tmp_path / "run.journal").read_text().splitlines()]
    assert {sum(part[2] for part in line["parts"]) for line in lines if "first" in line} == {18}, "a decision has the stream's share of a global batch"


def test_weights_change_and_the_stream_goes_on_by_its_own_count():
    for records in (None, 900):
        with fb.Loader(mixed(fb.stream(recorded(records))), seed=6, epochs=2) as loader, fb.Loader(as_data_set(), seed=6, epochs=2) as data:
            assert rows(loader, 12) == rows(data, 12)
            for weights in ({"old": 7, "live": 1}, {"old": 1, "live": 1}):
                loader.set_weights(weights)
                data.set_weights(weights)
                assert rows(loader, 9) == rows(data, 9)
            state = loader.state_dict()
            rest = all_rows(loader, 2)
            expected = all_rows(data, 2)
            assert rest == expected[: len(rest)] and (records or rest == expected)
            with fb.Loader(mixed(fb.stream(recorded(records)), 20), seed=6, epochs=2) as other:
                other.load_state_dict(state)
                assert all_rows(other, 2) == rest


def test_a_stream_joins_a_mix_and_leaves_it():
    def of(**more):
        names = ["a", "b", *more]
        data = {"a": fb.arrays(x=np.arange(500)).shuffle(), "b": fb.arrays(x=np.arange(500, 900)).shuffle(), **more}
        return fb.mix(data, weights=dict.fromkeys(names, 1), samples=1500).batch(32)

    with fb.Loader(of(), seed=1) as loader:
        before = rows(loader, 11)
        state = loader.state_dict()
    with fb.Loader(of(live=fb.stream(recorded())), seed=1) as loader:
        with pytest.raises(fb.StateMismatch, match="'live' is new"):
            loader.load_state_dict(state)
        loader.load_state_dict(state, parts="changed")
        between = rows(loader, 11)
        assert live_of(between) == list(range(LIVE, LIVE + len(live_of(between)))) and len(live_of(between)) > 50
        state = loader.state_dict()
        same = rows(loader, 5)
    with fb.Loader(of(live=fb.stream(recorded())), seed=1) as loader:
        loader.load_state_dict(state)
        assert rows(loader, 5) == same, "a state after the change is one of the new pipeline"
    less = fb.mix({"a": fb.arrays(x=np.arange(500)).shuffle(), "live": fb.stream(recorded())}, weights={"a": 1, "live": 9}, samples=1500).batch(32)
    with fb.Loader(less, seed=1) as loader:
        loader.load_state_dict(state, parts="changed")
        more = live_of(rows(loader, 3))
        assert more == list(range(LIVE + len(live_of(between)), LIVE + len(live_of(between)) + len(more))), "with other parts and weights the stream goes on"
    with fb.Loader(of(), seed=1) as loader:
        with pytest.raises(fb.StateMismatch, match="'live' is gone"):
            loader.load_state_dict(state)
        loader.load_state_dict(state, parts="changed")
        after = rows(loader, 11)
    data = [x for _, _, x, _ in before + between + after if x < 500]
    assert len(set(data[:500])) == len(data[:500]), "the other parts stay in their pass"


def test_parts_within_parts_and_the_share_of_a_nested_stream():
    inner = fb.mix({"live": fb.stream(recorded()), "b": fb.arrays(x=np.arange(500, 900)).shuffle()}, weights={"live": 3, "b": 1})
    data = fb.mix({"live": fb.arrays(x=np.arange(LIVE, LIVE + 9000)), "b": fb.arrays(x=np.arange(500, 900)).shuffle()}, weights={"live": 3, "b": 1})
    whole = [fb.mix({"web": one, "a": fb.arrays(x=np.arange(500)).shuffle()}, weights={"web": 2, "a": 1}, samples=3072).batch(64) for one in (inner, data)]
    with fb.Loader(whole[0], epochs=2) as loader, fb.Loader(whole[1], epochs=2) as other:
        got = all_rows(loader, 2)
        assert got == all_rows(other, 2)
        assert len(live_of(got)) == pytest.approx(3072, abs=3)
        assert [part["name"] for part in loader.stats()["parts"]] == ["web/live", "web/b", "a"]


def test_what_the_users_iterable_raises_is_raised():
    def factory(offset):
        yield {"x": 1}
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"), fb.Loader(mixed(fb.stream(factory))) as loader:
        rows(loader, 5)


def test_the_place_of_a_stream_is_checked_before_anything_changes():
    with fb.Loader(mixed(fb.stream(recorded())), seed=1) as loader:
        rows(loader, 4)
        state = loader.state_dict()
        expected = rows(loader, 4)
        for damage in ({}, {"partitions": ["other"]}, None):
            bad = json.loads(json.dumps(state))
            bad["streams"]["live"] = damage
            with pytest.raises((fb.InvalidArgument, fb.StateMismatch)):
                loader.load_state_dict(bad)
        without = {key: value for key, value in state.items() if key != "streams"}
        with pytest.raises(fb.StateMismatch, match="a data set, and this is a stream"):
            loader.load_state_dict(without)
        loader.load_state_dict(state)
        assert rows(loader, 4) == expected


def test_a_stream_without_a_share_is_not_read():
    made = []

    def factory(offset):
        made.append(offset)
        yield {"x": LIVE}

    with fb.Loader(mixed(fb.stream(factory), weights={"old": 1, "live": 0}), epochs=1) as loader:
        assert sorted(x for _, _, x, _ in rows(loader)) == list(range(OLD)) and made == []


NEWS = 2 * LIVE  # x of the first record of a second stream


def news(end=None):
    return lambda offset: ({"x": NEWS + i} for i in (itertools.count(offset) if end is None else range(offset, end)))


def with_news(live, more, batch=32, **build):
    """A mix of old samples and two streams, or data sets of their records."""
    weights = {"old": 2, "live": 3, "more/news": 2, "more/b": 1}
    inner = fb.mix({"news": more, "b": fb.arrays(x=np.arange(-300, 0)).shuffle()}, weights={"news": weights["more/news"], "b": weights["more/b"]})
    return fb.mix({"old": old(), "live": live, "more": inner}, weights={"old": 2, "live": 3, "more": 3}, **build).batch(batch)


def xs_of(got, first):
    return [x for _, _, x, _ in got if first <= x < first + LIVE]


def test_two_streams_give_what_data_sets_of_their_records_would_give():
    data = with_news(fb.arrays(x=np.arange(LIVE, LIVE + 40_000)), fb.arrays(x=np.arange(NEWS, NEWS + 40_000)), samples=5000)
    with fb.Loader(with_news(fb.stream(recorded()), fb.stream(news()), samples=5000), seed=3, epochs=2) as a, fb.Loader(data, seed=3, epochs=2) as b:
        assert len(a) == len(b)
        got = all_rows(a, 2)
        assert got == all_rows(b, 2) and rows(a) == []
        assert [part["samples"] for part in a.stats()["parts"]] == [part["samples"] for part in b.stats()["parts"]]
        assert [part["name"] for part in a.stats()["partitions"]] == ["live", "more/news"]
        assert a.stats()["stream"]["arrived"] >= len(xs_of(got, LIVE)) + len(xs_of(got, NEWS))
    for first in (LIVE, NEWS):
        records = xs_of(got, first)
        assert records == list(range(first, first + len(records))) and len(records) > 2000
        assert [number for _, _, x, number in got if first <= x < first + LIVE] == list(range(len(records))), "an id is the record's number in its stream"


@pytest.mark.parametrize(("records", "more"), [(0, 900), (900, 0), (333, 5000), (5000, 333), (1500, 980), (1000, 1000)])
def test_the_first_of_two_streams_that_ends_ends_the_run(records, more):
    data = with_news(fb.arrays(x=np.arange(LIVE, LIVE + 9000)), fb.arrays(x=np.arange(NEWS, NEWS + 9000)))
    with fb.Loader(data, seed=1, epochs=2) as whole:
        expected = all_rows(whole, 2)
    until = next((i for i, (_, _, x, _) in enumerate(expected) if x in (LIVE + records, NEWS + more)), len(expected))
    with fb.Loader(with_news(fb.stream(recorded(records)), fb.stream(news(more))), seed=1, epochs=2) as loader:
        assert all_rows(loader, 2) == expected[:until]


def test_streams_alone_are_mixed_and_go_on_from_a_state():
    def build(batch):
        parts = {"live": fb.stream(recorded()), "news": fb.stream(news()).shuffle(window=50), "third": fb.stream(recorded())}
        return fb.mix(parts, weights={"live": 4, "news": 2, "third": 1}).batch(batch)

    with fb.Loader(build(28), seed=2) as loader:
        with pytest.raises(TypeError, match="a stream has no length"):
            len(loader)
        rows(loader, 9)
        state = json.loads(json.dumps(loader.state_dict()))
        rest = rows(loader, 12)
    assert len(xs_of(rest, LIVE)) == pytest.approx(12 * 28 * 5 / 7, abs=30)
    with fb.Loader(build(42), seed=2, threads=1) as loader:
        loader.load_state_dict(state)
        assert rows(loader, 8) == rest


@pytest.mark.parametrize("world", [2, 3])
def test_all_ranks_follow_two_streams_and_a_state_goes_on_with_other_ranks(tmp_path, world):
    def build(ranks):
        return with_news(fb.stream(recorded(1500)).shuffle(window=100), fb.stream(news(1200)), 24 // ranks, samples=4000)

    alone, _ = steps_of_ranks(build, 1, "", seed=5, epochs=2)
    (tmp_path / "all").mkdir()
    together, _ = steps_of_ranks(build, world, f"file://{tmp_path}/all", seed=5, epochs=2)
    assert together == alone
    for steps in (1, 17):
        (tmp_path / f"{steps}").mkdir()
        begun, state = steps_of_ranks(build, world, f"file://{tmp_path}/{steps}", steps, seed=5, epochs=2)
        rest, _ = steps_of_ranks(build, 1, "", state=state, seed=5, epochs=2)
        assert begun + rest == alone and len(begun) == steps
    (tmp_path / "more").mkdir()
    rest, _ = steps_of_ranks(build, 4, f"file://{tmp_path}/more", state=state, seed=5, epochs=2)
    assert begun + rest == alone


def test_two_topics_of_a_broker_are_each_read_once_by_all_ranks(servers, monkeypatch, tmp_path):
    url = servers("redis_tls")["FOREBAY_TEST_REDIS_TLS_PLAIN"]
    monkeypatch.setenv("FOREBAY_TEST_REDIS", url)
    names = [f"mix-{i}-{uuid.uuid4().hex[:8]}" for i in range(2)]
    writer = RedisClient()
    for i in range(1200):
        for name, first in zip(names, (LIVE, NEWS)):
            writer.send(("XADD", f"{name}-{i % 3}", "*", "x", first + i))
    writer.close()

    def build(ranks):
        live, more = (fb.stream(f"{url}/{name}-{{0..2}}", fields={"x": "int64"}) for name in names)
        return fb.mix({"old": old(), "live": live, "news": more}, weights={"old": 1, "live": 1, "news": 2}, samples=1024).batch(24 // ranks)

    def run(rank):
        with fb.Loader(build(2), rank=rank, world_size=2, peers=f"file://{tmp_path}", seed=5, epochs=2) as loader:
            return rows(loader) + rows(loader), loader.stats()["stream"], loader.state_dict()

    ranks = on_ranks(2, run)
    assert ranks[0][2] == ranks[1][2] and set(ranks[0][2]["streams"]) == {"live", "news"}
    assert all(stats["from_ranks"] > 0 and stats["reread"] == 0 for _, stats, _ in ranks)
    got = [x for rank_rows, _, _ in ranks for _, _, x, _ in rank_rows]
    for first, share in ((LIVE, 512), (NEWS, 1024)):
        of = sorted(x for x in got if first <= x < first + LIVE)
        assert len(set(of)) == len(of) == pytest.approx(share, abs=1), "no record comes twice"
        for partition in range(3):
            of_partition = [x for x in of if (x - first) % 3 == partition]
            assert of_partition == list(range(first + partition, first + partition + 3 * len(of_partition), 3)), "none is left out"


def test_two_streams_have_a_journal_each(tmp_path):
    def build(batch=24):
        return with_news(fb.stream(parts(3000, 3000), partition=[0, 1]), fb.stream(news()), batch, samples=4000)

    run = tmp_path / "run"
    with fb.Loader(build(), seed=5, epochs=2) as loader:
        loader.journal(str(run))
        got = rows(loader, 25)
    assert sorted(file.name for file in run.iterdir()) == ["live.journal", "more%2Fnews.journal"]
    with fb.Loader(build(12), seed=5, epochs=2, journal=str(run)) as loader:
        assert all_rows(loader, 2)[: len(got)] == got
    with fb.Loader(build(), seed=5, journal=str(run)) as loader, pytest.raises(fb.InvalidArgument, match="it writes none"):
        loader.journal(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("")
    with fb.Loader(build(), seed=5) as loader, pytest.raises(fb.InvalidArgument, match="several streams have a journal each, in a folder"):
        loader.journal(str(tmp_path / "file"))
    (run / "live.journal").unlink()
    with pytest.raises(fb.NotFound, match="live.journal"):
        fb.Loader(build(), seed=5, journal=str(run))


def test_journals_go_on_if_one_of_the_next_ones_cannot_be_written(tmp_path):
    def build():
        return with_news(fb.stream(parts(3000, 3000), partition=[0, 1]), fb.stream(news()), 24, samples=4000)

    run, bad = tmp_path / "run", tmp_path / "bad"
    (bad / "more%2Fnews.journal").mkdir(parents=True)
    with fb.Loader(build(), seed=5, epochs=2) as loader:
        loader.journal(str(run))
        got = rows(loader, 5)
        with pytest.raises(fb.Error, match="more%2Fnews.journal"):
            loader.journal(str(bad))
        got += rows(loader, 40)
    with fb.Loader(build(), seed=5, epochs=2, journal=str(run)) as loader:
        assert all_rows(loader, 2)[: len(got)] == got


def test_only_rank_0_makes_the_folder_of_journals(tmp_path):
    def run(rank):
        with fb.Loader(with_news(fb.stream(recorded()), fb.stream(news())), rank=rank, world_size=2, peers=f"file://{tmp_path}/peers") as loader:
            loader.journal(f"{tmp_path}/{'run' if rank == 0 else 'no/such/folder'}")
            rows(loader, 3)

    (tmp_path / "peers").mkdir()
    on_ranks(2, run)
    assert len(list((tmp_path / "run").iterdir())) == 2


def test_a_second_stream_joins_a_mix_and_the_first_one_leaves_it():
    def of(**streams):
        return fb.mix({"old": old(), **streams}, weights=dict.fromkeys(["old", *streams], 1), samples=1500).batch(32)

    def records(got, first):
        return [x - first for x in xs_of(got, first)]

    with fb.Loader(of(live=fb.stream(recorded())), seed=1) as loader:
        before = rows(loader, 11)
        state = loader.state_dict()
    with fb.Loader(of(news=fb.stream(news()), live=fb.stream(recorded())), seed=1) as loader:
        with pytest.raises(fb.StateMismatch, match="'news' is new"):
            loader.load_state_dict(state)
        loader.load_state_dict(state, parts="changed")
        between = rows(loader, 11)
        state = loader.state_dict()
    with fb.Loader(of(news=fb.stream(news())), seed=1) as loader:
        with pytest.raises(fb.StateMismatch, match="'live' is gone"):
            loader.load_state_dict(state)
        loader.load_state_dict(state, parts="changed")
        after = rows(loader, 11)
    for first, all_records in ((LIVE, records(before, LIVE) + records(between, LIVE)), (NEWS, records(between, NEWS) + records(after, NEWS))):
        assert all_records == list(range(len(all_records))) and len(all_records) > 200, f"the stream of {first} goes on where it was"


def test_a_state_without_the_place_of_one_of_the_streams_changes_nothing():
    with fb.Loader(with_news(fb.stream(recorded()), fb.stream(news())), seed=1) as loader:
        rows(loader, 4)
        state = loader.state_dict()
        expected = rows(loader, 4)
        for damage in ({}, None, [], {"live": state["streams"]["live"]}, {**state["streams"], "more/news": {}}, {**state["streams"], "live": None}):
            with pytest.raises((fb.InvalidArgument, fb.StateMismatch)):
                loader.load_state_dict({**state, "streams": damage})
        loader.load_state_dict(state)
        assert rows(loader, 4) == expected


def test_ranks_that_shuffle_one_of_two_streams_differently_are_told_which(tmp_path):
    def run(rank):
        pipeline = with_news(fb.stream(recorded()).shuffle(window=100), fb.stream(news()).shuffle(window=100 + rank))
        with fb.Loader(pipeline, rank=rank, world_size=2, peers=f"file://{tmp_path}") as loader:
            rows(loader, 200)

    with pytest.raises(fb.StateMismatch, match="window of 'more/news'=101 .rank 0: 100."):
        on_ranks(2, run)


def told(pipeline):
    return [(problem.operator, problem.message, problem.remedy) for problem in pipeline.check()]


EVEN = {"a": 1, "b": 1}


def stream():
    return fb.stream("redis://localhost/0/log", fields={"x": "int64"})


@pytest.mark.parametrize(("pipeline", "op", "message", "remedy"), [
    (fb.mix({"a": old(), "b": stream()}), "b: 0: stream", "no number of samples", "weights="),
    (fb.mix({"a": old(), "b": stream()}, temperature=2), "b: 0: stream", "no number of samples", "weights="),
    (fb.mix({"a": old(), "b": stream()}, weights=EVEN, end="all"), "b: 0: stream", "a stream never is", "samples="),
    (fb.concat(old(), b=stream()), "b: 0: stream", "no end behind which", "mix() with weights="),
    (fb.concat(old(), b=stream()), "b: 0: stream", "or the next epoch", "with schedule= the stream may begin behind the others"),
    (fb.zip(old(), b=stream()), "b: 0: stream", "not there yet in a zip", "by itself"),
    (fb.mix({"a": old(), "b": stream().take(5)}, weights=EVEN), "b: 1: take", "no first samples", "leave it out"),
    (fb.mix({"a": old(), "b": stream().shuffle()}, weights=EVEN), "b: 1: shuffle", "no whole to shuffle", "window="),
    (fb.mix({"a": old().buffer(), "b": stream()}, weights=EVEN), "a: 2: buffer", "for streams", "leave it out"),
    (fb.mix({"a": old(), "b": stream()}, weights=EVEN).buffer(), "1: buffer", "for streams", "into the part that is a stream"),
    (fb.mix({"a": old(), "b": stream()}, weights=EVEN).cache(), "1: cache", "come once", "leave it out"),
])
def test_what_a_stream_cannot_be_is_told(pipeline, op, message, remedy):
    found = told(pipeline)
    assert any(where == op and message in what and remedy in out for where, what, out in found), found


def test_options_of_a_stream_by_itself_are_refused():
    with pytest.raises(fb.InvalidArgument, match="samples="):
        fb.Loader(mixed(fb.stream(recorded())), steps_per_epoch=5)
    with pytest.raises(fb.InvalidArgument, match="no other sample"):
        fb.Loader(mixed(fb.stream(recorded())), on_error="replace")
    with fb.Loader(mixed(fb.stream(recorded()))) as loader, pytest.raises(fb.InvalidArgument, match="goes on where it stands"):
        loader.set_epoch(3)


def test_ranks_that_change_the_share_of_a_stream_differently_are_told(tmp_path):
    told = threading.Event()

    def run(rank):
        with fb.Loader(mixed(fb.stream(recorded()), samples=50_000), rank=rank, world_size=2, peers=f"file://{tmp_path}/job") as loader:
            batches = iter(loader)
            for _ in range(2):
                next(batches)
            loader.set_weights({"old": 1, "live": 1 + rank})
            if rank == 0:
                with contextlib.suppress(fb.Error):  # rank 1 leaves
                    while not told.is_set():
                        next(batches)
                return told.wait(60)
            with pytest.raises(fb.StateMismatch, match=r"rank 1 has made another change than rank 0: set_weights\(\) with live: 2, old: 1 in epoch 0, at position 128 .rank 0: "):
                while True:
                    next(batches)
            told.set()

    assert on_ranks(2, run)[0]
