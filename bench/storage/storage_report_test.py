"""The checks must fail when a loader delivers something else: pytest bench/storage."""

import os
import sys
import zlib

sys.path += [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]

import storage_run  # noqa: E402
import storage_report  # noqa: E402

OBJECTS = {f"kind/{number}.jpg": bytes([number]) * (100 + number) for number in range(4)}


def rows():
    return [(key, len(data), zlib.crc32(data), zlib.crc32(data[-32:], zlib.crc32(data[:32]))) for key, data in OBJECTS.items()]


def delivered(numbers=(2, 0, 3, 1), change=lambda number, data: data, whole=True):
    """The problems of one epoch with these numbers, its bytes changed."""
    check = storage_run.Check(rows(), images=False)
    payloads = list(OBJECTS.values())
    check.batch(numbers, [change(number, payloads[number]) for number in numbers], whole)
    check.end_epoch()
    return check.problems()


def test_the_right_bytes_pass_whole_or_by_their_ends():
    assert delivered() == [] and delivered(whole=False) == []


def test_each_kind_of_wrong_delivery_is_told():
    assert delivered(change=lambda number, data: data[:-1]) == ["4 objects of another length"]
    assert delivered(change=lambda number, data: data[:40] + b"x" + data[41:]) == ["4 objects with other bytes"]
    assert delivered(change=lambda number, data: b"x" + data[1:], whole=False) == [
        "4 objects that begin or end with other bytes"]
    assert delivered(numbers=(0, 1, 2)) == ["1 objects that an epoch lacked"]
    assert delivered(numbers=(0, 1, 2, 2)) == ["1 objects that an epoch lacked", "1 objects that came twice in an epoch"]


def test_two_epochs_in_the_same_order_are_told():
    check = storage_run.Check(rows(), images=False)
    for _ in range(2):
        check.batch((0, 1, 2, 3), list(OBJECTS.values()), whole=True)
        check.end_epoch()
    assert check.problems() == ["1 epochs in the order of the one before"]


def record(loader, seconds=2.0, **changes):
    return {"what": "sweep", "loader": loader, "round": 0, "latency_ms": 20, "requests": "auto", "faults": {}, "photos": 2000,
            "batch": 64, "threads": 2, "cores": 2, "machine": "test", "mean_bytes": 1e5, "name": loader, "version": "1",
            "settings": {}, "seconds": seconds, "samples": 2000, "bytes": 2 * 10**8, "cpu_s": 0.5, "problems": [], "exit_code": 0,
            "server": {"requests": 2000, "peak_in_flight": 64}, "foreign_share": 0.0, "peak_bytes": 10**8, "first_batch_from_loader_s": 0.05,
            "listing_s": 0.1, "server_cpu_s": {"gateway": 1.0}} | changes


def test_equal_work_passes_and_each_kind_of_other_work_is_told():
    assert storage_report.problems([record("forebay"), record("rival")]) == []
    few = {"requests": 100, "peak_in_flight": 64}
    for changes in ({"problems": ["1 objects with other bytes"]}, {"exit_code": 1}, {"server": few}, {"error": "exit code 1"}):
        told = storage_report.problems([record("forebay"), record("rival", **changes)])
        assert len(told) == 1 and told[0].startswith("rival, 20 ms, requests auto, round 0: "), changes


def test_a_run_that_failed_leaves_the_table_and_is_named_below_it():
    text = storage_report.table([record("forebay"), record("broken", error="exit code 1")])
    assert "CHECKS FAILED" in text and "| broken" not in text


def test_auto_is_held_against_the_best_fixed_setting_and_the_ceiling():
    runs = [record("forebay", 2.0), record("forebay", 1.8, requests="64"), record("forebay", 2.4, requests="256"),
            record("ceiling", 1.9, requests="64")]
    text = storage_report.table(runs)
    assert "best fixed setting 64 with 1,111/s" in text and "Right of it the least is 256: 75 % of the best" in text
    assert "auto ÷ min(ceiling, best fixed): 0.950" in text


def test_faults_are_held_against_the_same_loader_without():
    runs = [record("forebay", 2.0), record("forebay", 4.0, faults={"share_503": 0.02})]
    assert "forebay, 20 ms, share_503=0.02: 50 % of its fault-free speed" in storage_report.table(runs)
