"""States that go on with other parts of a mix, other weights or more data; and damaged ones."""
import copy
from collections import Counter

import numpy as np
import pytest

import forebay as fb
from changing import EVEN, SIZES, TWO, WINDOW, advance, mixed, nested, of_parts, once_each_pass, part, resumed, values, xs

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


def test_too_little_memory_names_the_part_that_needs_most(tables):
    parts = {"small": tables(1).shuffle(block=2), "large": tables(5).shuffle(block=20)}
    with pytest.raises(fb.OutOfBudget, match=r"block=20 row groups in 1 lane of 'large'.*shuffle that part"):
        fb.Loader(fb.mix(parts).batch(4), memory=60_000)


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
