"""Batches of like lengths: what is in them, how much they cost, and that any number of ranks takes the same ones, from any position."""
import sys
from pathlib import Path

import numpy as np
import pytest

import forebay as fb

sys.path.append(str(Path(__file__).parents[2] / "bench" / "mix"))

import buckets  # noqa: E402

BUDGET = 3000
WORLDS = (1, 2, 3, 8)


def lengths(count, median=120, seed=1):
    return buckets.lengths_of(count, median, 0.6, seed)


def numbered(count=1500, **options):
    """Samples with a field x and their length, in windows of a few hundred."""
    options = {"tokens": BUDGET, "window": 3, "group": 8} | options
    return fb.arrays(x=np.arange(count), length=lengths(count)).shuffle().bucket(**options)


def steps_of(pipeline, world, epochs=1, state=None, **options):
    """(epoch, batches of all ranks) of each step; a batch is the list of its x, without repeats. Checks that all ranks take equal steps."""
    by_rank = []
    for rank in range(world):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world, **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            taken = []
            for epoch in range(loader.epoch, epochs):
                done = state["step"] if state is not None and epoch == state["epoch"] else 0
                said = len(loader)
                batches = [(epoch, batch["x"][: len(batch) - batch.padding].tolist()) for batch in loader]
                assert len(batches) + done == said
                taken += batches
            by_rank.append(taken)
    assert len({len(taken) for taken in by_rank}) == 1
    return [(batches[0][0], [x for _, x in batches]) for batches in zip(*by_rank, strict=True)]


def batches_of(steps):
    return [tuple(batch) for _, batches in steps for batch in batches if batch]


def test_each_sample_comes_once_an_epoch_on_any_number_of_ranks():
    for world in WORLDS:
        steps = steps_of(numbered(), world, epochs=2)
        for epoch in (0, 1):
            assert sorted(x for of, batches in steps if of == epoch for batch in batches for x in batch) == list(range(1500))
            assert all(len(batches) == world and all(batches) for of, batches in steps if of == epoch)
    first, second = ([batch for of, batches in steps if of == epoch for batch in batches] for epoch in (0, 1))
    assert first != second
    assert {tuple(sorted(b)) for b in first} != {tuple(sorted(b)) for b in second}, "other samples come together in another epoch"


def test_all_ranks_together_take_the_batches_of_one():
    one = batches_of(steps_of(numbered(), 1))
    for world in WORLDS[1:]:
        whole = len(one) // world * world  # the last step may be divided
        assert batches_of(steps_of(numbered(), world))[:whole] == one[:whole]


def test_a_batch_costs_at_most_the_budget():
    length = lengths(1500)
    for batch in batches_of(steps_of(numbered(), 1)):
        assert len(batch) * length[list(batch)].max() <= BUDGET or len(batch) == 1


@pytest.mark.parametrize(("options", "cost"), [
    ({"padded": False}, lambda n: n.sum()),
    ({"cost": (1, 0.01)}, lambda n: len(n) * (n.max() + 0.01 * n.max() ** 2)),
    ({"cost": 2}, lambda n: 2 * len(n) * n.max()),
    ({"cost": (0, 0.01), "padded": False}, lambda n: (0.01 * n.astype(float) ** 2).sum()),
    ({"samples": 5}, lambda n: max(len(n) * n.max(), len(n) * BUDGET / 5)),
])  # fmt: skip
def test_the_cost_of_a_batch_is_as_given(options, cost):
    length = lengths(1500)
    costs = [(len(batch), cost(length[list(batch)])) for batch in batches_of(steps_of(numbered(**options), 1))]
    assert all(each <= BUDGET * 1.000001 or n == 1 for n, each in costs)
    assert np.median([each for _, each in costs]) > 0.85 * BUDGET


def test_a_sample_over_the_budget_is_alone():
    pipeline = fb.arrays(x=np.arange(6), length=np.array([50, 9000, 60, 4000, 50, 70])).bucket(tokens=200)
    assert {frozenset(batch) for batch in batches_of(steps_of(pipeline, 1))} >= {frozenset([1]), frozenset([3])}


def test_boundaries_and_sizes_are_kept():
    pipeline = numbered(tokens=None, boundaries=[60, 120, 240], sizes=[64, 32, 16, 8], window=100)
    length = lengths(1500)
    of_bucket = [[], [], [], []]
    for batch in batches_of(steps_of(pipeline, 1)):
        (bucket,) = set(np.searchsorted([60, 120, 240], length[list(batch)], side="right").tolist())
        of_bucket[bucket].append(len(batch))
    for rows, size in zip(of_bucket, (64, 32, 16, 8), strict=True):
        assert max(rows) == size
        assert sum(n < size for n in rows) <= 1


