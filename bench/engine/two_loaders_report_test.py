"""Figures of two loaders at once, and the checks behind them: pytest bench/engine."""

import os
import sys

import pytest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import two_loaders_report as report  # noqa: E402


def loader(name, samples, seconds=10.0, **changes):
    return {"name": name, "samples": samples, "seconds": seconds, "digest": name, "first_epoch": name} | changes


def record(how, loaders, cpu_s, **changes):
    return {"pair": "photos", "loader": how, "round": 0, "loaders": loaders, "cpu_s": cpu_s, "exit_code": 0, "own_bytes": 3 * 10**7,
            "peak_bytes": 13 * 10**7, "threads": {"forebay-compute": 2, "python": 3}, "machine": "test", "photos": 700,
            "rows": 1000, "epochs": 3, "threads_each": "auto", "version": "1"} | changes


def records(**changes):
    """Alone 100 and 50 samples/s; at once 60 and 40."""
    return [record("first alone", [loader("a", 1000)], cpu_s=20.0), record("second alone", [loader("b", 500)], cpu_s=20.0),
            record("together", [loader("a", 600), loader("b", 400, **changes)], cpu_s=42.0)]


def test_two_at_once_are_held_against_what_each_does_alone():
    made = records()
    one, = report.rounds_of(made, "together")
    assert one.shares() == pytest.approx([0.6, 0.8]) and one.speed() == pytest.approx(1.4)
    assert one.cpu() == pytest.approx(42 / (12 + 16))
    assert "| at once, one process | 100 | 60 | 40 | 60 | 80 | 1.40 | 1.50 | 2 | 5 | 100 |" in report.table(made)


def test_equal_work_passes_and_each_kind_of_other_work_is_told_and_refused():
    assert report.problems(records()) == []
    for changes in ({"digest": "other"}, {"first_epoch": "other"}):
        made = records(**changes)
        assert len(report.problems(made)) == 1
        assert "| 60 | 40 | refused | refused | refused | refused |" in report.table(made)


def test_a_round_without_one_of_those_alone_gives_no_ratio():
    made = [*records()[:1], records()[2], record("second alone", [], 0, error="exit code 1")]
    assert list(report.rounds_of(made[:2], "together")) == []
    assert report.problems(made) == ["photos, second alone, round 0: exit code 1"]
    assert "| 60 | 40 | refused |" in report.table(made)
