"""Other weights for a mix while it runs, from the next batch on; and what else mixes say of their parts."""
import json

import numpy as np
import pytest

import forebay as fb
from changing import EVEN, SIZES, TWO, WINDOW, advance, mixed, nested, of_parts, once_each_pass, part, resumed, values, xs


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
    with pytest.raises(fb.InvalidArgument, match=r"set_epoch\(0\): parts or weights changed in epoch 1, at position 640"):
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


def test_classes_are_those_on_which_all_parts_agree(photos, tmp_path):
    part = fb.images(photos)
    with fb.Loader(fb.mix({"a": part, "b": part}).select("label").batch(4)) as loader:
        assert loader.classes == fb.Loader(part.select("label").batch(4)).classes
    assert fb.mix({"a": part, "b": part}).classes == part.classes
    other = fb.images(photos, classes=[*reversed(part.classes)])
    with fb.Loader(fb.mix({"a": part, "b": other}).select("label").batch(4)) as loader, pytest.raises(fb.InvalidArgument, match="'a' and 'b' have different classes"):
        _ = loader.classes
