"""What was written step by step, used together: zips, draws, splits, packs, patches and buckets in mixes, with functions on their batches, with weights that
change, and with parts that grow. Each pipeline here is tried for what every pipeline promises: the same samples for any ranks, threads and resumes."""
import json
import random
from collections import Counter
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from combined_pipelines import CASES
from combining import EPOCH, WINDOW, Data, digests, drawn, plain, rows_of, rows_of_batch, states_of, steps_of

import forebay as fb

SEED = 3


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return Data(tmp_path_factory.mktemp("combinations"))


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def in_batches(case, data, n=7):
    return case.make(data).batch(n)


# What every pipeline promises


def test_any_number_of_ranks_gets_the_same_samples_and_content(case, data):
    alone = rows_of(in_batches(case, data), epochs=2, seed=SEED)
    for world, n in ((2, 7), (3, 4)):
        assert rows_of(in_batches(case, data, n), world, epochs=2, seed=SEED) == alone


def test_any_number_of_threads_gets_the_same_bytes(case, data):
    one = rows_of(in_batches(case, data), epochs=2, seed=SEED, threads=1)
    assert rows_of(in_batches(case, data), epochs=2, seed=SEED, threads=4) == one
    first = digests(in_batches(case, data), seed=SEED, threads=1)
    assert digests(in_batches(case, data, 3), world=2, seed=SEED, threads=4) == first
    assert digests(in_batches(case, data), seed=SEED + 1) != first


def test_a_run_goes_on_from_a_state_with_other_ranks(case, data):
    whole = rows_of(in_batches(case, data), epochs=2, seed=SEED)
    for world, other, n, epochs in ((1, 2, 5, 2), (2, 3, 3, 1), (3, 1, 8, 1)):
        for state in states_of(in_batches(case, data), world=world, seed=SEED):
            rest = rows_of(in_batches(case, data, n), other, epochs=epochs, state=state, seed=SEED)
            assert rest == [row for row in whole if row.epoch < epochs][state["position"] :], (world, other, state["position"])


def test_what_the_steps_promise_holds_over_epochs(case, data):
    rows = rows_of(in_batches(case, data, 16), epochs=4, seed=SEED)
    case.promise(rows)
    sizes = Counter(row.epoch for row in rows)
    assert case.size is None or set(sizes.values()) == {case.size}
    epochs = [drawn(row for row in rows if row.epoch == epoch) for epoch in range(4)]
    assert all(one != other for one, other in zip(epochs, epochs[1:], strict=False)), "shuffled anew in each epoch"


def test_parts_are_named_and_counted(case, data):
    with fb.Loader(in_batches(case, data), epochs=1, seed=SEED) as loader:
        counts = Counter()
        for batch in loader:
            if case.parts:
                assert batch.part_names == case.parts
                counts.update(case.parts[part] for part in batch.parts.tolist())
            else:
                assert batch.parts is None and batch.part_names == []
        told = {part["name"]: part["samples"] for part in loader.stats()["parts"]} if case.parts else {}
        assert told == {name: counts[name] for name in case.parts}


# Functions on batches


def twice(batch):
    return {**batch, "twice": batch["x" if "x" in batch else "tokens"] * 2} if "x" in batch or "tokens" in batch else {**batch, "twice": batch["label"] * 2}


def test_functions_on_batches_change_nothing_but_what_they_add(case, data):
    expected = rows_of(in_batches(case, data), epochs=2, seed=SEED)
    for world, threads in ((1, 4), (2, 1)):
        mapped = rows_of(in_batches(case, data).map_batch(twice), world, epochs=2, seed=SEED, threads=threads)
        assert all("twice" in row.fields for row in mapped)
        assert [{name: value for name, value in row.fields.items() if name != "twice"} for row in mapped] == [row.fields for row in expected]
        assert drawn(mapped) == drawn(expected)
    (state, *_) = states_of(in_batches(case, data).map_batch(twice), seed=SEED)
    assert drawn(rows_of(in_batches(case, data, 3).map_batch(twice), 2, epochs=2, state=state, seed=SEED)) == drawn(expected)[state["position"] :]


def collected(samples):
    return [{name: plain(value) for name, value in sample.items()} for sample in samples]


