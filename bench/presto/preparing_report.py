"""Checks that all wrote the same photographs, and writes the table. Works on the recorded JSON lines alone."""

import math

from harness import equality, report, summary
from harness.compared import Compared

# Of the mean of a picture's 150,528 values, in steps of 255: decoders, and resizers that begin at a smaller picture, differ by less.
TOLERANCE = 1.0


def of_record(record):
    wrong = equality.process_failures(record)
    if wrong:
        return wrong
    if not record["proof"]["once"]:
        wrong.append("not every photograph once")
    raw = 224 * 224 * 3 * record["photos"]
    if record["loader"] != "steps" and record["bytes"] < 0.3 * raw:
        wrong.append(f"wrote {record['bytes']} bytes for {raw} of pixels")
    return wrong


def other_pictures(good):
    """(record, text) where a picture is not that of the first run."""
    for record in good[1:]:
        pairs = list(zip(good[0]["proof"]["means"], record["proof"]["means"]))
        off = sum(not math.isclose(mine, first, rel_tol=0, abs_tol=TOLERANCE) for first, mine in pairs)
        if off or len(pairs) != record["photos"]:
            yield record, f"{off} of {len(pairs)} pictures are others than those of {RUNS.where(good[0])}"


RUNS = Compared(of_record, other_pictures)
one_line, problems = RUNS.one_line, RUNS.problems


def body(records):
    one = records[0]
    yield report.introduction(records, f"{one['photos']} photographs, {one['threads']} threads or processes")
    yield from ("", *report.header(("writer", "samples/s", "MB written", "CPU s per 1,000", "forebay ÷ it")))
    groups, refused = summary.grouped(records, lambda record: record["loader"]), equality.refused(RUNS.failures(records))
    for name, mine in groups.items():
        ratio = ""
        if name != "forebay" and "forebay" in groups:
            ratio = report.ratio_cell(groups["forebay"], mine, RUNS.rate, is_refused=bool({name, "forebay"} & set(refused)))
        written = "" if name == "steps" else summary.spread([record["bytes"] / 1e6 for record in mine], 0)
        yield report.row([name, RUNS.rates(mine), written, RUNS.costs(mine), ratio])
    yield from ("", *report.settings_lines(records))


def table(records):
    return RUNS.document("Preparing photographs", records, body)
