"""profile(): which steps to run once and keep. Speeds are not judged here, but what must hold whatever they are."""

import inspect
import json
import os
import pathlib
import re
import time

import numpy as np
import pytest
from PIL import Image

import forebay as fb

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def photographs(tmp_path_factory):
    """Two classes, the second of larger pictures."""
    root = tmp_path_factory.mktemp("photographs")
    draw = np.random.default_rng(1)
    for number in range(120):
        folder = root / ("a" if number < 60 else "b")
        folder.mkdir(exist_ok=True)
        side = 64 if number < 60 else 192
        Image.fromarray(draw.integers(0, 255, (side, side, 3), dtype=np.uint8)).save(folder / f"{number:03}.jpg")
    return root


@pytest.fixture(scope="module")
def found(photographs):
    pipeline = fb.images(photographs).shuffle().decode_image().resize((48, 48)).random_flip().batch(8)
    return fb.profile(pipeline, samples=60, time=30)


def test_every_legal_cut_is_tried_in_every_tier_or_told(found):
    names = [strategy.name for strategy in found.strategies] + list(found.others)
    for step in ("images", "decode_image", "resize"):
        for kind in ("in memory", "on disk", "on disk, lz4", "on disk, zstd"):
            assert any(name.startswith(f"cache behind {step}, {kind}") for name in names), (step, kind)
        assert any(name.startswith(f"files behind {step}") for name in names), step
    assert not any("random_flip" in name for name in names), "what is drawn anew each epoch cannot be kept"


def test_bytes_are_those_of_the_whole_data_set(found, photographs):
    """Stored bytes of both classes: an estimate from the first class alone would be a seventh of it."""
    stored = sum(file.stat().st_size for file in photographs.rglob("*.jpg"))
    told = {strategy.name: strategy.bytes for strategy in found.strategies}
    assert told["cache behind images, in memory"].value == pytest.approx(stored, rel=0.15)
    pixels = 120 * 48 * 48 * 3
    assert pixels <= told["cache behind resize, in memory"].value <= pixels + 120 * 1024, "an entry has a header"
    assert pixels <= told["files behind resize"].value <= pixels + 120 * 1024
    assert told["nothing kept"].value == 0
    for name, estimate in told.items():
        assert estimate.low is None or estimate.low <= estimate.value <= estimate.high, name


def test_the_best_pipeline_gives_what_the_original_gives(found, photographs, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path))
    plain = fb.images(photographs).shuffle().decode_image().resize((48, 48)).random_flip().batch(8)

    def digests(pipeline):
        with fb.Loader(pipeline, seed=3, epochs=2) as loader:
            return [fb.digest(loader) for _ in range(2)]

    monkeypatch.chdir(tmp_path)
    expected = digests(plain)
    for strategy in found.strategies:
        if strategy.tier == "files":
            cut = strategy.name.split()[-1]
            assert strategy.command == f"forebay materialize PIPELINE.json materialized/{cut} --cut {cut}"
            with pytest.raises(fb.NotFound, match=f"materialized/{cut}"):
                fb.Loader(strategy.pipeline)
            made = fb.materialize(plain, f"materialized/{cut}", cut=cut)
            assert made.bytes == pytest.approx(strategy.bytes.value, rel=0.2)
        else:
            assert strategy.command is None
        assert digests(strategy.pipeline) == expected, strategy.name


def test_files_can_be_left_out_and_put_elsewhere(photographs):
    pipeline = fb.images(photographs).batch(8)
    without = fb.profile(pipeline, samples=16, time=8, files=None)
    assert not any("files" in name for name in [one.name for one in without.strategies] + list(without.others))
    found = fb.profile(pipeline, samples=16, time=20, files="s3://bucket/made")
    answers = [one.pipeline.to_json() for one in found.strategies if one.tier == "files"]
    assert answers and all("s3://bucket/made" in answer for answer in answers)


def test_functions_are_run_for_files_too(photographs, tmp_path, monkeypatch):
    """What is tried is what materialize() writes: the function runs in it, and behind it not again."""
    monkeypatch.chdir(tmp_path)
    pipeline = fb.images(photographs).decode_image().resize((8, 8)).map(lambda sample: {"image": sample["image"] // 2}).random_flip().batch(8)
    found = fb.profile(pipeline, samples=16, time=30)
    strategy = next(one for one in found.strategies if one.tier == "files" and one.name.endswith("map"))
    fb.materialize(pipeline, "materialized/map", cut="map")
    with fb.Loader(strategy.pipeline, epochs=1, seed=4) as loader, fb.Loader(pipeline, epochs=1, seed=4) as original:
        assert fb.digest(loader) == fb.digest(original)


def test_the_first_has_the_best_score_and_figures_have_intervals(found):
    scores = [strategy.score for strategy in found.strategies]
    assert max(scores) - scores[0] <= 0.03
    assert found.best is found.strategies[0]
    assert any(strategy.pareto for strategy in found.strategies)
    for strategy in found.strategies:
        speed = strategy.samples_per_second
        assert speed.low <= speed.value <= speed.high


def test_text_and_json_and_page_say_the_same(found, tmp_path):
    page = tmp_path / "found.html"
    text = found.report(page)
    html = page.read_text()
    for strategy in found.strategies:
        assert strategy.name in text and strategy.name in html
    assert text.startswith(("Best: ", "Keep nothing"))
    assert json.loads(json.dumps(found.data))["samples"] == found.samples == 60


def test_the_keys_of_the_json_are_documented(found):
    keys = set()

    def gather(value):
        if isinstance(value, dict):
            keys.update(value)
            for name, inner in value.items():
                if name not in ("pipeline", "weights"):
                    gather(inner)
        elif isinstance(value, list):
            for inner in value:
                gather(inner)

    gather(found.data)
    table = (ROOT / "docs/reference/profile.md").read_text().split("## The JSON")[1]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.M)) == keys


