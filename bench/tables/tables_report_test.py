"""The checks must fail when a loader does other work than it claims: pytest bench/tables/tables_report_test.py."""

import os
import sys
import types

import numpy as np
import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [HERE, os.path.dirname(HERE)]

import delivery  # noqa: E402
import tables_report  # noqa: E402
from data_sets import table_values  # noqa: E402
from harness import summary  # noqa: E402

ROWS, BATCH, GROUP = 4000, 256, 100


def epoch(**changes):
    return {"rows": ROWS, "lost": 0, "repeated": 0, "batches": 16, "other_sizes": 1, "largest": BATCH,
            "groups_a_batch": 8.0,
            "in_sequence": 0.001, "order": "abc"} | changes


def record(loader="rival", epochs=None, **changes):
    return {"what": "epoch", "loader": loader, "table": "wide", "trains": False, "round": 0, "name": loader,
            "version": "1", "settings": {}, "claims": {"order": "rows", "partial": 1}, "table_rows": ROWS,
            "batch": BATCH, "threads": 2,
            "groups": 40, "known": [], "cannot": False, "bytes": 1, "machine": "test", "cores": 2, "rows": ROWS,
            "seconds": 2.0,
            "cpu_s": 3.0, "foreign_share": 0.0, "peak_bytes": 10**8, "exit_code": 0, "first_batch_from_loader_s": 0.1,
            "first_batch_from_process_s": 0.2, "next_us": 10.0, "touch_us": 20.0, "proof": {"rows": ROWS},
            "delivery": {"epochs": epochs or [epoch(), epoch(order="def")], "problems": []}} | changes


def test_equal_work_passes():
    assert tables_report.problems([record(), record("forebay")]) == []


@pytest.mark.parametrize("changes",
                         [{"lost": 3}, {"repeated": 1}, {"rows": ROWS - 1}, {"other_sizes": 2}, {"largest": BATCH + 1},
                                     {"groups_a_batch": 2.0}, {"in_sequence": 0.5}, {"order": "abc"}])
def test_an_epoch_that_is_not_what_was_claimed_is_told(changes):
    told = tables_report.problems([record(epochs=[epoch(), epoch(**({"order": "def"} | changes))])])
    assert told and all(text.startswith("rival, wide, round 0: ") for text in told)


@pytest.mark.parametrize("changes", [{"delivery": {"epochs": [], "problems": ["1 columns with wrong values: f00"]}},
                                     {"proof": {"rows": 0}}, {"exit_code": 1}, {"error": "exit code 1"}])
def test_a_run_that_went_wrong_is_told(changes):
    assert len(tables_report.problems([record(**changes)])) == 1


def test_whole_row_groups_in_file_order_are_no_fault_where_they_are_claimed():
    whole = epoch(other_sizes=16, largest=5000, groups_a_batch=1.0, in_sequence=1.0)
    assert tables_report.problems([record(claims={"order": "files", "partial": None}, epochs=[whole, whole])]) == []


def test_what_a_rival_is_known_for_is_a_finding_and_no_failure():
    same = record(epochs=[epoch(), epoch()], known=["same order"])
    ragged = record("ragged", cannot=True, error="lists differ in length")
    assert tables_report.problems([same, ragged]) == []
    text = tables_report.table([same, ragged])
    assert "Known of rivals" in text and "two epochs in the same order" in text and "lists differ in length" in text


def test_forebay_must_repeat_itself_with_and_without_a_cache():
    runs = [record("forebay"), record("forebay_disk", epochs=[epoch(order="other"), epoch(order="def")])]
    assert any("in 2 orders with one seed" in text for text in tables_report.problems(runs))


def test_a_ramp_has_an_order_of_its_own_which_repeats_itself():
    other = record("forebay_ramp", epochs=[epoch(order="other"), epoch(order="def")])
    third = record("forebay_ramp", round=1, epochs=[epoch(order="third"), epoch(order="def")])
    assert tables_report.problems([record("forebay"), other]) == []
    assert any("in 2 orders with one seed" in text for text in tables_report.problems([other, third]))


