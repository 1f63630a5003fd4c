"""Checks that both DataLoaders delivered the same, and writes the table. Works on the recorded JSON lines alone."""

import statistics

from harness import equality, report, summary

EQUAL = ("samples", "order", "pixels", "all_pixels")  # in every round
HEADER = ("case", "torch, samples/s", "Forebay, samples/s", "ratio", "torch, CPU s per 1,000", "Forebay")


def rate(record):
    return record["samples"] / record["seconds"]


def where(record):
    return f"{record['case']}, {record['loader']}, round {record['round']}"


def one_line(record):
    if "error" in record:
        return f"{where(record)}: FAILED: {record['error']}"
    return f"{where(record)}: {record['seconds']:.2f} s"


def by_case(records):
    return summary.grouped(records, lambda record: record["case"])


def failures(records):
    """Every failed check (see harness.equality)."""
    return equality.failures(records, equality.process_failures, lambda good: [
        failed for mine in by_case(good).values() for failed in equality.differing(mine, EQUAL)])


def problems(records):
    return equality.lines(failures(records), where)


def case_row(case, mine, refused):
    sides = [[record for record in mine if record["loader"] == loader] for loader in ("torch", "forebay")]
    cpu = [[1000 * record["cpu_s"] / record["samples"] for record in side] for side in sides]
    return report.row([
        mine[0]["title"], *(summary.spread([rate(record) for record in side], 1) for side in sides),
        report.ratio_cell(sides[1], sides[0], rate, is_refused=case in refused),
        *(f"{statistics.median(values):.2f}" if values else "–" for values in cpu)])


def body(records, refused):
    one = records[0]
    yield report.introduction(records, f"{one['photos']} photographs, {one['reads']} reads, batches of {one['batch']}, "
                                       f"{one['version']}")
    yield from ("", *report.header(HEADER), *(case_row(case, mine, refused) for case, mine in by_case(records).items()))


def table(records):
    """The whole report as Markdown."""
    failed = failures(records)
    refused = equality.refused(failed, lambda record: record["case"])
    return report.document("The drop-in beside PyTorch's DataLoader", records, lambda good: body(good, refused),
                           equality.lines(failed, where), where)
