"""The checks must fail when a loader does other work than the rest: pytest bench/photos_report_test.py."""

import copy

import photos_report as report

PHOTOS = 2100
PER_CLASS = {"daisy": 1050, "roses": 1050}


def proof(**changes):
    return {"samples": PHOTOS, "distinct": PHOTOS, "shapes": [[3, 224, 224]], "dtypes": ["float32"],
            "mean": [0.05, -0.05, -0.4], "std": [1.3, 1.2, 1.3], "detail": 0.134, "per_class": PER_CLASS,
            "order": "abc", "problems": []} | changes


def record(loader, number=0, seconds=2.0, timed=None):
    return {"loader": loader, "round": number, "name": loader, "version": "1", "photos": PHOTOS, "batch": 64, "threads": 2,
            "expected_per_class": PER_CLASS, "machine": "test", "settings": {"resample": report.ANTIALIASED},
            "seconds": seconds, "cpu_s": 4.0, "peak_bytes": 10**8, "peak_file_bytes": 10**7, "foreign_share": 0.0,
            "exit_code": 0, "kilobytes_each": 108.0, "first_batch_from_loader_s": 0.1, "first_batch_from_process_s": 0.2,
            "timed": timed or proof()}


def records(**changes):
    """Forebay twice as fast as two rivals, one of which differs by `changes`."""
    odd = record("odd", seconds=4.0, timed=proof(**changes))
    return [record("forebay"), record("rival", seconds=4.0), odd]


def test_equal_work_passes():
    assert report.problems(records()) == []


def test_each_kind_of_other_work_is_told():
    for changes in ({"samples": 2099}, {"distinct": 2000}, {"shapes": [[224, 224, 3]]}, {"dtypes": ["uint8"]},
                    {"per_class": {"daisy": 2100}}, {"problems": ["the order is not shuffled"]}, {"mean": [0.2, -0.05, -0.4]},
                    {"std": [1.3, 1.2, 1.1]}, {"detail": 0.160}):
        told = report.problems(records(**changes))
        assert told and all(text.startswith("odd, round 0") for text in told), (changes, told)


def test_a_run_that_failed_is_a_problem_and_leaves_the_table():
    runs = records() + [{"loader": "broken", "round": 0, "error": "exit code 1"}]
    assert report.problems(runs) == ["broken, round 0: exit code 1"]
    assert "EQUALITY CHECKS FAILED" in report.table(runs) and "| broken" not in report.table(runs)


def test_forebay_must_repeat_itself():
    runs = [record("forebay", 0), record("forebay", 1, timed=proof(order="other"))]
    assert any("one seed" in text for text in report.problems(runs))


def test_who_did_other_work_gets_no_ratio_and_nobody_one_of_it():
    assert "| odd | 525 | refused |" in report.table(records(samples=2099))
    runs = [record("forebay", timed=proof(samples=2099)), record("rival", seconds=4.0)]
    assert "| rival | 525 | refused |" in report.table(runs)


def test_ratio_is_taken_round_by_round():
    runs = [record("forebay", 0, 2.0), record("rival", 0, 4.0), record("forebay", 1, 4.0), record("rival", 1, 12.0)]
    assert report.ratios(runs, "rival", "forebay") == [2.0, 3.0]
    assert "2.50 (2.00–3.00)" in report.table(runs)


def test_files_of_equal_quality_are_compared_with_each_other():
    runs = [record("forebay", seconds=4.0), record("forebay@q90", seconds=2.0), record("ffcv@q90", seconds=3.0)]
    text = report.table(copy.deepcopy(runs))
    assert "| ffcv@q90 [q90] | 700 | 1.50 |" in text
    assert "Forebay on the originals ÷ ffcv@q90: 0.75." in text