@pytest.mark.parametrize(("rank", "world"), [(0, 1), (1, 2)])
def test_collate_gets_the_samples_of_each_batch(case, data, rank, world):
    place = {"rank": rank, "world_size": world, "epochs": 1, "seed": SEED}
    with fb.Loader(in_batches(case, data), **place) as plainly, fb.Loader(in_batches(case, data).collate(collected), **place) as collating:
        assert len(plainly) == len(collating)
        expected = [[row.fields for row in rows_of_batch(batch, repeats=True)] for batch in plainly]
        assert list(collating) == expected
    for state in states_of(in_batches(case, data), world=world, seed=SEED)[:1]:
        with fb.Loader(in_batches(case, data).collate(collected), **place) as later:
            later.load_state_dict(state)
            assert list(later) == expected[1:]


# As parts of mixes whose weights and sizes change


def top(loader, batch):
    """Which part of the outermost mix each row is of."""
    return [batch.part_names[part].split("/")[0] for part in batch.parts.tolist()]


def taken(loader, batches=None):
    """(part of the outermost mix, row) of so many batches, or of the rest of the epoch."""
    rows = []
    for batch in islice(loader, batches):
        rows += zip(top(loader, batch), rows_of_batch(batch), strict=False)
    return rows


def two_of(case, data, weights, n=8, other=None):
    return fb.mix({"one": case.make(data), "two": case.make(other or data)}, weights=weights, samples=EPOCH).batch(n)


def of_part(rows, name):
    """What a part has given, in its order, whichever positions it was given."""
    return [(row.part, row.id, row.fields) for part, row in rows if part == name]


EVEN, OTHER = {"one": 1, "two": 1}, {"one": 3, "two": 1}


def test_weights_change_and_each_part_goes_on_where_it_was(case, data):
    with fb.Loader(two_of(case, data, EVEN), seed=SEED) as loader, fb.Loader(two_of(case, data, EVEN), seed=SEED) as unchanged:
        before = taken(loader, 10)
        assert len(before) == 80
        loader.set_weights(OTHER)
        state = json.loads(json.dumps(loader.state_dict()))
        after = [row for _ in range(5) for row in taken(loader)]
        assert Counter(part for part, _ in after[:WINDOW]) == {"one": WINDOW * 3 / 4, "two": WINDOW / 4}
        without = [row for _ in range(4) for row in taken(unchanged)]
        for name in ("one", "two"):
            mine, plainly = of_part(before + after, name), of_part(without, name)
            several = min(len(mine), len(plainly))
            assert mine[:several] == plainly[:several]
    rest = []
    for rank in range(2):
        with fb.Loader(two_of(case, data, EVEN, 3), epochs=2, rank=rank, world_size=2, seed=SEED) as loader:
            loader.load_state_dict(state)
            rest += taken(loader) + taken(loader)
    rest.sort(key=lambda pair: (pair[1].epoch, pair[1].position))
    assert rest == after[: len(rest)] and len(rest) == 2 * EPOCH - 80


def test_a_state_goes_on_with_parts_that_changed(case, data):
    with fb.Loader(two_of(case, data, EVEN), seed=SEED) as loader:
        before = taken(loader, 10)
        state = json.loads(json.dumps(loader.state_dict()))
        loader.set_weights(OTHER)
        expected = taken(loader)
    changed = fb.mix({"one": case.make(data), "two": case.make(data), "three": case.make(data)}, weights={**OTHER, "three": 0}, samples=EPOCH)
    with fb.Loader(changed.batch(8), seed=SEED) as loader:
        with pytest.raises(fb.StateMismatch, match='parts="changed"'):
            loader.load_state_dict(state)
        loader.load_state_dict(state, parts="changed")
        assert taken(loader) == expected
        assert set(part for part, _ in before + expected) == {"one", "two"}


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    return Data(tmp_path_factory.mktemp("grown"), a=75, b=100, c=41)


