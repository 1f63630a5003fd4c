"""Each check of the comparison can fail: pytest bench/presto."""

import os
import sys

import pytest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from presto import audio_report as report  # noqa: E402


def record(loader, seconds, number=0, **changes):
    return {"set": "digits", "loader": loader, "round": number, "machine": "test", "cores": 2, "files": 3, "batch": 2, "threads": 2, "seconds": seconds,
            "cpu_s": 2 * seconds, "others_cpu_s": 0.0, "foreign_share": 0.0, "others": [], "samples": 300, "each_once": True, "in_order": False, "shape": [80, 101],
            "dtype": "float32", "sums": [[10.0, 5.0], [0.0, 0.0], [3.0, 2.0]], "name": loader, "version": "1", "settings": {}, "exit_code": 0,
            "peak_bytes": 1, "peak_file_bytes": 0} | changes


def pair(**changes):
    return [record("forebay", 1.0), record("torch", 4.0, **changes)]


def test_equal_work_gives_a_ratio():
    assert report.problems(pair()) == []
    assert "| 4.00" in report.table(pair())


@pytest.mark.parametrize("changes, words", [
    ({"each_once": False}, "not every recording once"), ({"in_order": True}, "not shuffled"), ({"dtype": "float64"}, "float64"),
    ({"sums": [[10.0, 5.0], [0.0, 0.0], [3.1, 2.0]]}, "recording 2 and 1 in all"), ({"sums": [[10.0, 5.0]]}, "other spectrograms"),
    ({"shape": [80, 100]}, "shape is"), ({"exit_code": 1}, "exited with 1"),
])
def test_a_contestant_that_does_other_work_is_refused(changes, words):
    (problem,) = report.problems(pair(**changes))
    assert problem.startswith("digits, torch, round 0: ") and words in problem
    assert "refused" in report.table(pair(**changes))


def test_a_run_that_died_is_told():
    assert "FAILED: gone" in report.one_line(record("torch", 1.0, error="gone"))
