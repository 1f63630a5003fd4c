"""Checks that the adapters delivered the loop's batches, and writes the table. Works on the recorded JSON lines alone."""

from harness import equality, report, summary

HEADER = ("loader", "samples/s", "of the Python loop's", "ms a batch", "CPU s per 1,000 samples")


def where(record):
    return f"{record['data']}, {record['loader']}, round {record['round']}"


def rate(record):
    return record["samples"] / record["seconds"]


def one_line(record):
    return f"{where(record)}: " + (f"FAILED: {record['error']}" if "error" in record else f"{rate(record):,.0f} samples/s")


def failures(records):
    """Every failed check: the same bytes of the first epoch and of the one behind the timed ones, and as many samples."""
    return equality.failures(records, equality.process_failures, lambda good: [
        failed for mine in summary.grouped(good, lambda record: record["data"]).values()
        for failed in equality.differing(mine, ("digest", "last_digest", "samples"))])


def problems(records):
    return equality.lines(failures(records), where)


def loader_row(base, mine, is_refused):
    share = report.REFUSED if is_refused else summary.spread([1 / ratio for ratio in summary.ratios(base, mine, rate)], 2)
    return report.row([mine[0]["loader"], summary.spread([rate(record) for record in mine], 0), share,
                       summary.spread([1000 * record["seconds"] / record["batches"] for record in mine], 2),
                       summary.spread([1000 * record["cpu_s"] / record["samples"] for record in mine], 3)])


def body(records, refused):
    one = records[0]
    yield report.introduction(records, f"{one['photos']} photographs, {one['rows']:,} rows, {one['version']}")
    yield ""
    for data, of_data in summary.grouped(records, lambda record: record["data"]).items():
        groups = summary.grouped(of_data, lambda record: record["loader"])
        yield from (f"## {data}, batches of {of_data[0]['batch']}", "", *report.header(HEADER))
        for loader, mine in groups.items():
            yield loader_row(groups.get("python", []), mine, not {(data, loader), (data, "python")}.isdisjoint(refused))
        yield ""
    yield from report.settings_lines(records)


def table(records):
    """The whole report as Markdown."""
    failed = failures(records)
    refused = equality.refused(failed, lambda record: (record["data"], record["loader"]))
    return report.document("Adapters for other frameworks", records, lambda good: body(good, refused), equality.lines(failed, where), where)