def test_a_part_that_grew_goes_on(case, data, grown):
    with fb.Loader(two_of(case, data, EVEN), seed=SEED) as loader:
        before = taken(loader, 10)
        state = loader.state_dict()
    if case.in_turn:
        with fb.Loader(two_of(case, data, OTHER, other=grown), seed=SEED) as loader, pytest.raises(fb.Unsupported, match="'two' has other .* middle of its epoch"):
            loader.load_state_dict(state, parts="changed")
        return
    made = []
    for world, n in ((1, 8), (2, 3)):
        rest = []
        for rank in range(world):
            with fb.Loader(two_of(case, data, OTHER, n, other=grown), epochs=4, rank=rank, world_size=world, seed=SEED) as loader:
                loader.load_state_dict(state, parts="changed")
                while loader.epoch < 4:
                    rest += taken(loader)
        made.append(sorted(rest, key=lambda pair: (pair[1].epoch, pair[1].position)))
    assert made[0] == made[1]
    assert len(before) + len(made[0]) == 4 * EPOCH
    with fb.Loader(two_of(case, data, EVEN), epochs=6, seed=SEED) as unchanged:
        whole = [row for _ in range(6) for row in taken(unchanged)]
    mine = of_part(before + made[0], "one")
    assert mine == of_part(whole, "one")[: len(mine)], "the part that is as it was goes on"


FIELDS = ("x", "label", "w", "length")
GOING_ON = {
    "zip": lambda d: d.zip("a").select(*FIELDS).shuffle(),
    "noisy": lambda d: d.noisy("a").select(*FIELDS).shuffle(),
    "drawn": lambda d: d.numbers("b").shuffle().sample(50, weights="w"),
    "balanced": lambda d: d.numbers("c").shuffle().balance(),
    "repeated": lambda d: d.zip("d").select(*FIELDS).shuffle().sample(9).repeat(0.5),
    "table": lambda d: d.table("b").shuffle(block=2).sample(33).select(*FIELDS),
    "mix": lambda d: fb.mix({"p": d.numbers("d").shuffle().sample(20, weights="w"), "q": d.numbers("a").shuffle()}, weights={"p": 1, "q": 2}),
    "union": lambda d: fb.mix({"p": d.numbers("d").shuffle().sample(20, weights="w"), "q": d.numbers("a").shuffle()}),
    "concat": lambda d: fb.concat(d.numbers("d").shuffle().balance(), d.zip("c").select(*FIELDS).shuffle()),
}


@pytest.fixture(scope="module")
def alone(data):
    """What each part gives by itself, in its order."""
    found = {}
    for name, make in GOING_ON.items():
        pipeline = fb.mix({name: make(data), "other": data.numbers("d")}, weights={name: 1, "other": 0}, samples=800)
        with fb.Loader(pipeline.batch(100), epochs=1, seed=SEED) as loader:
            found[name] = [(row.id, row.fields) for _, row in taken(loader)]
    return found


def taken_over_epochs(loader, steps):
    rows = []
    while steps > 0:
        for batch in islice(loader, steps):
            rows += zip(top(loader, batch), rows_of_batch(batch), strict=False)
            steps -= 1
    return rows


@pytest.mark.parametrize("number", range(10))
def test_after_any_history_of_changes_each_part_has_gone_on(number, data, alone):
    """Weights are set, ranks and batches change, and states go on with other weights and with more parts."""
    choose = random.Random(number)
    names = choose.sample([*GOING_ON], 3)
    given, state, changed = {name: [] for name in GOING_ON}, None, None

    def weights():
        return {name: choose.choice([0, 1, 2, 5]) or (1 if name == names[0] else 0) for name in names}

    held = weights()
    for _ in range(4):
        pipeline = fb.mix({name: GOING_ON[name](data) for name in names}, weights=held, samples=100).batch(choose.randint(1, 8))
        world, first, second, other = choose.randint(1, 3), choose.randint(1, 5), choose.randint(1, 5), weights()
        rows, states = [], []
        for rank in range(world):
            with fb.Loader(pipeline, rank=rank, world_size=world, seed=SEED) as loader:
                if state is not None:
                    loader.load_state_dict(state, parts=changed)
                rows += taken_over_epochs(loader, first)
                loader.set_weights(other)
                rows += taken_over_epochs(loader, second)
                states.append(json.loads(json.dumps(loader.state_dict())))
        assert states == [states[0]] * world
        state, changed = states[0], None
        for part, row in sorted(rows, key=lambda pair: (pair[1].epoch, pair[1].position)):
            given[part].append((row.id, row.fields))
        if choose.random() < 0.5:
            unseen = [name for name in GOING_ON if name not in names]
            names = [*names, choose.choice(unseen)]
            held, changed = weights(), "changed"
    for name, rows in given.items():
        assert rows == alone[name][: len(rows)], name


# Repeats, caches and parts of parts


