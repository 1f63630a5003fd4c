"""Other weights for the draws of a data set while it runs, from the next batch on: how often samples come, states, ranks, and what is said of mistakes."""
import json
import threading
from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from changing import advance, resumed, values, xs
from peering import TOKEN
from sharing import serving
from streaming import on_ranks
from test_sampling import check_counts

import forebay as fb

SIZE, DRAWS = 120, 500
FIRST = np.arange(SIZE) % 4
THEN = 1.0 + np.arange(SIZE) % 3
LAST = (np.arange(SIZE) < 30).astype(np.float32)


def numbers(weights=FIRST, draws=DRAWS, batch=20):
    return fb.arrays(x=np.arange(SIZE)).shuffle().sample(draws, weights=weights).batch(batch)


def table(path, batch=20):
    if not (path / "t.parquet").exists():
        pq.write_table(pa.table({"x": np.arange(SIZE)}), path / "t.parquet", row_group_size=7)
    return fb.parquet(path / "t.parquet").shuffle(block=3).sample(DRAWS, weights=FIRST).batch(batch)


def classes(path, batch=20):
    return fb.arrays(x=np.arange(SIZE), label=np.arange(SIZE) % 7).shuffle().balance(by="label", samples=DRAWS).batch(batch)


KINDS = {"one by one": lambda path, batch=20: numbers(batch=batch), "in chunks": table, "balanced": classes,
         "in order": lambda path, batch=20: fb.arrays(x=np.arange(SIZE)).sample(DRAWS).batch(batch)}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_weights_change_from_the_next_batch_on(kind, tmp_path):
    pipeline = KINDS[kind](tmp_path)
    for at in (20, 260, 480):
        loader, before = advance(pipeline, at, epochs=1)
        with fb.Loader(pipeline) as unchanged:
            assert before == xs(unchanged) + xs(unchanged, at), "what was delivered stays as it was"
        loader.set_sampling(THEN)
        assert len(loader) == DRAWS // 20, "an epoch keeps its length"
        check_counts(values(xs(loader)), THEN, DRAWS - at)
        for _ in range(2):
            check_counts(values(xs(loader)), THEN, DRAWS)
        loader.close()


def test_a_change_between_epochs_is_a_pipeline_with_these_weights():
    with fb.Loader(numbers(FIRST)) as loader, fb.Loader(numbers(THEN)) as other:
        for each in (loader, other):
            xs(each)
        loader.set_sampling(THEN)
        assert [xs(loader), xs(loader)] == [xs(other), xs(other)]
    with fb.Loader(numbers(FIRST)) as loader, fb.Loader(numbers(THEN)) as other:
        loader.set_sampling(torch_or_list(THEN))
        assert xs(loader) == xs(other), "a change before the first batch, too"


def torch_or_list(weights):
    try:
        import torch
    except ImportError:
        return weights.tolist()
    return torch.tensor(weights, dtype=torch.bfloat16, requires_grad=True)


def test_a_run_of_many_changes_draws_by_each_and_its_state_stays_small():
    loader, _ = advance(numbers(draws=5000, batch=10), 10)
    drawn, expected, sizes = Counter(), np.zeros(SIZE), set()
    for call in range(400):
        weights = np.random.default_rng(call).random(SIZE)
        loader.set_sampling(weights, version=call)
        drawn.update(next(iter(loader))["x"].tolist())
        expected += 10 * weights / weights.sum()
        sizes.add(len(json.dumps(loader.state_dict(), separators=(",", ":"))))
    assert max(sizes) < 400
    # Each change draws 10 of thousands at random, so counts wander about their sums by their roots.
    assert all(abs(drawn[x] - expected[x]) < 6 * expected[x] ** 0.5 for x in range(SIZE))
    state, rest = loader.state_dict(), values(xs(loader))
    assert resumed_with(numbers(draws=5000, batch=7), state, weights, 399, 1, world_size=2) == rest
    loader.close()


