"""Closing again, in `__del__`, at exit and in the child of a fork: nothing is waited for or told twice."""
import gc
import threading
import warnings

import numpy as np
import pytest
from loading import script

import forebay as fb
from forebay import _pool


@pytest.fixture
def never_returns(monkeypatch):
    """A function that is stuck until the test is over."""
    monkeypatch.setattr(_pool, "STUCK_AFTER_S", 0.2)
    inside, over = threading.Event(), threading.Event()

    def function(sample):
        inside.set()
        over.wait()
        return sample

    function.inside = inside
    yield function
    over.set()


def stuck_loader(function):
    loader = fb.Loader(fb.arrays(x=np.arange(8)).map(function).batch(2), threads=1)
    threading.Thread(target=lambda: pytest.raises(fb.Cancelled, next, iter(loader)), daemon=True).start()
    assert function.inside.wait(30)
    return loader


def test_what_is_stuck_is_waited_for_and_told_once(never_returns, monkeypatch):
    loader = stuck_loader(never_returns)
    with pytest.warns(RuntimeWarning, match="left running") as told:
        loader.close()
    assert len(told) == 1
    joined = []
    monkeypatch.setattr(threading.Thread, "join", lambda self, timeout=None: joined.append(self))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loader.close()
        with loader:
            pass
        loader.__del__()
    assert joined == [] and loader.closed


def test_a_loader_that_is_dropped_after_closing_says_no_more(never_returns):
    loader = stuck_loader(never_returns)
    with pytest.warns(RuntimeWarning, match="left running"):
        loader.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del loader
        gc.collect()


@pytest.mark.parametrize("end", ["sys.exit()", "raise RuntimeError('on purpose')", "loader.close()", "del loader; gc.collect()", "pass"])
def test_the_child_of_a_fork_ends_without_talk_of_leaks(end):
    outcome = script(f"""
        import gc, os, sys, warnings
        warnings.simplefilter("ignore")
        import numpy as np
        import forebay as fb

        loader = fb.Loader(fb.arrays(x=np.arange(1000)).map(lambda s: s).batch(2), threads=2)
        batches = iter(loader)
        batch = next(batches)
        if os.fork() == 0:
            {end}
            sys.exit()
        os.wait()
        loader.close()
        print("parent done")
    """)
    assert outcome.code == 0 and outcome.out.endswith("parent done\n")
    assert "nanobind" not in outcome.err and "leak" not in outcome.err
    assert ("on purpose" in outcome.err) == ("on purpose" in end)
