"""Changes of a mix while it runs: other weights from the next batch on, and states that go on with other parts, weights or more data."""
import copy
import json
from collections import Counter

import numpy as np
import pytest

import forebay as fb

WINDOW = 1024
SIZES = {"a": 5000, "b": 3000, "c": 700}
FIRST = {"a": 0, "b": 10_000, "c": 20_000, "d": 30_000}


def part(name, count=None):
    """Samples with a field x, which tells the part and the id."""
    return fb.arrays(x=np.arange(FIRST[name], FIRST[name] + (count or SIZES[name]))).shuffle()


def mixed(weights, batch=64, samples=4096, schedule=None, **counts):
    names = weights if weights else schedule[0][1]
    return fb.mix({name: part(name, counts.get(name)) for name in names}, weights=weights, schedule=schedule, samples=samples).batch(batch)


EVEN, TWO = {"a": 1, "b": 1, "c": 2}, {"a": 6, "b": 1, "c": 1}


def xs(loader, until=None):
    """The x of the rows of this rank up to a position of its epoch, or to its end: (epoch, position, x)."""
    rows = []
    for batch in loader:
        real = len(batch) - batch.padding
        rows += list(zip([batch.epoch] * real, batch.positions.tolist(), batch["x"].tolist(), strict=False))
        if until is not None and loader.state_dict()["position"] >= until:
            break
    return rows


def advance(pipeline, until, epochs=0, **options):
    """A loader at a position of an epoch, and what it gave before."""
    loader = fb.Loader(pipeline, **options)
    rows = []
    for _ in range(epochs):
        rows += xs(loader)
    return loader, rows + (xs(loader, until) if until else [])


def resumed(pipeline, state, epochs, world_size=1, **options):
    """The x of all rows from a state on, in order, as so many ranks give them."""
    load = options.pop("load", {})
    rows = []
    for rank in range(world_size):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world_size, **options) as loader:
            loader.load_state_dict(state, **load)
            while loader.epoch < epochs:
                rows += xs(loader)
    return [x for _, _, x in sorted(rows)]


def values(rows):
    return [x for _, _, x in rows]


