"""Steps behind `.pack()`: packed blocks are samples that operators on columns and functions change."""
import json

import numpy as np
import pytest
from pack_model import blocks_of, filled
from test_pack_rules import Texts, some_lengths

import forebay as fb

LENGTH = 16
LENGTHS = some_lengths(120)
TEXTS = Texts(LENGTHS)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("texts") / "texts.parquet"
    pq.write_table(pa.table({"tokens": pa.array([list(row) for row in TEXTS.tokens], pa.list_(pa.int32()))}), path, row_group_size=40)
    return path


def packed(**options):
    return fb.Dataset(TEXTS).shuffle().pack(LENGTH, **options)


def blocks(pipeline, **options):
    """The fields of each block by its number."""
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            names = list(batch)
            for row, number in enumerate(batch.ids.tolist()):
                found[number] = {name: value_at(batch[name], row) for name in names}
    return found


def value_at(field, row):
    if isinstance(field, tuple):
        values, offsets = field
        return np.array(values[offsets[row]:offsets[row + 1]])
    return field[row] if isinstance(field, list) else np.array(field[row])


def same(found, expected):
    assert sorted(found) == sorted(expected)
    for number, fields in expected.items():
        assert list(found[number]) == list(fields), number
        for name, value in fields.items():
            assert np.array_equal(found[number][name], value), (number, name)


def test_operators_on_columns_change_blocks(table):
    plain = blocks(packed(shift=1, cu_seqlens=True).batch(4))
    for source in (fb.Dataset(TEXTS), fb.parquet(table)):
        pack = source.shuffle().pack(LENGTH, shift=1, cu_seqlens=True, how="best-fit")
        before = blocks(pack.batch(4))
        steps = pack.cast("int64", field=["tokens", "labels", "positions", "cu_seqlens"]).rename(tokens="input_ids", positions="position_ids")
        found = blocks(steps.select("input_ids", "labels", "position_ids", "cu_seqlens").batch(4))
        assert all(fields[name].dtype == np.int64 for fields in found.values() for name in fields)
        same(found, {number: {"input_ids": of["tokens"], "labels": of["labels"], "position_ids": of["positions"], "cu_seqlens": of["cu_seqlens"]}
                     for number, of in before.items()})
    clipped = blocks(packed(shift=1).clip(0, 5000, field="tokens").batch(4))
    assert {number: of["tokens"].tolist() for number, of in clipped.items()} == {
        number: np.clip(of["tokens"], 0, 5000).tolist() for number, of in plain.items()}


def test_types_and_names_are_known_before_the_first_batch(table):
    pipeline = fb.parquet(table).pack(LENGTH).cast("int64", field="tokens").rename(tokens="input_ids").select("input_ids").batch(4)
    assert not pipeline.check()
    with fb.Loader(pipeline) as loader:
        batch = next(iter(loader))
    assert batch["input_ids"].shape == (4, LENGTH) and batch["input_ids"].dtype == np.int64 and list(batch) == ["input_ids"]


def doubled(sample):
    return {"twice": sample["tokens"] * 2, "rows": int(sample["segments"].max()), "name": f"of {sample['segments'].max()}"}


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_a_function_gets_each_block_and_gives_its_fields(workers):
    model = blocks_of(LENGTHS, LENGTH)
    found = blocks(packed().map(doubled, workers=workers).batch(4))
    assert sorted(found) == list(range(len(model)))
    for number, block in enumerate(model):
        assert list(found[number]) == ["twice", "rows", "name"]
        assert list(found[number]["twice"]) == [2 * one for one in filled(TEXTS.tokens, block, LENGTH)]
        assert found[number]["rows"] == len(block) and found[number]["name"] == f"of {len(block)}"


def test_fields_that_a_function_names_are_all_it_gets_and_its_answer_is_added():
    def add(sample):
        assert list(sample) == ["tokens"]
        sample["tokens"] += 1  # a copy
        return {"tokens": sample["tokens"], "sum": sample["tokens"].sum()}

    before = blocks(packed(cu_seqlens=True).batch(4))
    found = blocks(packed(cu_seqlens=True).map(add, fields=["tokens"]).batch(4))
    for number, of in before.items():
        assert sorted(found[number]) == sorted([*of, "sum"])
        assert np.array_equal(found[number]["tokens"], of["tokens"] + 1) and found[number]["sum"] == of["tokens"].sum() + LENGTH
        for name in ("segments", "positions", "cu_seqlens", "max_seqlen"):
            assert np.array_equal(found[number][name], of[name])


