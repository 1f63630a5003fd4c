"""What a benchmark's runs are called, how fast they were, and which of its checks they failed."""

from harness import equality, report, summary


class Compared:
    """The contestants of one benchmark: what its report says of their runs, and who is refused.

    Args:
        of_record, across: the checks, as harness.equality.failures() takes them.
        case: the key of what a run was of, where contestants run on several things.
        counted: the key of how much a run did; `unit` of what, for people.
    """

    def __init__(self, of_record=equality.process_failures, across=lambda good: (), *, case=None, counted="samples", unit="samples"):
        self._of_record, self._across = of_record, across
        self._case, self._counted, self._unit = case, counted, unit

    def rate(self, record):
        return record[self._counted] / record["seconds"]

    def rates(self, records):
        """Their spread, as text."""
        return summary.spread([self.rate(record) for record in records], 0)

    def costs(self, records, digits=2):
        """Likewise of the CPU seconds per 1,000."""
        return summary.spread([1000 * record["cpu_s"] / record[self._counted] for record in records], digits)

    def where(self, record):
        return (f"{record[self._case]}, " if self._case else "") + f"{record['loader']}, round {record['round']}"

    def one_line(self, record):
        what = f"FAILED: {record['error']}" if "error" in record else f"{self.rate(record):,.0f} {self._unit}/s"
        return f"{self.where(record)}: {what}"

    def failures(self, records):
        """Every failed check (see harness.equality)."""
        return equality.failures(records, self._of_record, self._across)

    def problems(self, records):
        """Every failed check as 'where: what'."""
        return equality.lines(self.failures(records), self.where)

    def of_cases(self, records):
        """{case: {contestant: its good runs}}, and the (case, contestant) that are refused."""
        cases = summary.grouped(equality.good(records), lambda record: record[self._case])
        refused = equality.refused(self.failures(records), lambda record: (record[self._case], record["loader"]))
        return {case: summary.grouped(mine, lambda record: record["loader"]) for case, mine in cases.items()}, refused

    def case_rows(self, records, cells, digits=2, base="forebay"):
        """A row for each contestant on each thing: cells(its first run), its rate, its cost, and the base's rate over its own."""
        cases, refused = self.of_cases(records)
        for case, groups in cases.items():
            for loader, mine in groups.items():
                none = loader == base or base not in groups
                ratio = "" if none else report.ratio_cell(groups[base], mine, self.rate, is_refused=bool({(case, loader), (case, base)} & refused))
                yield report.row([*cells(mine[0]), self.rates(mine), self.costs(mine, digits), ratio])

    def document(self, title, records, body):
        """The whole report as Markdown, around body(good records)."""
        return report.document(title, records, body, self.problems(records), self.where)
