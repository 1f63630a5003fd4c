"""Draws of a data set: `.sample()` by weight and `.balance()` by class. How often each sample comes, over ranks and threads, after a resume, in a
mix, from sources of every kind; and what is said of mistakes."""
import math
from collections import Counter

import numpy as np
import pytest

import forebay as fb

WEIGHTS = [0.0, 1.0, 2.0, 3.0, 0.5] * 20


def numbers(count=100):
    """Samples with a field x: 0, 1, …, and a weight."""
    return fb.arrays(x=np.arange(count), w=np.array((WEIGHTS * count)[:count], np.float32))


def epochs_of(pipeline, epochs=1, world_size=1, **options):
    """The rows of each epoch in the order of the epoch over all ranks, without repeats: (id, x, and what else is in the batch)."""
    out = [[] for _ in range(epochs)]
    for rank in range(world_size):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world_size, **options) as loader:
            for epoch in range(epochs):
                for batch in loader:
                    real = len(batch) - batch.padding
                    out[epoch] += list(zip(batch.positions.tolist(), batch.ids.tolist(), batch["x"].tolist(), strict=True))[:real]
    return [[row[1:] for row in sorted(rows)] for rows in out]


def ids_of(pipeline, **options):
    (rows,) = epochs_of(pipeline, **options)
    return [id for id, _ in rows]


def check_counts(ids, weights, n):
    assert len(ids) == n
    counts = Counter(ids)
    for sample, weight in enumerate(weights):
        share = n * weight / sum(weights)
        assert math.floor(share - 1e-9) <= counts[sample] <= math.ceil(share + 1e-9), (sample, share, counts[sample])


@pytest.mark.parametrize("n", [1, 37, 100, 1000])
@pytest.mark.parametrize("shuffled", [True, False])
def test_each_sample_comes_its_share_rounded_down_or_up(n, shuffled):
    pipeline = numbers().shuffle() if shuffled else numbers()
    for rows in epochs_of(pipeline.sample(n, weights=WEIGHTS).batch(8), epochs=3):
        check_counts([id for id, _ in rows], WEIGHTS, n)
        assert all(id == x for id, x in rows)
        assert shuffled or rows == sorted(rows)


def test_a_field_gives_the_weights():
    by_field, by_list = (epochs_of(numbers().shuffle().sample(250, weights=given).batch(7), epochs=2) for given in ("w", np.array(WEIGHTS)))
    assert by_field == by_list
    steps = numbers().map(lambda sample: {"x": sample["x"], "heavy": float(sample["x"] == 3)}).sample(5, weights="heavy").batch(5)
    assert ids_of(steps) == [3] * 5


def test_without_weights_n_samples_come_once_and_others_in_the_next_epoch():
    half, whole, none = numbers().shuffle().sample(50), numbers().shuffle().sample(), numbers().shuffle().sample(30, replacement=False)
    epochs = [sorted(id for id, _ in rows) for rows in epochs_of(half.batch(5), epochs=6)]
    assert all(len(set(ids)) == 50 for ids in epochs)
    assert len({tuple(ids) for ids in epochs}) > 1
    assert sorted(ids_of(whole.batch(5))) == list(range(100))
    assert len(set(ids_of(none.batch(5)))) == 30


def test_over_epochs_each_sample_comes_by_its_share():
    counts = Counter()
    for rows in epochs_of(numbers().shuffle().sample(40, weights=WEIGHTS).batch(40), epochs=100):
        counts.update(id for id, _ in rows)
    for sample, weight in enumerate(WEIGHTS):
        assert abs(counts[sample] - 100 * 40 * weight / sum(WEIGHTS)) <= 4


def test_a_sample_that_comes_again_in_an_epoch_has_random_numbers_of_its_own():
    pipeline = numbers(4).sample(40).map(lambda sample, rng: {"x": sample["x"], "draw": rng.random()}, random=True).batch(8)
    with fb.Loader(pipeline, epochs=1) as loader:
        draws = [draw for batch in loader for draw in batch["draw"].tolist()]
    assert len(set(draws)) == 40


KINDS = {
    "weighted": lambda: numbers().shuffle().sample(90, weights="w"),
    "in order": lambda: numbers().sample(130),
    "balanced": lambda: classes([1, 10, 100]).shuffle().balance("x"),
    "in a mix": lambda: fb.mix({"a": numbers().shuffle().sample(30, weights=WEIGHTS), "b": numbers(7).shuffle().balance("x")}, weights={"a": 3, "b": 1}, samples=211),
    "repeated": lambda: numbers().shuffle().sample(10).repeat(3.5),
    "concat": lambda: fb.concat(numbers().sample(10), numbers().shuffle().sample(weights="w")),
}


