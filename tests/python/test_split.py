"""`fb.split`: disjoint parts of a data set that stay as they are when data are added."""
import json
import math

import numpy as np
import pytest

import forebay as fb


def numbers(count=1000, **fields):
    return fb.arrays(x=np.arange(count), **fields)


def ids_of(pipeline, **options):
    with fb.Loader(pipeline.batch(16), epochs=1, **options) as loader:
        return [id for batch in loader for id in batch.ids.tolist()]


def files(folder, names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    return fb.files(folder / "**" / "*.txt")


def keys_of(pipeline):
    with fb.Loader(pipeline.select("key").batch(16), epochs=1) as loader:
        return {key for batch in loader for key in batch["key"]}


def test_each_sample_is_in_one_part_and_shares_are_expected():
    parts = {name: set(ids_of(part)) for name, part in fb.split(numbers(5000), train=0.7, val=0.2, test=0.1).items()}
    assert list(parts) == ["train", "val", "test"]
    assert sorted(id for part in parts.values() for id in part) == list(range(5000))
    for name, share in (("train", 0.7), ("val", 0.2), ("test", 0.1)):
        assert abs(len(parts[name]) - 5000 * share) < 5 * math.sqrt(5000 * share * (1 - share))


def test_the_rest_is_in_no_part():
    parts = fb.split(numbers(), a=0.3, b=0.2)
    a, b = (set(ids_of(part)) for part in parts.values())
    assert not a & b
    assert 400 < len(a | b) < 600


def test_samples_stay_in_their_parts_when_others_are_added_behind():
    before, after = (set(ids_of(fb.split(numbers(count), train=0.8, val=0.2)["val"])) for count in (1000, 1500))
    assert before == {id for id in after if id < 1000}


def test_files_stay_in_their_parts_when_others_are_added_or_the_folder_moves(tmp_path):
    names = [f"{number % 5}/{number}.txt" for number in range(300)]
    before = keys_of(fb.split(files(tmp_path / "one", names), train=0.5, val=0.5)["val"])
    after = keys_of(fb.split(files(tmp_path / "other", [*names, *(f"{number % 5}/a{number}.txt" for number in range(300))]), train=0.5, val=0.5)["val"])
    assert {key for key in after if "/a" not in key} == before
    assert 100 < len(before) < 200


def test_lines_are_split_by_file_and_line(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f'{{"x": {number}}}\n' for number in range(1000)))
    val = fb.split(fb.jsonl(path), train=0.9, val=0.1)["val"]
    before = ids_of(val)
    assert 50 < len(before) < 150
    (tmp_path / "moved").mkdir()
    path.rename(tmp_path / "moved" / "rows.jsonl")
    assert ids_of(fb.split(fb.jsonl(tmp_path / "moved" / "rows.jsonl"), train=0.9, val=0.1)["val"]) == before


@pytest.mark.parametrize("dtype", [np.int64, np.int16])
def test_groups_stay_together(dtype):
    patients = (np.arange(1000) % 97).astype(dtype)
    parts = fb.split(numbers(patient=patients), train=0.8, val=0.2, by="patient")
    train, val = ({int(patients[id]) for id in ids_of(part)} for part in parts.values())
    assert not train & val
    assert train | val == set(range(97))
    assert 5 < len(val) < 40
    other = fb.split(numbers(patient=(np.arange(1000) % 97).astype(np.int32)), train=0.8, val=0.2, by="patient")["val"]
    assert {int(patients[id]) for id in ids_of(other)} == val, "the type of the column does not matter"


def test_groups_of_text_made_by_steps():
    pipeline = fb.Dataset([{"x": number} for number in range(200)]).map(lambda sample: {**sample, "speaker": f"s{sample['x'] % 20}"})
    parts = fb.split(pipeline, a=0.5, b=0.5, by="speaker")
    a, b = ({id % 20 for id in ids_of(part)} for part in parts.values())
    assert not a & b and a | b == set(range(20))


