"""diagnose(), profile(), simulate() and materialize() over many data sets: which part costs what, a cut for each, and pairs written together."""
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import forebay as fb

PACE = 0.2
pytestmark = pytest.mark.usefixtures("short_looks")


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Large pictures, which take long, and small ones."""
    root = tmp_path_factory.mktemp("photographs")
    draw = np.random.default_rng(1)
    for kind, side in (("large", 512), ("small", 48)):
        (root / kind / "a").mkdir(parents=True)
        for number in range(60):
            pixels = draw.integers(0, 255, (side, side + number % 2, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(root / kind / "a" / f"{number:03}.jpg")
    return root


def two_folders(root):
    large = fb.images(root / "large").shuffle().decode_image().resize((40, 40))
    small = fb.images(root / "small").decode_image().resize((40, 40))
    return fb.mix({"large": large, "small": small}, weights={"large": 1, "small": 3}).random_flip().batch(8)


def digests_of(pipeline, epochs=2):
    with fb.Loader(pipeline, seed=5, epochs=epochs) as loader:
        return [fb.digest(loader) for _ in range(epochs)]


def assert_bytes(told, samples):
    """An entry is the pixels and a header."""
    assert samples * 40 * 40 * 3 <= told <= samples * (40 * 40 * 3 + 1024)


def parts_of(pipeline):
    """How many rows of an epoch are of each part."""
    with fb.Loader(pipeline, epochs=1) as loader:
        return np.bincount([part for batch in loader for part in batch.parts[: len(batch) - batch.padding]])


@pytest.fixture(scope="module")
def diagnosis(photographs):
    return fb.diagnose(two_folders(photographs), budget=60, threads=1)


def test_the_part_that_is_the_limit_is_named(diagnosis, photographs):
    first, second = diagnosis.parts
    assert (first.name, second.name) == ("large", "small"), str(diagnosis)
    counts = parts_of(two_folders(photographs))
    assert [first.sample_share, second.sample_share] == pytest.approx((counts / counts.sum()).tolist())
    assert first.samples_per_second < second.samples_per_second
    assert first.time_share > 0.5 and first.time_share + second.time_share == pytest.approx(1)
    assert "The part 'large' costs the most" in str(diagnosis)
    assert [part["name"] for part in diagnosis.data["parts"]] == ["large", "small"]


def test_a_cache_in_the_costly_part_gains_and_its_pipeline_runs(diagnosis, photographs, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path))
    remedies = {remedy.change: remedy for remedy in diagnosis.remedies}
    remedy = remedies.get("put .cache() behind large/resize")
    assert remedy is not None and remedy.gain > 1.3, str(diagnosis)
    assert_bytes(remedy.cache_bytes, 60)
    expected = digests_of(two_folders(photographs))
    for change, one in remedies.items():
        assert digests_of(one.pipeline) == expected, change


def test_functions_of_parts_keep_their_places(tmp_path):
    def half(sample):
        return {"x": sample["x"] / 2}

    parts = {"a": fb.arrays(x=np.arange(200.0)), "b": fb.arrays(x=np.arange(100.0)).map(half, fields="x", version="1")}
    found = fb.diagnose(fb.mix(parts).map(half, fields="x", version="2").batch(4), budget=0, threads=1)
    assert {part.name for part in found.parts} <= {"a", "b"} and not any("could not" in told for told in found.others), str(found)


def test_parts_that_follow_each_other_are_seen_both(photographs):
    """The first batches have the first part alone."""
    small, large = (fb.images(photographs / kind).decode_image().resize((40, 40)) for kind in ("small", "large"))
    found = fb.diagnose(fb.concat(small, large).batch(4), budget=0, threads=1)
    assert {part.name: part.sample_share for part in found.parts} == {"0": 0.5, "1": 0.5}
    assert found.parts[0].name == "1", str(found)


def test_the_report_shows_the_parts(diagnosis, tmp_path):
    diagnosis.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Parts, the costliest first" in page and "by itself" in page


@pytest.mark.parametrize("draw", [lambda p: p.repeat(4), lambda p: p.sample(100), lambda p: p.balance(by="label")])
def test_repeats_and_draws_are_studied(photographs, draw):
    pipeline = draw(fb.images(photographs / "large").decode_image().resize((40, 40))).batch(8)
    found = fb.diagnose(pipeline, budget=60, threads=1)
    assert found.parts == ()
    remedies = {remedy.change: remedy for remedy in found.remedies}
    assert_bytes(remedies["put .cache() behind resize"].cache_bytes, 60)
    profiled = fb.profile(pipeline, time=10)
    told = {strategy.name: strategy for strategy in profiled.strategies}
    assert profiled.size == 60
    assert_bytes(told["cache behind resize, in memory"].bytes.value, 60)
    assert digests_of(told["cache behind resize, in memory"].pipeline) == digests_of(pipeline)


@pytest.fixture(scope="module")
def found(photographs):
    return fb.profile(two_folders(photographs), time=40)


def test_each_part_has_its_own_cut(found):
    (best, *_), unchanged = found.strategies, next(one for one in found.strategies if one.tier == "nothing")
    assert best.samples_per_second.value >= unchanged.samples_per_second.value
    assert [part.name for part in found.parts] == ["large", "small"], str(found)
    names = [strategy.name for strategy in found.strategies] + list(found.others)
    assert any("behind large/" in name for name in names), str(found)
    tried = {part["name"]: [one["name"] for one in part["strategies"]] for part in found.data["parts"]}
    assert "cache behind resize, in memory" in tried["large"] and "nothing kept" in tried["small"]
    assert any("harmonic mean" in told for told in found.others), str(found)


def test_what_a_part_takes_adds_up(found):
    tried = {part["name"]: {one["name"]: one for one in part["strategies"]} for part in found.data["parts"]}
    for strategy in found.strategies:
        if strategy.name == "cache behind large/resize, in memory":
            assert strategy.bytes.value == tried["large"]["cache behind resize, in memory"]["bytes"]["value"]


def test_each_combination_gives_what_the_original_gives(found, photographs, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path))

    expected = digests_of(two_folders(photographs))
    for strategy in found.strategies:
        assert digests_of(strategy.pipeline) == expected, strategy.name


def test_predictions_and_pages_know_the_parts(found, tmp_path):
    assert found.predict(cores=64).parts == found.parts
    found.report(tmp_path / "page.html")
    assert "Parts, the costliest first" in (tmp_path / "page.html").read_text()


def test_parts_are_simulated_with_their_own_sizes(photographs):
    found = fb.simulate(two_folders(photographs), hosts=2, ram="1GiB", link="10Gbit/s")
    sizes = {kind: np.mean([path.stat().st_size for path in (photographs / kind).rglob("*.jpg")]) for kind in ("large", "small")}
    large, small = parts_of(two_folders(photographs))
    mean = (large * sizes["large"] + small * sizes["small"]) / (large + small)
    assert found.data["options"]["sample_bytes"] == pytest.approx(mean, rel=1e-3)
    assert found.data["options"]["samples"] == large + small
    first = found.data["runs"][0]["epochs"][0]["bytes"]
    assert first["storage"] == pytest.approx(found.data["options"]["samples"] * found.data["options"]["sample_bytes"], rel=0.25)


def test_a_union_of_folders_is_as_one_folder(photographs, tmp_path):
    both = fb.concat(fb.images(photographs / "large").decode_image(), fb.images(photographs / "small").decode_image()).resize((8, 8)).batch(4)
    found = fb.simulate(both, hosts=2, ram="1GiB")
    stored = sum(path.stat().st_size for path in photographs.rglob("*.jpg"))
    assert found.data["options"]["samples"] == 120
    assert found.data["options"]["sample_bytes"] * 120 == pytest.approx(stored)
    assert found.data["runs"][0]["epochs"][-1]["bytes"]["storage"] == 0, "all is kept by the hosts"


def run(*arguments):
    program = Path(sys.executable).with_name("forebay")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_the_program_plans_parts(photographs, tmp_path):
    mix = two_folders(photographs)
    (tmp_path / "mix.json").write_text(mix.to_json())
    known = run("plan", tmp_path / "mix.json", "--part-size", "large=60", "--part-size", "small=60", "--json")
    assert known.returncode == 0, known.stderr
    assert json.loads(known.stdout) == json.loads(run("plan", tmp_path / "mix.json", "--json").stdout)
    for given, words in ((["large=60"], "there is none for the part 'small'"), (["large=60", "small=60", "smal=1"], "no part 'smal'"), (["60"], "as web=1000")):
        told = run("plan", tmp_path / "mix.json", *[word for one in given for word in ("--part-size", one)])
        assert told.returncode == 1 and words in told.stderr, told.stderr


def test_the_program_says_what_hosts_read_of_parts(photographs, tmp_path):
    cached = fb.images(photographs / "large").shuffle().cache(dir=str(tmp_path / "kept")).decode_image()
    both = fb.mix({"large": cached, "small": fb.images(photographs / "small").decode_image()}).resize((8, 8)).batch(4)
    (tmp_path / "mix.json").write_text(both.to_json())
    told = run("plan", tmp_path / "mix.json", "--hosts", 2, "--json")
    assert told.returncode == 0, told.stderr
    plan = json.loads(told.stdout)
    second = plan["second_epoch"]
    assert plan["samples"] == 120 and plan["shard_by"] == "locality"
    assert second["storage"] == 60, "that part has no cache"
    assert second["own"] + second["moved"] == 60


def test_the_program_says_where_a_filter_of_a_part_of_a_zip_belongs(photographs, tmp_path):
    large, small = (fb.images(photographs / kind).decode_image().resize((8, 8)) for kind in ("large", "small"))
    pair = fb.zip(a=large.select("image"), b=small.only(label=[0]).select("label")).batch(4)
    (tmp_path / "pair.json").write_text(pair.to_json())
    told = run("plan", tmp_path / "pair.json", "--hosts", 2)
    assert told.returncode == 1 and "--hosts is not for .only() in the part 'b' of a zip yet" in told.stderr and "put it behind the zip" in told.stderr, told.stderr


def test_the_program_says_how_tables_mix(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name in ("a", "b"):
        pq.write_table(pa.table({"x": range(4000)}), tmp_path / f"{name}.parquet", row_group_size=100)
    parts = {name: fb.parquet(str(tmp_path / f"{name}.parquet")).shuffle(block=4) for name in ("a", "b")}
    np.save(tmp_path / "rest.npy", np.arange(100))
    mix = fb.mix({**parts, "rest": fb.arrays(x=str(tmp_path / "rest.npy"))}, weights={"a": 3, "b": 1, "rest": 0.1}).batch(82)
    (tmp_path / "mix.json").write_text(mix.to_json())
    told = run("plan", tmp_path / "mix.json", "--mixing", "--json")
    assert told.returncode == 0, told.stderr
    reports = json.loads(told.stdout)["parts"]
    assert {name: report["batch"] for name, report in reports.items()} == {"a": 60, "b": 20}
    assert "a: 4000 rows in 40 chunks, batches of 60 rows" in run("plan", tmp_path / "mix.json", "--mixing").stdout


@pytest.fixture
def pairs(photographs):
    large, small = fb.images(photographs / "large"), fb.images(photographs / "small")
    return fb.zip(picture=large.decode_image().resize((16, 16)), mask=small.decode_image().resize((8, 8)).rename(image="mask").select("mask"))


@pytest.mark.parametrize("format", ["arrow", "wds"])
def test_pairs_are_written_together(pairs, tmp_path, format):
    pipeline = pairs.shuffle().random_flip(field="image").batch(7)
    made = fb.materialize(pipeline, str(tmp_path / "pairs"), cut="last", format=format)
    assert made.complete and made.samples == 60 and made.written == 60
    assert digests_of(made.pipeline) == digests_of(pipeline)
    with fb.Loader(pipeline, seed=5) as original, fb.Loader(made.pipeline, seed=5) as written:
        next(iter(original))
        written.load_state_dict(original.state_dict())
        assert written.fingerprint == original.fingerprint
    again = fb.materialize(pipeline, str(tmp_path / "pairs"), cut="last", format=format)
    assert again.written == 0 and again.samples == 60


def test_pairs_with_a_function_behind_the_cut(pairs, tmp_path):
    def brighter(sample):
        return {"image": sample["image"] + 1}

    pipeline = pairs.map(brighter, fields="image").batch(6)
    made = fb.materialize(pipeline, str(tmp_path / "pairs"), cut="zip")
    assert made.cut == "zip" and digests_of(made.pipeline) == digests_of(pipeline)


def test_pairs_whose_files_changed_are_made_anew_alone(photographs, tmp_path):
    for kind in ("large", "small"):
        shutil.copytree(photographs / kind, tmp_path / kind)
    pipeline = fb.zip(a=fb.images(tmp_path / "large").decode_image().resize((8, 8)),
                      b=fb.images(tmp_path / "small").decode_image().resize((8, 8)).rename(image="other").select("other")).batch(4)  # fmt: skip
    fb.materialize(pipeline, str(tmp_path / "made"), cut="last")
    Image.fromarray(np.zeros((50, 50, 3), np.uint8)).save(tmp_path / "small" / "a" / "007.jpg")
    with pytest.raises(fb.StateMismatch, match="has changed"):
        fb.Loader(fb.materialized(str(tmp_path / "made")).batch(4))
    updated = fb.materialize(pipeline, str(tmp_path / "made"), cut="last", update=True)
    assert updated.reused == 59, "the pair of the changed picture alone is new"
    assert digests_of(updated.pipeline) == digests_of(pipeline)


def test_an_order_within_a_zip_is_not_written(photographs, tmp_path):
    shuffled = fb.zip(a=fb.images(photographs / "large").shuffle(), b=fb.images(photographs / "small").rename(image="other").select("other"))
    with pytest.raises(fb.Unsupported, match=r"put .shuffle\(\) behind the zip"):
        fb.materialize(shuffled.batch(4), str(tmp_path / "made"), cut="last")
    assert not (tmp_path / "made").exists()


def test_draws_and_repeats_stay_behind_what_is_written(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(40.0))
    numbers = fb.arrays(x=str(tmp_path / "x.npy"))
    for number, pipeline in enumerate((numbers.repeat(2.5).batch(4), numbers.sample(13).batch(4))):
        made = fb.materialize(pipeline, str(tmp_path / f"made{number}"), cut="last")
        assert made.samples == 40 and digests_of(made.pipeline) == digests_of(pipeline)
    with pytest.raises(fb.InvalidArgument, match="step 1: repeat"):
        fb.materialize(numbers.repeat(2).rename(x="y").batch(4), str(tmp_path / "late"), cut="last")