def resumed_with(pipeline, state, weights, version, epochs, world_size=1, **options):
    """The x of all rows from a state on, as ranks give them that were given the weights before."""
    rows = []
    for rank in range(world_size):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world_size, **options) as loader:
            loader.set_sampling(weights, version=version)
            loader.load_state_dict(json.loads(json.dumps(state)))
            assert loader.state_dict() == state
            while loader.epoch < epochs:
                rows += xs(loader)
    return [x for _, _, x in sorted(rows)]


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_goes_on_with_the_weights_on_any_ranks_threads_and_batches(kind, tmp_path):
    loader, _ = advance(KINDS[kind](tmp_path), 240, epochs=1)
    loader.set_sampling(THEN, version="step 37")
    rest, states = [], [(-20, loader.state_dict())]
    while loader.epoch < 4:
        for batch in loader:
            states.append((len(rest), loader.state_dict()))
            rest += batch["x"].tolist()
    for done, state in (states[0], states[1], states[7], states[-2]):
        left = rest[done + 20 :]
        assert resumed_with(KINDS[kind](tmp_path), state, THEN, "step 37", 4) == left
        assert resumed_with(KINDS[kind](tmp_path, 16), state, THEN, "step 37", 4, world_size=2, threads=1) == left
        assert resumed_with(KINDS[kind](tmp_path, 30), state, THEN, "step 37", 4, world_size=3, threads=3) == left
    loader.close()


def test_a_state_needs_the_weights_that_it_has_the_hash_of():
    loader, _ = advance(numbers(), 100)
    before = loader.state_dict()
    loader.set_sampling(THEN, version=7)
    state = loader.state_dict()
    left = values(xs(loader))
    with fb.Loader(numbers(), epochs=1) as fresh:
        with pytest.raises(fb.StateMismatch, match=r"set_sampling\(\), version '7', of which a state has the hash alone: call set_sampling\(\) with the same weights before"):
            fresh.load_state_dict(state)
        for weights, version in ((THEN, 8), (LAST, 7)):
            fresh.set_sampling(weights, version=version)
            with pytest.raises(fb.StateMismatch, match=f"the last call gave version '{version}' .*: call it with the same weights and version before"):
                fresh.load_state_dict(state)
        fresh.set_sampling(THEN, version=7)
        fresh.load_state_dict(state)
        assert values(xs(fresh)) == left
    with fb.Loader(numbers(), epochs=1) as other:
        other.set_sampling(LAST)
        other.load_state_dict(before)
        assert values(xs(other)) == resumed(numbers(), before, 1), "a state from before goes back to the weights of the pipeline"
    with fb.Loader(fb.arrays(x=np.arange(DRAWS)).batch(20)) as plain, pytest.raises(fb.StateMismatch, match="no such draws"):
        plain.load_state_dict(state, strict=False)


def test_a_call_that_changes_nothing_adds_nothing():
    loader, _ = advance(numbers(), 100)
    plain = loader.fingerprint
    loader.set_sampling(THEN, version="a")
    state, named = loader.state_dict(), loader.fingerprint
    assert named != plain and state["changes"]
    xs(loader, 200)
    loader.set_sampling(THEN.tolist(), version="a")
    assert loader.state_dict()["changes"] == state["changes"]
    loader.set_sampling(THEN, version="b")
    assert loader.fingerprint != named, "ranks that disagree about the version are told apart"
    loader.close()


def test_a_sample_that_comes_again_has_other_random_numbers():
    steps = fb.arrays(x=np.arange(4)).shuffle().sample(40).map(lambda sample, rng: {"x": sample["x"], "draw": rng.random()}, random=True)
    with fb.Loader(steps.batch(8), epochs=1) as loader:
        drawn = []
        for batch in loader:
            drawn += batch["draw"].tolist()
            loader.set_sampling([1, 2, 3, len(drawn)])
    assert len(drawn) == len(set(drawn)) == 40


