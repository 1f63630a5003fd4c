"""What is left to the engine follows the run: `loader.tuning()` says what was decided, when and why; content never changes."""
import os
import sys
import time

import numpy as np
import pytest

import forebay as fb
from loading import one_epoch, script
from project import ROOT
from tuned import numbers, until_tuned

sys.path.append(str(ROOT / "bench"))


def test_nothing_was_decided_before_there_was_a_batch():
    with fb.Loader(numbers()) as loader:
        assert loader.tuning() == []
        assert loader.stats()["tuning"] == []


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one core alone cannot be taken away")
def test_threads_follow_the_cores_of_the_process_there_and_back():
    outcome = script(f"""
        import os, sys, time
        sys.path.insert(0, {os.path.dirname(__file__)!r})
        import forebay as fb
        from tuned import numbers, until_tuned

        def allow(cores):
            for thread in os.listdir("/proc/self/task"):
                os.sched_setaffinity(int(thread), cores)

        every = os.sched_getaffinity(0)
        with fb.Loader(numbers(), seed=3) as loader, fb.Loader(numbers(), seed=3, threads=2) as told:
            next(iter(loader)), next(iter(told))
            allow({{min(every)}})
            [fewer] = until_tuned(loader, "threads")
            assert loader.stats()["threads"] == 1, loader.stats()["threads"]
            assert (fewer["from"], fewer["to"]) == (len(every), 1), fewer
            assert "1 core now" in fewer["reason"], fewer
            allow(every)
            while len(decisions := until_tuned(loader, "threads")) < 2:
                pass
            assert decisions[1]["to"] == len(every), decisions
            assert 0 < decisions[0]["seconds"] < decisions[1]["seconds"] <= loader.stats()["elapsed_seconds"], decisions
            for _ in range(3):
                next(iter(told))
            assert told.tuning() == [] and told.stats()["threads"] == 2
            loader.set_epoch(0)
            print(fb.digest(loader))
    """)
    assert outcome.code == 0, outcome.err
    assert outcome.out.strip() == one_epoch(numbers(), seed=3)


def test_threads_of_functions_that_wait_are_told():
    def slow(sample):
        time.sleep(0.05)
        return sample

    with fb.Loader(fb.arrays(x=np.arange(256)).map(slow).batch(32)) as loader:
        decisions = until_tuned(loader, "user_threads")
        assert decisions and decisions[0]["to"] > decisions[0]["from"]
        assert "wait for something outside" in decisions[0]["reason"]
        assert decisions == sorted(decisions, key=lambda each: each["seconds"])


def test_requests_that_a_store_serves_are_told(tmp_path):
    for i in range(512):
        (tmp_path / f"{i:04}.bin").write_bytes(bytes([i % 251]) * 1000)
    pipeline = fb.files(f"{tmp_path}/*.bin").batch(32)
    link = {"imitate_latency_ms": 20}
    with fb.Loader(pipeline, storage_options=link) as loader, fb.Loader(pipeline, storage_options=link, requests=4) as told:
        decisions = until_tuned(loader, "requests")
        assert decisions and decisions[0]["to"] > decisions[0]["from"]
        assert "at once" in decisions[0]["reason"]
        next(iter(told))
        time.sleep(1.1)
        next(iter(told))
        assert told.tuning() == []


def test_threads_follow_a_quota():
    from harness.quota import Quota

    if len(os.sched_getaffinity(0)) < 2 or not Quota.possible():
        pytest.skip("takes two cores and the right to make a control group")
    with Quota(2) as quota:
        outcome = script(f"""
            import os, sys
            sys.path[:0] = {[os.path.dirname(__file__), str(ROOT / "bench")]!r}
            import forebay as fb
            from harness.quota import Quota
            from tuned import numbers, until_tuned

            quota = Quota.of_group({quota.group!r})
            quota.add_this_process()
            with fb.Loader(numbers(), seed=3) as loader:
                next(iter(loader))
                assert loader.stats()["threads"] == 2, loader.stats()["threads"]
                quota.set(0.5)
                [fewer] = until_tuned(loader, "threads")
                assert (fewer["from"], fewer["to"]) == (2, 1), fewer
                quota.set(1.5)
                while len(decisions := until_tuned(loader, "threads")) < 2:
                    pass
                assert decisions[1]["to"] == 2, decisions
                loader.set_epoch(0)
                print(fb.digest(loader))
        """)
    assert outcome.code == 0, outcome.err
    assert outcome.out.strip() == one_epoch(numbers(), seed=3)
