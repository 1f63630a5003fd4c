"""Each check of the report can fail."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import cost_report as report  # noqa: E402


def record(case, loader, number=0, **more):
    return {"case": case, "loader": loader, "round": number, "rows": 1000, "files": 10, "photos": 40, "batch": 256, "threads": 2, "load": 1.0, "seconds": 1e-4,
            "cpu_s": 2e-4, "samples": 1000, "distinct": 1000, "steps": 4, "exit_code": 0, "machine": "a machine", "foreign_share": 0.0, "others": []} | more


def test_what_parts_cost_is_above_one_array_of_the_same_round():
    records = [record("rows", "one array"), record("rows", "one array", 1, seconds=3e-4), record("rows", "2 parts", seconds=1.2e-4),
               record("rows", "2 parts", 1, seconds=3.2e-4), record("open", "sources"), record("open", "mix", seconds=1.5e-4)]
    assert report.problems(records) == []
    text = report.table(records)
    assert "| 2 parts | 220 (120–320) | 20 | 200 | 0 |" in text
    assert "| a loader of a mix of all | 0 | 0 | 1.50 |" in text


def test_rows_that_did_not_come_are_refused():
    records = [record("rows", "one array"), record("rows", "8 parts", distinct=999), record("rows", "2 parts")]
    problems = report.problems(records)
    assert "rows, 8 parts, round 0: 999 distinct rows of 1000 in an epoch" in problems
    assert "| refused |" in report.table(records)


def test_an_opening_without_steps_is_a_problem():
    assert report.problems([record("open", "mix", steps=0)]) == ["open, mix, round 0: an opened loader has no steps"]


def test_both_kinds_are_held_against_the_mean_of_each_alone():
    both = {"samples": 1000, "came": {"photographs": 750, "table": 250}}
    records = [record("kinds", "photographs", seconds=2.0, cpu_s=4.0), record("kinds", "table", seconds=1.0, cpu_s=2.0),
               record("kinds", "both", seconds=1.75, cpu_s=7.0, **both)]
    assert report.problems(records) == []
    assert "| both, 3 to 1 | 571 | 7.00 | 1.000 | 0.500 |" in report.table(records)


def test_shares_that_are_not_three_to_one_are_refused():
    records = [record("kinds", "photographs"), record("kinds", "table"), record("kinds", "both", came={"photographs": 700, "table": 300})]
    assert "kinds, both, round 0: 700 samples of photographs in 1000, 3 to 1" in report.problems(records)
