"""Checks that threads and processes delivered the same, and writes the table. Works on the recorded JSON lines alone."""

import json

from harness import equality, report, summary

COSTS = "costs"  # the contestant that measures what calls cost, and delivers nothing


def rate(record):
    return record["samples"] / record["seconds"]


def where(record):
    return f"{record['loader']}, round {record['round']}"


def one_line(record):
    return f"{where(record)}: " + (f"FAILED: {record['error']}" if "error" in record else f"{record['seconds']:.2f} s")


def by_loader(records):
    return summary.grouped(records, lambda record: record["loader"])


def failures(records):
    """Every failed check (see harness.equality)."""
    return equality.failures(records, equality.process_failures, lambda good: equality.differing(
        [record for record in good if record["loader"] != COSTS], ("delivered", "digest")))


def problems(records):
    return equality.lines(failures(records), where)


def figures(records):
    """{what: values of the rounds}."""
    groups = by_loader(equality.good(records))
    speeds = {loader: mine for loader, mine in groups.items() if loader != COSTS}
    found = {f"samples/s with {loader}": [rate(record) for record in mine] for loader, mine in speeds.items()}
    if not problems(records):
        found["processes over threads"] = summary.ratios(groups["processes"], groups["threads"], rate)
    for name in groups[COSTS][0]["costs"] if COSTS in groups else ():
        found[name] = [record["costs"][name] for record in groups[COSTS]]
    return found


def body(records, found):
    one = records[0]
    yield report.introduction(records, f"Python {one['python']}, {one['samples']} samples, {one['threads']} threads or processes")
    yield from ("", *report.header(("what", "measured")))
    for name, values in found.items():
        yield report.row([name, summary.spread(values, 0 if "samples/s" in name else 2 if "over" in name else 1)])
    yield from ("", f"digest of both: {one.get('digest')}")


def table(records):
    """The whole report as Markdown."""
    return report.document("Python that holds the interpreter lock", records, lambda good: body(good, figures(records)),
                           problems(records), where)


def as_json(records):
    """The same on one line; `wrong` lists the failed checks."""
    one = equality.good(records)[0]
    return json.dumps({key: one[key] for key in ("python", "numpy", "threads", "samples", "digest")} | {
        "figures": {name: summary.figures(values) for name, values in figures(records).items()}, "wrong": problems(records)})