def test_what_cannot_be_opened_is_told_and_the_rest_goes_on(photographs, monkeypatch):
    from forebay import _trying

    opens, opened = _trying.Opener.__call__, []

    def refuses(self, *given):
        if opened:
            raise fb.OutOfBudget("there is no room today")
        opened.append(opens(self, *given))
        return opened[0]

    monkeypatch.setattr(_trying.Opener, "__call__", refuses)
    found = fb.profile(fb.images(photographs).batch(8), samples=16, time=10)
    assert [one.name for one in found.strategies] == ["nothing kept"]
    told = [other for other in found.others if "could not be tried: there is no room today" in other]
    assert len(told) == 5, found.others


def test_functions_run_and_without_a_version_are_not_kept_on_disk(photographs):
    pipeline = fb.images(photographs).decode_image().resize((8, 8)).map(lambda sample: sample).batch(8)
    found = fb.profile(pipeline, samples=16, time=20, files=None)
    names = [strategy.name for strategy in found.strategies] + list(found.others)
    assert any("behind map, in memory" in name or "<lambda>, in memory" in name for name in names), names
    assert not any("behind map, on disk" in name for name in names)
    assert any("a cache on disk behind map" in other and 'version="1"' in other for other in found.others), found.others
    with fb.Loader(found.best.pipeline, epochs=1) as loader:
        assert sum(len(batch) for batch in loader) == 120


def test_nothing_stays_in_the_temporary_folder_and_the_users_cache_is_not_touched(photographs, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "scratch").mkdir()
    fb.profile(fb.images(photographs).decode_image().resize((8, 8)).batch(8), samples=16, time=10)
    assert os.listdir(tmp_path / "scratch") == []
    assert not (tmp_path / "cache").exists()


def test_a_table_is_tried_over_few_of_its_row_groups(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": np.arange(20_000, dtype=np.float32)}), tmp_path / "t.parquet", row_group_size=1000)
    found = fb.profile(fb.parquet(tmp_path).shuffle().batch(64), samples=1500, time=10)
    assert found.size == 20_000 and found.samples == 1500
    for one in found.strategies:
        # Whole row groups are kept, and there are twenty of them.
        if one.tier in ("memory", "disk") and one.compression is None:
            assert one.bytes.value == pytest.approx(20_000 * 4, rel=0.3), one.name
    files = [one for one in found.strategies if one.tier == "files"]
    assert files and files[0].bytes.value == pytest.approx(20_000 * 12, rel=0.2), "a float and the id of each row"
    found = fb.profile(fb.parquet(tmp_path).shuffle().batch(64), samples=1500, time=5, files=None)
    with fb.Loader(found.best.pipeline, epochs=1) as loader:
        assert sorted(np.concatenate([batch.ids for batch in loader])) == list(range(20_000))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"time": "soon"}, "time is 'soon'"),
        ({"time": -1}, "time is -1"),
        ({"time": "5 weeks"}, "time is '5 weeks'"),
        ({"weights": "speed"}, "weights is 'speed'"),
        ({"weights": (0, 0, 0)}, "three numbers"),
        ({"weights": {"speed": 1}}, "'speed'"),
        ({"samples": 0}, "samples"),
    ],
)
def test_wrong_arguments_are_told(photographs, given, message):
    with pytest.raises(fb.InvalidArgument, match=re.escape(message)):
        fb.profile(fb.images(photographs).decode_image().resize(8).batch(8), **given)


def test_another_host_is_predicted_from_what_was_counted(found):
    """Sixteen cores make no strategy slower, and a store of a kilobyte a second stops all that read it, and only these."""
    here = {one.name: one for one in found.strategies}
    cores = {one.name: one for one in found.predict(cores=64).strategies}
    assert cores.keys() == here.keys()
    for name, one in cores.items():
        assert one.samples_per_second.value >= 0.99 * here[name].samples_per_second.value, name
        assert one.bytes == here[name].bytes
    far = found.predict(latency="20ms", bandwidth="1KB")
    assert "a store that answers after 20 ms" in str(far) and far.data["predicted_for"] and found.data["predicted_for"] is None
    rates = {one.name: one.samples_per_second.value for one in far.strategies}
    assert rates["nothing kept"] < 10 < rates["cache behind resize, in memory"]
    assert far.best.tier != "nothing"


@pytest.mark.parametrize("given, message", [
    ({"cores": 0}, "cores is 0"), ({"latency": 0}, "latency"), ({"latency": "soon"}, "latency is 'soon'"), ({"bandwidth": "much"}, "bandwidth is 'much'")])
def test_a_host_that_there_cannot_be_is_told(found, given, message):
    with pytest.raises(fb.InvalidArgument, match=re.escape(message)):
        found.predict(**given)


def test_times_are_read_with_their_units():
    from forebay.profiling import _duration

    assert [_duration(given) for given in ("60s", "1.5min", "500 ms", "1h", 7, "7")] == [60, 90, 0.5, 3600, 7, 7]


def test_ctrl_c_ends_it(photographs):
    """Its trials look for signals; one that never did would make a user wait for a minute."""
    import signal
    import threading

    pipeline = fb.images(photographs).decode_image().resize((8, 8)).batch(8)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started this with the signal ignored
    timer.start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(100):
                fb.profile(pipeline, samples=60, time=60)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 60


def test_the_signature_is_readable():
    parameters = inspect.signature(fb.profile).parameters
    assert list(parameters) == ["pipeline", "samples", "time", "weights", "files", "options"]
