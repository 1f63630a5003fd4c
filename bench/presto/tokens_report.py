"""Checks that all delivered the same tokens, and writes the table. Works on the recorded JSON lines alone."""

from harness import equality, report, summary
from harness.compared import Compared


def of_record(record):
    """What a run failed by itself."""
    failed = equality.process_failures(record)
    if "error" not in record and record["delivered"] != record["pages"]:
        failed.append(f"delivered {record['delivered']} of {record['pages']} pages")
    return failed


RUNS = Compared(of_record, lambda good: equality.differing(good, ("tokens", "lengths", "ids")), counted="pages", unit="pages")
one_line, problems = RUNS.one_line, RUNS.problems


def body(records):
    refused = equality.refused(RUNS.failures(records))
    groups = summary.grouped(records, lambda record: record["loader"])
    base = groups.get("forebay", [])
    one = records[0]
    yield report.introduction(records, f"{one['pages']:,} pages, {one['tokens']:,} tokens, batches of {one['batch']}, {one['threads']} threads or workers")
    yield from ("", *report.header(("loader", "pages/s", "tokens/s", "CPU s", "Forebay over it")))
    for loader, mine in groups.items():
        yield report.row([loader, RUNS.rates(mine), summary.spread([record["tokens"] / record["seconds"] for record in mine], 0),
                          summary.column(mine, "cpu_s", 1, 2), report.ratio_cell(base, mine, RUNS.rate, 2, loader in refused or "forebay" in refused)])
    yield from ("", *report.settings_lines(records))


def table(records):
    return RUNS.document("Pages of HTML to tokens", records, body)