def test_the_digest_is_the_same_for_any_ranks_and_threads():
    def digest(world, **options):
        loaders = [fb.Loader(numbered(), rank=rank, world_size=world, seed=7, **options) for rank in range(world)]
        try:
            return [fb.digest(*loaders) for _ in range(2)]
        finally:
            for loader in loaders:
                loader.close()

    first = digest(1)
    assert first[0] != first[1]
    assert digest(1, threads=1) == first
    for world in WORLDS[1:]:
        assert digest(world) == first


@pytest.mark.parametrize("other", WORLDS)
@pytest.mark.parametrize("world", [1, 2])
def test_a_run_goes_on_at_any_step_with_other_ranks(world, other):
    pipeline = numbered(400)
    whole = [x for batch in batches_of(steps_of(pipeline, 1, epochs=2)) for x in batch]
    states = []
    with fb.Loader(pipeline, epochs=2, rank=0, world_size=world) as loader:
        for _ in range(2):
            states += [loader.state_dict() for _ in loader]
    for state in states[:: 4 if other == 1 else 9]:
        assert len(str(state)) < 1000
        rest = [x for batch in batches_of(steps_of(pipeline, other, epochs=2, state=state)) for x in batch]
        assert rest == whole[400 * state["epoch"] + state["position"] :]


def test_a_state_of_another_budget_is_refused():
    with fb.Loader(numbered(400)) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with fb.Loader(numbered(400, tokens=2 * BUDGET)) as other, pytest.raises(fb.StateMismatch, match="the pipeline"):
        other.load_state_dict(state)


def test_ranks_work_alike_and_little_is_padded():
    length = buckets.lengths_of(40_000, 300, 0.6)
    for ranks in (2, 8):
        found = buckets.measured(length, buckets.forebay(length, 16_000), ranks)
        lhotse = buckets.measured(length, buckets.lhotse(length, 16_000, ranks), ranks)
        tensorflow = buckets.measured(length, buckets.tensorflow(length, 16_000), ranks)
        assert found["spread"] <= 0.05
        assert found["spread_p99"] <= 0.05
        assert found["padding"] <= min(lhotse["padding"], tensorflow["padding"])
        assert found["longest_batch"] <= 16_000
        assert found["batches"] <= 1.05 * length.sum() / 16_000


def ragged(tmp_path, count=600):
    """Parquet with rows of tokens; the length of row i is lengths(count)[i] and its tokens are all i."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [np.full(n, i, np.int32) for i, n in enumerate(lengths(count))]
    table = pa.table({"x": np.arange(count), "tokens": rows, "frames": lengths(count).astype(np.float32) / 50, "text": ["a" * len(r) for r in rows]})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    return fb.parquet(str(tmp_path / "rows.parquet"))


@pytest.mark.parametrize(("by", "tokens"), [("tokens", BUDGET), ("text", BUDGET), ("frames", BUDGET / 50)])
def test_lengths_are_those_of_rows_text_and_numbers(tmp_path, by, tokens):
    length = lengths(600)
    steps = steps_of(ragged(tmp_path).shuffle(block=2).bucket(by=by, tokens=tokens), 1, epochs=2)
    assert sorted(x for _, batches in steps for x in batches[0]) == sorted([*range(600), *range(600)])
    for batch in batches_of(steps):
        assert len(batch) == 1 or len(batch) * length[list(batch)].max() <= BUDGET * 1.0001


def test_padding_goes_to_the_longest_of_the_batch(tmp_path):
    length = lengths(600)
    with fb.Loader(ragged(tmp_path).select("x", "tokens").shuffle().pad("tokens", -1).bucket("tokens", BUDGET), epochs=1) as loader:
        for batch in loader:
            own = length[batch["x"]]
            assert batch["tokens"].shape == (len(batch), own.max())
            assert (batch["tokens"] >= 0).sum(axis=1).tolist() == own.tolist()


def test_a_mix_has_batches_of_samples_of_all_parts():
    parts = {"a": fb.arrays(x=np.arange(900), length=lengths(900)).shuffle(),
             "b": fb.arrays(x=np.arange(900, 1500), length=lengths(600, 40, 2)).shuffle()}  # fmt: skip
    pipeline = fb.mix(parts).bucket(tokens=BUDGET)
    length = np.concatenate([lengths(900), lengths(600, 40, 2)])
    one = batches_of(steps_of(pipeline, 1))
    assert sorted(x for batch in one for x in batch) == list(range(1500))
    assert any(min(batch) < 900 <= max(batch) for batch in one)
    assert all(len(batch) * length[list(batch)].max() <= BUDGET for batch in one)
    assert batches_of(steps_of(pipeline, 3))[: len(one) // 3 * 3] == one[: len(one) // 3 * 3]


def test_weights_and_repeats_come_as_often_as_without_buckets():
    parts = {"a": fb.arrays(x=np.arange(100), length=lengths(100)).shuffle(), "b": fb.arrays(x=np.arange(100, 150), length=lengths(50)).shuffle()}
    for pipeline in (fb.mix(parts, weights={"a": 1, "b": 3}, samples=1024), parts["a"].repeat(2.5)):
        drawn = sorted(x for batch in batches_of(steps_of(pipeline.bucket(tokens=BUDGET), 1)) for x in batch)
        assert drawn == sorted(x for batch in batches_of(steps_of(pipeline.batch(64), 1)) for x in batch)


def test_filtered_and_taken_samples_are_measured_alone():
    even = fb.arrays(x=np.arange(300), length=lengths(300)).filter(lambda s: s["x"] % 2 == 0, fields="x").take(100)
    drawn = batches_of(steps_of(even.shuffle().bucket(tokens=BUDGET), 2))
    assert sorted(x for batch in drawn for x in batch) == list(range(0, 200, 2))


class Rows:
    """Samples of the user's; the length of number 7 cannot be read."""

    def __len__(self):
        return 60

    def __getitem__(self, i):
        if i == 7:
            raise ValueError("seven")
        return {"x": np.int64(i), "row": np.zeros(5 + i % 9, np.float32)}