def test_functions_follow_each_other_and_functions_on_batches():
    first = packed(cu_seqlens=True).cast("int64", field="tokens").map(lambda sample: {"n": sample["tokens"].sum(), "ends": str(sample["cu_seqlens"])})
    pipeline = first.map(lambda sample: {"n": sample["n"] + 1, "ends": sample["ends"]}).batch(4).map_batch(lambda batch: {**batch, "all": np.full(len(batch["n"]), batch["n"].sum())})
    plain = blocks(packed(cu_seqlens=True).batch(4))
    found = blocks(pipeline)
    for number, of in plain.items():
        assert found[number]["n"] == of["tokens"].sum() + 1 and found[number]["ends"] == str(of["cu_seqlens"])


def noisy(sample, rng):
    return {"noise": rng.integers(0, 1 << 40), "tokens": sample["tokens"]}


def test_random_numbers_are_those_of_the_block_for_any_ranks_threads_and_batches():
    pipeline = packed().map(noisy, random=True)
    expected = blocks(pipeline.batch(4), seed=3)
    assert len({int(of["noise"]) for of in expected.values()}) == len(expected)
    same(blocks(pipeline.batch(7), seed=3, threads=3), expected)
    ranks = {}
    for rank in range(2):
        ranks.update(blocks(pipeline.batch(3), seed=3, rank=rank, world_size=2))
    same(ranks, expected)
    assert {int(of["noise"]) for of in blocks(pipeline.batch(4), seed=4).values()} != {int(of["noise"]) for of in expected.values()}


def test_blocks_of_parts_are_changed_behind_all_of_them():
    parts = {name: fb.Dataset(Texts(some_lengths(100, seed))).shuffle().pack(LENGTH) for seed, name in enumerate(("a", "b"))}
    plain = fb.mix(parts, weights={"a": 1, "b": 2}, samples=100)
    changed = plain.cast("int64", field="tokens").map(noisy, random=True)
    with fb.Loader(plain.batch(4), epochs=1) as one, fb.Loader(changed.batch(4), epochs=1) as two:
        seen = {}
        for before, after in zip(one, two):
            assert list(before.ids) == list(after.ids) and list(before.parts) == list(after.parts)
            assert np.array_equal(before["tokens"], after["tokens"]) and after["tokens"].dtype == np.int64
            seen.update({(part, int(number)): int(noise) for part, number, noise in zip(after.parts, after.ids, after["noise"])})
    assert len(set(seen.values())) == len(seen), "blocks of one number in two parts have numbers of their own"
    digests = {fb.digest(*[fb.Loader(changed.batch(4, last="pad"), epochs=1, rank=rank, world_size=world) for rank in range(world)]) for world in (1, 2, 3)}
    assert len(digests) == 1


def test_a_run_goes_on_and_another_step_is_another_pipeline():
    pipeline = packed().cast("int64", field="tokens").map(noisy, random=True).batch(2)
    with fb.Loader(pipeline, epochs=1) as loader:
        whole = [(list(batch.ids), batch["noise"].tolist()) for batch in loader]
    with fb.Loader(pipeline, epochs=1) as loader:
        for _ in range(5):
            next(iter(loader))
        state = json.loads(json.dumps(loader.state_dict()))
    with fb.Loader(pipeline, epochs=1, threads=2) as loader:
        loader.load_state_dict(state)
        assert [(list(batch.ids), batch["noise"].tolist()) for batch in loader] == whole[5:]
    with fb.Loader(packed().cast("int32", field="tokens").map(noisy, random=True).batch(2)) as loader, pytest.raises(fb.StateMismatch):
        loader.load_state_dict(state)


def test_an_exception_takes_the_place_of_its_batch_and_names_the_block():
    def fails(sample):
        if sample["tokens"][0] == first:
            raise ValueError("no")
        return sample

    model = blocks_of(LENGTHS, LENGTH)
    bad = 9
    first = filled(TEXTS.tokens, model[bad], LENGTH)[0]
    pipeline = fb.Dataset(TEXTS).pack(LENGTH).map(fails).batch(4)
    for on_error in ("raise", "skip"):
        seen = []
        with fb.Loader(pipeline, epochs=1, on_error=on_error) as loader:
            batches = iter(loader)
            while True:
                try:
                    seen += next(batches).ids.tolist()
                except StopIteration:
                    break
                except ValueError as error:
                    assert f"block {bad}" in "".join(error.__notes__)
                    seen.append("bad")
        assert seen == [*range(8), "bad", *range(12, len(model))]


