"""A .npy file that becomes shorter while it is open is an error that names it, and not the end of the process."""
import subprocess
import sys
import textwrap

import numpy as np
import pytest

PATHS = {
    "rows as they are": "p",
    "rows that are worked on": "p.clip(max=9, field='x')",
    "pictures": "p.random_crop(3, field='x')",
    "user code": "p.map(lambda s: {'x': s['x'] * 2})",
    "a filter": "p.filter(lambda s: s['y'] >= 0)",
}


def run(tmp_path, steps, keep, on_error="raise", before="", after=""):
    """Many epochs; behind the third batch the file keeps `keep` bytes. In a process of its own, which may end by a signal."""
    np.save(tmp_path / "x.npy", np.ones((600, 40, 40, 3), "uint8"))
    np.save(tmp_path / "y.npy", np.arange(600))
    (tmp_path / "program.py").write_text(textwrap.dedent(f"""
        import os, signal, sys
        import forebay as fb
        {before}
        p = fb.arrays(x={str(tmp_path / "x.npy")!r}, y={str(tmp_path / "y.npy")!r}).shuffle()
        try:
            with fb.Loader({steps}.batch(16), epochs=50, on_error={on_error!r}, threads=2, memory="64MB") as loader:
                for epoch in range(50):
                    for i, batch in enumerate(loader):
                        assert batch["x"].all(), "zeros that were never in the file"
                        if epoch == 0 and i == 2:
                            os.truncate({str(tmp_path / "x.npy")!r}, {keep})
            print("no error")
        except fb.Unavailable as error:
            print(error)
        {after}
    """))
    return subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("keep", [100_000, 0], ids=["a part of it", "nothing"])
@pytest.mark.parametrize("steps", PATHS.values(), ids=PATHS)
def test_it_is_an_error_that_names_the_file(tmp_path, steps, keep):
    done = run(tmp_path, steps, keep)
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "x.npy") in done.stdout and "became shorter" in done.stdout, done.stdout


def test_it_is_no_bad_sample(tmp_path):
    done = run(tmp_path, PATHS["rows that are worked on"], 100_000, on_error="skip")
    assert done.returncode == 0 and "became shorter" in done.stdout, done


def test_faulthandler_does_not_see_it(tmp_path):
    done = run(tmp_path, "p", 100_000, before="import faulthandler; faulthandler.enable()")
    assert done.returncode == 0 and "became shorter" in done.stdout and "Fatal" not in done.stderr, done


def test_the_signal_means_to_others_what_it_did(tmp_path):
    handled = "signal.signal(signal.SIGBUS, lambda *_: print('handled'))"
    done = run(tmp_path, "p", 100_000, before=handled, after="signal.raise_signal(signal.SIGBUS)")
    assert done.returncode == 0 and done.stdout.endswith("handled\n"), done
    done = run(tmp_path, "p", 100_000, after="signal.raise_signal(signal.SIGBUS)")
    assert done.returncode == -7, done
