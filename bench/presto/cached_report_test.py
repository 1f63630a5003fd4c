"""Each check of the comparison can fail: pytest bench/presto."""

import os
import sys

import pytest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from presto import cached_report as report  # noqa: E402


def record(loader, seconds, number=0, **changes):
    return {"tier": "memory", "loader": loader, "round": number, "machine": "test", "cores": 2, "files": 3, "batch": 2, "threads": 2, "seconds": seconds,
            "cpu_s": 2 * seconds, "others_cpu_s": 0.0, "foreign_share": 0.0, "others": [], "samples": 300, "each_once": True, "in_order": False,
            "values": 150_528, "mean": -0.1, "dtype": "float32", "preparation_s": 1.0, "name": loader, "version": "1", "settings": {}, "exit_code": 0,
            "peak_bytes": 1, "peak_file_bytes": 0} | changes


def pair(**changes):
    return [record("forebay", 1.0), record("tf", 4.0, **changes)]


def test_equal_work_gives_a_ratio():
    assert report.problems(pair()) == []
    assert "| 4.00" in report.table(pair())


@pytest.mark.parametrize("changes, words", [
    ({"each_once": False}, "not every photograph once"), ({"in_order": True}, "not shuffled"), ({"dtype": "uint8"}, "uint8"),
    ({"values": 12}, "12 values"), ({"mean": 0.3}, "mean value is 0.300"), ({"exit_code": 1}, "exited with 1"),
])
def test_a_contestant_that_does_other_work_is_refused(changes, words):
    (problem,) = report.problems(pair(**changes))
    assert problem.startswith("memory, tf, round 0: ") and words in problem
    assert "refused" in report.table(pair(**changes))