def of_parts(drawn):
    return Counter("abcd"[x // 10_000] for x in drawn)


def once_each_pass(drawn, name, size):
    """Fails if a sample comes twice before all have come."""
    mine = [x for x in drawn if "abcd"[x // 10_000] == name]
    for at in range(0, len(mine), size):
        one = mine[at : at + size]
        assert len(set(one)) == len(one), name


# Other weights


def test_weights_change_from_the_next_batch_on_as_in_a_schedule():
    for at in (64, 960, 1024, 2624):
        loader, before = advance(mixed(EVEN), at)
        loader.set_weights(TWO)
        got = before + xs(loader) + xs(loader)
        with fb.Loader(mixed(None, schedule=[(0, EVEN), (at, TWO)])) as scheduled:
            assert got == xs(scheduled) + xs(scheduled), at
        loader.close()


def test_shares_are_exact_from_the_change_on_and_nothing_is_skipped_or_repeated():
    loader, before = advance(mixed(EVEN), 1984, epochs=1)
    with fb.Loader(mixed(EVEN)) as unchanged:
        assert before == xs(unchanged) + xs(unchanged, 1984)
    loader.set_weights({"a": 5, "b": 3, "c": 0})
    after = xs(loader) + xs(loader) + xs(loader)
    for windows in range(1, 8):
        counts = of_parts(values(after[: windows * WINDOW]))
        assert abs(counts["a"] - windows * WINDOW * 5 / 8) < 1 and abs(counts["b"] - windows * WINDOW * 3 / 8) < 1
        assert counts["c"] == 0
    for name, size in SIZES.items():
        once_each_pass(values(before + after), name, size)
    loader.close()


def test_a_state_goes_on_with_the_weights_on_any_ranks_threads_and_batches():
    loader, _ = advance(mixed(EVEN), 1984, epochs=1)
    loader.set_weights(TWO)
    rest = []
    states = []
    for batch in loader:
        states.append((len(rest), loader.state_dict()))
        rest += batch["x"].tolist()
    while loader.epoch < 4:
        rest += values(xs(loader))
    for done, state in (states[0], states[7], states[-1]):
        expected = rest[done + 64 :]
        assert resumed(mixed(EVEN, 64), state, 4) == expected
        assert resumed(mixed(EVEN, 16), state, 4, world_size=2, threads=1) == expected
        assert resumed(mixed(EVEN, 32), state, 4, world_size=3, threads=3) == expected
    loader.close()


def test_a_state_from_before_the_change_goes_back_to_the_pipeline():
    loader, _ = advance(mixed(EVEN), 640)
    before = loader.state_dict()
    plain = loader.fingerprint
    expected = resumed(mixed(EVEN), before, 1)
    loader.set_weights(TWO)
    assert loader.fingerprint != plain, "ranks that disagree are told apart"
    xs(loader, 2000)
    loader.load_state_dict(before)
    assert loader.fingerprint == plain
    assert values(xs(loader)) == expected
    loader.close()


def test_a_call_that_changes_nothing_adds_nothing():
    loader, _ = advance(mixed(EVEN), 640)
    state = loader.state_dict()
    for same in (EVEN, {"c": 20, "a": 10, "b": 10}):
        loader.set_weights(same)
        assert loader.state_dict() == state
    loader.set_weights(TWO)
    changed = loader.state_dict()
    assert changed["fingerprints"] == state["fingerprints"] and changed["position"] == state["position"]
    xs(loader, 1000)
    later = loader.state_dict()
    loader.set_weights(TWO)
    assert loader.state_dict() == later and later["changes"] == changed["changes"]
    loader.close()


def test_a_schedule_is_over_when_weights_are_set():
    loader, _ = advance(mixed(None, schedule=[(0, EVEN), (2048, TWO)]), 1024)
    loader.set_weights(EVEN)
    assert loader.state_dict()["changes"], "the second stage does not come"
    counts = of_parts(values(xs(loader)))
    assert abs(counts["c"] - 1536) <= 1
    loader.close()


def test_a_thousand_changes_take_no_more_room_than_one():
    loader, before = advance(mixed(EVEN, 8, samples=20_000), 8)
    sizes, drawn = set(), values(before)
    for call, batch in enumerate(loader):
        drawn += batch["x"].tolist()
        loader.set_weights({"a": 1 + call % 7, "b": 1 + call % 3, "c": 1})
        sizes.add(len(json.dumps(loader.state_dict(), separators=(",", ":"))))
        if call == 1000:
            break
    assert max(sizes) < 256 + 40 * 3 * 2
    for name, size in SIZES.items():
        once_each_pass(drawn, name, size)
    state = loader.state_dict()
    rest = values(xs(loader))
    assert resumed(mixed(EVEN, 5, samples=20_000), state, 1, world_size=2) == rest
    loader.close()


def nested(samples=4096, batch=32):
    inner = fb.mix({"en": part("a"), "de": part("b")}, weights={"en": 3, "de": 1})
    return fb.mix({"web": inner, "code": part("c")}, weights={"web": 2, "code": 1}, samples=samples).batch(batch)


def test_a_mix_in_a_mix_has_weights_of_its_own():
    for weights in ({"web/en": 1, "web/de": 4}, {"web": {"en": 1, "de": 4}}):
        loader, before = advance(nested(), 1600)
        loader.set_weights(weights)
        state = loader.state_dict()
        after = values(xs(loader))
        counts = of_parts(after)
        total = len(after)
        assert abs(counts["c"] - total / 3) < 12, "the outer shares go on"
        assert abs(counts["b"] - (total - counts["c"]) * 4 / 5) < 12
        for name, size in SIZES.items():
            once_each_pass(values(before) + after, name, size)
        assert resumed(nested(batch=20), state, 1, world_size=2) == after
        loader.close()
    loader, _ = advance(nested(), 1600)
    loader.set_weights({"web": 1, "code": 0, "web/en": 0, "web/de": 1})
    assert set(of_parts(values(xs(loader)))) == {"b"}
    loader.close()


def test_an_epoch_keeps_its_length():
    pipeline = fb.mix({"a": part("a", 500), "b": part("b", 300)}, weights={"a": 1, "b": 1}).batch(20)
    with fb.Loader(pipeline) as loader:
        length = len(loader)
        xs(loader, 100)
        loader.set_weights({"a": 1, "b": 9})
        assert len(loader) == length
        xs(loader)
        assert len(list(loader)) == length


def test_earlier_positions_are_not_known_any_more():
    loader, _ = advance(mixed(EVEN), 640, epochs=1)
    loader.set_weights(TWO)
    with pytest.raises(fb.InvalidArgument, match=r"set_epoch\(0\): parts or their weights changed in epoch 1, at position 640"):
        loader.set_epoch(0)
    loader.set_epoch(3)
    assert loader.state_dict()["epoch"] == 3
    counts = of_parts(values(xs(loader)))
    assert abs(counts["a"] - 3072) < 12
    loader.close()


def test_evaluation_changes_weights_between_epochs_only():
    with fb.Loader(mixed(EVEN), restart=True) as loader:
        loader.set_weights(TWO)
        first = xs(loader, 640)
        assert xs(loader, 640) == first
        with pytest.raises(fb.InvalidArgument, match="restart=True"):
            loader.set_weights(EVEN)
        changed, _ = advance(mixed(EVEN), 640)
        changed.set_weights(TWO)
        with pytest.raises(fb.InvalidArgument, match="restart=True"):
            loader.load_state_dict(changed.state_dict())
        changed.close()


MISUSE = [
    ({"a": 1, "b": 1}, "there is none for 'c'"),
    ({"a": 1, "b": 1, "d": 1}, r"there is no such part"),
    ({"a": -1, "b": 1, "c": 1}, "that of 'a' is -1"),
    ({"a": float("nan"), "b": 1, "c": 1}, "'a'"),
    ({"a": 0, "b": 0, "c": 0}, "all are 0"),
    ({}, "no weights are given"),
    ({"a/x": 1}, "there is no part 'a/x'"),
    ({"a": {"x": 1}}, "there is no part 'a/x'"),
]


@pytest.mark.parametrize(("weights", "message"), MISUSE)
def test_weights_that_are_not_possible_are_refused_and_change_nothing(weights, message):
    with fb.Loader(mixed(EVEN)) as loader:
        state = loader.state_dict()
        with pytest.raises(fb.InvalidArgument, match=message):
            loader.set_weights(weights)
        assert loader.state_dict() == state


def test_other_types_than_weights_are_refused():
    with fb.Loader(mixed(EVEN)) as loader:
        for wrong in (None, [1, 2, 3], {"a": "much", "b": 1, "c": 1}, {"a": True, "b": 1, "c": 1}, {1: 1}):
            with pytest.raises(TypeError, match="set_weights"):
                loader.set_weights(wrong)


def test_what_has_no_weights_says_so():
    with fb.Loader(part("a").batch(8)) as loader, pytest.raises(fb.InvalidArgument, match="has no parts"):
        loader.set_weights({"a": 1})
    with fb.Loader(fb.mix({"a": part("a"), "b": part("b")}).batch(8)) as loader, pytest.raises(fb.InvalidArgument, match="without weights"):
        loader.set_weights({"a": 1, "b": 1})
    with fb.Loader(fb.concat(part("a")).batch(8)) as loader, pytest.raises(fb.InvalidArgument, match="without weights"):
        loader.set_weights({"0": 1})
    empty = fb.mix({"a": part("a"), "none": fb.arrays(x=np.arange(0))}, weights={"a": 1, "none": 0}, samples=100).batch(8)
    with fb.Loader(empty) as loader, pytest.raises(fb.InvalidArgument, match="'none' has no samples"):
        loader.set_weights({"a": 1, "none": 1})


def test_a_checkpoint_of_torch_keeps_the_weights(tmp_path):
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    loader, _ = advance(mixed(EVEN), 640)
    loader.set_weights(TWO)
    xs(loader, 1280)
    dcp.save({"loader": loader}, checkpoint_id=str(tmp_path))
    with fb.Loader(mixed(EVEN), epochs=1) as fresh:
        dcp.load({"loader": fresh}, checkpoint_id=str(tmp_path))
        assert fresh.state_dict() == loader.state_dict()
        assert values(xs(fresh)) == values(xs(loader))
    loader.close()


# Other parts

GO_ON = {"load": {"parts": "changed"}}


def test_other_weights_go_on_where_the_parts_were():
    loader, before = advance(mixed(EVEN), 1984, epochs=1)
    state = loader.state_dict()
    with fb.Loader(mixed(TWO)) as other:
        with pytest.raises(fb.StateMismatch, match=r'the weights of parts, or steps; parts="changed" goes on'):
            other.load_state_dict(state)
    rest = resumed(mixed(TWO), state, 3, **GO_ON)
    loader.set_weights(TWO)
    assert rest == values(xs(loader) + xs(loader)), "the same as a change of the running loader"
    assert resumed(mixed(TWO, 24), state, 3, world_size=3, **GO_ON) == rest
    loader.close()
    for name, size in SIZES.items():
        once_each_pass(values(before) + rest, name, size)


def test_a_longer_schedule_goes_on_as_if_it_had_been_there_from_the_start():
    stages = [(0, EVEN), (1000, TWO)]
    longer = [*stages, (2500, {"a": 0, "b": 1, "c": 0})]
    loader, _ = advance(mixed(None, schedule=stages), 1984)
    state = loader.state_dict()
    loader.close()
    with fb.Loader(mixed(None, schedule=longer)) as whole:
        expected = values(xs(whole))[1984:]
    assert resumed(mixed(None, schedule=longer), state, 1, **GO_ON) == expected


def test_the_same_pipeline_goes_on_as_if_nothing_was_said():
    loader, _ = advance(mixed(EVEN), 1984)
    loader.set_weights(TWO)
    xs(loader, 3000)
    state = loader.state_dict()
    assert resumed(mixed(EVEN), state, 2, **GO_ON) == resumed(mixed(EVEN), state, 2)
    loader.close()


def test_parts_are_added_and_taken_away():
    loader, before = advance(mixed(EVEN), 1984, epochs=1)
    state = loader.state_dict()
    loader.close()
    other = mixed({"d": 1, "b": 1, "c": 2}, d=900)
    with fb.Loader(other) as loader, pytest.raises(fb.StateMismatch, match="'d' is new, 'a' is gone"):
        loader.load_state_dict(state)
    rest = resumed(other, state, 4, **GO_ON)
    assert resumed(other, state, 4, world_size=2, threads=1, **GO_ON) == rest
    counts = of_parts(rest[: 4 * WINDOW])
    assert counts == {"b": WINDOW, "c": 2 * WINDOW, "d": WINDOW}
    for name, size in {"b": 3000, "c": 700}.items():
        once_each_pass(values(before) + rest, name, size)
    once_each_pass(rest, "d", 900)


def test_a_state_after_the_change_is_one_of_the_new_pipeline():
    loader, _ = advance(mixed(EVEN), 1984)
    state = loader.state_dict()
    loader.close()
    other = mixed({"a": 1, "b": 1, "d": 1}, d=900)
    with fb.Loader(other, epochs=3) as loader:
        loader.load_state_dict(state, parts="changed")
        xs(loader, 3000)
        later = loader.state_dict()
        rest = values(xs(loader))
        while loader.epoch < 3:
            rest += values(xs(loader))
    assert resumed(other, later, 3) == rest
    assert resumed(mixed({"a": 1, "b": 1, "d": 1}, 10, d=900), later, 3, world_size=2) == rest


def test_a_part_that_grew_ends_its_pass_with_what_it_had():
    loader, before = advance(mixed(EVEN), 1984)
    state = loader.state_dict()
    loader.close()
    grown = mixed(EVEN, c=1000, b=3500)
    with fb.Loader(grown) as loader, pytest.raises(fb.StateMismatch, match="'b' had 3000 samples and has 3500, 'c' had 700 samples and has 1000"):
        loader.load_state_dict(state)
    rest = resumed(grown, state, 4, **GO_ON)
    assert resumed(grown, state, 4, world_size=2, threads=2, **GO_ON) == rest
    drawn = values(before) + rest
    mine = [x for x in drawn if x >= 20_000]
    done = sum(x >= 20_000 for x in values(before))
    end = (done + 699) // 700 * 700  # of the pass
    assert set(mine[end - 700 : end]) == set(range(20_000, 20_700))
    assert mine[:end] == [x for x in resumed_whole(mixed(EVEN), 4) if x >= 20_000][:end], "in the order that it had"
    assert set(mine[end : end + 1000]) == set(range(20_000, 21_000))
    assert set(mine[end + 1000 : end + 2000]) == set(range(20_000, 21_000))
    others = [x for x in drawn if 10_000 <= x < 20_000]
    assert len(others) > 3000 + 500
    assert set(others[:3000]) == set(range(10_000, 13_000)) and len(set(others[3000:6500])) == len(others[3000:6500])


def resumed_whole(pipeline, epochs):
    with fb.Loader(pipeline, epochs=epochs) as loader:
        rows = []
        while loader.epoch < epochs:
            rows += values(xs(loader))
    return rows


def test_a_part_grows_twice_in_a_pass():
    loader, before = advance(mixed(EVEN), 1984)
    state = loader.state_dict()
    loader.close()
    with fb.Loader(mixed(EVEN, a=6000)) as loader:
        loader.load_state_dict(state, parts="changed")
        middle = xs(loader, 3008)
        again = loader.state_dict()
    rest = resumed(mixed(EVEN, a=6001), again, 8, **GO_ON)
    mine = [x for x in values(before) + values(middle) + rest if x < 10_000]
    assert set(mine[:5000]) == set(range(5000))
    assert len(mine) > 7000 and max(mine[5000:]) == 6000 and len(set(mine[5000:])) == len(mine[5000:])


def test_a_part_that_lost_samples_begins_its_next_pass():
    loader, _ = advance(mixed(EVEN), 1984)
    state = loader.state_dict()
    loader.close()
    rest = [x for x in resumed(mixed(EVEN, c=300), state, 3, **GO_ON) if x >= 20_000]
    assert max(rest) == 20_299
    for at in range(0, len(rest) - 300, 300):
        assert len(set(rest[at : at + 300])) == 300


def test_an_epoch_that_became_shorter_is_over():
    loader, _ = advance(mixed(EVEN), 3008)
    state = loader.state_dict()
    loader.close()
    with fb.Loader(mixed(TWO, samples=2048)) as loader:
        loader.load_state_dict(state, parts="changed")
        assert (loader.epoch, loader.state_dict()["position"]) == (1, 0)
        assert len(xs(loader)) == 2048


def test_a_part_of_a_mix_in_a_mix_changes():
    loader, before = advance(nested(), 1600)
    state = loader.state_dict()
    loader.close()
    inner = fb.mix({"en": part("a", 5500), "fr": part("d", 400)}, weights={"en": 3, "fr": 1})
    other = fb.mix({"web": inner, "code": part("c")}, weights={"web": 2, "code": 1}, samples=4096).batch(32)
    rest = resumed(other, state, 4, **GO_ON)
    counts = of_parts(rest[: 2 * WINDOW])
    assert abs(counts["c"] - 683) < 12 and abs(counts["d"] - 341) < 12
    once_each_pass(values(before) + rest, "c", 700)
    once_each_pass(rest, "d", 400)
    with fb.Loader(nested()) as whole:
        expected = values(xs(whole))
    assert [x >= 20_000 and x < 30_000 for x in rest[:2496]] == [x >= 20_000 for x in expected[1600:]], "the outer mix goes on as it was"


def test_sources_without_weights_change_between_their_epochs():
    def union(**counts):
        return fb.mix({"a": part("a", counts.get("a", 300)), "b": part("b", counts.get("b", 200))}).batch(10)

    loader, first = advance(union(), None, epochs=1)
    state = loader.state_dict()
    xs(loader, 100)
    middle = loader.state_dict()
    loader.close()
    rest = resumed(union(a=350), state, 2, **GO_ON)
    assert Counter(rest) == Counter([*range(350), *range(10_000, 10_200)])
    with fb.Loader(union(a=350)) as loader:
        with pytest.raises(fb.Unsupported, match="in the middle of its epoch|of the middle of its epoch"):
            loader.load_state_dict(middle, parts="changed")
        assert loader.state_dict()["position"] == 0
    assert values(first) != rest


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("grown")

    def table(files):
        place = folder / str(files)
        place.mkdir(exist_ok=True)
        for file in range(files):
            first = 20_000 + 500 * file
            pq.write_table(pa.table({"x": np.arange(first, first + 500)}), place / f"{file}.parquet", row_group_size=100)
        return fb.parquet(place)

    return table


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_table_gains_files(tables, lanes):
    def pipeline(files, batch=32):
        parts = {"a": part("a", 900), "c": tables(files).shuffle(block=3, lanes=lanes)}
        return fb.mix(parts, weights={"a": 1, "c": 1}, samples=1600).batch(batch)

    loader, before = advance(pipeline(3), 640)
    state = loader.state_dict()
    loader.close()
    rest = resumed(pipeline(5), state, 6, **GO_ON)
    assert resumed(pipeline(5, 16), state, 6, world_size=2, **GO_ON) == rest
    mine = [x for x in values(before) + rest if x >= 20_000]
    assert set(mine[:1500]) == set(range(20_000, 21_500))
    assert mine[:1500] == [x for x in resumed_whole(pipeline(3), 3) if x >= 20_000][:1500]
    assert set(mine[1500:4000]) == set(range(20_000, 22_500))


def test_parts_changed_is_for_parts():
    alone = part("a").batch(8)
    state = fb.Loader(mixed(EVEN)).state_dict()
    with fb.Loader(alone) as loader:
        with pytest.raises(fb.InvalidArgument, match="for pipelines with parts"):
            loader.load_state_dict(state, parts="changed")
        other = loader.state_dict()
    with fb.Loader(mixed(EVEN)) as loader:
        with pytest.raises(fb.InvalidArgument, match="of a pipeline without parts"):
            loader.load_state_dict(other, parts="changed")
        with pytest.raises(fb.InvalidArgument, match="give 'changed'"):
            loader.load_state_dict(state, parts="all")
    with fb.Loader(mixed(TWO), seed=1) as loader:
        with pytest.raises(fb.StateMismatch, match="the seed"):
            loader.load_state_dict(state, parts="changed")
        loader.load_state_dict(state, strict=False, parts="changed")


def changed_state():
    loader, _ = advance(mixed(EVEN), 640)
    loader.set_weights(TWO)
    state = loader.state_dict()
    loader.close()
    return state


SINCE, MIX = [0, 640, 10], ["", 640, [1, 2, 3], [1, 2, 3]]
DAMAGE = [
    ("changes", [[9, 0, 0], [MIX], []]),
    ("changes", ["x", [MIX], []]),
    ("changes", {}),
    ("changes", [SINCE, [1], []]),
    ("changes", [SINCE, [["", 640, [1, 2], [1, 2, 3]]], []]),
    ("changes", [SINCE, [["", 640, [1, 2, 3], [1, 2]]], []]),
    ("changes", [SINCE, [["", 640, [1, 2, -3], [1, 2, 3]]], []]),
    ("changes", [SINCE, [["", -1, [1, 2, 3], [1, 2, 3]]], []]),
    ("changes", [SINCE, [["", 640, [1, 2, 3], [0, 0, 0]]], []]),
    ("changes", [SINCE, [["", 640, [1, 2, 2**63], [1, 2, 3]]], []]),
    ("changes", [SINCE, [["web", 640, [1, 2, 3], [1, 2, 3]]], []]),
    ("changes", [SINCE, [], [["a", 0, 10**9]]]),
    ("changes", [SINCE, [], [["z", 0, 1]]]),
    ("parts", [1]),
    ("parts", [["a", 1]]),
    ("parts", [["a", 1, -1]]),
    ("parts", {"a": [1, 1]}),
]


@pytest.mark.parametrize(("place", "damage"), DAMAGE)
def test_damaged_states_are_refused_and_change_nothing(place, damage):
    state = changed_state()
    state[place] = damage
    with fb.Loader(mixed(EVEN)) as loader:
        before = loader.state_dict()
        with pytest.raises((fb.InvalidArgument, fb.StateMismatch)):
            loader.load_state_dict(state)
        assert loader.state_dict() == before


def test_any_position_before_a_change_in_a_state_is_safe():
    state = changed_state()
    for first in (10**6, 2**50):
        odd = copy.deepcopy(state)
        odd["changes"][1][0][1] = first
        with fb.Loader(mixed(EVEN), epochs=1) as loader:
            loader.load_state_dict(odd)
            assert len(xs(loader)) == 4096 - 640
    for drawn in (2**53, 2**52 + 7):
        odd = copy.deepcopy(state)
        odd["parts"][0] = ["a", 1, drawn]
        with fb.Loader(mixed(TWO)) as loader, pytest.raises(fb.InvalidArgument, match="more passes"):
            loader.load_state_dict(odd, parts="changed")


# Beside it


def test_classes_are_those_on_which_all_parts_agree(photos, tmp_path):
    part = fb.images(photos)
    with fb.Loader(fb.mix({"a": part, "b": part}).select("label").batch(4)) as loader:
        assert loader.classes == fb.Loader(part.select("label").batch(4)).classes
    assert fb.mix({"a": part, "b": part}).classes == part.classes
    other = fb.images(photos, classes=[*reversed(part.classes)])
    with fb.Loader(fb.mix({"a": part, "b": other}).select("label").batch(4)) as loader, pytest.raises(fb.InvalidArgument, match="'a' and 'b' have different classes"):
        _ = loader.classes


def test_too_little_memory_names_the_part_that_needs_most(tables):
    parts = {"small": tables(1).shuffle(block=2), "large": tables(5).shuffle(block=20)}
    with pytest.raises(fb.OutOfBudget, match=r"block=20 row groups in 1 lane of 'large'.*shuffle that part"):
        fb.Loader(fb.mix(parts).batch(4), memory=60_000)
