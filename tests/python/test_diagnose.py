"""fb.diagnose(): the cause is named, changes are tried, and what it gives can be run. What it says of many set-ups: bench/engine/diagnose_causes.py."""
import itertools
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from project import ROOT, write_photos

import forebay as fb
from forebay import _trying

# What is tried and told does not depend on how long each look is, and gains that are asserted here are large.
pytestmark = pytest.mark.usefixtures("short_looks")


@pytest.fixture
def usual_looks(monkeypatch):
    """For what depends on which of several is the fastest, or on what a look sees meanwhile."""
    monkeypatch.setattr(_trying, "pace", 1.0)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("diagnose") / "photos")


def pictures(root):
    return fb.images(str(root)).shuffle().decode_image().resize((48, 48))


def wait_a_little(sample):
    time.sleep(0.02)
    return sample


SLOW = {"imitate_latency_ms": 5}

# cause: (steps, trainer in ms, options of the loader); nothing is tried, so these take no long time
CAUSES = {
    "trainer": (lambda p: p.batch(4), 60, {}),
    "storage": (lambda p: p.batch(4), None, {"storage_options": SLOW, "requests": 1}),
    "compute": (lambda p: p.resize((1024, 1024)).batch(4), None, {"threads": 1}),
    "user_code": (lambda p: p.map(wait_a_little).batch(4), None, {}),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_the_cause_is_named(photos, cause):
    steps, step, options = CAUSES[cause]
    found = fb.diagnose(steps(pictures(photos)), step, budget=0, **options)
    # A slot that is waited for is a read that is waited for, too: which is longer depends on the moment. Other programs may take the cores.
    right = {"storage": {"storage", "requests"}, "compute": {"compute", "cores"}}.get(cause, {cause})
    assert found.limit in right, str(found)
    assert (found.wait_share < 0.05) == (cause == "trainer")
    assert found.remedies == () and found.next_limit is None


def compute_in_python(sample):
    total = 0
    for number in range(20_000):
        total += number
    return {**sample, "total": total}


def test_processes_are_tried_for_a_function_and_the_remedy_can_be_run():
    records = fb.arrays(x=np.arange(4000)).map(compute_in_python).batch(8)
    found = fb.diagnose(records, budget=20)
    assert found.limit in ("user_code", "cores"), str(found)
    if found.limit == "cores":
        pytest.skip("other programs have the cores")
    change = 'workers="processes" for your functions'
    assert any(change in told for told in [*found.others, *(remedy.change for remedy in found.remedies)]), str(found)
    for remedy in found.remedies:
        if remedy.change == change:
            assert [type(function).__name__ for function in remedy.pipeline._functions.values()] == ["InProcesses"]
            with fb.Loader(remedy.pipeline, **remedy.options) as changed, fb.Loader(records) as as_it_is:
                assert fb.digest(changed) == fb.digest(as_it_is)


def test_functions_in_processes_are_not_tried_there_again():
    records = fb.arrays(x=np.arange(400)).map(compute_in_python, workers="processes").batch(8)
    found = fb.diagnose(records, budget=20)
    assert not any("processes" in told for told in [*found.others, *(remedy.change for remedy in found.remedies)]), str(found)


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="the kernel does not say how long threads wait for a core")
def test_cores_that_others_have_are_named(photos):
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4 * len(os.sched_getaffinity(0)))]
    try:
        found = fb.diagnose(pictures(photos).batch(4), budget=0, threads=1)
    finally:
        for other in others:
            other.kill()
            other.wait()
    assert found.limit == "cores", str(found)
    assert "had a core for" in str(found) and any("more cores" in other for other in found.others)


def test_a_trainer_that_is_the_limit_is_left_in_peace(photos):
    found = fb.diagnose(pictures(photos).batch(4), 60.0)
    assert found.limit == "trainer" and not found.remedies and not found.others
    assert 0.5 < found.trainer_samples_per_second / (4 / 0.06) <= 1
    assert "To change: nothing" in str(found)


def twice(sample):
    return {"twice": 2 * sample["label"]}


@pytest.fixture(scope="module")
def slow_pipeline(photos):
    return pictures(photos).map(twice, fields="label").random_flip().batch(4)


