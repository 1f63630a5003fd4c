"""Regret and predictions, and the checks behind them: pytest bench/presto."""

import os
import sys

import pytest

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from presto import cuts_report as report  # noqa: E402


def strategy(name, rate, size=100.0, seconds=2.0, tier="memory"):
    figures = {"samples_per_second": rate, "bytes": size, "preparation_seconds": seconds}
    return {"name": name, "tier": tier} | {key: {"value": value, "low": None, "high": None} for key, value in figures.items()}


def profile(*strategies):
    return {"name": "CV", "loader": report.PROFILE, "round": 0, "machine": "test",
            "data": {"samples": 20, "size": 2000, "seconds": 30.0, "strategies": list(strategies)}}


def cell(loader, rate, number=0, **changes):
    return {"name": "CV", "loader": loader, "round": number, "rate": rate, "kept_bytes": 100, "preparation_s": 2.0, "digest": "d", "samples": 2000,
            "exit_code": 0, "machine": "test"} | changes


def records(**changes):
    """The second of three is chosen by a prediction of 190, and gives 180; the first gives 200."""
    found = profile(strategy("b", 190), strategy("a", 150), strategy("none", 50, size=0, tier="nothing"))
    return [found, cell("a", 200), cell("b", 180, **changes), cell("none", 60, kept_bytes=0)]


def test_regret_is_what_the_choice_loses_against_the_really_fastest():
    one, = report.pipelines_of(records())
    assert (one.chosen(), one.best()) == ("b", "a")
    assert one.regret() == pytest.approx(0.1) and one.gain() == pytest.approx(3)
    assert "| CV | 20 of 2,000 | 30 | b | a | 10.0 | 3.00 |" in report.table(records())


def test_a_choice_that_could_not_be_run_is_passed_over():
    one, = report.pipelines_of([record for record in records() if record["loader"] != "b"])
    assert one.chosen() == "a" and one.regret() == 0


def test_predictions_count_as_near_or_not():
    made = report.pipelines_of(records())
    assert report.share_within(made, "samples/s") == (1, 3), "b by 6 %; a by 25 %, nothing kept by 17 %"
    assert report.share_within(made, "bytes") == (2, 2), "what is kept nowhere has none"
    assert report.share_within(made, "preparing") == (3, 3)


def test_rounds_count_by_their_median():
    made = [*records(), cell("a", 900, 1), cell("a", 150, 2), cell("b", 180, 1), cell("b", 180, 2)]
    one, = report.pipelines_of(made)
    assert one.rate("a") == 200


@pytest.mark.parametrize("changes", [{"digest": "other"}, {"samples": 1}, {"exit_code": 1}])
def test_other_work_is_told(changes):
    wrong = report.problems(records(**changes))
    assert len(wrong) == 1 and wrong[0].startswith("CV, b, round 0: ")
    assert wrong[0] in report.table(records(**changes))
