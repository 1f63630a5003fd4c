"""Checks that both made the same spectrograms, and writes the table. Works on the recorded JSON lines alone."""

import math

from harness import equality, report
from harness.compared import Compared

TOLERANCE = 1e-3  # of a spectrogram's sums: decoders of MP3 differ in the last bits, float32's sums too


def of_record(record):
    yield from equality.process_failures(record)
    if "error" in record:
        return
    if not record["each_once"]:
        yield "not every recording once an epoch"
    if record["in_order"]:
        yield "the order is not shuffled"
    if record["dtype"] != "float32":
        yield f"values are {record['dtype']}"


def same_values(good):
    """(record, text) where a spectrogram is not what the first contestant made of the same recording."""
    first = {}
    for record in good:
        if "sums" not in record:
            continue
        expected = first.setdefault(record["set"], record)
        pairs = zip(expected["sums"], record["sums"])
        bad = [i for i, (ours, theirs) in enumerate(pairs)
               if not all(math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-6) for a, b in zip(ours, theirs))]
        if bad or len(expected["sums"]) != len(record["sums"]):
            yield record, f"recording {bad[0] if bad else '?'} and {len(bad)} in all have other spectrograms than of {expected['loader']}"


def across(good):
    yield from same_values(good)
    for name in dict.fromkeys(record["set"] for record in good):
        yield from equality.differing([{**record, "shape": str(record["shape"])} for record in good if record["set"] == name], ("shape",))


RUNS = Compared(of_record, across, case="set")
one_line, problems = RUNS.one_line, RUNS.problems


def body(good, records):
    one = good[0]
    yield report.introduction(good, f"batches of {one['batch']}, {one['threads']} threads or workers; all files in the page cache")
    yield from ("", *report.header(("recordings", "shape", "loader", "samples/s", "CPU s per 1,000", "Forebay ÷ it")))
    yield from RUNS.case_rows(records, lambda record: (f"{record['set']}, {record['files']} files", str(record["shape"]), record["name"]))
    yield from ("", *report.settings_lines(good))


def table(records):
    """The whole report as Markdown."""
    return RUNS.document("Recordings to mel spectrograms", records, lambda good: body(good, records))
