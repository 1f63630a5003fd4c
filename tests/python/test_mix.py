"""Many data sets as one: the shares of a mix, each part's own order, resuming, ranks, and sources of every kind as parts."""
import json
from collections import Counter

import numpy as np
import pytest

import forebay as fb

WINDOW = 1024


def numbers(count, first=0, shuffled=True):
    """Samples with a field x: first, first + 1, …"""
    pipeline = fb.arrays(x=np.arange(first, first + count))
    return pipeline.shuffle() if shuffled else pipeline


def rows_of(pipeline, epochs=1, **options):
    """(part, id, x) of each row of each epoch, in the order of the epoch over all ranks; without repeats."""
    world = options.pop("world_size", 1)
    out = [[] for _ in range(epochs)]
    for rank in range(world):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world, **options) as loader:
            for epoch in range(epochs):
                for batch in loader:
                    real = len(batch) - batch.padding
                    rows = zip(batch.positions, batch.parts, batch.ids, batch["x"].tolist(), strict=True)
                    out[epoch] += list(rows)[:real]
    return [[row[1:] for row in sorted(rows)] for rows in out]


def mixed(weights=None, **options):
    parts = {"a": numbers(5000), "b": numbers(3000, 10_000), "c": numbers(70, 20_000)}
    return fb.mix(parts, weights=weights, **options).batch(96)


def shares_at_windows(parts, weights):
    """The largest deviation of any part from its share, in samples, at the ends of windows."""
    shares = np.array(weights) / sum(weights)
    counts = np.zeros(len(weights))
    worst = 0
    for end in range(WINDOW, len(parts) + 1, WINDOW):
        counts += np.bincount(parts[end - WINDOW : end], minlength=len(weights))
        worst = max(worst, np.abs(counts - end * shares).max())
    return worst


def test_without_weights_each_sample_comes_once_and_all_parts_are_mixed():
    (first, second) = rows_of(mixed(), epochs=2)
    for rows in (first, second):
        assert sorted(x for _, _, x in rows) == sorted([*range(5000), *range(10_000, 13_000), *range(20_000, 20_070)])
        parts = [part for part, _, _ in rows]
        assert shares_at_windows(parts, [5000, 3000, 70]) <= np.log2(3) + 1
    assert first != second


def test_three_samples_beside_a_hundred_thousand_come_once_an_epoch():
    pipeline = fb.mix({"many": numbers(100_000), "few": numbers(3, 200_000)}).batch(512)
    (rows,) = rows_of(pipeline)
    assert Counter(part for part, _, _ in rows) == {0: 100_000, 1: 3}


@pytest.mark.parametrize("weights", [{"a": 3, "b": 1, "c": 1}, {"a": 0.7, "b": 0.2999, "c": 0.0001}, {"a": 1, "b": 0, "c": 2}])
def test_shares_are_exact_to_within_one_sample_after_each_window(weights):
    (rows,) = rows_of(mixed(weights, samples=20 * WINDOW))
    # Weights are whole numbers of 2^16: (1 + m · share) · 2^-16 is the error of a share.
    allowed = 1 + len(rows) * 2 / 2**16
    assert shares_at_windows([part for part, _, _ in rows], list(weights.values())) <= allowed


def test_parts_come_at_random_inside_a_window():
    (rows,) = rows_of(mixed({"a": 1, "b": 1, "c": 0}, samples=64 * WINDOW))
    parts = np.array([part for part, _, _ in rows])
    repeats = np.mean(parts[1:] == parts[:-1])
    assert 0.47 < repeats < 0.53
    windows = {tuple(parts[at : at + WINDOW]) for at in range(0, len(parts), WINDOW)}
    assert len(windows) == 64, "nothing is periodic"


def test_a_part_goes_through_its_samples_pass_by_pass_over_the_epochs_of_the_mix():
    epochs = rows_of(mixed({"a": 1, "b": 1, "c": 1}, samples=999), epochs=4)
    for part, size in ((0, 5000), (1, 3000), (2, 70)):
        drawn = [id for rows in epochs for of, id, _ in rows if of == part]
        passes = [drawn[at : at + size] for at in range(0, len(drawn), size)]
        for one in passes:
            assert len(set(one)) == len(one), "no sample comes again before all have come"
        if len(passes) > 2:
            assert passes[0] != passes[1], "each pass is shuffled anew"