def test_bad_samples_are_skipped_or_raised():
    pipeline = fb.Dataset(Rows()).shuffle().bucket(by="row", tokens=60, ragged="row")
    steps = steps_of(pipeline, 2, on_error="skip")
    assert sorted(x for _, batches in steps for batch in batches for x in batch) == [x for x in range(60) if x != 7]
    with fb.Loader(pipeline) as loader, pytest.raises(ValueError, match="seven"):
        list(loader)


def test_without_samples_and_with_few_there_are_still_equal_steps():
    assert steps_of(numbered(0), 2) == []
    for count in (1, 2, 5):
        pipeline = fb.arrays(x=np.arange(count), length=lengths(count)).bucket(tokens=10_000)
        taken = []
        for rank in range(8):
            with fb.Loader(pipeline, epochs=1, rank=rank, world_size=8) as loader:
                (batch,) = loader
                taken += batch["x"][: len(batch) - batch.padding].tolist()
                assert len(batch) == 1
        assert sorted(taken) == list(range(count))


def test_torch_dataloader_takes_such_a_pipeline():
    pytest.importorskip("torch")
    from forebay.torch import DataLoader

    drawn = [x for batch in DataLoader(numbered(300)) for x in batch["x"].tolist()]
    assert sorted(drawn) == list(range(300))


def a():
    return fb.arrays(x=np.arange(4), length=np.arange(1, 5))


WRONG = [
    (a().bucket(by="size", tokens=9), "there is no field 'size'", "the fields here are: x, length"),
    (a().bucket(), "nothing limits a batch", "give tokens="),
    (a().bucket(tokens=0), "tokens is 0", "above 0"),
    (a().bucket(tokens=float("nan")), "tokens is", "give a number"),
    (a().bucket(tokens=9, cost=(1, 2, 3)), "cost is [1.0,2.0,3.0]", "give (a, b)"),
    (a().bucket(tokens=9, cost=(0, 0)), "cost is", "not both 0"),
    (a().bucket(samples=9, cost=(1, 0)), "there is no budget", "give tokens="),
    (a().bucket(tokens=9, boundaries=[5, 5]), "boundaries are [5.0,5.0]", "ascending"),
    (a().bucket(boundaries=[5], sizes=[4]), "there are 1 sizes and 1 boundaries", "one size more"),
    (a().bucket(boundaries=[5], sizes=[4, 0.5]), "sizes are", "whole numbers"),
    (a().bucket(tokens=9, samples=0), "samples is 0", "at least 1"),
    (a().bucket(tokens=9, window=0), "window is 0", "at least 1"),
    (a().bucket(tokens=9, group=0), "group is 0", "at least 1"),
    (a().bucket(tokens=9).batch(2), "the samples are batched already", "keep one .bucket()"),
    (a().bucket(tokens=9).shuffle(), "it stands behind .bucket()", "move it before .bucket()"),
    (fb.images("photos").decode_image().resize(64).bucket(by="image", tokens=9), "all pictures of the field 'image' are 64 × 64 pixels", ".batch(n)"),
    (fb.images("photos").decode_image().bucket(by="image", tokens=9), "samples of the field 'image' may differ in shape", ".collate(fn)"),
    (a().rehearse(2, 10).bucket(tokens=9), "behind .rehearse()", "use .batch(n)"),
    (fb.jsonl("l.jsonl", follow=True, fields={"length": "int64"}).bucket(tokens=9), "the lengths of all samples must be known", "use .batch(n)"),
    (fb.mix({"a": a().bucket(tokens=9)}), "no batches of its own", "behind all parts"),
    (a().map(dict, epoch=True).bucket(tokens=9), "which follows the epoch", "use .batch(n)"),
]  # fmt: skip


