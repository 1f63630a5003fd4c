"""Checks that all delivered the same photographs, and writes the table. Works on the recorded JSON lines alone."""

import math

from harness import equality, report
from harness.compared import Compared

TIER_OF = {"memory": "memory", "disk": "disk", "snapshot": "disk"}
TOLERANCE = 0.02  # of the mean of normalised values: decoders and resizers differ in the last bits, crops are drawn


def of_record(record):
    yield from equality.process_failures(record)
    if "error" in record:
        return
    if not record["each_once"]:
        yield "not every photograph once an epoch"
    if record["in_order"]:
        yield "the order is not shuffled"
    if record["dtype"] != "float32":
        yield f"values are {record['dtype']}"


def same_values(good):
    """(record, text) where photographs are not those of the first contestant."""
    for record in good[1:]:
        if record["values"] != good[0]["values"]:
            yield record, f"{record['values']} values a photograph, {good[0]['values']} of {good[0]['loader']}"
        elif not math.isclose(record["mean"], good[0]["mean"], abs_tol=TOLERANCE):
            yield record, f"the mean value is {record['mean']:.3f}, {good[0]['mean']:.3f} of {good[0]['loader']}"


RUNS = Compared(of_record, same_values, case="tier")
one_line, problems = RUNS.one_line, RUNS.problems


def body(good, records):
    one = good[0]
    yield report.introduction(good, f"{one['files']} photographs, batches of {one['batch']}, {one['threads']} threads; all files in the page cache")
    yield from ("", *report.header(("kept in", "loader", "samples/s", "CPU s per 1,000", "Forebay ÷ it")))
    yield from RUNS.case_rows(records, lambda record: (record["tier"], record["loader"]))
    yield from ("", *report.settings_lines(good))


def table(records):
    """The whole report as Markdown."""
    return RUNS.document("Photographs kept behind a resize", records, lambda good: body(good, records))