@pytest.fixture(scope="module")
def behind_latency(slow_pipeline):
    return fb.diagnose(slow_pipeline, requests=2, threads=1, storage_options=SLOW)


def test_changes_are_tried_and_ranked(behind_latency):
    remedies = {remedy.change: remedy for remedy in behind_latency.remedies}
    assert {'requests="auto"', "put .cache() behind resize", "put .cache() behind images"} <= remedies.keys(), str(behind_latency)
    assert list(behind_latency.remedies) == sorted(behind_latency.remedies, key=lambda remedy: -remedy.gain)
    for remedy in behind_latency.remedies:
        assert 1.05 <= remedy.gain and remedy.gain_low <= remedy.gain <= remedy.gain_high
    assert remedies["put .cache() behind resize"].gain > 3  # at most 400 samples a second without it
    assert remedies["put .cache() behind resize"].cache_bytes == pytest.approx(21 * 48 * 48 * 3, rel=0.2)
    assert remedies['requests="auto"'].options == {"threads": 1, "requests": "auto", "memory": "auto"}


def test_what_is_said_is_what_is_given(behind_latency):
    text = str(behind_latency)
    for number, remedy in enumerate(behind_latency.remedies, 1):
        assert f"{number}. {remedy.gain:.2f} times as fast ({remedy.gain_low:.2f} to {remedy.gain_high:.2f}): {remedy.change}" in text
    assert "The limit is storage" in text or "The limit is requests=2" in text
    assert f"With the first of these the next limit is {behind_latency.data['next_limiter']['sentence']}" in text


def test_its_json_is_documented(behind_latency):
    page = (ROOT / "docs" / "reference" / "diagnosis.md").read_text()
    keys = set(re.findall(r"^\| `(\w+)`", page, re.M))
    told = set(behind_latency.data) | set(behind_latency.data["limiter"]) | set(behind_latency.data["remedies"][0])
    assert keys == told


def test_a_changed_pipeline_gives_the_same_samples(slow_pipeline, behind_latency):
    def digest_of(one):
        with fb.Loader(one, seed=5, epochs=1) as loader:
            return fb.digest(loader)

    changed = [remedy.pipeline for remedy in behind_latency.remedies if "cache" in remedy.change]
    assert {digest_of(one) for one in changed} == {digest_of(slow_pipeline)}


def test_the_first_remedy_can_be_made_and_measured_again(slow_pipeline, tmp_path, monkeypatch):
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path / "cache"))
    found = fb.diagnose(slow_pipeline, requests=1, threads=1, budget=15, verify=True, storage_options=SLOW)
    assert found.verified_gain == found.data["verified"]["gain"] > 1.5, str(found)
    assert f"is {found.verified_gain:.2f} times as fast" in str(found)
    # Both are measured on a machine that may do other work meanwhile: told apart are only gains that have nothing to do with each other.
    assert 0.2 < found.remedies[0].gain / found.verified_gain < 5, str(found)


def test_a_cache_that_is_being_filled_is_told_from_slow_storage(photos, usual_looks):
    found = fb.diagnose(pictures(photos).cache(ram="100MB", disk=0).batch(1), budget=0, requests=1, storage_options={"imitate_latency_ms": 100})
    assert found.limit == "cache", str(found)
    assert ".cache() was being filled, at" in str(found) and "Until then it looks like" in str(found)


def test_a_cache_of_what_is_in_memory_already_is_not_one():
    pipeline = fb.arrays(x=np.zeros((64, 500_000), np.float32)).batch(4)
    found = fb.diagnose(pipeline, budget=20)
    assert found.limit != "user_code"
    assert any("put .cache() behind arrays: could not be tried" in other and "in memory already" in other for other in found.others), str(found)


def test_without_being_asked_nothing_is_verified(behind_latency):
    assert behind_latency.verified_gain is None and behind_latency.data["verified"] is None


def test_a_live_loader_knows_its_trainer(photos):
    with fb.Loader(pictures(photos).batch(2), seed=1) as loader:
        with pytest.raises(fb.InvalidArgument, match="10"):
            loader.diagnose()
        for _ in loader:
            time.sleep(0.03)
        found = loader.diagnose()
    assert found.limit == "trainer"
    assert 0.4 < found.trainer_samples_per_second / (2 / 0.03) < 1.1


