"""Checks that all mixed the same parts by the same weights, and writes the table. Works on the recorded JSON lines alone."""

import math

from harness import equality, report, summary
from harness.compared import Compared

DEVIATIONS = 5  # standard deviations of drawing each part at random, beyond which shares are other shares
HEADER = ("loader", "samples/s", "Forebay ÷ it", "CPU µs a sample", "peak memory, MB", "first batch, ms", "error after 1,000", "error after 10,000",
          "repeats", "resume at 90 %, ms", "goes on exactly")


def allowed(weights, samples):
    return DEVIATIONS * math.sqrt(max(weight * (1 - weight) for weight in weights) * samples)


def of_record(record):
    """What a run failed by itself."""
    failed = equality.process_failures(record)
    if "error" in record:
        return failed
    if record["sizes"] != [record["batch"]]:
        failed.append(f"batches of {record['sizes']}, not of {record['batch']}")
    if record["rising"] > 0.9:
        failed.append(f"not shuffled: {100 * record['rising']:.0f} % of a part's samples follow a lower one")
    for at, error in record["errors"].items():
        if error > allowed(record["weights"], int(at)):
            failed.append(f"other shares: a part is {error:.0f} samples from its share after {int(at):,}")
    return failed


RUNS = Compared(of_record, case="kind")
one_line, problems = RUNS.one_line, RUNS.problems


def resuming(mine):
    """Two cells: milliseconds, and whether the batch was the right one."""
    for record in mine:
        if "resume_s" in record:
            return [summary.spread([1000 * seconds for seconds in record["resume_s"]], 1), "yes" if record["resume_same"] else "no"]
        if "resume_error" in record:
            return ["fails", "–"]
    return ["n/a", "–"]


def loader_row(base, mine, is_refused):
    errors = [summary.spread([record["errors"][at] for record in mine if at in record["errors"]], 1) for at in ("1000", "10000")]
    return report.row([mine[0]["name"], RUNS.rates(mine), report.ratio_cell(base, mine, RUNS.rate, is_refused=is_refused),
                       summary.spread([1e6 * record["cpu_s"] / record["samples"] for record in mine], 2), summary.column(mine, "peak_bytes", 1e-6, 0),
                       summary.column(mine, "first_batch_from_loader_s", 1000, 0), *errors, summary.column(mine, "repeats", 1, 0), *resuming(mine)])


def body(records, of_all):
    one = records[0]
    loads = summary.spread([record["load"] for record in records], 1)
    yield report.introduction(records, f"Batches of {one['batch']}, {one['threads']} threads or workers")
    yield f"Load average at the beginnings of runs: {loads}."
    cases, refused = RUNS.of_cases(of_all)
    for kind, groups in cases.items():
        yield from ("", f"## {kind}", "", *report.header(HEADER))
        for loader, mine in groups.items():
            yield loader_row(groups.get("forebay", []), mine, not {(kind, loader), (kind, "forebay")}.isdisjoint(refused))
        told = {mine[0]["name"]: record["resume_error"] for mine in groups.values() for record in mine if "resume_error" in record}
        yield from ["", *[f"- {name} does not resume: {error}" for name, error in told.items()]]
    yield from report.settings_lines(records)


def table(records):
    """The whole report as Markdown."""
    return RUNS.document("Three parts mixed by weights", records, lambda good: body(good, records))
