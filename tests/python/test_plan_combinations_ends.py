"""Combinations of several data sets in batches of like lengths, with bad files, as descriptions in files and in the program; and what is said of those that
are not possible."""
import json
import subprocess
from collections import Counter

import numpy as np
import pytest
from combined_pipelines import CASES, split
from combining import Data, digests, plain, rows_of, rows_of_batch, states_of, steps_of

import forebay as fb
from forebay import _trying
from project import PROGRAM

SEED, BUDGET = 3, 150


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return Data(tmp_path_factory.mktemp("combinations"))


# Batches of like lengths


MEASURED = [name for name in CASES if not any(word in name for word in ("packs", "patches", "pictures"))]


def bucketed(pipeline):
    return pipeline.bucket(tokens=BUDGET, window=2, group=6)


def in_order(steps):
    """The rows as they are delivered: step by step, and rank by rank."""
    return [row for step in steps for batch in step for row in batch]


def told(rows):
    return [(row.epoch, row.part, row.id, row.fields) for row in rows]


@pytest.fixture(params=MEASURED)
def measured(request):
    return CASES[request.param].make


def test_buckets_have_the_samples_of_batches_within_their_budget(measured, data):
    one = steps_of(bucketed(measured(data)), epochs=2, seed=SEED)
    plainly = rows_of(measured(data).batch(7), epochs=2, seed=SEED)
    assert Counter((row.epoch, row.part, row.id) for row in in_order(one)) == Counter((row.epoch, row.part, row.id) for row in plainly)
    for (batch,) in one:
        assert len(batch) == 1 or len(batch) * max(row.fields["length"] for row in batch) <= BUDGET
    for world in (2, 3):
        steps = steps_of(bucketed(measured(data)), world, epochs=2, seed=SEED, threads=1)
        assert all(batch for step in steps for batch in step)
        assert told(in_order(steps)) == told(in_order(one))
    assert digests(bucketed(measured(data)), seed=SEED, threads=1) == digests(bucketed(measured(data)), world=2, seed=SEED, threads=4)


def test_buckets_go_on_from_a_state_with_other_ranks(measured, data):
    whole = in_order(steps_of(bucketed(measured(data)), epochs=2, seed=SEED))
    for world, other, epochs in ((1, 2, 2), (2, 3, 1), (3, 1, 1)):
        for state in states_of(bucketed(measured(data)), world=world, seed=SEED):
            rest = steps_of(bucketed(measured(data)), other, epochs=epochs, state=state, seed=SEED)
            assert told(in_order(rest)) == told(row for row in whole if row.epoch < epochs)[state["position"] :], (world, other, state["position"])


def test_functions_take_buckets(measured, data):
    steps = steps_of(bucketed(measured(data)), seed=SEED)
    mapped = steps_of(bucketed(measured(data)).map_batch(lambda batch: {"x": batch["x"], "rows": np.full(len(batch["x"]), len(batch["x"]))}), seed=SEED)
    assert [[row.x for row in batch] for (batch,) in mapped] == [[row.x for row in batch] for (batch,) in steps]
    assert all(row.fields["rows"] == len(batch) for (batch,) in mapped for row in batch)
    with fb.Loader(bucketed(measured(data)).collate(lambda samples: [plain(one["x"].reshape(())[()]) for one in samples]), epochs=1, seed=SEED) as loader:
        assert list(loader) == [[row.x for row in batch] for (batch,) in steps]


