"""Checks that both made the same numbers of the same windows, and writes the table. Works on the recorded JSON lines alone."""

import math

from harness import equality, report
from harness.compared import Compared

TOLERANCE = 1e-5  # of the weighted sums over an epoch: float32 values, added up in other orders


def of_record(record):
    yield from equality.process_failures(record)
    if "error" in record:
        return
    if not record["each_once"]:
        yield "not every window once an epoch"
    if record["in_order"]:
        yield "the order is not shuffled"


def other_sums(good):
    """(record, text) where a sum is not that of the first contestant on the same windows. The cusum ends at zero, so it is held to the RMS."""
    first = {}
    for record in good:
        expected = first.setdefault(record["windows"], record)["sums"]
        scale = {"rms": abs(expected["rms"]), "power": abs(expected["power"]), "cusum": abs(expected["rms"])}
        for name, value in expected.items():
            if not math.isclose(record["sums"][name], value, rel_tol=TOLERANCE, abs_tol=TOLERANCE * scale[name]):
                yield record, f"the {name} comes to {record['sums'][name]}, not {value}"


def across(good):
    yield from other_sums(good)
    for windows in dict.fromkeys(record["windows"] for record in good):
        yield from equality.differing([record for record in good if record["windows"] == windows], ("samples",))


RUNS = Compared(of_record, across, case="windows", unit="windows")
one_line, problems = RUNS.one_line, RUNS.problems


def body(good, records):
    one = good[0]
    yield report.introduction(good, f"{one['megabytes']} MB of float32 voltage and current (shuffle + gzip chunks), windows of 4,096 rows, batches of "
                                    f"{one['batch']}, {one['threads']} threads or workers; the file in the page cache")
    yield from ("", *report.header(("windows", "loader", "windows/s", "CPU s per 1,000", "Forebay ÷ it")))
    yield from RUNS.case_rows(records, lambda record: (record["windows"], record["name"]), digits=3)
    yield from ("", *report.settings_lines(good))


def table(records):
    """The whole report as Markdown."""
    return RUNS.document("HDF5 windows to RMS, power and CUSUM", records, lambda good: body(good, records))