@pytest.mark.parametrize(("pipeline", "message", "remedy"), WRONG)
def test_mistakes_are_named_with_the_way_out(pipeline, message, remedy):
    told = [(one.message, one.remedy) for one in pipeline.check()]
    assert any(message in said and remedy in way_out for said, way_out in told), told


KNOWN_LATER = [
    (a().bucket(tokens=9, ragged="x"), "ragged: of the field"),
    (fb.arrays(row=np.zeros((5, 3))).bucket(by="row", tokens=9), "all samples of the field 'row' have the length 3"),
]


@pytest.mark.parametrize(("pipeline", "message"), KNOWN_LATER)
def test_mistakes_that_show_with_the_data_are_named_when_it_is_opened(pipeline, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(pipeline)


def test_packed_rows_have_one_length(tmp_path):
    with pytest.raises(fb.InvalidArgument, match="all samples of the field 'tokens' have the length 8; name a field"):
        fb.Loader(ragged(tmp_path).select("tokens").pack(8).bucket(by="tokens", tokens=9))


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_a_number_that_is_no_length_is_an_error_with_its_sample(value):
    pipeline = fb.arrays(x=np.arange(4), length=np.array([1.0, 2.0, value, 3.0])).bucket(tokens=9)
    with pytest.raises(fb.InvalidArgument, match="a length is 0 or above") as caught, fb.Loader(pipeline) as loader:
        list(loader)
    assert caught.value.sample == 2


def test_rows_of_a_step_are_not_moved_between_its_batches():
    why = r"shard_by='locality' moves rows between the batches of a step, and \.bucket\(\) gives each rank a batch .*use \.batch\(n\)"
    with pytest.raises(fb.Unsupported, match=why), fb.Loader(numbered(), rank=0, world_size=2, shard_by="locality", hosts=2) as loader:
        next(iter(loader))


def test_ranks_that_do_not_divide_the_group_are_told(capfd):
    with fb.Loader(numbered(group=8), rank=0, world_size=3) as loader:
        next(iter(loader))
    assert "3 ranks do not divide .bucket(group=8)" in capfd.readouterr().err


def test_the_description_goes_through_json(tmp_path):
    for name, values in {"x": np.arange(300), "length": lengths(300)}.items():
        np.save(tmp_path / f"{name}.npy", values)
    source = fb.arrays(x=str(tmp_path / "x.npy"), length=str(tmp_path / "length.npy"))
    pipeline = source.bucket(tokens=BUDGET, cost=(1, 0.5), boundaries=[100], sizes=[9, 5], padded=False, samples=8)
    assert batches_of(steps_of(fb.Pipeline.from_json(pipeline.to_json()), 1)) == batches_of(steps_of(pipeline, 1))


class Counted(Rows):
    """Like Rows, all of them good, and counts the calls."""

    calls = 0

    def __getitem__(self, i):
        Counted.calls += 1
        return {"x": np.int64(i), "row": np.zeros(5 + i % 9, np.float32)}


def test_lengths_are_kept_beside_the_cache(tmp_path):
    def calls(by, **options):
        before = Counted.calls
        pipeline = fb.Dataset(Counted(), version="1").cache(ram=0, disk="1MiB", dir=str(tmp_path)).bucket(by=by, tokens=60, ragged="row")
        with fb.Loader(pipeline, epochs=1, **options) as loader:
            assert len(loader) > 1
        return Counted.calls - before

    assert calls("row") == 60
    assert calls("row") == 0, "another run finds them"
    assert calls("x") == 60, "those of another field are others"


@pytest.mark.parametrize("window", [None, 1, 30])
def test_tables_are_read_in_windows_with_little_memory(tmp_path, window):
    pipeline = ragged(tmp_path).shuffle(block=2).pad("tokens").bucket("tokens", BUDGET, window=window, group=2)
    whole = batches_of(steps_of(pipeline, 1, epochs=2, memory="8MiB"))
    assert sorted(x for batch in whole for x in batch) == sorted([*range(600), *range(600)])
    assert batches_of(steps_of(pipeline, 1, epochs=2, threads=1)) == whole
