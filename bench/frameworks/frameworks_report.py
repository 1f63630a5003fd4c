"""Checks that the adapters delivered the loop's batches, and writes the table. Works on the recorded JSON lines alone."""

from harness import equality, report, summary
from harness.compared import Compared

HEADER = ("loader", "samples/s", "of the Python loop's", "ms a batch", "CPU s per 1,000 samples")


def other_batches(good):
    """The same bytes of the first epoch and of the one behind the timed ones, and as many samples."""
    for mine in summary.grouped(good, lambda record: record["data"]).values():
        yield from equality.differing(mine, ("digest", "last_digest", "samples"))


RUNS = Compared(across=other_batches, case="data")
one_line, problems = RUNS.one_line, RUNS.problems


def loader_row(base, mine, is_refused):
    share = report.REFUSED if is_refused else summary.spread([1 / ratio for ratio in summary.ratios(base, mine, RUNS.rate)], 2)
    return report.row([mine[0]["loader"], RUNS.rates(mine), share,
                       summary.spread([1000 * record["seconds"] / record["batches"] for record in mine], 2),
                       RUNS.costs(mine, 3)])


def body(records, of_all):
    one = records[0]
    yield report.introduction(records, f"{one['photos']} photographs, {one['rows']:,} rows, {one['version']}")
    yield ""
    cases, refused = RUNS.of_cases(of_all)
    for data, groups in cases.items():
        batch = next(iter(groups.values()))[0]["batch"]
        yield from (f"## {data}, batches of {batch}", "", *report.header(HEADER))
        for loader, mine in groups.items():
            yield loader_row(groups.get("python", []), mine, not {(data, loader), (data, "python")}.isdisjoint(refused))
        yield ""
    yield from report.settings_lines(records)


def table(records):
    """The whole report as Markdown."""
    return RUNS.document("Adapters for other frameworks", records, lambda good: body(good, records))
