"""Pipelines that are made of other pipelines: what `check()` says of each mistake, how they are printed, saved and recognised."""
import pickle

import numpy as np
import pytest

import forebay as fb


def a(**fields):
    return fb.arrays(**(fields or {"x": "a.npy"}))


def images(root="photos"):
    return fb.images(root)


def text(name="lines.txt"):
    return fb.text(name)


def tokens():
    return fb.arrays(tokens="tokens.npy")


def mix(**given):
    """Two parts, `a` and `b`, with what is given."""
    return fb.mix({"a": text(), "b": text()}, **given)


def told(pipeline):
    return [f"{one.operator} | {one.message} | {one.remedy}" for one in pipeline.check()]


GOOD = {
    "without shares": mix(),
    "weights": mix(weights={"b": 1, "a": 3}),
    "a weight of 0": mix(weights={"a": 0, "b": 1}),
    "temperature": mix(temperature=2),
    "schedule": mix(schedule=[(0, {"a": 1, "b": 0}), (1000, {"a": 0.5, "b": 0.5})], ramp="linear"),
    "samples": mix(weights={"a": 1, "b": 1}, samples=100),
    "end": mix(temperature=1, end="all"),
    "one part": fb.mix({"a": text()}),
    "a data set with itself": fb.concat(text(), text()),
    "concat with names": fb.concat(text(), more=text()),
    "parts in parts": fb.mix({"a": mix(weights={"a": 1, "b": 2}), "b": fb.concat(text(), text())}, weights={"a": 1, "b": 1}),
    "repeated": fb.mix({"a": text().repeat(2), "b": text().repeat(0.5)}).repeat(3),
    "one data set, repeated": text().shuffle().repeat(2).batch(2),
    "repeated blocks": fb.arrays(tokens="tokens.npy").pack(8).repeat(2).batch(2),
    "packed parts": fb.mix({"a": tokens().pack(8), "b": tokens().shuffle().pack(8, how="best-fit").repeat(2)}).batch(2),
    "steps on all parts": mix().rename(text="line").select("line").cache().batch(4),
    "a field for the part": mix(field="part").select("part").batch(4),
    "fields that are dropped": fb.mix({"a": images(), "b": images().select("image")}).select("image").decode_image().resize(8).batch(2),
    "own code": fb.mix({"a": fb.Dataset([1, 2]), "b": fb.Dataset([3]).map(dict)}).batch(1),
}


@pytest.mark.parametrize("name", GOOD)
def test_is_right(name):
    assert told(GOOD[name]) == []


