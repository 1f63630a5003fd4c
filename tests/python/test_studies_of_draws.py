"""diagnose(), profile() and simulate() of draws, of batches of like lengths, of noise that comes anew, and of packed blocks."""
from collections import Counter

import numpy as np
import pytest
from combining import LENGTH, SIZES, Data

import forebay as fb

SEED, HOSTS, BYTES = 3, 2, 1000

pytestmark = pytest.mark.usefixtures("short_looks")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return Data(tmp_path_factory.mktemp("studies"))


def digests_of(pipeline):
    with fb.Loader(pipeline, seed=5, epochs=2) as loader:
        return [fb.digest(loader) for _ in range(2)]


def assert_same(found, pipeline):
    """Each cache of a profile leaves the samples as they are. Files are not written by then."""
    expected = digests_of(pipeline)
    for strategy in found.strategies:
        if strategy.tier != "files":
            assert digests_of(strategy.pipeline) == expected, strategy.name


# Simulation


def doubled(sample):
    return {"size": sample["length"] * 2, "x": sample["x"]}


SIMULATED = {
    "drawn": lambda d: d.numbers("a").shuffle().sample(50).batch(4),
    "drawn by weight": lambda d: d.numbers("a").shuffle().sample(90, weights="w").batch(4),
    "drawn by what a function gives": lambda d: d.numbers("a").map(doubled, fields=("length", "x")).shuffle().sample(90, weights="size").batch(4),
    "balanced": lambda d: d.numbers("b").shuffle().balance(samples=70).batch(4),
    "by lengths": lambda d: d.numbers("b").shuffle().bucket(by="length", tokens=200),
    "by lengths, drawn": lambda d: d.numbers("b").shuffle().sample(120, weights="w").bucket(by="length", tokens=200),
    "parts by lengths": lambda d: fb.mix({"a": d.numbers("a").shuffle(), "b": d.numbers("b").shuffle().balance()}, weights={"a": 1, "b": 2}, samples=128).bucket("length", tokens=150),
    "drawn parts": lambda d: fb.mix({"a": d.numbers("a").shuffle().sample(40, weights="w"), "b": d.numbers("b").shuffle()}, weights={"a": 1, "b": 1}, samples=128).batch(4),
    "noise": lambda d: d.noisy("a").shuffle().batch(4),
    "noise in a part": lambda d: fb.mix({"noisy": d.noisy("a").shuffle(), "clean": d.both("b").rename(y="noise").shuffle()}, weights={"noisy": 3, "clean": 1}, samples=128).batch(4),
    "a table, drawn": lambda d: fb.mix({"t": d.table("a").shuffle(block=2).sample(70, weights="w")}, weights={"t": 1}, samples=70).batch(4),
}  # fmt: skip


def rows_of_ranks(pipeline, epochs):
    """For each epoch, the (host, part and id) of each row, as the ranks of a job get them."""
    epochs_of = [[] for _ in range(epochs)]
    for rank in range(HOSTS):
        with fb.Loader(pipeline, seed=SEED, rank=rank, world_size=HOSTS, epochs=epochs) as loader:
            for rows in epochs_of:
                for batch in loader:
                    count = len(batch) - batch.padding
                    parts = [0] * count if batch.parts is None else batch.parts[:count]
                    rows.append([(rank, (int(part), int(id))) for part, id in zip(parts, batch.ids[:count], strict=True)])
    return epochs_of


@pytest.mark.parametrize("name", SIMULATED)
def test_each_row_comes_from_where_the_ranks_of_a_job_have_it(name, data):
    pipeline = SIMULATED[name](data)
    found = fb.simulate(pipeline, hosts=HOSTS, ram="1GiB", sample_bytes=BYTES, spread=0, seed=SEED, epochs=2)
    first, later = ([row for batch in batches for row in batch] for batches in rows_of_ranks(pipeline, 2))
    owner = {}
    for host, sample in first:
        owner.setdefault(sample, host)
    # A sample that both hosts read in the first epoch is of the one whose step came first.
    both = {sample for sample in owner if {host for host, other in first if other == sample} == {0, 1}}
    places = Counter("storage" if sample not in owner else "either" if sample in both else "ram" if owner[sample] == host else "peers" for host, sample in later)
    run = {run["policy"]: [epoch["bytes"] for epoch in run["epochs"]] for run in found.data["runs"]}
    assert found.data["options"]["samples"] == len(first) == len(later)
    assert run["count"][0] == {"ram": 0, "disk": 0, "peers": 0, "storage": len(first) * BYTES}
    assert run["count"][1]["storage"] == places["storage"] * BYTES
    for place in ("ram", "peers"):
        assert places[place] * BYTES <= run["count"][1][place] <= (places[place] + places["either"]) * BYTES
    assert sum(run["count"][1].values()) == len(later) * BYTES
    if "lengths" in name:
        assert run["local"] == run["count"], "batches stay whole"


