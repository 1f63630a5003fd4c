"""Checks that all delivered the same photographs, and writes the table. Works on the recorded JSON lines alone."""

from harness import equality, report, summary
from harness.compared import Compared

# Who is held against whom: the bytes of files, or pixels of one seed and one epoch.
BASES = {"forebay": "webdataset", "forebay_decoded": "folder_decoded"}
RAW = ("forebay", "webdataset")


def of_record(record):
    """What is wrong with one run."""
    wrong = equality.process_failures(record)
    if wrong:
        return wrong
    proof = record["proof"]
    if not proof["once"] or proof["count"] != record["photos"]:
        wrong.append(f"not every photograph once: {proof['count']} of {record['photos']}")
    if record["samples"] != record["photos"] * record["epochs"]:
        wrong.append(f"the timed epochs had {record['samples']} samples")
    if proof["sorted"] and record["photos"] > 1:
        wrong.append("the order is not shuffled")
    return wrong


def across(good):
    """Raw contestants give the same bytes, decoded ones the same pixels."""
    flat = [record | {"content": record["proof"]["content"]} for record in good]
    raw = [record for record in flat if record["loader"] in RAW]
    decoded = [record for record in flat if record["loader"] not in RAW]
    return [*equality.differing(raw, ("content", "bytes")), *equality.differing(decoded, ("content",))]


RUNS = Compared(of_record, across)
one_line, problems = RUNS.one_line, RUNS.problems


def body(records):
    one = records[0]
    yield report.introduction(records, f"{one['photos']} photographs, {one['epochs']} epochs, {one['threads']} threads or workers")
    yield from ("", *report.header(("loader", "samples/s", "MB/s", "CPU s per 1,000", "ratio")))
    groups, refused = summary.grouped(records, lambda record: record["loader"]), equality.refused(RUNS.failures(records))
    for name, mine in groups.items():
        base = BASES.get(name)
        ratio = ""
        if base in groups:
            ratio = f"{report.ratio_cell(mine, groups[base], RUNS.rate, is_refused=bool({name, base} & set(refused)))} × {base}"
        raw = summary.spread([record["bytes"] / record["seconds"] / 1e6 for record in mine], 0) if name in RAW else ""
        yield report.row([name, RUNS.rates(mine), raw, RUNS.costs(mine), ratio])
    yield from ("", *report.settings_lines(records))


def table(records):
    return RUNS.document("Tar shards of photographs", records, body)
