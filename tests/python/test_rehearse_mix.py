"""Old samples of several parts: data sets and streams, the same for any number of ranks and after a resume."""

import itertools
import json
import uuid

import numpy as np
import pytest

import forebay as fb
from redis_client import RedisClient
from streaming import TOKEN, on_ranks

LIVE, NEWS = 10**6, 2 * 10**6  # x of the first records of two streams; those of data sets are below them


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)


def counted(first, end=None):
    """factory(offset): record i has x = first + i, label = i % 3."""
    return lambda offset: ({"x": first + i, "label": i % 3} for i in (itertools.count(offset) if end is None else range(offset, end)))


def labelled(first, size):
    """The same as a data set."""
    return fb.arrays(x=np.arange(first, first + size), label=np.arange(size) % 3)


def base():
    return labelled(0, 500).shuffle()


def rehearsed(parts, new=24, old=12, **options):
    weights = {name: i + 1 for i, name in enumerate(parts)}
    mixed = fb.mix(parts, weights=weights, samples=options.pop("samples", 900), field="part")
    return mixed.rehearse(old, **{"capacity": 40, "by": None, **options}).batch(new, last="partial")


def data_sets(new=24, old=12, **options):
    return rehearsed({"base": base(), "live": labelled(LIVE, 9000), "news": labelled(NEWS, 9000)}, new, old, **options)


LOGS = {}  # files that are followed: they have the records of counted(LIVE) and counted(NEWS)


@pytest.fixture(autouse=True, scope="module")
def logs(tmp_path_factory):
    for first in (LIVE, NEWS):
        LOGS[first] = tmp_path_factory.mktemp("logs") / "log.jsonl"
        LOGS[first].write_text("".join(json.dumps(record) + "\n" for record in counted(first, 2000)(0)))


def followed(first):
    return fb.jsonl(str(LOGS[first]), follow=True, fields={"x": "int64", "label": "int64"})


def streams(new=24, old=12, **options):
    return rehearsed({"base": base(), "live": followed(LIVE), "news": followed(NEWS).shuffle(window=1)}, new, old, **options)


KINDS = {"data sets": data_sets, "streams": streams}


def taken(batch):
    marks = batch["rehearsed"][: len(batch.ids) - batch.padding]
    rows = list(zip(batch["part"].tolist(), batch["x"].tolist(), batch.ids.tolist()))[: len(marks)]
    return [row for row, old in zip(rows, marks) if not old], [row for row, old in zip(rows, marks) if old]