def test_a_part_of_a_mix_is_drawn_by_other_weights():
    def mixed(batch=16):
        parts = {name: fb.arrays(x=np.arange(SIZE) + first).shuffle().sample(90) for name, first in (("a", 0), ("b", 1000))}
        return fb.mix({"web": fb.mix(parts, weights={"a": 1, "b": 1}), "code": fb.arrays(x=np.arange(300) + 2000).shuffle()},
                      weights={"web": 1, "code": 1}, samples=400).batch(batch)  # fmt: skip

    loader, before = advance(mixed(), 208)
    with fb.Loader(mixed()) as unchanged:
        assert before == xs(unchanged, 208)
        plain = values(xs(unchanged))
    with pytest.raises(fb.InvalidArgument, match="several parts have draws; name one of them: 'web/a', 'web/b'"):
        loader.set_sampling(LAST)
    with pytest.raises(fb.InvalidArgument, match="there is no part 'code' that has draws; those are 'web/a', 'web/b'"):
        loader.set_sampling(LAST, part="code")
    with pytest.raises(fb.InvalidArgument, match=r"there is no part 'web/c' .did you mean 'web/a'"):
        loader.set_sampling(LAST, part="web/c")
    loader.set_sampling(LAST, version=1, part="web/b")
    loader.set_weights({"web": 3, "code": 1})
    state, after = loader.state_dict(), values(xs(loader))
    assert {x - 1000 for x in after if 1000 <= x < 2000} <= set(range(30))
    others, as_before = ([x for x in given if x < 1000] for given in (after, plain))
    assert len(others) > len(as_before) > 20 and others[: len(as_before)] == as_before, "no other part has changed its order"
    with fb.Loader(mixed(10), epochs=1) as again:
        again.set_sampling(LAST, version=1, part="web/b")
        again.load_state_dict(state)
        assert values(xs(again)) == after
    loader.close()


def noisy(batch=20, **more):
    """200 samples in order, each beside one that is drawn anew."""
    noise = fb.arrays(x=np.arange(SIZE)).shuffle().sample(weights=FIRST)
    return fb.zip(fb.arrays(n=np.arange(200)), noise=noise, **more).batch(batch)


@pytest.mark.parametrize("threads", [1, 3])
def test_noise_is_drawn_by_other_weights(threads):
    """A pass of the noise has 120 draws, one for each of the other samples, and they go on over the epochs."""
    loader, before = advance(noisy(), 100, threads=threads)
    with fb.Loader(noisy()) as unchanged:
        assert before == xs(unchanged, 100)
        plain = [x for _ in range(4) for x in values(xs(unchanged))]
    loader.set_sampling(THEN, version=3)
    assert len(loader) == 10
    state = loader.state_dict()
    after = [x for _ in range(4) for x in values(xs(loader))]
    check_counts(after[:20], THEN, 20)  # the rest of the first pass
    for begin in range(20, 700 - SIZE, SIZE):
        check_counts(after[begin : begin + SIZE], THEN, SIZE)
    assert after != plain
    loader.close()
    for batch in (7, 20):
        with fb.Loader(noisy(batch)) as again:
            with pytest.raises(fb.StateMismatch, match="draws of the part 'noise' by the weights of .*call set_sampling"):
                again.load_state_dict(state)
            again.set_sampling(THEN, version=3)
            again.load_state_dict(state)
            assert [x for _ in range(4) for x in values(xs(again))] == after


