"""Tokens must be the same: pytest bench/presto/tokens_report_test.py."""

import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from presto import tokens_report as report  # noqa: E402


def record(loader, number=0, seconds=2.0, **changes):
    return {"loader": loader, "round": number, "pages": 100, "delivered": 100, "tokens": 5000, "ids": "abc", "lengths": "def", "seconds": seconds, "exit_code": 0, "cpu_s": 1.0,
            "machine": "test", "threads": 2, "batch": 8, "name": loader, "version": "1", "settings": {}, "foreign_share": 0.0, "others_cpu_s": 0.0, "others": []} | changes


def records(**changes):
    return [record("forebay", 0, 1.0), record("lxml", 0, 2.0), record("forebay", 1, 1.0), record("lxml", 1, 4.0, **changes)]


def test_the_ratio_is_taken_round_by_round():
    assert report.problems(records()) == []
    assert "| 3.00 (2.00–4.00) |" in report.table(records())


def test_other_tokens_give_no_ratio_and_are_told():
    for changes, told in (({"ids": "other"}, "ids is other"), ({"lengths": "other"}, "lengths is other"), ({"tokens": 4999}, "tokens is 4999"),
                          ({"delivered": 99}, "delivered 99 of 100"), ({"error": "exit code 1"}, "exit code 1")):
        made = records(**changes)
        assert any(told in problem for problem in report.problems(made))
        assert "3.00 (2.00" not in report.table(made)
