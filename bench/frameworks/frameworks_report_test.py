"""Each check of the report can fail."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import frameworks_report as report  # noqa: E402


def record(loader, number=0, **more):
    return {"data": "table", "loader": loader, "round": number, "photos": 8, "rows": 100, "batch": 10, "seconds": 2.0, "cpu_s": 3.0, "samples": 200,
            "batches": 20, "digest": "a", "last_digest": "b", "name": loader, "version": "forebay", "settings": {"threads": 1}, "exit_code": 0,
            "machine": "a machine", "foreign_share": 0.0, "others": [], "others_cpu_s": 0.0} | more


def test_equal_work_has_a_ratio():
    records = [record("python"), record("tf", seconds=4.0)]
    assert report.problems(records) == []
    assert "| tf | 50 | 0.50 |" in report.table(records)


def test_other_bytes_or_samples_are_refused():
    for other in ({"digest": "x"}, {"last_digest": "x"}, {"samples": 199}):
        records = [record("python"), record("jax"), record("tf", **other)]
        assert len(report.problems(records)) == 1
        assert "| tf |" in report.table(records) and "refused" in report.table(records)


def test_a_run_without_a_result_is_a_problem():
    assert report.problems([record("python"), {"data": "table", "loader": "tf", "round": 0, "error": "died"}]) == ["table, tf, round 0: died"]