def test_a_number_that_does_not_fit_names_the_block():
    pipeline = fb.Dataset(Texts([3, 40])).pack(LENGTH).cast("int8", field="tokens").batch(2)
    with pytest.raises(fb.Unsupported, match="cast to a type that holds it") as caught, fb.Loader(pipeline) as loader:
        next(iter(loader))
    assert caught.value.operator == "cast" and caught.value.key.startswith("block ")


@pytest.mark.parametrize("function, message", [
    (lambda sample: {"a": sample["tokens"][: sample["segments"].max()]}, "arrays of different lengths as 'a'; give one length for all, or use .map_batch"),
    (lambda sample: {"a": 1} if sample["segments"].max() > 1 else {"a": 1, "b": 2}, "give the same fields for all"),
])
def test_blocks_have_one_shape_and_the_same_fields(function, message):
    with pytest.raises(fb.InvalidArgument, match=message), fb.Loader(packed().map(function).batch(8), epochs=1) as loader:
        for _ in loader:
            pass


def test_collate_gets_the_ends_of_each_block():
    plain = blocks(packed(cu_seqlens=True).batch(4))
    with fb.Loader(packed(cu_seqlens=True).batch(4).collate(list), epochs=1) as loader:
        found = [sample for batch in loader for sample in batch]
    with fb.Loader(packed(cu_seqlens=True).batch(4), epochs=1) as loader:
        numbers = [number for batch in loader for number in batch.ids.tolist()]
    assert [sample["cu_seqlens"].tolist() for sample in found] == [plain[number]["cu_seqlens"].tolist() for number in numbers]


def test_steps_are_counted_and_materialised_data_keeps_them(tmp_path):
    pipeline = packed().cast("int64", field="tokens").map(doubled, fields=["tokens", "segments"]).batch(4)
    with fb.Loader(pipeline, epochs=1) as loader:
        blocks_seen = sum(len(batch.ids) for batch in loader)
        steps = {step["name"].split("(")[0]: step["samples"] for step in loader.stats()["steps"]}
    assert steps["cast"] == blocks_seen == steps["map"]
    source = fb.arrays(text=[" ".join(map(str, row)) for row in TEXTS.tokens]).map(to_tokens, fields=["text"], version="1").rename(text="tokens")
    pipeline = source.shuffle().pack(LENGTH).cast("int64", field="tokens").batch(4)
    made = fb.materialize(pipeline, tmp_path / "rows", cut="last")
    assert fb.digest(fb.Loader(made.pipeline, epochs=1, seed=2)) == fb.digest(fb.Loader(pipeline, epochs=1, seed=2))


def to_tokens(sample):
    return {"text": np.array([int(word) for word in sample["text"].split()], np.int32)}


@pytest.mark.parametrize("made, place, message", [
    (lambda p: p.cache(), "cache", "move it before .pack()"),
    (lambda p: p.take(3), "take", "move it before .pack()"),
    (lambda p: p.filter(bool), "filter", "move it before .pack()"),
    (lambda p: p.pack(8), "pack", "move it before .pack()"),
    (lambda p: p.resize(8, field="tokens"), "resize", "works on single samples, not on blocks of them; move it before .pack(), or use .map(fn)"),
    (lambda p: p.cast("int64", field="token"), "cast", "there is no field 'token'"),
    (lambda p: p.map(dict).cast("int64", field="tokens"), "cast", "put it directly behind .pack(), or do it in the function"),
    (lambda p: p.pad("cu_seqlens", 0), "pad", "give .pack() max_segments="),
])
def test_mistakes_are_found_before_anything_is_read(made, place, message):
    pipeline = made(fb.Dataset(TEXTS).select("tokens").cast("int32", field="tokens").pack(LENGTH, cu_seqlens=True)).batch(2)
    told = [(problem.operator, f"{problem.message}; {problem.remedy}") for problem in pipeline.check()]
    assert any(operator.endswith(place) and message in text for operator, text in told), told


def test_steps_on_the_blocks_of_one_part_belong_behind_all_parts():
    parts = {"a": packed().cast("int64", field="tokens"), "b": packed()}
    (problem, *_) = fb.mix(parts).batch(2).check()
    assert problem.operator == "a: 3: cast" and "put it behind all parts" in problem.remedy
