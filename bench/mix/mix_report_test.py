"""Each check of the report can fail."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import pytest  # noqa: E402

import mix_report as report  # noqa: E402
from data_sets import mix_set  # noqa: E402


def record(loader, number=0, **more):
    return {"kind": "json", "loader": loader, "round": number, "batch": 256, "threads": 2, "load": 1.0, "weights": [0.7, 0.2, 0.1], "seconds": 2.0,
            "cpu_s": 3.0, "samples": 200, "sizes": [256], "rising": 0.5, "repeats": 0, "errors": {"1000": 0.5, "10000": 20.0}, "peak_bytes": 10**8,
            "first_batch_from_loader_s": 0.5, "name": loader, "version": "1", "settings": {}, "exit_code": 0, "machine": "a machine",
            "foreign_share": 0.0, "others": []} | more


def test_equal_work_has_a_ratio_and_a_time_to_resume():
    records = [record("forebay", resume_s=[0.25], resume_same=True), record("torch", seconds=4.0), record("tfdata", resume_error="no state")]
    assert report.problems(records) == []
    text = report.table(records)
    assert "| torch | 50 | 2.00 | 15,000.00 | 100 | 500 | 0.5 | 20.0 | 0 | n/a | – |" in text
    assert "| 250.0 | yes |" in text and "- tfdata does not resume: no state" in text


@pytest.mark.parametrize("other", [{"sizes": [255, 256]}, {"rising": 0.95}, {"errors": {"1000": 80.0}}])
def test_other_work_is_refused(other):
    records = [record("forebay"), record("torch", **other)]
    assert len(report.problems(records)) == 1
    assert "| refused |" in report.table(records)


def test_a_run_without_a_result_is_a_problem():
    assert report.problems([record("forebay"), {"kind": "json", "loader": "hf", "round": 0, "error": "died"}]) == ["json, hf, round 0: died"]


def test_samples_that_are_not_their_sources_are_found(tmp_path):
    sources = [mix_set.np.load(path) for path in mix_set.files(tmp_path, "arrays", (5, 4, 3))]
    rows = mix_set.np.concatenate(sources)[::-1].copy()
    parts, numbers = mix_set.checked("arrays", {"x": rows}, sources)
    assert parts.tolist() == [2] * 3 + [1] * 4 + [0] * 5 and numbers.tolist() == [2, 1, 0, 3, 2, 1, 0, 4, 3, 2, 1, 0]
    rows[4, 7] += 1
    with pytest.raises(AssertionError, match="values of part 1"):
        mix_set.checked("arrays", {"x": rows}, sources)
    one = {name: [value] for name, value in mix_set.record(1, 2).items()}
    assert mix_set.checked("json", one, None)[1].tolist() == [2]
    with pytest.raises(AssertionError, match="record 2 of part 1"):
        mix_set.checked("json", one | {"text": ["another"]}, None)
