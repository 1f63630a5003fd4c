"""Threads and processes must deliver the same: pytest bench/user_code_report_test.py."""

import json

import user_code_report as report


def record(loader, number=0, seconds=2.0, **changes):
    return {"loader": loader, "round": number, "samples": 100, "delivered": 100, "digest": "abc", "seconds": seconds, "exit_code": 0,
            "machine": "test", "python": "3", "numpy": "2", "threads": 2} | changes


def records(**changes):
    """Processes 2 and 4 times as fast as threads, and what a call costs."""
    return [record("threads", 0, 2.0), record("processes", 0, 1.0), record("costs", 0, costs={"a call, us": 50.0}),
            record("threads", 1, 4.0), record("processes", 1, 1.0, **changes)]


def test_the_speed_up_is_taken_round_by_round():
    assert report.problems(records()) == []
    text = report.table(records())
    assert "| processes over threads | 3.00 (2.00–4.00) |" in text and "| a call, us | 50.0 |" in text
    assert json.loads(report.as_json(records()))["figures"]["processes over threads"]["median"] == 3.0


def test_other_samples_give_no_speed_up_and_are_told():
    for changes, told in (({"digest": "other"}, "digest is other"), ({"delivered": 99}, "delivered is 99"), ({"exit_code": 1}, "exited with 1"),
                          ({"error": "exit code 1"}, "exit code 1")):
        made = records(**changes)
        assert len(report.problems(made)) == 1 and told in report.problems(made)[0]
        assert "processes over threads" not in report.table(made) and report.problems(made)[0] in report.table(made)
        assert json.loads(report.as_json(made))["wrong"] == report.problems(made)
