"""`fb.engine()` and budgets of caches that find themselves."""
import os
import subprocess
import sys

import numpy as np
import pytest

import forebay as fb


def in_a_process_of_its_own(program):
    done = subprocess.run([sys.executable, "-c", f"import numpy as np, forebay as fb\n{program}"], capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


PIPELINE = "fb.arrays(x=np.arange(100)).batch(10)"


def test_the_engine_has_the_threads_and_memory_that_were_said_before_its_first_loader():
    program = f"""
fb.engine(threads=1, memory="64MiB")
with fb.Loader({PIPELINE}) as loader:
    list(loader)
    stats = loader.stats()
    print(stats["threads"], stats["memory_bytes"]["budget"] <= 64 << 20)
"""
    assert in_a_process_of_its_own(program) == ["1", "True"]


def test_while_a_loader_is_open_the_engine_stays_as_it_is():
    with fb.Loader(fb.arrays(x=np.arange(10)).batch(2)):
        with pytest.raises(fb.InvalidArgument, match="before the first loader"):
            fb.engine(threads=1)


def test_no_loader_gets_more_than_the_engine_has():
    program = f"""
fb.engine(threads=1, memory="64MiB")
for given in ({{"threads": 2}}, {{"memory": "65MiB"}}):
    try:
        fb.Loader({PIPELINE}, **given)
    except fb.InvalidArgument as error:
        print("engine" in str(error))
"""
    assert in_a_process_of_its_own(program) == ["True", "True"]


@pytest.mark.parametrize("given", [{"threads": 0}, {"threads": 100_000}, {"threads": "many"}, {"memory": 5}, {"memory": "much"}, {"memory": -1}])
def test_limits_that_make_no_sense_are_refused(given):
    with pytest.raises(fb.InvalidArgument):
        fb.engine(**given)


def doubled(sample):
    return {"x": sample["x"] * 2}


def made():
    return fb.arrays(x=np.arange(100)).map(doubled, fields="x", version="1")


def budgets(tmp_path, pipeline=None, **options):
    pipeline = pipeline or made().cache(dir=tmp_path).batch(10)
    with fb.Loader(pipeline, **options) as loader:
        list(loader)
        [cache] = loader.stats()["caches"]
        return cache["ram"]["budget_bytes"], cache["disk"]["budget_bytes"]


def test_budgets_of_a_cache_are_parts_of_what_the_machine_has(tmp_path):
    ram, disk = budgets(tmp_path)
    free = os.statvfs(tmp_path)
    assert 0 < ram <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 4
    assert 0 < disk <= 0.6 * free.f_bavail * free.f_frsize
    assert budgets(tmp_path, memory="64MiB")[0] <= 32 << 20, "half of what the loader was given"


def test_auto_is_said_in_every_face(tmp_path):
    auto = made().cache(ram="auto", disk="auto", dir=str(tmp_path), peers="auto").batch(10)
    assert auto.check() == []
    assert budgets(tmp_path, made().cache("auto", 0, dir=tmp_path).batch(10))[1] == 0
    [problem] = made().cache(peers="everybody").batch(10).check()
    assert "peers" in problem.message and "none" in problem.remedy


def test_ranks_on_one_machine_share_its_memory(tmp_path, monkeypatch):
    alone = budgets(tmp_path / "a")[0]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "0")
    assert budgets(tmp_path / "b")[0] == alone // 4