def test_noise_that_comes_anew_leaves_little_to_keep(data):
    clean = fb.simulate(data.numbers("a").shuffle().batch(4), hosts=HOSTS, ram="1GiB", sample_bytes=BYTES)
    noisy = fb.simulate(data.noisy("a").shuffle().batch(4), hosts=HOSTS, ram="1GiB", sample_bytes=BYTES)
    storage = [found.data["runs"][0]["epochs"][-1]["bytes"]["storage"] for found in (clean, noisy)]
    assert storage[0] == 0 and storage[1] > 0.8 * SIZES["a"] * BYTES


def test_batches_by_lengths_have_rows_on_average(data):
    pipeline = SIMULATED["by lengths"](data)
    with fb.Loader(pipeline, seed=SEED, epochs=1) as loader:
        sizes = [len(batch) for batch in loader]
    found = fb.simulate(pipeline, hosts=HOSTS, sample_bytes=BYTES, seed=SEED)
    assert found.data["options"]["batch_size"] == sum(sizes) // len(sizes)
    assert not any("batch" in change for change, _ in found.changes)


def test_sizes_are_those_of_the_samples_that_come(data):
    chosen = data.photos().shuffle().sample(3, replacement=False).random_crop(24).batch(2)
    with fb.Loader(chosen, seed=SEED, epochs=3) as loader:
        ids = {int(id) for _ in range(3) for batch in loader for id in batch.ids[: len(batch) - batch.padding]}
    files = sorted((data.folder / "photos").rglob("*.png"))
    sizes = [files[id].stat().st_size for id in ids]
    assert fb.simulate(chosen, hosts=HOSTS, seed=SEED).data["options"]["sample_bytes"] == pytest.approx(np.mean(sizes))


@pytest.mark.parametrize("name, options, words", [
    ("by lengths", {"batch_size": 4}, "batch_size= is not for .bucket()"),
    ("by lengths", {"samples": 10, "sample_bytes": 10}, "give batch_size="),
    ("drawn", {"samples": 10, "sample_bytes": None}, "samples= is the number of one data set"),
    ("drawn", {"epochs": 1}, "epochs is 1"),
])  # fmt: skip
def test_options_that_contradict_the_pipeline_are_refused(name, options, words, data):
    with pytest.raises(fb.InvalidArgument, match=words.replace("(", r"\(").replace(")", r"\)")):
        fb.simulate(SIMULATED[name](data), hosts=HOSTS, **({"sample_bytes": BYTES} | options))


# Noise


def slow(sample):
    return {**sample, "long": np.cumsum(np.full(2000, float(sample["x"])))}


def noisy(data):
    return data.noisy("a").map(slow, version="1")


ANEW = "each pass joins other samples of 'noise'"


@pytest.mark.parametrize("cached", [False, True])
def test_noise_is_studied_and_nothing_behind_it_is_kept(cached, data):
    pipeline = (noisy(data).cache(ram="8MiB", disk=0) if cached else noisy(data)).shuffle().batch(4)
    diagnosis = fb.diagnose(pipeline, budget=5, threads=1)
    assert diagnosis.samples_per_second > 0 and any(ANEW in told for told in diagnosis.others), str(diagnosis)
    assert not any("cache" in remedy.change for remedy in diagnosis.remedies)
    found = fb.profile(pipeline, time=3)
    assert [strategy.tier for strategy in found.strategies] == ["nothing"] and found.size == SIZES["a"]
    assert any(ANEW in told for told in found.others) and not any("could not" in told for told in found.others), str(found)
    assert digests_of(found.best.pipeline) == digests_of(noisy(data).shuffle().batch(4))


def test_a_part_without_noise_is_kept_beside_one_with_it(data):
    clean = data.both("b").rename(y="noise").map(slow, version="1").shuffle()
    pipeline = fb.mix({"noisy": noisy(data).shuffle(), "clean": clean}, weights={"noisy": 1, "clean": 1}, samples=128).batch(4)
    found = fb.profile(pipeline, time=12)
    tried = {part["name"]: {one["tier"] for one in part["strategies"]} for part in found.data["parts"]}
    assert tried["noisy"] == {"nothing"} and "memory" in tried["clean"], str(found)
    assert any("behind clean/" in strategy.name for strategy in found.strategies), str(found)
    assert any(ANEW in told for told in found.others)
    assert_same(found, pipeline)
    diagnosis = fb.diagnose(pipeline, budget=10, threads=1)
    assert {part.name for part in diagnosis.parts} == {"noisy", "clean"}
    assert not any("could not" in told and "in memory already" not in told for told in diagnosis.others), str(diagnosis)
    assert not any("noisy/" in remedy.change for remedy in diagnosis.remedies)


