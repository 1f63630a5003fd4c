"""What is equal work over tar shards, and that each check can fail: pytest bench/presto."""

import os
import sys

import pytest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from presto import tars_report as report  # noqa: E402


def record(loader, rate, number=0, content=5, **changes):
    proof = {"once": True, "count": 10, "content": content, "order": 1, "sorted": False} | changes.pop("proof", {})
    return {"loader": loader, "name": loader, "version": "1", "settings": {}, "round": number, "photos": 10, "epochs": 3, "threads": 2, "samples": 30,
            "seconds": 30 / rate, "cpu_s": 1.0, "bytes": 3000, "others_cpu_s": 0.0, "foreign_share": 0.0, "others": [], "machine": "test",
            "exit_code": 0, "proof": proof} | changes


def records(**changes):
    return [record("forebay", 300, **changes), record("webdataset", 100), record("forebay_decoded", 95, content=7), record("folder_decoded", 100, content=7)]


def test_ratios_are_taken_of_who_did_the_same():
    text = report.table(records())
    assert report.problems(records()) == []
    assert "3.00 × webdataset" in text and "0.95 × folder_decoded" in text


@pytest.mark.parametrize("changes, said", [
    ({"content": 6}, "content is"), ({"bytes": 2999}, "bytes is"), ({"samples": 29}, "29 samples"),
    ({"proof": {"once": False}}, "every photograph"), ({"proof": {"count": 9}}, "9 of 10"), ({"proof": {"sorted": True}}, "not shuffled"),
    ({"exit_code": 1}, "exited with 1"),
])
def test_other_work_is_refused(changes, said):
    wrong = records(**changes)
    assert any(said in text for text in report.problems(wrong))
    assert "3.00 × webdataset" not in report.table(wrong)