def test_passes_of_a_repeat_are_epochs(case, data):
    rows = rows_of(in_batches(case, data), epochs=4, seed=SEED)
    again = rows_of(case.make(data).repeat(1.5).batch(7), epochs=2, seed=SEED)
    assert len(again) == 2 * ((3 * len(rows) // 4 + 1) // 2), "half a sample is rounded up"
    assert [(row.part, row.id, row.fields) for row in again] == [(row.part, row.id, row.fields) for row in rows][: len(again)]


def test_each_of_two_comes_once_without_weights(case, data):
    parts = {"one": case.make(data), "two": case.make(data)}
    alone = len(rows_of(in_batches(case, data)))
    for pipeline in (fb.mix(parts), fb.concat(**parts)):
        with fb.Loader(pipeline.batch(9), epochs=1) as loader:
            rows = taken(loader)
        counts = Counter(part for part, _ in rows)
        assert case.ends_with_parts or counts == dict.fromkeys(parts, alone)


# Any composition


STEPS = {
    "shuffle": lambda p, n: p.shuffle(),
    "blocks": lambda p, n: p.shuffle(block=1 + n % 3),
    "take": lambda p, n: p.take(n),
    "split": lambda p, n: fb.split(p, train=0.6, val=0.4, salt=str(n))["val" if n % 2 else "train"],
    "groups": lambda p, n: fb.split(p, train=0.6, val=0.4, by="x", salt=str(n))["train"],
    "sample": lambda p, n: p.sample(n),
    "weighted": lambda p, n: p.sample(n, weights="w"),
    "balance": lambda p, n: p.balance(samples=n),
    "repeat": lambda p, n: p.repeat(n / 20),
}

@st.composite
def data_sets(draw):
    name, kind = draw(st.sampled_from("abcd")), draw(st.sampled_from(["numbers", "both", "zip", "noisy", "lines", "table"]))
    steps = draw(st.lists(st.tuples(st.sampled_from([*STEPS]), st.integers(1, 120)), max_size=3))

    def make(d):
        pipeline = getattr(d, kind)(name).select(*FIELDS)
        for step, n in steps:
            pipeline = STEPS[step](pipeline, n)
        return pipeline

    return make


def together(parts):
    """Several in one: how, the weights, the length of an epoch."""
    how = st.sampled_from(["mix", "weights", "samples", "concat"])
    return st.tuples(st.lists(parts, min_size=1, max_size=3), how, st.lists(st.integers(1, 5), min_size=3, max_size=3), st.integers(1, 300)).map(_together)


def _together(drawn):
    parts, how, weights, samples = drawn

    def make(d):
        named = {f"p{number}": part(d) for number, part in enumerate(parts)}
        if how == "concat":
            return fb.concat(**named)
        shares = dict(zip(named, weights, strict=False)) if how != "mix" else None
        return fb.mix(named, weights=shares, samples=samples if how == "samples" else None)

    return make


COMPOSITIONS = st.one_of(data_sets(), together(data_sets()), together(st.one_of(data_sets(), together(data_sets()))))


@settings(max_examples=40, derandomize=True, deadline=None)
@given(make=COMPOSITIONS, buckets=st.booleans(), n=st.integers(1, 9), worlds=st.permutations([1, 2, 3]))
def test_any_composition_keeps_the_promises_or_says_what_is_wrong(data, make, buckets, n, worlds):
    def ended(rows):
        return make(data).bucket(tokens=150, window=2, group=6) if buckets else make(data).batch(rows)

    pipeline = ended(n)
    if problems := pipeline.check():
        assert all(problem.message and problem.remedy for problem in problems), problems
        return
    try:
        with fb.Loader(pipeline, rank=0, world_size=1) as loader:
            len(loader)
    except fb.InvalidArgument as error:
        assert any(words in str(error) for words in ("has no samples", "all weights are 0")), error
        return
    world, other, third = worlds

    def rows(made, world, **options):
        rows = [row for step in steps_of(made, world, epochs=2, seed=SEED, **options) for batch in step for row in batch]
        # Batches of like lengths come in an order of their own, which is that of steps and ranks.
        rows.sort(key=lambda row: (row.epoch, 0 if buckets else row.position))
        return [(row.epoch, row.part, row.id, row.fields) for row in rows]

    alone = rows(pipeline, 1)
    assert rows(ended(3), world, threads=1) == alone
    for state in states_of(pipeline, world=other, seed=SEED):
        assert rows(ended(4), third, state=state) == alone[state["position"] :]