def test_noise_in_a_mix_and_beside_other_noise_is_named():
    more = fb.arrays(y=np.arange(10)).sample()
    with fb.Loader(noisy(more=more)) as loader:
        with pytest.raises(fb.InvalidArgument, match="several parts have draws; name one of them: 'noise', 'more'"):
            loader.set_sampling(THEN)
        with pytest.raises(fb.InvalidArgument, match="there are 120 weights, and the data set has 10 samples"):
            loader.set_sampling(THEN, part="more")
        loader.set_sampling(LAST, part="noise")
        assert set(values(xs(loader))) <= set(range(30))
    def mixed(batch=16):
        plain = fb.arrays(n=np.arange(50), x=np.arange(50) + 1000)
        pair = fb.zip(fb.arrays(n=np.arange(70)), noise=fb.arrays(x=np.arange(SIZE)).shuffle().sample())
        return fb.mix({"pair": pair, "plain": plain}, weights={"pair": 3, "plain": 1}, samples=160).batch(batch)

    loader, _ = advance(mixed(), 80)
    loader.set_sampling(LAST, version=1, part="pair/noise")
    state, after = loader.state_dict(), values(xs(loader))
    assert {x for x in after if x < 1000} <= set(range(30)) and any(x >= 1000 for x in after)
    with fb.Loader(mixed(10), epochs=1) as again:
        again.set_sampling(LAST, version=1, part="pair/noise")
        again.load_state_dict(state)
        assert values(xs(again)) == after
    for rank in range(2):
        with fb.Loader(mixed(8), epochs=1, rank=rank, world_size=2) as half:
            half.set_sampling(LAST, version=1, part="pair/noise")
            half.load_state_dict(state)
            assert set(values(xs(half))) <= set(after)
    loader.close()


def test_draws_of_the_zip_and_of_its_parts_change_alone():
    pair = fb.zip(fb.arrays(n=np.arange(SIZE)), noise=fb.arrays(x=np.arange(SIZE)).shuffle().sample()).sample(DRAWS, weights=FIRST).batch(20)

    with fb.Loader(pair, seed=1) as loader, fb.Loader(pair, seed=1) as plain:
        loader.set_sampling(LAST, part="noise")
        got, usual = list(loader), list(plain)
        assert [batch["n"].tolist() for batch in got] == [batch["n"].tolist() for batch in usual]
        assert {x for batch in got for x in batch["x"].tolist()} <= set(range(30))
        loader.set_sampling(LAST)
        assert {n for batch in loader for n in batch["n"].tolist()} <= set(range(30))


def test_without_replacement_weights_change_between_epochs():
    pipeline = fb.arrays(x=np.arange(SIZE)).shuffle().sample(40, replacement=False).batch(10)
    loader, _ = advance(pipeline, 20)
    with pytest.raises(fb.InvalidArgument, match="replacement=False no sample comes twice in an epoch, so weights change between epochs only"):
        loader.set_sampling(THEN)
    xs(loader)
    loader.set_sampling(THEN)
    drawn = values(xs(loader))
    assert len(drawn) == len(set(drawn)) == 40
    with pytest.raises(fb.InvalidArgument, match="would come .* times in an epoch of 40 draws, and without replacement once is the most"):
        loader.set_sampling([1000] + [1] * (SIZE - 1))
    loader.close()


def test_without_replacement_weights_of_a_part_change_between_its_own_epochs():
    """An epoch of the zip has 21 draws, and one of its part 5."""
    noise = fb.arrays(x=np.arange(9)).shuffle().sample(5, replacement=False)
    loader, _ = advance(fb.zip(fb.arrays(n=np.arange(21)), noise=noise).batch(1), 21)
    weights = [1] * 4 + [0] * 3 + [1] * 2
    with pytest.raises(fb.InvalidArgument, match="between epochs only; an epoch of the part 'noise' has 5 draws, and 4 of this one are left: call it behind them, or leave replacement=False out"):
        loader.set_sampling(weights, part="noise")
    xs(loader, 4)
    loader.set_sampling(weights, part="noise")
    assert len({*values(xs(loader, 9))} - {4, 5, 6}) == 5
    loader.close()


def test_earlier_positions_are_not_known_any_more():
    loader, _ = advance(numbers(), 100, epochs=1)
    loader.set_sampling(THEN)
    with pytest.raises(fb.InvalidArgument, match=r"set_epoch\(0\): parts or weights changed in epoch 1, at position 100"):
        loader.set_epoch(0)
    loader.set_epoch(3)
    check_counts(values(xs(loader)), THEN, DRAWS)
    loader.close()


