"""Checks that all parts were delivered, and writes what a mix costs. Works on the recorded JSON lines alone."""

from harness import equality, report, summary
from harness.compared import Compared

BOUND_NS, BOUND_OPENING, BOUND_KINDS = 30, 2.0, 0.97
ROWS = ("rows of", "ns a row", "above one array", "CPU ns a row", "above one array")
OPENING = ("opened", "ms", "CPU ms", "over the sources alone")
SHARE_ERROR = 0.01  # of the samples of an epoch that ends in the middle of a window
KINDS = ("of", "samples/s", "CPU ms a sample", "of the mean of each alone", "the same in CPU time")

NAMES = {"sources": "a loader for each file, one after the other", "numpy": "each file by np.load(mmap_mode=\"r\")", "mix": "a loader of a mix of all",
         "photographs": "photographs", "table": "the same as a column of a table", "both": "both, 3 to 1"}


def of_record(record):
    """What a run failed by itself."""
    failed = equality.process_failures(record)
    if "error" not in record and record["case"] == "rows" and record["distinct"] != record["rows"]:
        failed.append(f"{record['distinct']} distinct rows of {record['rows']} in an epoch")
    if "error" not in record and record["case"] == "open" and not record["steps"]:
        failed.append("an opened loader has no steps")
    if "error" not in record and record["case"] == "kinds" and record["loader"] == "both":
        failed += [f"{count} samples of {name} in {record['samples']}, 3 to 1" for name, count in record["came"].items()
                   if abs(count - record["samples"] * {"photographs": 3, "table": 1}[name] / 4) > SHARE_ERROR * record["samples"]]
    return failed


def across(good):
    return equality.differing([record for record in good if record["case"] == "rows"], ("samples", "distinct"))


RUNS = Compared(of_record, across, case="case", unit="parts or rows")
one_line, problems = RUNS.one_line, RUNS.problems


def ns(record, key):
    return 1e9 * record[key] / record["samples"]


def above(base, mine, key):
    """Nanoseconds a row above those of one array in the same round."""
    of_round = {record["round"]: ns(record, key) for record in base}
    return [ns(record, key) - of_round[record["round"]] for record in mine if record["round"] in of_round]


def rows_row(base, mine, is_refused):
    cells = [mine[0]["loader"]]
    for key in ("seconds", "cpu_s"):
        more = "" if mine is base else report.REFUSED if is_refused else summary.spread(above(base, mine, key), 0)
        cells += [summary.spread([ns(record, key) for record in mine], 0), more]
    return report.row(cells)


def of_mean(groups, key):
    """What both cost by the samples that came of each and its cost alone in the same round, over what they did cost."""
    alone = {name: {record["round"]: record[key] / record["samples"] for record in groups.get(name, [])} for name in ("photographs", "table")}
    both = [record for record in groups.get("both", []) if all(record["round"] in costs for costs in alone.values())]
    return [sum(count * alone[name][record["round"]] for name, count in record["came"].items()) / record[key] for record in both]


def body(records, of_all):
    one = records[0]
    yield report.introduction(records, f"{one['rows']:,} rows of 64 bytes, shuffled; batches of {one['batch']}, {one['threads']} threads")
    yield f"Load average at the beginnings of runs: {summary.spread([record['load'] for record in records], 1)}."
    cases, refused = RUNS.of_cases(of_all)
    if "rows" in cases:
        groups = cases["rows"]
        base = groups.get("one array", [])
        yield from ("", f"Bound: {BOUND_NS} ns a row above one array.", "", *report.header(ROWS))
        for loader, mine in groups.items():
            yield rows_row(base, mine, not {("rows", loader), ("rows", "one array")}.isdisjoint(refused))
    if "open" in cases:
        groups = cases["open"]
        base = groups.get("sources", [])
        yield from ("", f"{one['files']:,} files of .npy. Bound: {BOUND_OPENING} times the sources alone.", "", *report.header(OPENING))
        for loader, mine in groups.items():
            is_refused = not {("open", loader), ("open", "sources")}.isdisjoint(refused)
            times = "" if mine is base else report.REFUSED if is_refused else summary.spread(summary.ratios(base, mine, RUNS.rate), 2)
            yield report.row([NAMES[loader], *(summary.column(mine, key, 1000, 0) for key in ("seconds", "cpu_s")), times])
    if "kinds" in cases:
        groups = cases["kinds"]
        yield from ("", f"{one['photos']:,} photographs, decoded and cropped to 224 pixels, batches of 32. Bound: {BOUND_KINDS} of the weighted harmonic mean of the "
                    "samples/s of each alone.", "", *report.header(KINDS))
        is_refused = any(("kinds", name) in refused for name in groups)
        for loader, mine in groups.items():
            ratios = ["", ""] if loader != "both" else [report.REFUSED] * 2 if is_refused else [summary.spread(of_mean(groups, key), 3) for key in ("seconds", "cpu_s")]
            yield report.row([NAMES[loader], RUNS.rates(mine), RUNS.costs(mine), *ratios])
    yield ""


def table(records):
    """The whole report as Markdown."""
    return RUNS.document("What a mix costs", records, lambda good: body(good, records))