# Packed blocks


def marked(sample):
    return {"tokens": sample["tokens"], "mark": np.full(len(sample["tokens"]), 7, np.int64)}


def documents(data, name, length):
    return data.tokens(name).map(marked, version="1").shuffle().pack({"tokens": length, "mark": length})


@pytest.fixture(scope="module")
def unpacked(data):
    """Bytes of a cache of all rows."""
    found = fb.profile(data.tokens("b").map(marked, version="1").shuffle().batch(4), time=10)
    return next(strategy for strategy in found.strategies if strategy.name == "cache behind map, in memory").bytes.value


@pytest.mark.parametrize("length", [LENGTH // 4, 6 * LENGTH])  # several blocks a row, several rows a block
def test_packs_are_studied_over_a_part_of_their_rows(length, data, unpacked):
    pipeline = documents(data, "b", length).batch(2)
    with fb.Loader(pipeline) as loader:
        blocks = loader.size
    found = fb.profile(pipeline, time=10, samples=max(blocks // 2, 4))
    assert found.size == blocks and found.samples == max(blocks // 2, 4)
    kept = {strategy.name: strategy for strategy in found.strategies}
    assert "cache behind map, in memory" in kept, str(found)
    assert kept["cache behind map, in memory"].bytes.value == pytest.approx(unpacked, rel=0.15)
    assert not any("could not" in told for told in found.others), str(found)
    assert_same(found, pipeline)


def test_a_cache_in_front_of_a_pack_is_a_remedy(data, unpacked):
    pipeline = documents(data, "b", 6 * LENGTH).batch(2)
    found = fb.diagnose(pipeline, budget=60, threads=1)
    told = {remedy.change: remedy for remedy in found.remedies}
    tried = [*told, *found.others]
    assert any("put .cache() behind map" in one for one in tried) and not any("could not" in one for one in tried), str(found)
    for change, remedy in told.items():
        assert digests_of(remedy.pipeline) == digests_of(pipeline), change
        if change == "put .cache() behind map":
            assert remedy.cache_bytes == pytest.approx(unpacked, rel=0.15)


def test_packed_parts_of_a_mix_are_studied(data):
    parts = {name: documents(data, name, LENGTH) for name in ("a", "b")}
    pipeline = fb.mix(parts, weights={"a": 1, "b": 3}, samples=1024).batch(8)
    found = fb.profile(pipeline, time=15)
    assert {part["name"] for part in found.data["parts"]} == {"a", "b"}
    assert not any("could not" in told for told in found.others), str(found)
    diagnosis = fb.diagnose(pipeline, budget=5, threads=1)
    assert {part.name: part.sample_share for part in diagnosis.parts} == pytest.approx({"a": 0.25, "b": 0.75}, abs=0.02)
    assert_same(found, pipeline)


# A zip whose parts choose.


def is_large(sample):
    return len(sample["bytes"]) > 5000


def test_a_zip_is_simulated_with_the_pairs_that_its_parts_choose(tmp_path):
    """Files of two sizes: the pairs of those that a filter keeps, and of those that come twice."""
    for i in range(40):
        (tmp_path / f"{i:02}.bin").write_bytes(bytes(1000 if i % 2 else 9000))
    files = fb.files(str(tmp_path / "*.bin"))
    large = fb.zip(files.filter(is_large, fields=["bytes"]), n=fb.arrays(n=np.arange(20)))
    twice = fb.zip(fb.arrays(n=np.arange(80)), files.repeat(2))
    for pipeline, samples, mean in ((large, 20, 9000), (twice, 80, 5000)):
        found = fb.simulate(pipeline.shuffle().batch(4), hosts=2, epochs=2)
        assert found.data["options"]["samples"] == samples
        assert found.data["options"]["sample_bytes"] == pytest.approx(mean, rel=0.01)


def test_a_zip_whose_parts_choose_is_profiled(data):
    kept = data.numbers("a").filter(lambda sample: sample["x"] % 2 == 0, fields=["x"])
    pair = fb.zip(x=kept, y=data.beside("a"), end="first").map(slow, version="1").shuffle().batch(4)
    assert_same(fb.profile(pair, time=3), pair)