def test_a_part_that_is_taken_keeps_its_ids():
    pipeline = fb.arrays(x=np.arange(SIZE)).take(60).shuffle().sample(200).batch(20)
    with fb.Loader(pipeline) as loader:
        with pytest.raises(fb.InvalidArgument, match="there are 60 weights, and the data set has 120 samples; give one for each, by id"):
            loader.set_sampling([1] * 60)
        with pytest.raises(fb.InvalidArgument, match="all weights are 0"):
            loader.set_sampling([0] * 60 + [1] * 60)
        loader.set_sampling([0] * 59 + [1] * 61)
        assert set(values(xs(loader))) == {59}


MISUSE = [
    ([1] * 119 + [-1], fb.InvalidArgument, r"the weight of sample 119 \(row 119\) is -1"),
    ([1] * 119 + [float("nan")], fb.InvalidArgument, r"the weight of sample 119 \(row 119\) is nan"),
    ([0] * 120, fb.InvalidArgument, "all weights are 0"),
    ([], fb.InvalidArgument, "there are 0 weights, and the data set has 120 samples"),
    (None, TypeError, "weights are a list or an array of numbers, one for each sample, not NoneType"),
    (["much"] * 120, TypeError, "one for each sample"),
    ({"a": 1}, TypeError, "one for each sample, not dict"),
    (np.ones((120, 1)), TypeError, r"of shape \(120, 1\)"),
    ([True] * 120, TypeError, "type bool"),
]


@pytest.mark.parametrize(("weights", "error", "message"), MISUSE)
def test_weights_that_are_not_possible_are_refused_and_change_nothing(weights, error, message):
    with fb.Loader(numbers()) as loader:
        state = loader.state_dict()
        with pytest.raises(error, match=message):
            loader.set_sampling(weights)
        assert loader.state_dict() == state


def test_what_cannot_have_other_weights_says_so():
    with fb.Loader(fb.arrays(x=np.arange(SIZE)).batch(8)) as loader, pytest.raises(fb.InvalidArgument, match=r"no .sample\(\) and no .balance\(\)"):
        loader.set_sampling(THEN)
    with fb.Loader(numbers()) as loader:
        for wrong, error in ((1.5, TypeError), (True, TypeError), ("x" * 65, fb.InvalidArgument)):
            with pytest.raises(error, match="version"):
                loader.set_sampling(THEN, version=wrong)
        with pytest.raises(fb.InvalidArgument, match="there is no part 'web': the pipeline is of one data set"):
            loader.set_sampling(THEN, part="web")
    with fb.Loader(numbers(), restart=True) as loader:
        loader.set_sampling(THEN)
        next(iter(loader))
        with pytest.raises(fb.InvalidArgument, match=r"set_sampling\(\): with restart=True"):
            loader.set_sampling(LAST)
    lines = fb.arrays(x=np.arange(SIZE), length=np.arange(SIZE) % 9 + 1).shuffle().sample(200).bucket(by="length", tokens=60)
    with fb.Loader(lines) as loader, pytest.raises(fb.Unsupported, match=r"set_sampling\(\) is not for .bucket\(\) yet; use .batch\(n\)"):
        loader.set_sampling(THEN)


def test_a_server_refuses_them(tmp_path):
    with serving(tmp_path / "s.sock"), fb.Loader(table(tmp_path), share=str(tmp_path / "s.sock")) as loader:
        with pytest.raises(fb.Unsupported, match=r"set_sampling\(\) is not for share= yet: .*; use share=None"):
            loader.set_sampling(THEN)
        assert len(list(loader)) == DRAWS // 20
        here, _ = advance(table(tmp_path), 100)
        here.set_sampling(THEN, version=7)
        with pytest.raises(fb.StateMismatch, match="of which a state has the hash alone"):
            loader.load_state_dict(here.state_dict())
        here.close()


def test_a_checkpoint_of_torch_keeps_the_version(tmp_path):
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    loader, _ = advance(numbers(), 100)
    loader.set_sampling(THEN, version=7)
    xs(loader, 260)
    dcp.save({"loader": loader}, checkpoint_id=str(tmp_path))
    with fb.Loader(numbers(), epochs=1) as fresh:
        with pytest.raises(Exception, match="call set_sampling"):
            dcp.load({"loader": fresh}, checkpoint_id=str(tmp_path))
        fresh.set_sampling(THEN, version=7)
        dcp.load({"loader": fresh}, checkpoint_id=str(tmp_path))
        assert fresh.state_dict() == loader.state_dict()
        assert values(xs(fresh)) == values(xs(loader))
    loader.close()