def test_another_part_changes_nothing_in_the_order_of_the_others():
    parts = {"a": numbers(500), "b": numbers(300, 10_000)}
    two = rows_of(fb.mix(parts, weights={"a": 1, "b": 1}, samples=900).batch(10))[0]
    three = rows_of(fb.mix({**parts, "c": numbers(50, 20_000)}, weights={"a": 1, "b": 1, "c": 1}, samples=900).batch(10))[0]
    for part in (0, 1):
        before, after = ([id for of, id, _ in rows if of == part] for rows in (two, three))
        common = min(len(before), len(after))
        assert common > 250
        assert before[:common] == after[:common]


def test_the_same_for_any_ranks_threads_and_batch_sizes():
    pipeline = fb.mix({"a": numbers(500), "b": numbers(300, 10_000)}, weights={"a": 2, "b": 1}, samples=1000)
    whole = rows_of(pipeline.batch(40))
    assert rows_of(pipeline.batch(40), threads=1) == whole
    assert rows_of(pipeline.batch(7), world_size=3) == whole
    assert rows_of(pipeline.batch(25), world_size=2, threads=3) == whole


def test_a_run_goes_on_at_any_position_with_other_ranks_and_batches():
    pipeline = fb.mix({"a": numbers(500), "b": numbers(300, 10_000)}, schedule=[(0, {"a": 3, "b": 1}), (700, {"a": 1, "b": 3})], samples=600)
    whole = [x for rows in rows_of(pipeline.batch(20), epochs=3) for _, _, x in rows]
    for steps in (0, 1, 13, 30, 37, 64):
        with fb.Loader(pipeline.batch(20), epochs=3) as loader:
            taken = 0
            while taken < steps:
                for taken, _ in enumerate(loader, taken + 1):
                    if taken == steps:
                        break
            state = loader.state_dict()
        assert len(json.dumps(state)) < 1024
        rest = []
        for rank in range(2):
            with fb.Loader(pipeline.batch(15), epochs=3, rank=rank, world_size=2) as loader:
                loader.load_state_dict(state)
                while loader.epoch < 3:
                    for batch in loader:
                        rows = zip(batch.positions, batch["x"].tolist(), strict=True)
                        rest += [(batch.epoch, *row) for row in rows][: len(batch) - batch.padding]
        assert whole[20 * steps :] == [x for _, _, x in sorted(rest)], steps


def test_a_schedule_changes_shares_at_its_positions_and_a_ramp_in_between():
    parts = {"a": numbers(5000), "b": numbers(5000, 10_000)}
    stages = [(0, {"a": 1, "b": 0}), (10 * WINDOW, {"a": 0, "b": 1})]
    (step,) = rows_of(fb.mix(parts, schedule=stages, samples=20 * WINDOW).batch(64))
    of = np.array([part for part, _, _ in step])
    assert not of[: 10 * WINDOW].any() and of[10 * WINDOW :].all()
    (ramp,) = rows_of(fb.mix(parts, schedule=stages, ramp="linear", samples=20 * WINDOW).batch(64))
    of = np.array([part for part, _, _ in ramp])
    shares = of[: 10 * WINDOW].reshape(10, WINDOW).mean(axis=1)
    assert (np.diff(shares) > 0).all() and shares[0] < 0.15 and shares[-1] > 0.85


def test_a_temperature_gives_shares_by_size():
    (rows,) = rows_of(mixed(temperature=1.0, samples=8 * WINDOW))
    assert shares_at_windows([part for part, _, _ in rows], [5000, 3000, 70]) <= 2
    (rows,) = rows_of(mixed(temperature=1e9, samples=8 * WINDOW))
    assert shares_at_windows([part for part, _, _ in rows], [1, 1, 1]) <= 2


def test_the_end_of_an_epoch_is_that_of_the_first_or_of_the_last_part():
    parts = {"a": numbers(4000), "b": numbers(1000, 10_000)}
    first = fb.Loader(fb.mix(parts, weights={"a": 1, "b": 1}).batch(1))
    last = fb.Loader(fb.mix(parts, weights={"a": 1, "b": 1}, end="all").batch(1))
    assert abs(len(first) - 2000) <= WINDOW
    assert abs(len(last) - 8000) <= WINDOW