def steps(build, world=1, state=None, stop=None, peers=None, epochs=2, **options):
    """Of each step the new rows of all ranks, sorted, and the old ones in the order of ranks; and the state behind the last."""

    def run(rank):
        got = []
        with fb.Loader(build(24 // world, 12 // world), seed=3, rank=rank, world_size=world, epochs=epochs, peers=peers if world > 1 else None, **options) as loader:
            if state is not None:
                loader.load_state_dict(json.loads(json.dumps(state)))
            while loader.epoch < epochs and (stop is None or len(got) < stop):
                got += [taken(batch) for batch in itertools.islice(loader, None if stop is None else stop - len(got))]
            return got, loader.state_dict()

    ranks = on_ranks(world, run)
    assert all(saved == ranks[0][1] for _, saved in ranks)
    return [(sorted(sum((new for new, _ in step), [])), sum((old for _, old in step), [])) for step in zip(*(got for got, _ in ranks))], ranks[0][1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", [{}, {"policy": "recent"}, {"by": "label", "policy": "balanced"}, {"by": "label", "capacity": 9, "candidates": 5}])
def test_the_same_for_1_2_and_4_ranks_and_after_a_resume(tmp_path, kind, options):
    def build(new, old):
        return KINDS[kind](new, old, **options)

    whole, _ = steps(build)
    for world in (2, 4):
        (tmp_path / f"{world}").mkdir()
        assert steps(build, world, peers=f"file://{tmp_path}/{world}")[0] == whole
    for at in (1, 17, 41):
        begun, state = steps(build, stop=at)
        (tmp_path / f"from-{at}").mkdir()
        rest, _ = steps(build, 2, state, peers=f"file://{tmp_path}/from-{at}")
        assert begun + rest == whole
    assert whole[0][1] == [], "nothing is kept before the first step"
    before = set()
    for new, old in whole:
        assert set(old) <= before and len(old) in (0, 12), "old ones come of the steps before, and are of their part"
        before |= set(new)
    assert {part for _, old in whole for part, _, _ in old} == {0, 1, 2}, "of all parts"


def test_streams_give_what_data_sets_of_their_records_would_give():
    for options in ({}, {"by": "label"}, {"policy": "recent"}):
        assert steps(lambda new, old: streams(new, old, **options))[0] == steps(lambda new, old: data_sets(new, old, **options))[0]


@pytest.mark.parametrize("kind", KINDS)
def test_new_rows_are_those_of_the_mix_and_recent_ones_the_latest_of_these(kind):
    parts = {"base": base(), "live": labelled(LIVE, 9000), "news": labelled(NEWS, 9000)}
    with fb.Loader(fb.mix(parts, weights={"base": 1, "live": 2, "news": 3}, samples=900, field="part").batch(24, last="partial"), seed=3, epochs=2) as loader:
        plain = [list(zip(batch["part"].tolist(), batch["x"].tolist(), batch.ids.tolist())) for _ in range(2) for batch in loader]
    whole, _ = steps(lambda new, old: KINDS[kind](new, old, policy="recent", capacity=50))
    assert [new for new, _ in whole] == [sorted(step) for step in plain]
    for at, (_, old) in enumerate(whole):
        latest = sum(plain[:at], [])[-50:]
        assert set(old) <= set(latest) and (len(set(old)) == 12 or not at)


def test_old_samples_go_through_the_steps_of_their_part():
    parts = {"a": labelled(0, 300).map(lambda sample: {"x": sample["x"] + 5, "label": sample["label"]}), "b": fb.stream(counted(LIVE)).map(lambda sample: {"x": -sample["x"], "label": sample["label"]})}
    with fb.Loader(rehearsed(parts), seed=1) as loader:
        for batch in loader:
            for part, x, number in sum(taken(batch), []):
                assert x == (number + 5 if part == 0 else -(LIVE + number))
            assert (batch["label"] == batch.ids % 3).all()


def test_the_end_of_a_stream_ends_the_run_with_what_came():
    def build(end):
        return rehearsed({"base": base(), "live": fb.stream(counted(LIVE, end))})

    with fb.Loader(rehearsed({"base": base(), "live": labelled(LIVE, 9000)}), seed=2, epochs=2) as loader:
        whole = [taken(batch) for _ in range(2) for batch in loader]
    for end in (0, 7, 250, 800):
        with fb.Loader(build(end), seed=2, epochs=2) as loader:
            got = [taken(batch) for _ in range(2) for batch in loader]
        new, expected = (sum((new for new, _ in steps), []) for steps in (got, whole))
        until = next(i for i, (_, x, _) in enumerate(expected) if x == LIVE + end)
        assert new == expected[:until]
        assert [old for _, old in got] == [old for _, old in whole[: len(got)]]


def test_a_broker_gives_old_records_to_all_ranks_and_a_state_goes_on_with_more(servers, monkeypatch, tmp_path):
    url = servers("redis_tls")["FOREBAY_TEST_REDIS_TLS_PLAIN"]
    monkeypatch.setenv("FOREBAY_TEST_REDIS", url)
    names = [f"old-{i}-{uuid.uuid4().hex[:8]}" for i in range(2)]
    writer = RedisClient()
    for name, first in zip(names, (LIVE, NEWS)):
        writer.send(*(("XADD", f"{name}-{i % 2}", "*", "x", first + i, "label", i % 3) for i in range(700)))
    writer.close()

    def build(new, old):
        live, more = (fb.stream(f"{url}/{name}-{{0..1}}", fields={"x": "int64", "label": "int64"}) for name in names)
        return rehearsed({"base": base(), "live": live, "news": more}, new, old, samples=600)

    begun, state = steps(build, 2, stop=20, peers=f"file://{tmp_path}/a")
    rest, _ = steps(build, 3, state, peers=f"file://{tmp_path}/b")
    before = set()
    for new, old in begun + rest:
        assert set(old) <= before
        before |= set(new)
    new = [row for fresh, _ in begun + rest for row in fresh]
    assert len(new) == 1200 and len({x for part, x, _ in new if part}) == sum(part > 0 for part, _, _ in new), "no record is new twice"

    def run(rank):
        with fb.Loader(build(12, 6), rank=rank, world_size=2, peers=f"file://{tmp_path}/c", seed=3, epochs=1) as loader:
            return [taken(batch) for batch in loader], loader.stats()["stream"]

    ranks = on_ranks(2, run)
    assert sum(stats["old_lent"] for _, stats in ranks) > 0 and all(stats["old_lost"] == 0 for _, stats in ranks)


def test_a_state_that_cannot_be_loaded_leaves_the_old_samples_as_they_are():
    with fb.Loader(streams(), seed=6) as loader:
        begun = [taken(batch) for batch in itertools.islice(loader, 5)]
        early = json.loads(json.dumps(loader.state_dict()))
        early["streams"]["live"]["partitions"][0][0] = "another log"  # what is found before, of all parts, is usable
        begun += [taken(batch) for batch in itertools.islice(loader, 5)]
        state = loader.state_dict()
        with pytest.raises((fb.InvalidArgument, fb.StateMismatch)):
            loader.load_state_dict(early)
        assert loader.state_dict() == state
        rest = [taken(batch) for batch in itertools.islice(loader, 5)]
    with fb.Loader(streams(), seed=6) as loader:
        assert [taken(batch) for batch in itertools.islice(loader, 15)] == begun + rest


@pytest.mark.parametrize("kind", KINDS)
def test_weights_change_and_old_samples_stay(kind):
    def run(build, state=None):
        with fb.Loader(build(), seed=6, epochs=2) as loader:
            if state:
                loader.load_state_dict(state)
            else:
                for weights in ({"base": 5, "live": 1, "news": 1}, {"base": 1, "live": 1, "news": 0}):
                    yield [taken(batch) for batch in itertools.islice(loader, 9)]
                    loader.set_weights(weights)
                yield loader.state_dict()
            yield [taken(batch) for batch in loader] + [taken(batch) for batch in loader]

    first, second, state, rest = run(KINDS[kind])
    assert [first, second, rest] == [got for got in run(data_sets) if isinstance(got, list)]
    assert next(run(KINDS[kind], state)) == rest
    assert {part for _, old in rest for part, _, _ in old} >= {2}, "old samples of a part without a weight come on"


def test_other_weights_take_the_old_samples_along_and_other_parts_are_refused():
    def of(weights, **more):
        parts = {"base": base(), "live": fb.stream(counted(LIVE)), **more}
        return fb.mix(parts, weights=weights, samples=900, field="part").rehearse(12, capacity=40, by=None).batch(24)

    with fb.Loader(of({"base": 1, "live": 1}), seed=1) as loader:
        kept = set(sum((new for new, _ in (taken(batch) for batch in itertools.islice(loader, 5))), []))
        state = loader.state_dict()
    with fb.Loader(of({"base": 1, "live": 5}), seed=1) as loader:
        loader.load_state_dict(state, parts="changed")
        assert set(taken(next(iter(loader)))[1]) <= kept
    with fb.Loader(of({"base": 1, "live": 5, "more": 1}, more=labelled(7000, 100)), seed=1) as loader, pytest.raises(fb.Unsupported, match="other parts not yet"):
        loader.load_state_dict(state, parts="changed")


def test_classes_of_tables_lines_and_records_are_the_same_classes(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"x": list(range(300)), "label": [i % 3 for i in range(300)]}), tmp_path / "a.parquet", row_group_size=50)
    (tmp_path / "b.jsonl").write_text("".join(f'{{"x": {1000 + i}, "label": {i % 2}}}\n' for i in range(300)))
    parts = {"table": fb.parquet(str(tmp_path / "a.parquet")).shuffle(), "lines": fb.jsonl(str(tmp_path / "b.jsonl"), fields={"x": "int64", "label": "int64"}), "live": followed(LIVE)}
    with fb.Loader(rehearsed(parts, by="label", capacity=20), seed=4, epochs=1) as loader:
        batches = list(loader)
        classes = {label: (seen, len(kept)) for label, seen, _, _, kept in loader.state_dict()["rehearsal"]["classes"]}
        assert loader.stats()["index_bytes"] > 0
    new = [label for batch in batches for label, old in zip(batch["label"].tolist(), batch["rehearsed"]) if not old]
    assert classes == {label: (new.count(label), 20) for label in range(3)}
    assert {part for batch in batches for part in batch["part"][batch["rehearsed"]].tolist()} == {0, 1, 2}


def test_a_concat_and_a_union_rehearse():
    for whole in (fb.concat(base(), b=labelled(LIVE, 300)), fb.mix({"a": base(), "b": labelled(LIVE, 300)})):
        with fb.Loader(whole.rehearse(8, capacity=30, by=None).batch(16), seed=1, epochs=2) as loader:
            before, new = set(), []
            for batch in [batch for _ in range(2) for batch in loader]:
                marks = batch["rehearsed"]
                assert set(batch["x"][marks].tolist()) <= before
                before |= set(batch["x"][~marks].tolist())
                new += batch["x"][~marks].tolist()[: 16 - batch.padding]
        assert sorted(new) == sorted(2 * (list(range(500)) + list(range(LIVE, LIVE + 300))))


def test_a_run_begins_with_what_another_one_kept():
    def of(size):
        return rehearsed({"base": base(), "more": labelled(LIVE, 900)}, samples=size)

    with fb.Loader(of(900), seed=1, epochs=1) as loader:
        new = set(sum((taken(batch)[0] for batch in loader), []))
        state = loader.state_dict()
    with fb.Loader(of(900), seed=2, rehearsal=state) as loader:
        old = taken(next(iter(loader)))[1]
        assert len(old) == 12 and set(old) <= new


@pytest.mark.parametrize(("build", "message"), [
    (lambda: fb.mix({"a": base().rehearse(2, capacity=3), "b": base()}).batch(4), "put it behind all parts"),
    (lambda: fb.mix({"a": base(), "b": base()}).rehearse(2, capacity=3, where="here").batch(4), "leave where= out"),
    (lambda: fb.mix({"a": base(), "b": fb.arrays(x=np.arange(9))}, missing="mask").rehearse(2, capacity=3).batch(4), r"no field 'label'.*\(in 'b'\)"),
    (lambda: fb.mix({"a": base(), "b": fb.stream(counted(0))}, weights={"a": 1, "b": 1}).rehearse(2, capacity=3).batch(4), r"by=None.*\(in 'b'\)"),
    (lambda: fb.mix({"a": base().sample(50), "b": base()}).rehearse(2, capacity=3).batch(4), "draws the samples of an epoch"),
])
def test_mistakes_are_named(build, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        next(iter(fb.Loader(build())))


def test_states_with_broken_rehearsals_are_refused():
    with fb.Loader(streams(), seed=1) as loader:
        list(itertools.islice(loader, 3))
        state = loader.state_dict()
        expected = [taken(batch) for batch in itertools.islice(loader, 3)]
        label, seen, largest, at, ids = state["rehearsal"]["classes"][0]
        for broken in ([2**62] * len(ids), [4 * 10**9 for part in range(len(ids))], [3] * len(ids)):
            bad = {**state, "rehearsal": {**state["rehearsal"], "classes": [[label, seen, largest, at, broken]]}}
            with pytest.raises((fb.InvalidArgument, fb.StateMismatch)):
                loader.load_state_dict(bad)
        loader.load_state_dict(state)
        assert [taken(batch) for batch in itertools.islice(loader, 3)] == expected