def test_buckets_of_token_files_are_padded_to_the_longest_of_each(data):
    parts = {"web": data.tokens("a").shuffle(), "code": split(data.tokens("b")).shuffle().sample(100)}
    pipeline = fb.mix(parts, weights={"web": 1, "code": 1}, samples=256).pad("tokens", length=None).bucket(by="tokens", tokens=BUDGET, window=2, group=6)
    with fb.Loader(pipeline, epochs=1, seed=SEED) as loader, fb.Loader(fb.mix(parts, weights={"web": 1, "code": 1}, samples=256).batch(1), epochs=1, seed=SEED) as alone:
        lengths = {(batch.parts[0], batch.ids[0]): len(row.fields["tokens"][2]) // 2 for batch in alone for row in rows_of_batch(batch)}
        several = 0
        for batch in loader:
            longest = max(lengths[part, id] for part, id in zip(batch.parts, batch.ids, strict=True))
            assert batch["tokens"].shape == (len(batch), longest)
            several += len(set(batch.parts.tolist())) > 1
        assert several > 0


@pytest.mark.parametrize("made", [lambda p: p.sample(weights="w"), lambda p: p.balance(), lambda p: fb.mix({"a": p.balance(samples=50), "b": p.sample(50, weights="w")})])
def test_as_many_draws_as_samples_may_all_be_of_short_ones(made):
    """So a batch may have more samples than it could if each came once."""
    short = np.arange(100) == 0
    pipeline = fb.arrays(x=np.arange(100), length=np.where(short, 1, 60), w=np.where(short, 1, 1e-9), label=np.where(short, 0, 1)).shuffle()
    steps = steps_of(made(pipeline).bucket(tokens=120, window=100), memory="1MiB", seed=SEED)
    assert len(in_order(steps)) == 100
    assert max(len(batch) for (batch,) in steps) >= 25


def test_memory_is_planned_for_draws_of_short_ones():
    short = np.arange(100) == 0
    rows = fb.arrays(x=np.zeros((100, 25_000), np.float32), length=np.where(short, 1, 60), w=np.where(short, 1, 1e-9)).shuffle()
    for drawn in (rows.sample(weights="w"), rows.sample(100, weights="w"), rows.sample(99, weights="w")):
        with pytest.raises(fb.OutOfBudget, match="cannot hold one batch"), fb.Loader(drawn.bucket(tokens=120, window=100), memory="2MiB") as loader:
            len(loader)


def test_few_draws_of_many_row_groups_are_sorted_within_the_memory(tmp_path):
    """A window of draws has rows of all the row groups that it draws from."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    random = np.random.default_rng(0)
    columns = {"x": np.arange(4000), "length": random.integers(3, 40, 4000), "blob": [random.bytes(2000) for _ in range(4000)]}
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=100, compression="none")
    pipeline = fb.parquet(tmp_path / "rows.parquet").shuffle(block=2).sample(400).bucket(tokens=200, window=1)
    # Too little memory is refused when the loader is opened, and not in the middle of an epoch.
    for memory in ("16MiB", "8MiB", "6MiB"):
        try:
            loader = fb.Loader(pipeline, epochs=1, memory=memory)
            assert len(loader) > 0
        except fb.OutOfBudget:
            continue
        with loader:
            assert sum(len(batch) for batch in loader) == 400


# Evaluation


@pytest.mark.parametrize("name", CASES)
def test_an_epoch_that_was_left_begins_again(name, data):
    with fb.Loader(CASES[name].make(data).batch(4), restart=True, seed=SEED) as loader:
        batches = iter(loader)
        first = [rows_of_batch(next(batches)) for _ in range(2)]
        whole = [rows_of_batch(batch) for batch in loader]
        assert whole[:2] == first and len(whole) == len(loader)
        assert [rows_of_batch(next(iter(loader)))] != whole[:1], "the next epoch"


# Bad files


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """Of the picture 3, and of the mask 5, there is a broken file."""
    data = Data(tmp_path_factory.mktemp("broken"))
    for kind, number in (("photos", 3), ("masks", 5)):
        (data.folder / kind / f"class{number % 2}" / f"{number:02}.png").write_bytes(b"broken")
    return data


def pairs(d):
    return fb.zip(image=d.photos(), mask=d.masks(), on="key")


WITH_FILES = {
    "balanced": lambda d: pairs(d).shuffle().balance(samples=24),
    "drawn": lambda d: pairs(d).shuffle().sample(24),
    "in a mix": lambda d: fb.mix({"pairs": pairs(d).shuffle(), "again": pairs(d).shuffle().sample(24)}),
    "split": lambda d: fb.split(pairs(d), all=1.0, by="label")["all"].shuffle(),
    "cached": lambda d: pairs(d).cache(ram="4MiB", disk=0).shuffle().sample(24),
}


def bad_ids(loader):
    """Of the data set: pictures are numbered by their classes."""
    keys = [path.relative_to(loader).as_posix() for path in sorted((loader / "photos").rglob("*.png"))]
    return {keys.index(f"photos/class{number % 2}/{number:02}.png") for number in (3, 5)}


@pytest.mark.parametrize("name", WITH_FILES)
def test_bad_samples_of_any_part_are_skipped_replaced_or_raised(name, broken, data):
    def made(d):
        return WITH_FILES[name](d).random_crop(24, field=["image", "mask"])

    bad = bad_ids(broken.folder)
    skipped = rows_of(made(broken).batch(5), seed=SEED, on_error="skip")
    clean = {row.position: row for row in rows_of(made(data).batch(5), seed=SEED)}
    assert skipped and not bad & {row.id for row in skipped}
    assert {row.position for row in clean.values() if row.id in bad} == set(clean) - {row.position for row in skipped}
    assert all(row == clean[row.position] for row in skipped)
    replaced = rows_of(made(broken).batch(5), seed=SEED, on_error="replace")
    assert len(replaced) == len(clean) and not bad & {row.id for row in replaced}
    assert rows_of(made(broken).batch(2), 2, seed=SEED, on_error="replace", threads=1) == replaced
    with fb.Loader(made(broken).batch(5), epochs=1, seed=SEED) as loader, pytest.raises(fb.Corrupt) as caught:
        list(loader)
    assert caught.value.operator == "decode_image" and caught.value.key


# Values that arrays in files give when they are asked


def test_fields_of_array_files_choose_samples(tmp_path):
    for dtype in ("int64", "int32", "uint8"):
        np.save(tmp_path / f"{dtype}.npy", (np.arange(60) % 3).astype(dtype))
        np.save(tmp_path / "y.npy", np.arange(60))
        files, memory = fb.arrays(label=tmp_path / f"{dtype}.npy"), fb.arrays(label=(np.arange(60) % 3).astype(dtype))
        chosen = [lambda p: p.only(label=[1, 2]), lambda p: fb.split(p, train=0.5, by="label", salt="a")["train"], lambda p: p.balance(samples=30),
                  lambda p: p.sample(30, weights="label"), lambda p: fb.zip(p, fb.arrays(y=tmp_path / "y.npy")).only(label=[1])]  # fmt: skip
        for choose in chosen:
            found = [[row.id for row in rows_of(choose(source).batch(7), seed=SEED)] for source in (files, memory)]
            assert found[0] == found[1]
        rehearsed = [[batch.ids.tolist() for batch in fb.Loader(source.rehearse(2, 9).batch(5), epochs=1)] for source in (files, memory)]
        assert rehearsed[0] == rehearsed[1]


# Descriptions in files, and the program


DESCRIBED = [name for name, case in CASES.items() if not case.functions]


@pytest.mark.parametrize("name", DESCRIBED)
def test_json_gives_the_same_pipeline(name, data):
    pipeline = CASES[name].make(data).batch(6)
    again = fb.Pipeline.from_json(pipeline.to_json())
    assert (again.to_json(), again.fingerprint, str(again)) == (pipeline.to_json(), pipeline.fingerprint, str(pipeline))
    assert pipeline.check() == []
    assert rows_of(again, seed=SEED) == rows_of(pipeline, seed=SEED)


def program(*arguments):
    done = subprocess.run([str(PROGRAM), *map(str, arguments)], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", DESCRIBED)
def test_the_program_runs_and_plans_it(name, data, tmp_path):
    pipeline = CASES[name].make(data).batch(6)
    path = tmp_path / "pipeline.json"
    path.write_text(pipeline.to_json())
    run = program("run", path, "--seed", SEED, "--epochs", 2, "--json")
    assert [epoch["digest"] for epoch in run["epochs"]] == digests(pipeline, seed=SEED)
    plans = [program("plan", path, "--seed", SEED, "--rank", rank, "--world", 2, "--json") for rank in range(2)]
    ids = [i for step in zip(*(plan["steps"] for plan in plans), strict=True) for one in step for i in one["ids"][: len(one["ids"]) - one["padding"]]]
    assert ids == [row.id for row in in_order(steps_of(pipeline, 2, seed=SEED))]


# What is refused


def mixed(d, **options):
    options = {"weights": {"pairs": 1, "even": 1}, "samples": 512} | options
    return fb.mix({"pairs": d.zip("a").shuffle(), "even": d.both("b").shuffle().balance()}, **options)


def packed(d, name="a", length=16, **options):
    return d.tokens(name).shuffle().pack(length, **options)


# The pipeline, the place, words of the message and of the way out.
WRONG = [
    (lambda d: fb.zip(d.numbers("a").sample(60), d.beside("a")), "0: 1: sample", "only other parts have draws of their own", "put .sample() behind the zip"),
    (lambda d: fb.zip(d.numbers("a").balance(), d.beside("a")), "0: 1: balance", "only other parts have draws of their own", "put .balance() behind the zip"),
    (lambda d: fb.zip(d.numbers("a"), t=packed(d)), "t: 1: shuffle", "that of its first part", "behind the zip"),
    (lambda d: fb.zip(t=packed(d), x=d.numbers("a")), "t: 2: pack", "a block has samples of many pairs", "put .pack() behind the zip"),
    (lambda d: fb.zip(d.zip("a"), z=d.numbers("b")), "0: 0: zip", "a part of a zip is one data set", "concat(zip(a, b), zip(c, d))"),
    (lambda d: fb.zip(mixed(d), z=d.numbers("b")), "0: 0: mix", "a part of a zip is one data set", "concat(zip(a, b), zip(c, d))"),
    (lambda d: mixed(d).sample(50), "1: sample", "decided in its part", "weights= and samples= of the mix"),
    (lambda d: mixed(d).balance(), "1: balance", "decided in its part", "put it into the parts"),
    (lambda d: mixed(d).shuffle(), "1: shuffle", "each part has an order of its own", "shuffle the parts"),
    (lambda d: mixed(d).take(5), "1: take", "decided in each part", "take from the parts"),
    (lambda d: fb.concat(d.tokens("a"), d.tokens("b")).pack(8, arrange="once"), "1: pack", "follow each other in another way in each epoch", "pack the parts"),
    (lambda d: fb.mix({"a": packed(d), "b": d.tokens("b")}), "0: mix", "'a' has packed blocks, and 'b' has samples", "put .pack() into all parts"),
    (lambda d: fb.mix({"a": packed(d), "b": packed(d, "b", 8)}), "0: mix", "'a' packs with length=16, and 'b' with length=8", "give both the same"),
    (lambda d: fb.mix({"a": packed(d, shift=1), "b": packed(d, "b")}), "0: mix", "'a' packs with shift=1, and 'b' with shift=", "give both the same"),
    (lambda d: fb.mix({"a": packed(d), "b": packed(d, "b")}, field="origin"), "0: mix", "packed blocks have no field for their part yet", "batch.parts"),
    (lambda d: fb.mix({"pairs": d.zip("a"), "plain": d.numbers("b")}), "0: mix", "the field 'y' of 'pairs' is missing in 'plain'", ".select()"),
    (lambda d: fb.mix({"a": d.numbers("a").batch(4)}), "a: 1: batch", "no batches of its own", "behind all parts"),
    (lambda d: fb.mix({"a": bucketed(d.numbers("a"))}), "a: 1: bucket", "no batches of its own", "behind all parts"),
    (lambda d: fb.mix({"a": d.numbers("a").batch(4).map_batch(dict)}), "a: 2: map_batch", "no batches of its own", ".map(fn)"),
    (lambda d: split(mixed(d)), "1: keep_keys", "draws the samples of an epoch", "move it before that"),
    (lambda d: split(d.zip("a").sample(9)), "2: keep_keys", "draws the samples of an epoch", "move it before that"),
    (lambda d: d.zip("a").sample(9).balance(), "2: balance", "draws the samples already", "keep one of them"),
    (lambda d: d.zip("a").balance().filter(bool, fields="x"), "2: filter", "draws the samples of an epoch", "move it before that"),
    (lambda d: d.tokens("a").sample(9).pack(8), "2: pack", "draws the samples of an epoch", 'arrange="epoch"'),
    (lambda d: packed(d).sample(9), "3: sample", "behind .pack()", "move it before .pack()"),
    (lambda d: split(packed(d)), "3: keep_keys", "behind .pack()", "move it before .pack()"),
    (lambda d: packed(d).filter(dict), "3: filter", "behind .pack()", "move it before .pack()"),
    (lambda d: packed(d).cache(), "3: cache", "behind .pack()", "move it before .pack()"),
    (lambda d: mixed(d).map_batch(dict), "1: map_batch", "there is no .batch() before it", ".map(fn)"),
    (lambda d: mixed(d).collate(list).batch(2), "1: collate", "there is no .batch() before it", ".batch(n)"),
    (lambda d: bucketed(mixed(d)).map(dict), "2: map", "it stands behind .bucket()", ".map_batch(fn)"),
    (lambda d: bucketed(mixed(d)).repeat(2), "2: repeat", "it stands behind .bucket()", "before .bucket()"),
    (lambda d: bucketed(d.zip("a")).repeat(2), "2: repeat", "it stands behind .bucket()", "before .bucket()"),
    (lambda d: bucketed(mixed(d)).sample(2), "2: sample", "decided in its part", "put it into the parts"),
    (lambda d: bucketed(d.zip("a")).sample(2), "2: sample", "it stands behind .bucket()", "before .bucket()"),
    (lambda d: bucketed(mixed(d)).batch(2), "2: batch", "batched already", "keep one .bucket()"),
    (lambda d: mixed(d).batch(2).map_batch(dict).collate(list), "3: collate", "behind .map_batch()", "directly behind .batch(n)"),
    (lambda d: d.tokens("a").pad("tokens").bucket("tokens", 99).collate(list), "3: collate", "the field 'tokens' is padded", ".map_batch()"),
    (lambda d: mixed(d).bucket("size", tokens=99), "1: bucket", "there is no field 'size'", "length"),
    (lambda d: d.zip("a").balance("kind"), "1: balance", "there is no field 'kind'", "label"),
    (lambda d: fb.mix({"a": d.numbers("a").sample(5, weights="v")}), "a: 1: sample", "there is no field 'v'", "x, label, w, length"),
    (lambda d: split(d.zip("a"), by="who"), "1: keep_groups", "there is no field 'who'", "label"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_check_names_the_step_and_the_way_out(number, data):
    make, place, message, remedy = WRONG[number]
    pipeline = make(data)
    told = [(one.operator, one.message, one.remedy) for one in pipeline.check()]
    assert any(place == operator and message in said and remedy in way_out for operator, said, way_out in told), told
    with pytest.raises(fb.InvalidArgument):
        fb.Loader(pipeline)


def loaded(pipeline, **options):
    return fb.Loader(pipeline, rank=0, world_size=1, **options)


def begun(pipeline, call, **options):
    with loaded(pipeline, **options) as loader:
        next(iter(loader))
        return call(loader)


def weights(loader):
    loader.set_weights({"pairs": 3, "even": 1})


def changed(d, pipeline):
    """Loads the state of a mix of other weights."""
    state = begun(mixed(d, weights={"pairs": 3, "even": 1}).batch(4), lambda loader: loader.state_dict())
    with loaded(pipeline) as loader:
        loader.load_state_dict(state, parts="changed")


# What is done with it, the kind of error, its words.
REFUSED = [
    (lambda d: begun(bucketed(mixed(d)), weights), fb.Unsupported, r"set_weights\(\) is not for .bucket\(\) yet; use .batch\(n\)"),
    (lambda d: changed(d, bucketed(mixed(d))), fb.Unsupported, 'parts="changed" is not for .bucket'),
    (lambda d: begun(d.zip("a").batch(4), weights), fb.InvalidArgument, "has no parts"),
    (lambda d: changed(d, d.zip("a").batch(4)), fb.InvalidArgument, "for pipelines with parts"),
    (lambda d: begun(d.zip("a").sample(9).batch(4), weights), fb.InvalidArgument, "has no parts"),
    (lambda d: begun(fb.concat(d.zip("a"), d.zip("b")).batch(4), lambda loader: loader.set_weights({"0": 1, "1": 2})), fb.InvalidArgument, "without weights"),
    (lambda d: begun(mixed(d).batch(4), lambda loader: loader.set_weights({"pairs": 1})), fb.InvalidArgument, "there is none for 'even'"),
    (lambda d: begun(mixed(d).batch(4), lambda loader: loader.set_weights({"pairs": {"x": 1, "y": 1}})), fb.InvalidArgument, "there is no part 'pairs/"),
    (lambda d: begun(mixed(d).batch(4), weights, restart=True), fb.InvalidArgument, "restart=True"),
    (lambda d: begun(packed(d).bucket(by="tokens", tokens=99), list), fb.InvalidArgument, "all samples of the field 'tokens' have the length 16"),
    (lambda d: fb.digest(loaded(mixed(d).batch(4).collate(list))), fb.InvalidArgument, r"\.collate\(\)"),
    (lambda d: loaded(mixed(d).batch(4), steps_per_epoch=3), fb.InvalidArgument, "steps_per_epoch= and journal= are for streams"),
    (lambda d: begun(bucketed(mixed(d)), list, shard_by="locality", hosts=1), fb.Unsupported, r"\.bucket\(\) gives each rank a batch of like lengths as a whole"),
    (lambda d: begun(fb.zip(d.numbers("a"), d.beside("b")).batch(4), list), fb.InvalidArgument, "'0' has 60 samples and '1' has 90"),
    (lambda d: begun(fb.zip(split(d.numbers("a")), d.beside("a")).batch(4), list), fb.InvalidArgument, "'0' has [1-5][0-9] samples and '1' has 60"),
    (lambda d: begun(fb.zip(split(d.numbers("a"), by="x"), d.beside("a")).batch(4), list), fb.InvalidArgument, "'0' has [1-5][0-9] samples and '1' has 60"),
    (lambda d: begun(d.zip("a").sample(61, replacement=False).batch(4), list), fb.InvalidArgument, "without replacement"),
    (lambda d: begun(mixed(d).bucket("w", tokens=0.5, samples=1).collate(lambda samples: None), list), Exception, "None"),
    (lambda d: fb.split(mixed(d), train=0.5, stratify="label"), fb.Unsupported, "Each class has the shares already"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_what_cannot_be_done_says_so(number, data):
    act, kind, words = REFUSED[number]
    with pytest.raises(kind, match=words):
        act(data)


STUDIES = [lambda p, to: fb.materialize(p, to), lambda p, to: fb.profile(p, time=1), lambda p, to: fb.diagnose(p, budget=0.1),
           lambda p, to: fb.simulate(p, hosts=2)]  # fmt: skip


@pytest.mark.parametrize("study", range(len(STUDIES)))
@pytest.mark.parametrize("name", CASES)
def test_studies_work_or_say_what_they_are_not_for(name, study, data, tmp_path, monkeypatch):
    monkeypatch.setattr(_trying, "pace", 0.02)
    pipeline = CASES[name].make(data)
    try:
        STUDIES[study](pipeline if study == 0 else pipeline.batch(4), str(tmp_path / "made"))
    except (fb.Unsupported, fb.InvalidArgument) as error:
        assert any(words in str(error) for words in ("yet", "not for", "give sample_bytes=", "within the zip; put .shuffle() behind the zip")), error


def test_a_state_of_another_combination_names_what_differs(data):
    state = begun(mixed(data).batch(4), lambda loader: loader.state_dict())
    for other in (mixed(data, field="origin"), fb.concat(data.zip("a")), data.zip("a").sample(9), bucketed(mixed(data))):
        pipeline = other if "bucket" in str(other) else other.batch(4)
        with loaded(pipeline) as loader, pytest.raises(fb.StateMismatch):
            loader.load_state_dict(state)