def classes(sizes):
    """Samples whose field x is their class: so many of each."""
    x = np.repeat(np.arange(len(sizes)), sizes)
    return fb.arrays(x=x, w=np.ones(len(x), np.float32))


def digest_of(pipeline, ranks, threads):
    loaders = [fb.Loader(pipeline.batch(2), epochs=1, rank=rank, world_size=ranks, threads=threads) for rank in range(ranks)]
    try:
        return fb.digest(*loaders)
    finally:
        for loader in loaders:
            loader.close()


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_for_any_number_of_ranks_and_threads(kind):
    alone = epochs_of(KINDS[kind]().batch(6), epochs=2, seed=5)
    assert epochs_of(KINDS[kind]().batch(2), epochs=2, seed=5, world_size=3, threads=1) == alone
    assert digest_of(KINDS[kind](), ranks=1, threads=4) == digest_of(KINDS[kind](), ranks=3, threads=1)
    assert epochs_of(KINDS[kind]().batch(6), epochs=2, seed=6) != alone or kind == "in order"


@pytest.mark.parametrize("kind", KINDS)
def test_resumes_at_any_position_with_other_ranks_and_another_batch_size(kind):
    (first, second) = epochs_of(KINDS[kind]().batch(4), epochs=2)
    with fb.Loader(KINDS[kind]().batch(4), epochs=2) as loader:
        states = []
        for _ in range(2):
            states.append(loader.state_dict())
            for _ in loader:
                states.append(loader.state_dict())
    for state in states[:: max(1, len(states) // 6)]:
        rows = []
        for rank in range(2):
            with fb.Loader(KINDS[kind]().batch(3), epochs=2, rank=rank, world_size=2) as loader:
                loader.load_state_dict(state)
                while loader.epoch < 2:
                    for batch in loader:
                        real = len(batch) - batch.padding
                        rows += list(zip([batch.epoch] * real, batch.positions.tolist(), batch.ids.tolist(), batch["x"].tolist(), strict=False))
        done = state["epoch"] * len(first) + state["position"]
        assert [row[2:] for row in sorted(rows)] == (first + second)[done:]


def test_three_classes_of_very_different_sizes_come_in_equal_shares():
    pipeline = classes([1, 10, 1000]).shuffle().balance(by="x", samples=3000).batch(30)
    uses = Counter()
    for rows in epochs_of(pipeline, epochs=2):
        for begin in range(0, len(rows), 3):
            assert sorted(x for _, x in rows[begin : begin + 3]) == [0, 1, 2]
        uses.update(id for id, _ in rows)
        of_class = [uses[0]], [uses[id] for id in range(1, 11)], [uses[id] for id in range(11, 1011)]
        assert all(max(counts) - min(counts) <= 1 for counts in of_class), "no sample again before all of its class came"
    assert sum(uses[id] for id in range(11, 1011)) == 2000


def test_balance_takes_labels_of_folders_and_text(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    for name, count in (("cat", 2), ("dog", 7)):
        (tmp_path / name).mkdir()
        for number in range(count):
            Image.new("RGB", (8, 8), (number, 0, 0)).save(tmp_path / name / f"{number}.png")
    with fb.Loader(fb.images(tmp_path).shuffle().balance().select("label").batch(2), epochs=1) as loader:
        labels = [label for batch in loader for label in batch["label"].tolist()]
    assert len(labels) == 9
    assert abs(labels.count(0) - labels.count(1)) <= 1
    names = fb.Dataset([{"name": name} for name in "abbb"]).shuffle().balance("name", samples=100).batch(10)
    with fb.Loader(names, epochs=1) as loader:
        assert Counter(name for batch in loader for name in batch["name"]) == {"a": 50, "b": 50}


def test_balance_leaves_bad_samples_out():
    def read(sample):
        if sample["x"] == 3:
            raise ValueError("bad")
        return {"label": sample["x"] % 2}

    pipeline = fb.arrays(x=np.arange(8)).map(read).balance(samples=80).batch(8)
    with fb.Loader(pipeline, epochs=1, on_error="skip") as loader:
        ids = Counter(id for batch in loader for id in batch.ids.tolist())
    assert ids[3] == 0
    assert sum(ids[id] for id in (1, 5, 7)) == 40


def test_part_of_a_mix_is_balanced_by_itself():
    pipeline = fb.mix({"even": classes([5, 500]).shuffle().balance("x"), "all": classes([1, 1])}, weights={"even": 3, "all": 1}, samples=4096).batch(64)
    with fb.Loader(pipeline, epochs=1) as loader:
        rows = [(part, x) for batch in loader for part, x in zip(batch.parts.tolist(), batch["x"].tolist(), strict=True)]
    counts = Counter(x for part, x in rows if part == 0)
    assert counts[0] + counts[1] == 3072
    assert abs(counts[0] - counts[1]) <= 1


def lines(tmp_path, count=3000):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"x": {number}, "w": {number % 4}}}\n' for number in range(count)))
    return fb.jsonl(path)


def test_lines_are_drawn_in_the_order_of_their_chunks(tmp_path):
    weights = [number % 4 for number in range(3000)]
    for pipeline in (lines(tmp_path).shuffle(block=2), lines(tmp_path)):
        drawn = epochs_of(pipeline.sample(2000, weights="w").batch(50), epochs=2)
        for rows in drawn:
            check_counts([id for id, _ in rows], weights, 2000)
            assert all(id == x for id, x in rows)
        assert epochs_of(pipeline.sample(2000, weights="w").batch(25), epochs=2, world_size=2) == drawn


def test_row_groups_stay_together_and_those_without_draws_are_not_read(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": np.arange(4000), "w": np.repeat([0.0, 1.0], 2000)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100)
    pipeline = fb.parquet(tmp_path / "t.parquet").shuffle(block=2, lanes=2).sample(1000, weights="w").select("x").batch(50)
    (rows,) = epochs_of(pipeline, seed=3)
    check_counts([id for id, _ in rows], [0.0] * 2000 + [1.0] * 2000, 1000)
    with fb.Loader(pipeline, epochs=1, seed=3) as loader:
        for batch in loader:
            assert len({id // 100 for id in batch.ids.tolist()}) <= 8, "rows of two blocks of two row groups in each of two lanes at most"
        decoded = loader.stats()["chunks"]["decoded"]
    assert decoded <= 20 + 4  # a chunk that the edge of a lane cuts may be decoded twice
    assert epochs_of(pipeline, seed=3, world_size=2, threads=2) == [rows]


def test_balanced_lines_keep_their_chunks_and_share_an_epoch_alike(tmp_path):
    path = tmp_path / "rows.jsonl"
    label = ["rare" if number % 100 == 0 else "common" for number in range(3000)]
    path.write_text("".join(f'{{"x": {number}, "label": "{label[number]}"}}\n' for number in range(3000)))
    pipeline = fb.jsonl(path).shuffle().balance(samples=601)
    for rows in epochs_of(pipeline.batch(20), epochs=3):
        counts = Counter(id for id, _ in rows)
        classes = Counter(label[id] for id, _ in rows)
        assert classes.total() == 601 and abs(classes["rare"] - 300.5) <= 1
        assert {counts[id] for id in range(0, 3000, 100)} <= {10, 11}
        assert max(counts[id] for id in range(3000) if id % 100) == 1
    assert epochs_of(pipeline.batch(5), epochs=3, world_size=4) == epochs_of(pipeline.batch(20), epochs=3)


def test_takes_and_filters_before_it_count():
    pipeline = numbers().take(10).filter(lambda sample: sample["x"] % 2 == 1, fields="x").sample(20).batch(4)
    assert Counter(ids_of(pipeline)) == {1: 4, 3: 4, 5: 4, 7: 4, 9: 4}
    weighted = numbers().take(10).sample(20, weights=[1] * 10 + [1000] * 90).batch(4)
    assert Counter(ids_of(weighted)) == dict.fromkeys(range(10), 2)


def test_an_epoch_has_n_draws_and_a_state_of_other_weights_is_refused():
    with fb.Loader(numbers().shuffle().sample(50, weights="w").batch(8), epochs=1) as loader:
        assert len(loader) == 7
        next(iter(loader))
        state = loader.state_dict()
    other = fb.arrays(x=np.arange(100), w=np.ones(100, np.float32)).shuffle()
    for pipeline in (other.sample(50, weights="w"), numbers().shuffle().sample(50), numbers().shuffle().sample(51, weights="w")):
        with pytest.raises(fb.StateMismatch), fb.Loader(pipeline.batch(8), epochs=1) as loader:
            loader.load_state_dict(state)
            next(iter(loader))


def test_a_cache_holds_each_sample_once(tmp_path):
    calls = []
    pipeline = numbers(5).map(lambda sample: calls.append(1) or sample, version="1").cache(disk=0).sample(50).batch(5)
    assert Counter(ids_of(pipeline, threads=1)) == dict.fromkeys(range(5), 10)
    assert len(calls) == 5


def test_nothing_to_draw_from_is_an_empty_epoch():
    assert ids_of(numbers().filter(lambda sample: False, fields="x").sample(10).batch(2)) == []
    assert ids_of(numbers().filter(lambda sample: False, fields="x").balance("x", samples=10).batch(2)) == []


def test_json_gives_the_same_pipeline():
    text = fb.parquet("a").sample(7, weights=[0.5, 1], replacement=False).balance("x").batch(2).to_json()
    assert fb.Pipeline.from_json(text).to_json() == text
    assert '"weights"' in text
    assert numbers().sample(7).fingerprint != numbers().sample(8).fingerprint


# The pipeline, then words of its only problem.
WRONG = [
    (numbers().sample(0).batch(2), ["n is 0", "at least 1"]),
    (numbers().sample(5, weights="y").batch(2), ["there is no field 'y'", "x, w"]),
    (fb.text("a.txt").sample(5, weights="text").batch(2), ["is not one number", "a list with one number for each sample"]),
    (numbers().sample(5, weights=[]).batch(2), ["there are no weights"]),
    (numbers().sample(5).take(3).batch(2), ["stands behind 1: sample", "move it before that"]),
    (numbers().sample(5).keep_keys(0, 0.5).batch(2), ["stands behind 1: sample", "move it before that"]),
    (numbers().sample(5).filter(bool, fields="x").batch(2), ["stands behind 1: sample", "move it before that"]),
    (numbers().sample(5).balance("x").batch(2), ["1: sample draws the samples already", "keep one"]),
    (numbers().repeat(2).sample(5).batch(2), ["behind .repeat()", "move it before .repeat()"]),
    (numbers().sample(5).rehearse(1, 10, by=None).batch(2), ["stands behind 1: sample", "not there yet"]),
    (fb.mix({"a": numbers(), "b": numbers()}).sample(5).batch(2), ["decided in its part", "weights= and samples= of the mix"]),
    (numbers().balance("y").batch(2), ["there is no field 'y'"]),
    (numbers().balance("x", samples=0).batch(2), ["samples is 0", "at least 1"]),
    (fb.stream(lambda offset: iter([])).sample(5).batch(2), ["a stream's samples come once"]),
    (fb.arrays(tokens=np.ones((3, 2))).pack(4).sample(5).batch(2), ["behind .pack()"]),
]


@pytest.mark.parametrize("pipeline, words", WRONG)
def test_check_says_what_is_wrong(pipeline, words):
    (problem,) = pipeline.check()
    for word in words:
        assert word in f"{problem.message} {problem.remedy}"


REFUSED = [
    (lambda: numbers().balance("w"), fb.InvalidArgument, ["1: balance", "w: float32", "neither one whole number nor a text"]),
    (lambda: numbers().sample(5, weights=[1, 2]), fb.InvalidArgument, ["1: sample", "2 weights", "100 samples"]),
    (lambda: numbers().take(9).sample(5, weights=[0, 0, -1] * 33 + [1]), fb.InvalidArgument, ["2: sample", "sample 2 (row 2) is -1", "at least 0"]),
    (lambda: numbers().sample(5, weights=[math.nan] * 100), fb.InvalidArgument, ["nan"]),
    (lambda: numbers().sample(5, weights=[0] * 100), fb.InvalidArgument, ["all weights are 0"]),
    (lambda: numbers().sample(101, replacement=False), fb.InvalidArgument, ["would come 1.01", "without replacement"]),
    (lambda: numbers().map(lambda sample: {"x": sample["x"], "k": 1.5}).balance("k"), fb.InvalidArgument, ["'k'", "neither a whole number nor a text"]),
    (lambda: fb.arrays(x=np.ones((4, 2))).map(dict).sample(5, weights="x"), fb.InvalidArgument, ["'x'", "not one number"]),
]


@pytest.mark.parametrize("make, code, words", REFUSED)
def test_a_run_says_what_is_wrong(make, code, words):
    with pytest.raises(code) as raised, fb.Loader(make().batch(2), epochs=1) as loader:
        list(loader)
    for word in words:
        assert word in str(raised.value)


@pytest.mark.parametrize("weights", [3, {"a": 1}, [[1, 2]], ["a", "b"]])
def test_weights_are_a_name_or_numbers(weights):
    with pytest.raises(fb.InvalidArgument, match="sample: weights"):
        numbers().sample(5, weights=weights)