def test_ratios_are_taken_round_by_round():
    runs = [record("forebay", seconds=2.0), record(seconds=4.0), record("forebay", round=1, seconds=4.0),
            record(round=1, seconds=12.0)]
    assert summary.ratios([runs[0], runs[2]], [runs[1], runs[3]], tables_report.rate) == [2.0, 3.0]
    assert "2.50 (2.00–3.00)" in tables_report.table(runs)


# ---- the checks of what is delivered, on real values

TABLE = "wide_lists"


def job_and_batches(order):
    columns = table_values.TABLES[TABLE].read
    keys = table_values.keys_of(np.arange(ROWS))
    sums = {column.name: table_values.weighted_sum(table_values.values(column, np.arange(ROWS)), keys)
            for column in columns}
    job = types.SimpleNamespace(table=TABLE, columns=[column.name for column in columns], rows=ROWS, batch=BATCH,
                                group_rows=GROUP, sums=sums)
    return job, [{column.name: table_values.values(column, order[at:at + BATCH]) for column in columns}
                 for at in range(0, ROWS, BATCH)]


def delivered(order, change=lambda batches: None):
    job, batches = job_and_batches(order)
    change(batches)
    seen = delivery.Delivery(job, types.SimpleNamespace())
    seen.start_proof()
    for batch in batches:
        seen.prove(batch)
    proof = seen.end_proof()
    seen.end_epoch()
    return proof, seen.result()


SHUFFLED = np.random.default_rng(1).permutation(ROWS)


def test_right_values_in_any_order_pass():
    proof, result = delivered(SHUFFLED)
    assert proof["whole_epoch"] and result["problems"] == []
    assert result["epochs"][0] | {"order": ""} == epoch(order="", groups_a_batch=result["epochs"][0]["groups_a_batch"],
                                                        in_sequence=result["epochs"][0]["in_sequence"])
    assert result["epochs"][0]["groups_a_batch"] > 30 and result["epochs"][0]["in_sequence"] < 0.01


def test_rows_in_the_files_order_are_seen():
    _, result = delivered(np.arange(ROWS))
    assert result["epochs"][0]["in_sequence"] == 1.0 and result["epochs"][0]["groups_a_batch"] <= 4


def swap(name):
    def change(batches):
        batches[0][name][[0, 1]] = batches[0][name][[1, 0]]
    return change


def shift_list(batches):
    values, offsets = batches[2]["l3"]
    where = next(i for i in range(len(offsets) - 1) if offsets[i + 1] - offsets[i] > 1
                 and values[offsets[i]] != values[offsets[i] + 1])
    values[offsets[where]], values[offsets[where] + 1] = values[offsets[where] + 1], values[offsets[where]]


def repeat_a_batch(batches):
    batches[3] = batches[4]


def one_bit(batches):
    batches[5]["i07"][9] ^= 1


@pytest.mark.parametrize("change, told", [(swap("f13"), "f13"), (one_bit, "i07"), (shift_list, "l3")])
def test_a_value_in_another_row_or_place_is_told(change, told):
    _, result = delivered(SHUFFLED, change)
    assert [text for text in result["problems"] if told in text]


def test_rows_that_are_lost_and_repeated_are_counted():
    proof, result = delivered(SHUFFLED, repeat_a_batch)
    assert not proof["whole_epoch"] and (result["epochs"][0]["lost"], result["epochs"][0]["repeated"]) == (BATCH, BATCH)


def test_another_dtype_is_told():
    def change(batches):
        batches[1]["f00"] = batches[1]["f00"].astype(np.float64)
    _, result = delivered(SHUFFLED, change)
    assert any("f00 as float64" in text for text in result["problems"])


def test_who_did_other_work_gets_no_ratio():
    text = tables_report.table([record("forebay"), record(epochs=[epoch(), epoch(order="def", lost=3)])])
    assert "| rival (rival) | rows mixed, exact batches | 2,000 | refused |" in text
