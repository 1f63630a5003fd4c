"""What is equal work over prepared photographs, and that each check can fail: pytest bench/presto."""

import os
import sys

import pytest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from presto import preparing_report as report  # noqa: E402


def record(loader, rate, number=0, means=(10.0, 20.0), **changes):
    proof = {"once": True, "means": list(means)} | changes.pop("proof", {})
    return {"loader": loader, "name": loader, "version": "1", "settings": {}, "round": number, "photos": 2, "threads": 2, "samples": 2,
            "seconds": 2 / rate, "cpu_s": 1.0, "bytes": 224 * 224 * 3 * 2, "others_cpu_s": 0.0, "foreign_share": 0.0, "others": [],
            "machine": "test", "exit_code": 0, "proof": proof} | changes


def records(**changes):
    return [record("forebay", 300), record("mds", 100, **changes)]


def test_ratios_are_taken_of_who_wrote_the_same():
    assert report.problems(records()) == []
    assert "3.00" in report.table(records())


@pytest.mark.parametrize("changes, said", [
    ({"means": (10.0, 22.0)}, "1 of 2 pictures"), ({"means": (10.0,)}, "0 of 1 pictures"), ({"proof": {"once": False}}, "every photograph"),
    ({"bytes": 1000}, "wrote 1000 bytes"), ({"exit_code": 1}, "exited with 1"),
])
def test_other_work_is_refused(changes, said):
    wrong = records(**changes)
    assert any(said in text for text in report.problems(wrong))
    assert "3.00" not in report.table(wrong)


def test_who_writes_nothing_needs_no_bytes():
    assert report.problems([record("steps", 300, bytes=0)]) == []