def test_a_mix_of_mixes_multiplies_shares():
    inner = fb.mix({"en": numbers(900), "de": numbers(900, 10_000)}, weights={"en": 3, "de": 1})
    outer = fb.mix({"web": inner, "code": numbers(900, 20_000)}, weights={"web": 2, "code": 1}, samples=12 * WINDOW).batch(64)
    with fb.Loader(outer, epochs=1) as loader:
        xs = np.concatenate([batch["x"] for batch in loader])
        parts = loader.stats()["parts"]
    assert np.abs(np.bincount(xs // 10_000) - np.array([6, 2, 4]) * WINDOW).max() <= 3
    assert [part["name"] for part in parts] == ["web/en", "web/de", "code"]
    assert sum(part["samples"] for part in parts) == len(xs)
    assert [part["passes"] for part in parts] == [n // 900 for n in np.bincount(xs // 10_000)]


def test_concat_is_one_after_the_other():
    (rows,) = rows_of(fb.concat(numbers(10, shuffled=False), numbers(5, 100, shuffled=False)).batch(4))
    assert [x for _, _, x in rows] == [*range(10), *range(100, 105)]


def test_repeat_is_so_many_passes_an_epoch():
    pipeline = numbers(10).repeat(2.5).batch(5)
    with fb.Loader(pipeline, epochs=2) as loader:
        epochs = [np.concatenate([batch["x"] for batch in loader]).tolist() for _ in range(2)]
    drawn = epochs[0] + epochs[1]
    assert len(epochs[0]) == 25
    for at in range(0, 50, 10):
        assert sorted(drawn[at : at + 10]) == list(range(10))


def test_a_part_may_be_repeated_beside_others():
    (rows,) = rows_of(fb.mix({"a": numbers(1000), "few": numbers(10, 5000).repeat(3)}).batch(10))
    assert Counter(part for part, _, _ in rows) == {0: 1000, 1: 30}


def test_a_field_may_say_the_part():
    pipeline = fb.mix({"a": numbers(50), "b": numbers(50, 100)}, field="origin").batch(20)
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            assert batch.part_names == ["a", "b"]
            assert np.array_equal(batch["origin"], batch.parts)
            assert np.array_equal(batch["origin"], batch["x"] // 100)


def test_parts_have_steps_of_their_own_and_steps_in_common():
    pipeline = (
        fb.mix({"a": numbers(40).map(lambda s: {"x": s["x"], "y": s["x"] * 2}), "b": numbers(40, 100).map(lambda s: {"x": s["x"], "y": -s["x"]})})
        .map(lambda s: {**s, "z": s["y"] + 1})
        .batch(8)
    )
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            sign = np.where(batch.parts == 0, 2, -1)
            assert np.array_equal(batch["y"], batch["x"] * sign)
            assert np.array_equal(batch["z"], batch["y"] + 1)


def test_parts_may_be_filtered_and_their_fields_in_another_order():
    odd = fb.arrays(x=np.arange(100), y=np.arange(100) * 3).filter(lambda s: s["x"] % 2 == 1).shuffle()
    other = fb.arrays(y=np.arange(50) * 3 + 3000, x=np.arange(1000, 1050)).shuffle()
    with fb.Loader(fb.mix({"odd": odd, "other": other}).batch(10), epochs=1) as loader:
        batches = list(loader)
    xs = np.concatenate([batch["x"] for batch in batches])
    ys = np.concatenate([batch["y"] for batch in batches])
    assert sorted(xs) == [*range(1, 100, 2), *range(1000, 1050)]
    assert np.array_equal(ys, xs * 3)


def test_random_steps_draw_by_the_pass_of_the_part():
    part = numbers(20).map(lambda s, rng: {"x": s["x"], "draw": rng.random()}, random=True)
    pipeline = fb.mix({"a": part, "b": part}, weights={"a": 1, "b": 1}, samples=200).batch(10)
    with fb.Loader(pipeline, epochs=1) as loader:
        draws = [(int(of), int(x), draw) for batch in loader for of, x, draw in zip(batch.parts, batch["x"], batch["draw"], strict=True)]
    assert len({draw for _, _, draw in draws}) == len(draws), "a sample is augmented anew in each pass and each part"
    with fb.Loader(pipeline, epochs=1, threads=1) as loader:
        assert draws == [(int(of), int(x), draw) for batch in loader for of, x, draw in zip(batch.parts, batch["x"], batch["draw"], strict=True)]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    folder = tmp_path_factory.mktemp("mixed") / "table"
    folder.mkdir()
    for file in range(4):
        first = 10_000 + 500 * file
        rows = pa.table({"x": np.arange(first, first + 500), "text": [f"row {i}" for i in range(first, first + 500)]})
        pq.write_table(rows, folder / f"{file}.parquet", row_group_size=100)
    return folder


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    file = tmp_path_factory.mktemp("mixed") / "lines.jsonl"
    file.write_text("".join(json.dumps({"x": i, "text": f"line {i}"}) + "\n" for i in range(700)))
    return file


@pytest.mark.parametrize("lanes", [1, 2])
def test_a_table_and_lines_are_mixed(table, lines, lanes):
    pipeline = fb.mix({"table": fb.parquet(table).shuffle(block=4, lanes=lanes), "lines": fb.jsonl(lines).shuffle()}).batch(32)
    (rows,) = rows_of(pipeline)
    assert sorted(x for _, _, x in rows) == [*range(700), *range(10_000, 12_000)]
    assert rows_of(pipeline, world_size=2) == [rows]
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            assert batch["text"] == [f"row {x}" if part == 0 else f"line {x}" for part, x in zip(batch.parts, batch["x"], strict=True)]


def test_two_tables_are_read_once_a_pass(table):
    pipeline = fb.mix({"a": fb.parquet(table, columns=["x"]).shuffle(block=4), "b": fb.parquet(table, columns=["x"])}).batch(64)
    with fb.Loader(pipeline, epochs=1) as loader:
        xs = np.concatenate([batch["x"] for batch in loader])
        assert loader.stats()["chunks"]["row_groups"] == 40
        assert loader.stats()["chunks"]["decoded"] <= 40, "parts share the rows of a row group that both have in memory"
    assert sorted(xs) == sorted([*range(10_000, 12_000)] * 2)


def test_photographs_of_two_folders(photos, tmp_path):
    steps = lambda of: of.decode_image().resize((16, 16))  # noqa: E731
    pipeline = fb.mix({"a": steps(fb.images(photos).shuffle()), "b": steps(fb.images(photos))}, weights={"a": 3, "b": 1}, samples=400)
    with fb.Loader(pipeline.normalize(fb.IMAGENET).batch(10), epochs=1) as loader:
        batches = list(loader)
        names = {step["name"] for step in loader.stats()["steps"]}
    assert sum(len(batch) for batch in batches) == 400
    assert {"a/decode_image", "b/decode_image"} <= names
    with fb.Loader(steps(fb.images(photos)).normalize(fb.IMAGENET).batch(21), epochs=1) as loader:
        (alone,) = list(loader)
    for batch in batches:
        for row, id in enumerate(batch.ids):
            assert np.array_equal(batch["image"][row], alone["image"][alone.ids.tolist().index(id)])


def test_a_cache_of_a_part_is_used_in_its_later_passes(photos, tmp_path):
    cached = fb.images(photos).decode_image().resize((16, 16)).cache(ram="64MiB", disk=0).shuffle()
    pipeline = fb.mix({"cached": cached, "other": fb.images(photos).decode_image().resize((16, 16))}, weights={"cached": 1, "other": 1}, samples=210)
    with fb.Loader(pipeline.batch(10), epochs=1) as loader:
        for _ in loader:
            pass
        (cache,) = loader.stats()["caches"]
    assert cache["ram"]["hits"] >= 105 - 21 - 10


def test_a_bad_sample_is_replaced_by_one_of_its_part():
    def fail(sample):
        if sample["x"] % 10 == 3:
            raise ValueError("bad")
        return sample

    pipeline = fb.mix({"a": numbers(100).map(fail), "b": numbers(100, 1000)}).batch(10)
    with fb.Loader(pipeline, epochs=1, on_error="replace") as loader:
        for batch in loader:
            assert np.array_equal(batch["x"] >= 1000, batch.parts == 1)
            assert not (batch["x"][batch.parts == 0] % 10 == 3).any()
        assert len(loader.errors()) == 10


def test_a_state_of_other_parts_or_weights_is_refused():
    parts = {"a": numbers(100), "b": numbers(100, 1000)}
    state = fb.Loader(fb.mix(parts, weights={"a": 1, "b": 1}, samples=100).batch(10)).state_dict()
    for other in (fb.mix(parts, weights={"a": 2, "b": 1}, samples=100), fb.mix({"a": parts["a"], "c": parts["b"]}, weights={"a": 1, "c": 1}, samples=100)):
        with pytest.raises(fb.StateMismatch):
            fb.Loader(other.batch(10)).load_state_dict(state)


def test_an_empty_part_with_a_weight_is_an_error_that_names_it(tmp_path):
    empty = fb.arrays(x=np.arange(0))
    with pytest.raises(fb.InvalidArgument, match="'none' has no samples"):
        fb.Loader(fb.mix({"a": numbers(10), "none": empty}, weights={"a": 1, "none": 1}).batch(2))
    (rows,) = rows_of(fb.mix({"a": numbers(10), "none": empty}).batch(2))
    assert len(rows) == 10


def test_bad_samples_of_two_parts_with_one_id_are_two():
    def fail(sample):
        raise ValueError("bad")

    parts = {"a": numbers(5).map(fail, fields=["x"]), "b": numbers(5, 100).map(fail, fields=["x"])}
    with fb.Loader(fb.mix(parts).batch(5), epochs=1, on_error="skip") as loader:
        assert sum(len(batch) for batch in loader) == 0
        assert len(loader.errors()) == 10


def test_epochs_that_cannot_be_counted_are_refused():
    loader = fb.Loader(fb.mix({"a": numbers(100), "b": numbers(100)}, weights={"a": 1, "b": 1}, samples=10_000_000).batch(10))
    with pytest.raises(fb.InvalidArgument, match="the last epoch is"):
        loader.set_epoch(2**53)
    loader.set_epoch(2**38)
    assert len(next(iter(loader))) == 10


def test_parts_without_samples_left_are_told_apart_in_statistics():
    pipeline = fb.mix({"a": numbers(10), "none": fb.arrays(x=np.arange(0))}).batch(5)
    with fb.Loader(pipeline, epochs=2) as loader:
        for _ in range(2):
            for _ in loader:
                pass
        assert [(part["name"], part["samples"], part["passes"]) for part in loader.stats()["parts"]] == [("a", 20, 2), ("none", 0, 0)]


def test_each_part_is_filtered_by_its_own_function():
    def part(k):
        return numbers(9, shuffled=False).filter(lambda s: s["x"] % 3 == k)

    with fb.Loader(fb.concat(part(0), part(1), part(2)).batch(9), epochs=1) as loader:
        (batch,) = list(loader)
    assert batch["x"].tolist() == [0, 3, 6, 1, 4, 7, 2, 5, 8]
    behind = fb.concat(numbers(5, shuffled=False), numbers(5, 10, shuffled=False)).filter(lambda s: s["x"] % 2 == 0)
    with fb.Loader(behind.batch(6), epochs=1) as loader:
        (batch,) = list(loader)
    assert batch["x"].tolist() == [0, 2, 4, 10, 12, 14]
    data = fb.mix({"a": numbers(5), "b": fb.Dataset([{"x": i} for i in range(100, 120)]).filter(lambda s: s["x"] % 2 == 0)})
    with fb.Loader(data.batch(15), epochs=1) as loader:
        assert sorted(x for batch in loader for x in np.asarray(batch["x"]).tolist()) == [*range(5), *range(100, 120, 2)]


def test_errors_name_the_part():
    def fail(sample):
        raise ValueError("bad")

    pipeline = fb.mix({"good": numbers(5), "bad": numbers(5, 100).map(fail)}).batch(5)
    with fb.Loader(pipeline, epochs=1, on_error="skip") as loader:
        for _ in loader:
            pass
        assert {error["key"].split(":")[0] for error in loader.errors()} == {"bad"}