def test_mistakes_are_told(photos):
    pipeline = pictures(photos).batch(4)
    with pytest.raises(TypeError, match="Pipeline"):
        fb.diagnose("photos")
    for step in (-1, "fast", float("nan")):
        with pytest.raises(fb.InvalidArgument, match="step"):
            fb.diagnose(pipeline, step)
    with pytest.raises(fb.InvalidArgument, match="threads"):
        fb.diagnose(pipeline, threads=0)
    with pytest.raises(TypeError, match="colour"):
        fb.diagnose(pipeline, colour="red")
    with pytest.raises(fb.NotFound):
        fb.diagnose(fb.images("/no/such/folder").decode_image().resize((8, 8)).batch(4))


def test_an_exception_of_the_users_ends_it(photos):
    def broken(sample):
        raise ValueError("not today")

    with pytest.raises(Exception, match="not today"):
        fb.diagnose(pictures(photos).map(broken).batch(4))

    def step():
        raise KeyError("trainer")

    with pytest.raises(KeyError, match="trainer"):
        fb.diagnose(pictures(photos).batch(4), step)


@pytest.fixture
def ctrl_c():
    """Programs in the background of a shell ignore it, and would pass that on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_ends_it(photos, ctrl_c):
    calls = itertools.count()

    def interrupts(sample):
        if next(calls) == 50:
            os.kill(os.getpid(), signal.SIGINT)
        return sample

    with pytest.raises(KeyboardInterrupt):
        fb.diagnose(pictures(photos).map(interrupts).batch(4), 10)


def test_what_is_found_of_arrays_keeps_them(tmp_path, monkeypatch, usual_looks):
    """Arrays that were copied (of another layout, or lists) are in the pipeline alone."""
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path))

    def found():
        pipeline = fb.arrays(x=np.arange(400_000, dtype=np.float64).reshape(2000, 200)[:, ::2]).map(wait_a_millisecond, version="1").batch(10)
        remedies = fb.diagnose(pipeline, budget=10).remedies
        return [remedy.pipeline for remedy in remedies] + [fb.profile(pipeline, samples=40, time=5, files=None).best.pipeline]

    pipelines = found()
    np.random.rand(5_000_000)  # whoever takes memory now may get theirs
    for pipeline in pipelines:
        with fb.Loader(pipeline) as loader:
            batch = next(iter(loader))
            np.testing.assert_array_equal(batch["x"][3], np.arange(600, 800, 2))


def wait_a_millisecond(sample):
    time.sleep(0.001)
    return {"x": sample["x"]}


def waits(sample):
    time.sleep(0.004)
    return sample


def told_by(found):
    return [*found.others, *(remedy.change for remedy in found.remedies)]


def test_more_calls_at_once_are_tried_for_a_function_that_waits():
    found = fb.diagnose(fb.arrays(x=np.arange(4000)).shuffle().map(waits).batch(16))
    assert found.limit == "user_code", str(found)
    assert sum("calls of your functions at once" in told for told in told_by(found)) == 2, str(found)
    for remedy in found.remedies:
        with fb.Loader(remedy.pipeline, epochs=1, **remedy.options) as loader:
            assert sum(len(batch) for batch in loader) == 4000


def test_more_calls_are_no_more_processes():
    found = fb.diagnose(fb.arrays(x=np.arange(400)).map(waits, workers="processes").batch(8), budget=20)
    assert not any("calls of your functions" in told for told in told_by(found)), str(found)


@pytest.mark.parametrize("version", [None, "1"])
def test_a_cache_behind_a_function_without_a_version_is_tried_in_memory(version):
    found = fb.diagnose(fb.arrays(x=np.arange(4000)).shuffle().map(waits, version=version).batch(16))
    change = "put .cache() behind map" if version else "put .cache(disk=0) behind map"
    assert any(change in told for told in told_by(found)), str(found)
    assert any('version="1"' in told for told in found.others) == (version is None), str(found)
    for remedy in found.remedies:
        assert remedy.pipeline.check() == []
        if remedy.change == change:
            with fb.Loader(remedy.pipeline, epochs=1) as changed, fb.Loader(fb.arrays(x=np.arange(4000)).shuffle().map(waits).batch(16), epochs=1) as as_it_is:
                assert fb.digest(changed) == fb.digest(as_it_is)