# What is wrong, the step, words of the message, words of the way out.
WRONG = [
    # parts
    (fb.mix({}), "0: mix", "there are no parts", "without .batch()"),
    (fb.concat(), "0: concat", "there are no parts", "without .batch()"),
    (fb.mix({"": text()}), "0: mix", "a part is called ''", "at least one letter"),
    (fb.mix({"web/en": text()}), "0: mix", "a part is called 'web/en'", "without '/'"),
    (fb.concat(text(), **{"0": text()}), "0: concat", "two parts are called '0'", "another name"),
    (fb.mix({"a": text().batch(2)}), "a: 1: batch", "no batches of its own", "behind all parts"),
    (fb.mix({"a": tokens().pack(8), "b": tokens()}), "0: mix", "'a' has packed blocks, and 'b' has samples", "into all parts"),
    (fb.mix({"a": tokens().pack(8), "b": tokens().pack(8, eos=2)}), "0: mix", "'a' packs with eos=null, and 'b' with eos=2", "give both the same"),
    (fb.mix({"a": tokens().pack(8), "b": tokens().pack(9)}), "0: mix", "'a' packs with length=8, and 'b' with length=9", "give both the same"),
    (fb.mix({"a": tokens().pack(8), "b": tokens().pack(8)}, field="part"), "0: mix", "have no field for their part yet", "batch.parts"),
    (fb.mix({"a": a().rehearse(2, 10)}), "a: 1: rehearse", "samples of all parts", "behind all parts"),
    (fb.mix({"a": text().buffer()}), "a: 1: buffer", "for streams", "leave it out"),
    (fb.mix({"a": fb.stream("redis://localhost/0/log", fields={"x": "int64"})}), "a: 0: stream", "a stream has no number of samples", "weights="),
    (fb.mix({"a": fb.text("log", follow=True)}), "a: 0: text", "a stream has no number of samples", "weights="),
    (fb.mix({"a": fb.mix({"b": text().batch(2)})}), "a/b: 1: batch", "no batches of its own", "behind all parts"),
    (fb.mix({"a": images(), "b": images().take(0)}).select("image"), "b: 1: take", "n is 0", "at least 1"),
    (fb.mix({"web": images().decode_image().center_crop(8).normalize(0, 0), "b": images()}), "web: 3: normalize", "", "above 0"),
    # weights
    (mix(weights={"a": -1, "b": 1}), "0: mix", "weights: that of 'a' is -1", "a number from 0 on"),
    (mix(weights={"a": float("nan"), "b": 1}), "0: mix", 'weights: that of \'a\' is "nan"', "a number from 0 on"),
    (mix(weights={"a": float("inf"), "b": 1}), "0: mix", 'weights: that of \'a\' is "inf"', "a number from 0 on"),
    (mix(weights={"a": "much", "b": 1}), "0: mix", "weights: that of 'a' is \"much\"", "a number from 0 on"),
    (mix(weights={"a": True, "b": 1}), "0: mix", "weights: that of 'a' is true", "a number from 0 on"),
    (mix(weights={"a": 0, "b": 0}), "0: mix", "weights: all are 0", "more than 0"),
    (mix(weights={"a": 1e308, "b": 1e308}), "0: mix", "no finite number", "smaller"),
    (mix(weights={"a": 1}), "0: mix", "weights: there is none for 'b'", "leave 'b' out"),
    (mix(weights={"a": 1, "b": 1, "c": 1}), "0: mix", "weights has 'c'", "the parts are 'a', 'b'"),
    (fb.mix({"code": text()}, weights={"coed": 1}), "0: mix", "did you mean 'code'", "the parts are 'code'"),
    (mix(weights=[1, 2]), "0: mix", "weights is [1,2]", "for each part"),
    # temperature
    (mix(temperature=0), "0: mix", "temperature is 0", "above 0"),
    (mix(temperature=-1), "0: mix", "temperature is -1", "above 0"),
    (mix(temperature=float("nan")), "0: mix", 'temperature is "nan"', "a number"),
    (mix(temperature=1, weights={"a": 1, "b": 1}), "0: mix", "more than one of weights, temperature and schedule", "give one of them"),
    (mix(temperature=1, schedule=[(0, {"a": 1, "b": 1})]), "0: mix", "more than one of weights, temperature and schedule", "give one of them"),
    # schedule
    (mix(weights={"a": 1, "b": 1}, schedule=[(0, {"a": 1, "b": 1})]), "0: mix", "more than one of", "the first stage"),
    (mix(schedule=[]), "0: mix", "schedule is []", "write [(0,"),
    (mix(schedule=3), "0: mix", "schedule is 3", "write [(0,"),
    (mix(schedule=[0, {"a": 1}]), "0: mix", "0 is no pair", "write [(0,"),
    (mix(schedule=[(0.5, {"a": 1, "b": 1})]), "0: mix", "is no pair", "write [(0,"),
    (mix(schedule=[(5, {"a": 1, "b": 1})]), "0: mix", "the first stage begins at 5", "at 0"),
    (mix(schedule=[(-5, {"a": 1, "b": 1})]), "0: mix", "a stage begins at -5", "count from 0"),
    (mix(schedule=[(0, {"a": 1, "b": 1}), (9, {"a": 1, "b": 0}), (9, {"a": 1, "b": 1})]), "0: mix", "at 9 follows one that begins at 9", "order the stages"),
    (mix(schedule=[(0, {"a": 1, "b": 1}), (9, {"a": 1, "c": 0})]), "0: mix", "the weights from 9 on has 'c'", "the parts are"),
    (mix(schedule=[(0, {"a": 0, "b": 0})]), "0: mix", "the weights from 0 on: all are 0", "more than 0"),
    (mix(ramp="linear"), "0: mix", "there is no schedule", "leave ramp out"),
    (mix(ramp="cubic", schedule=[(0, {"a": 1, "b": 1})]), "0: mix", 'ramp is "cubic"', "'step', 'linear'"),
    # length, field, missing
    (mix(weights={"a": 1, "b": 1}, samples=0), "0: mix", "samples is 0", "at least 1"),
    (mix(samples=10), "0: mix", "samples ends an epoch of parts that have shares", ".repeat(n)"),
    (mix(end="all"), "0: mix", "end ends an epoch of parts that have shares", ".repeat(n)"),
    (mix(weights={"a": 1, "b": 1}, end="last"), "0: mix", 'end is "last"', "'first', 'all'"),
    (mix(weights={"a": 1, "b": 1}, end="all", samples=3), "0: mix", "both say where an epoch ends", "leave one"),
    (mix(missing="zero"), "0: mix", 'missing is "zero"', "'error', 'mask'"),
    (mix(field=""), "0: mix", "field is empty", "a name"),
    (mix(field="text"), "0: mix", "there is a field 'text' already", "another name"),
    # behind parts
    (mix().shuffle(), "1: shuffle", "an order of its own", 'mix({"a": a.shuffle(), …})'),
    (fb.concat(text(), text()).shuffle(), "1: shuffle", "not shuffled together", "mix(), which without weights shuffles over all parts"),
    (mix().take(3), "1: take", "decided in each part", "a.take(n)"),
    (fb.concat(text()).take(3), "1: take", "decided in each part", "concat(a.take(n)"),
    (mix().pack(8, field="text", arrange="once"), "1: pack", "follow each other in another way in each epoch", "leave arrange= out"),
    (mix().pack(8, field="text"), "1: pack", "the field text: text is no row of numbers", "pack the ids"),
    (mix().rehearse(1, 2, where="here"), "1: rehearse", "not there yet", "leave where= out"),
    (mix().buffer(), "1: buffer", "for streams", "memory="),
    (mix().select("txt"), "1: select", "there is no field 'txt' (did you mean 'text'?)", "the fields here are"),
    (mix().batch(2).repeat(2), "2: repeat", "behind .batch()", "before .batch()"),
    (mix().repeat(2).repeat(2), "2: repeat", "repeated already", "one .repeat()"),
    (mix().repeat(0), "1: repeat", "n is 0", "above 0"),
    # .repeat() of one data set
    (text().repeat(float("nan")), "1: repeat", 'n is "nan"', "a number"),
    (text().repeat(-1), "1: repeat", "n is -1", "above 0"),
    (text().repeat(2).repeat(2), "2: repeat", "repeated already", "one .repeat()"),
    (text().repeat(2).shuffle(), "2: shuffle", "behind .repeat()", "before .repeat()"),
    (text().repeat(2).take(3), "2: take", "behind .repeat()", "before .repeat()"),
    (text().batch(2).repeat(2), "2: repeat", "behind .batch()", "before .batch()"),
    (fb.text("log", follow=True).repeat(2), "1: repeat", "a stream has no end", "leave it out"),
    # fields that differ
    (fb.mix({"a": images(), "b": images().select("image", "key")}), "0: mix", "the field 'label' of 'a' is missing in 'b'", ".select()"),
    (fb.mix({"a": text(), "b": text().rename(text="line")}), "0: mix", "the field 'line' of 'b' is missing in 'a'", ".rename()"),
    (fb.mix({"a": images(), "b": images().decode_image()}), "0: mix", "the field 'image' is bytes in 'a' and uint8 (?, ?, 3) in 'b'", "decode the pictures of both"),
    (fb.mix({"a": images().decode_image().resize((8, 8)), "b": images().decode_image().resize((9, 9))}), "0: mix",
     "the field 'image' is uint8 (8, 8, 3) in 'a' and uint8 (9, 9, 3) in 'b'", ".resize()"),
    (fb.mix({"a": images().cast("float32", field="label"), "b": images()}), "0: mix", "the field 'label' is float32 () in 'a' and int64 () in 'b'", '.cast("float32", field="label")'),
    (fb.mix({"out": fb.mix({"a": text(), "b": images()}).select("key"), "c": text().select("key").rename(key="name")}), "0: mix",
     "the field 'name' of 'c' is missing in 'out/a', 'out/b'", ".rename()"),
    (fb.mix({"out": fb.mix({"a": text(), "b": text().select("key")}), "c": text()}), "out: 0: mix", "", ""),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_is_told(number):
    pipeline, operator, message, remedy = WRONG[number]
    problems = [problem for problem in pipeline.check() if problem.operator == operator]
    assert any(message in one.message and remedy in one.remedy for one in problems), "\n".join(told(pipeline))


def test_one_mistake_is_one_problem():
    for pipeline, operator, message, _ in WRONG:
        if message and "more than one" not in message:
            assert len(told(pipeline)) <= 2, told(pipeline)
        assert len(set(told(pipeline))) == len(told(pipeline))


def test_a_step_behind_all_parts_is_told_once_and_one_behind_some_names_them():
    assert len(told(mix().select("txt").batch(2))) == 1
    (one,) = fb.mix({"a": images(), "b": images().select("image"), "c": images().select("image")}).select("label").check()
    assert one.operator == "1: select" and "there is no field 'label'" in one.message and "(in 'b', 'c')" in one.message


def test_all_mistakes_are_told_at_once():
    wrong = fb.mix({"a": text().take(0), "b": text().batch(2)}, weights={"a": -1, "b": 1}).shuffle().select("txt")
    assert {line.split(" | ")[0] for line in told(wrong)} == {"0: mix", "a: 1: take", "b: 1: batch", "1: shuffle", "2: select"}


def test_parts_are_pipelines_with_names():
    with pytest.raises(TypeError, match="parts are pipelines"):
        fb.mix({"a": [1, 2]})
    with pytest.raises(TypeError, match="fb.concat"):
        fb.mix([text()])
    with pytest.raises(TypeError, match="names of parts are text"):
        fb.mix({1: text()})
    with pytest.raises(TypeError, match="parts are pipelines"):
        fb.concat(text(), "lines.txt")


def test_parts_nest_sixteen_levels_deep():
    deep = text()
    for _ in range(16):
        deep = fb.concat(deep)
    assert told(deep) == []
    assert fb.Pipeline.from_json(deep.to_json()).fingerprint == deep.fingerprint
    with pytest.raises(fb.InvalidArgument, match="16 are the most"):
        fb.concat(deep)


@pytest.mark.parametrize("name", [name for name in GOOD if name != "own code"])
def test_json_goes_both_ways(name):
    pipeline = GOOD[name]
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert str(again) == str(pipeline) and again.to_json() == pipeline.to_json() and again.fingerprint == pipeline.fingerprint
    assert str(pickle.loads(pickle.dumps(pipeline))) == str(pipeline)


def test_a_part_with_own_code_has_no_json_and_is_named():
    with pytest.raises(fb.InvalidArgument, match="step 0 of the part 'a': dataset"):
        GOOD["own code"].to_json()


def test_it_is_printed_as_it_was_written():
    pipeline = fb.mix({"web": text().shuffle(), "code": fb.concat(text(), text())}, weights={"code": 1, "web": 3}).batch(4)
    assert str(pipeline) == """\
mix(weights={"web":3.0,"code":1.0})
  web:
    text(pattern="lines.txt")
      .shuffle()
  code:
    concat()
      0:
        text(pattern="lines.txt")
      1:
        text(pattern="lines.txt")
  .batch(n=4, last="partial")"""
    page = pipeline._repr_html_()
    assert "shuffle" in page and "code:" in page and "problems" not in page
    assert "called" in fb.mix({"<b>": text(), "": text()})._repr_html_() and "<b>:" not in fb.mix({"<b>": text()})._repr_html_()


def test_a_fingerprint_is_of_parts_shares_and_order():
    mixed = mix(weights={"a": 3, "b": 1}).fingerprint
    assert mix(weights={"b": 1.0, "a": np.float32(3)}).fingerprint == mixed
    assert fb.mix({"a": fb.text("moved"), "b": text()}, weights={"a": 3, "b": 1}).fingerprint == mixed, "where data lie"
    assert mix(weights={"a": 3, "b": 1}).batch(8).fingerprint == mixed, "batches"
    others = [
        mix(weights={"a": 2, "b": 1}), mix(), mix(weights={"a": 3, "b": 1}, samples=8), mix(weights={"a": 3, "b": 1}, end="all"),
        fb.mix({"b": text(), "a": text()}, weights={"a": 3, "b": 1}), mix(weights={"a": 3, "b": 1}).repeat(2),
        mix(schedule=[(0, {"a": 3, "b": 1})]), fb.mix({"a": text().shuffle(), "b": text()}, weights={"a": 3, "b": 1}),
    ]
    prints = [mixed, *(one.fingerprint for one in others)]
    assert len(set(prints)) == len(prints)


def test_a_pipeline_without_parts_has_the_fingerprint_that_it_always_had():
    assert fb.text("x").shuffle().batch(2).fingerprint == fb.text("y").shuffle().batch(3).fingerprint
    assert str(text().repeat(2)) == 'text(pattern="lines.txt")\n  .repeat(n=2.0)'


def one(sample):
    return sample


def two(sample):
    return sample


def test_functions_keep_their_numbers_in_the_tree():
    first = text().map(one).shuffle()
    second = fb.Dataset([1, 2]).map(two)
    both = fb.mix({"a": first, "inner": fb.concat(text(), second)}).map(one).batch(2)
    # 0 text, 1 map, 2 shuffle, 3 text, 4 Dataset, 5 map, 6 concat, 7 mix, 8 map, 9 batch
    assert sorted(both._functions) == [1, 4, 5, 8]
    assert both._functions[5] is second._functions[1] and both._functions[1] is first._functions[1]
    assert both._description.step_count() == 10


def test_arrays_of_all_parts_are_held():
    array = np.arange(10)
    both = fb.mix({"a": fb.arrays(x=array), "b": fb.concat(fb.arrays(x=np.arange(3)))})
    del array
    assert told(both) == []
    assert both.batch(2).check() == []


def test_what_comes_when_is_not_written():
    parts = {name: fb.arrays(x=np.arange(4)) for name in ("a", "b", "c", "d")}
    with pytest.raises(fb.Unsupported, match='not for a mix of 4 data sets: it writes one') as refused:
        fb.materialize(fb.mix(parts).batch(2), "nowhere")
    assert '\n  forebay materialize b.json FOLDER/b' in str(refused.value) and 'fb.mix({"a": fb.materialized("FOLDER/a"), ' in str(refused.value)
    with pytest.raises(fb.Unsupported, match="not for a concat of 1 data sets"):
        fb.materialize(fb.concat(fb.arrays(x=np.arange(4))).batch(2), "nowhere")