def test_a_salt_gives_another_split_and_the_seed_does_not():
    val = fb.split(numbers(), train=0.5, val=0.5)["val"]
    assert sorted(ids_of(val.shuffle(), seed=1)) == sorted(ids_of(val.shuffle(), seed=2)) == ids_of(val)
    assert ids_of(fb.split(numbers(), train=0.5, val=0.5, salt="b")["val"]) != ids_of(val)


def test_classes_have_the_shares_too():
    labels = np.arange(4000) % 4
    val = ids_of(fb.split(numbers(4000, label=labels), train=0.75, val=0.25)["val"])
    for count in np.bincount(labels[val]):
        assert 180 < count < 320


def test_parts_of_a_mix_are_split_each():
    mix = fb.mix({"a": numbers(400).shuffle(), "b": numbers(400).shuffle()})
    with fb.Loader(fb.split(mix, train=0.5, val=0.5)["val"].batch(8), epochs=1) as loader:
        rows = {(part, id) for batch in loader for part, id in zip(batch.parts.tolist(), batch.ids.tolist(), strict=True)}
    of = [{id for part, id in rows if part == number} for number in (0, 1)]
    assert of[0] == of[1] == set(ids_of(fb.split(numbers(400), train=0.5, val=0.5)["val"]))


def test_parts_are_the_same_on_every_rank_and_after_a_resume():
    train = fb.split(numbers(), train=0.6, val=0.4)["train"].shuffle().batch(10)
    with fb.Loader(train, epochs=1) as loader:
        it = iter(loader)
        done = next(it).ids.tolist()
        state = loader.state_dict()
        rest = [id for batch in it for id in batch.ids.tolist()]
    over_ranks = []
    for rank in range(2):
        with fb.Loader(train, epochs=1, rank=rank, world_size=2) as loader:
            loader.load_state_dict(state)
            over_ranks += [id for batch in loader for id in batch.ids.tolist()[: len(batch) - batch.padding]]
    assert sorted(over_ranks) == sorted(rest)
    assert not set(done) & set(rest)


def test_json_has_the_parts_as_steps():
    parts = fb.split(fb.parquet("a"), train=0.9, val=0.1, by="user", salt="2")
    assert json.loads(parts["val"].to_json())["steps"][1] == {"op": "keep_groups", "by": "user", "begin": 0.9, "end": 1.0, "salt": "2"}
    assert fb.Pipeline.from_json(parts["val"].to_json()).to_json() == parts["val"].to_json()


def test_three_thirds_are_all():
    parts = fb.split(numbers(300), a=1 / 3, b=1 / 3, c=1 / 3)
    assert sum(len(ids_of(part)) for part in parts.values()) == 300


WRONG = [
    (dict(), "there are no parts"),
    (dict(train=0.9, val=0.2), "add up to 1.1; 1 is the most"),
    (dict(train=0), "train is 0.0; a share is above 0"),
    (dict(train=-0.5), "a share is above 0"),
    (dict(train=float("nan")), "a share is above 0"),
    (dict(train="most"), "split: train is 'most'"),
    (dict(train=0.5, by=3), "by is 3"),
]


@pytest.mark.parametrize("given, words", WRONG)
def test_says_what_is_wrong(given, words):
    with pytest.raises(fb.InvalidArgument, match=words):
        fb.split(numbers(), **given)


def test_says_what_is_not_there_and_what_is_no_pipeline():
    with pytest.raises(fb.Unsupported, match="Each class has the shares already"):
        fb.split(numbers(), train=0.5, stratify="label")
    with pytest.raises(TypeError, match="of type dict"):
        fb.split({}, train=0.5)


def test_check_says_what_is_wrong():
    (problem,) = fb.split(numbers(), a=0.5, by="user")["a"].check()
    assert "there is no field 'user'" in problem.message
    (problem,) = numbers().keep_keys(0.7, 0.2).check()
    assert "from 0.7 to 0.2" in problem.message and "fb.split" in problem.remedy
    (problem,) = fb.split(numbers().batch(4), a=0.5)["a"].check()
    assert "behind .batch()" in problem.message