# Ranks


def even(parts=("a", "b")):
    return fb.mix({name: fb.arrays(x=np.arange(SIZE)).shuffle() for name in parts}, weights=dict.fromkeys(parts, 1), samples=DRAWS).batch(20)


def drawn_parts():
    part = fb.arrays(x=np.arange(SIZE)).shuffle().sample(weights=FIRST)
    return fb.mix({"a": part, "b": part}, weights={"a": 1, "b": 1}, samples=DRAWS).batch(20)


WHAT_DIFFERS = {
    "weights": (numbers, lambda loader, rank: loader.set_sampling(LAST if rank else THEN, version=7), "another change than rank 0"),
    "version": (numbers, lambda loader, rank: loader.set_sampling(THEN, version=rank), r"version '1'.*rank 0: .*version '0'"),
    "part": (drawn_parts, lambda loader, rank: loader.set_sampling(THEN, part="ab"[rank]), "part 'b', version .*rank 0: .*part 'a', version"),
    "no call on rank 1": (numbers, lambda loader, rank: rank == 0 and loader.set_sampling(THEN), "rank 1 went on without a change that rank 0 has made"),
    "no call on rank 0": (numbers, lambda loader, rank: rank == 1 and loader.set_sampling(THEN), "rank 0 went on without a change that rank 1 has made"),
    "shares": (even, lambda loader, rank: loader.set_weights({"a": 1, "b": 2 + rank}), r"set_weights\(\) with a: 1, b: 3 in epoch 0, at position 80 .rank 0: .*a: 1, b: 2"),
    "no shares on rank 1": (even, lambda loader, rank: rank == 0 and loader.set_weights({"a": 1, "b": 2}), "rank 1 went on without a change"),
}  # fmt: skip


@pytest.mark.parametrize("name", WHAT_DIFFERS)
def test_ranks_whose_changes_differ_are_told(name, tmp_path, monkeypatch):
    make, change, message = WHAT_DIFFERS[name]
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    monkeypatch.setenv("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")
    together, told = threading.Barrier(2), threading.Event()

    def run(rank):
        with fb.Loader(make(), rank=rank, world_size=2, peers=f"file://{tmp_path}/job") as loader:
            for _ in islice(loader, 2):
                pass
            change(loader, rank)
            together.wait(60)
            if rank == 0:
                next(iter(loader))
            together.wait(60)
            if rank == 0:
                return told.wait(60)
            with pytest.raises(fb.StateMismatch, match=message):
                while True:
                    for _ in loader:
                        pass
            told.set()

    assert on_ranks(2, run)[0]


def test_ranks_that_agree_go_on(tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)
    monkeypatch.setenv("FOREBAY_CLUSTER_ADDRESS", "127.0.0.1")
    ends = threading.Barrier(2)

    def rows(loader, wait=lambda: None):
        found = []
        for version, weights in enumerate((THEN, LAST, FIRST)):
            found += [row for batch in islice(loader, 3) for row in zip([batch.epoch] * len(batch), batch.positions.tolist(), batch["x"].tolist(), strict=True)]
            loader.set_sampling(weights, version=version)
            state = loader.state_dict()
            found += xs(loader)
            wait()
        loader.set_sampling(FIRST, version=2)
        loader.load_state_dict(state)
        found += xs(loader)
        wait()
        return found

    def run(rank):
        with fb.Loader(numbers(batch=10), rank=rank, world_size=2, peers=f"file://{tmp_path}/job") as loader:
            return rows(loader, lambda: ends.wait(60))

    with fb.Loader(numbers(batch=20)) as alone:
        expected = rows(alone)
    assert sorted(row for found in on_ranks(2, run) for row in found) == sorted(expected)
