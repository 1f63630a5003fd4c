"""Regret of profile()'s choice, and its predictions beside what whole epochs gave. Works on the recorded JSON lines alone."""

import json
import statistics

from harness import equality, report, summary

PROFILE = "profile"
WITHIN = {"samples/s": 0.15, "bytes": 0.05, "preparing": 0.20}  # what a prediction is held against
ASKED = 0.90  # of the cells


def where(record):
    return f"{record['name']}, {record['loader']}, round {record['round']}"


def one_line(record):
    return f"{where(record)}: " + (f"FAILED: {record['error']}" if "error" in record else f"{record['rate']:,.0f} samples/s")


def write(records, path):
    with open(path, "w") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def of_cells(records):
    return [record for record in records if record["loader"] != PROFILE]


def failures(records):
    """Every failed check (see harness.equality): whatever is kept, an epoch has the same bytes."""
    pipelines = summary.grouped(of_cells(records), lambda record: record["name"])
    return equality.failures(of_cells(records), equality.process_failures, lambda _: [
        failed for mine in pipelines.values() for failed in equality.differing(mine, ("digest", "samples"))])


def problems(records):
    return equality.lines(failures(records), where)


class Pipeline:
    """A pipeline's profile, and the medians of what each strategy really gave."""

    def __init__(self, found, cells):
        self.found = found
        self.told = {one["name"]: one for one in found["data"]["strategies"]}
        self.cells = summary.grouped(equality.good(cells), lambda record: record["loader"])

    def rate(self, strategy):
        return statistics.median(record["rate"] for record in self.cells[strategy])

    def chosen(self):
        """The best that was found, among those that were really run."""
        return next(one["name"] for one in self.found["data"]["strategies"] if one["name"] in self.cells)

    def best(self):
        return max(self.cells, key=self.rate)

    def regret(self):
        """What is lost by the choice: 0 is none."""
        return 1 - self.rate(self.chosen()) / self.rate(self.best())

    def unchanged(self):
        return next(name for name, one in self.told.items() if one["tier"] == "nothing")

    def gain(self):
        return self.rate(self.chosen()) / self.rate(self.unchanged())

    def errors(self, strategy):
        """How far each prediction is off, as a share of what was measured."""
        mine, told = self.cells[strategy], self.told[strategy]
        median = {key: statistics.median(record[key] for record in mine) for key in ("rate", "kept_bytes", "preparation_s")}
        found = {"samples/s": told["samples_per_second"]["value"] / median["rate"] - 1,
                 "preparing": told["preparation_seconds"]["value"] / median["preparation_s"] - 1}
        if median["kept_bytes"]:
            found["bytes"] = told["bytes"]["value"] / median["kept_bytes"] - 1
        return found


def pipelines_of(records):
    """One for each profile."""
    return [Pipeline(found, [record for record in of_cells(records) if record["name"] == found["name"]])
            for found in records if found["loader"] == PROFILE]


def share_within(pipelines, figure):
    """Of all cells of all pipelines, how many predictions are as near as asked."""
    errors = [errors[figure] for one in pipelines for strategy in one.cells if figure in (errors := one.errors(strategy))]
    return sum(abs(error) <= WITHIN[figure] for error in errors), len(errors)


def cells_table(one):
    yield from report.header(("strategy", "samples/s", "predicted", "bytes", "predicted", "preparing, s", "predicted"))
    for strategy, mine in sorted(one.cells.items(), key=lambda pair: -one.rate(pair[0])):
        told = one.told[strategy]
        yield report.row([strategy, summary.column(mine, "rate", 1, 0), f"{told['samples_per_second']['value']:,.0f}",
                          summary.column(mine, "kept_bytes", 1e-6, 1) + " MB", f"{told['bytes']['value'] * 1e-6:,.1f} MB",
                          summary.column(mine, "preparation_s", 1, 2), f"{told['preparation_seconds']['value']:,.2f}"])


def body(records):
    pipelines = pipelines_of(records)
    yield from (report.introduction(of_cells(records), "Every strategy over whole epochs"), "")
    yield from report.header(("pipeline", "samples tried", "profile, s", "chosen", "really the best", "regret, %", "times the untuned one"))
    for one in pipelines:
        data = one.found["data"]
        yield report.row([one.found["name"], f"{data['samples']:,} of {data['size']:,}", f"{data['seconds']:.0f}", one.chosen(), one.best(),
                          f"{100 * one.regret():.1f}", f"{one.gain():.2f}"])
    yield ""
    for figure, share in WITHIN.items():
        near, all_cells = share_within(pipelines, figure)
        yield f"- {figure}: {near} of {all_cells} cells within {share:.0%} (asked: {ASKED:.0%} of them)"
    for one in pipelines:
        yield from ("", f"## {one.found['name']}", "", *cells_table(one))


def table(records):
    """The whole report as Markdown."""
    return report.document("Where to cut: found from a part, and really", records, body, problems(records), where)
