"""Each check of the comparison can fail: pytest bench/presto."""

import os
import sys

import pytest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from presto import signals_report as report  # noqa: E402


def record(loader, seconds, number=0, **changes):
    return {"windows": "apart", "loader": loader, "round": number, "machine": "test", "cores": 2, "batch": 2, "threads": 2, "megabytes": 1, "seconds": seconds,
            "cpu_s": 2 * seconds, "others_cpu_s": 0.0, "foreign_share": 0.0, "others": [], "samples": 300, "each_once": True, "in_order": False,
            "sums": {"rms": 10.0, "power": 5.0, "cusum": 0.0}, "name": loader, "version": "1", "settings": {}, "exit_code": 0,
            "peak_bytes": 1, "peak_file_bytes": 0} | changes


def pair(**changes):
    return [record("forebay", 1.0), record("torch", 4.0, **changes)]


def test_equal_work_gives_a_ratio():
    assert report.problems(pair()) == []
    assert "| 4.00" in report.table(pair())


@pytest.mark.parametrize("changes, words", [
    ({"each_once": False}, "not every window once"), ({"in_order": True}, "not shuffled"), ({"samples": 299}, "samples is 299"),
    ({"sums": {"rms": 10.1, "power": 5.0, "cusum": 0.0}}, "the rms comes to 10.1"), ({"exit_code": 1}, "exited with 1"),
    ({"sums": {"rms": 10.0, "power": 5.0, "cusum": 0.1}}, "the cusum comes to 0.1"),
])
def test_a_contestant_that_does_other_work_is_refused(changes, words):
    (problem,) = report.problems(pair(**changes))
    assert problem.startswith("apart, torch, round 0: ") and words in problem
    assert "refused" in report.table(pair(**changes))


def test_a_run_that_died_is_told():
    records = [record("forebay", 1.0), {key: value for key, value in record("torch", 1.0).items() if key in ("windows", "loader", "round")} | {"error": "gone"}]
    assert report.problems(records) == ["apart, torch, round 0: gone"]
