"""Checks that two loaders delivered the same however they ran, and writes the table. Works on the recorded JSON lines alone."""

from harness import equality, report, summary

ALONE = ("first alone", "second alone")
HOW = (*ALONE, "together", "processes")
TITLES = {"together": "at once, one process", "processes": "at once, a process each"}
COMPUTE = "forebay-compute"  # what the engine calls its compute threads
HEADER = ("how", "samples/s of all", "of the first", "of the second", "share of what it does alone: first, %", "second, %",
          "in all ÷ one after the other", "CPU ÷ one after the other", "compute threads", "all threads",
          "memory over Python's own, MB")


def where(record):
    return f"{record['pair']}, {record['loader']}, round {record['round']}"


def rates(record):
    """Samples/s of each loader."""
    return [one["samples"] / one["seconds"] for one in record["loaders"]]


def one_line(record):
    if "error" in record:
        return f"{where(record)}: FAILED: {record['error']}"
    return f"{where(record)}: {' and '.join(f'{rate:,.0f}' for rate in rates(record))} samples/s"


def by_name(records):
    """One record for each loader of each run, as harness.equality compares them: {name of the loader: records}."""
    each = [record | {"digest": one["digest"], "first_epoch": one["first_epoch"], "of": one["name"]}
            for record in records for one in record["loaders"]]
    return summary.grouped(each, lambda record: (record["pair"], record["of"]))


def failures(records):
    """Every failed check (see harness.equality): each loader's bytes are the same alone, at once, and in every round."""
    return equality.failures(records, equality.process_failures, lambda good: [
        failed for mine in by_name(good).values() for failed in equality.differing(mine, ("digest", "first_epoch"))])


def problems(records):
    return equality.lines(failures(records), where)


class Round:
    """What two loaders do at once, held against the same two alone in the same round."""

    def __init__(self, record, first, second):
        self.record, self.alone = record, (first, second)

    def shares(self):
        """Of what each does alone; 0.5 each is what one after the other would give."""
        return [mine / rates(alone)[0] for mine, alone in zip(rates(self.record), self.alone)]

    def speed(self):
        """Over one after the other: the time that the delivered samples would take so, over the time that they took."""
        return sum(self.shares())

    def cpu(self):
        """Over the CPU seconds that the delivered samples cost one after the other."""
        costs = [alone["cpu_s"] / alone["loaders"][0]["samples"] for alone in self.alone]
        return self.record["cpu_s"] / sum(cost * one["samples"] for cost, one in zip(costs, self.record["loaders"]))


def rounds_of(records, how):
    """The rounds in which this and both alone have a result."""
    found = {(record["loader"], record["round"]): record for record in records}
    for (loader, number), record in found.items():
        alone = [found.get((name, number)) for name in ALONE]
        if loader == how and all(alone):
            yield Round(record, *alone)


def memory_over_own(record):
    return (record["peak_bytes"] - record["own_bytes"]) / 1e6


def facts(mine):
    """Threads and memory."""
    return [summary.spread([record["threads"].get(COMPUTE, 0) for record in mine], 0),
            summary.spread([sum(record["threads"].values()) for record in mine], 0),
            summary.spread([memory_over_own(record) for record in mine], 0)]


def alone_row(mine):
    place = ALONE.index(mine[0]["loader"])
    speed = summary.spread([rates(record)[0] for record in mine], 0)
    each = ["–", "–"]
    each[place] = speed
    return report.row([f"{mine[0]['loader']}: {mine[0]['loaders'][0]['name']}", speed, *each, "–", "–", "1.00", "1.00", *facts(mine)])


def at_once_row(records, mine, is_refused):
    held = [] if is_refused else list(rounds_of(records, mine[0]["loader"]))
    compared = [[100 * one.shares()[0] for one in held], [100 * one.shares()[1] for one in held],
                [one.speed() for one in held], [one.cpu() for one in held]]
    return report.row([
        TITLES[mine[0]["loader"]], summary.spread([sum(rates(record)) for record in mine], 0),
        *(summary.spread([rates(record)[place] for record in mine], 0) for place in (0, 1)),
        *(report.REFUSED if is_refused else summary.spread(values, digits) for values, digits in zip(compared, (0, 0, 2, 2))),
        *facts(mine)])


def pair_table(pair, mine, refused):
    groups = summary.grouped(mine, lambda record: record["loader"])
    yield from (f"## {pair}", "", *report.header(HEADER))
    for how in [how for how in HOW if how in groups]:
        is_refused = not {(pair, how), *((pair, name) for name in ALONE)}.isdisjoint(refused)
        yield alone_row(groups[how]) if how in ALONE else at_once_row(mine, groups[how], is_refused)
    yield ""


def body(records, refused):
    one = records[0]
    yield report.introduction(records, f"{one['photos']} photographs a folder, {one['rows']:,} rows, at least {one['epochs']} epochs "
                                       f"each, threads={one['threads_each']} each, {one['version']}")
    yield ""
    for pair, mine in summary.grouped(records, lambda record: record["pair"]).items():
        yield from pair_table(pair, mine, refused)


def table(records):
    """The whole report as Markdown."""
    failed = failures(records)
    refused = equality.refused(failed, lambda record: (record["pair"], record["loader"]))
    return report.document("Two loaders at once", records, lambda good: body(good, refused), equality.lines(failed, where), where)
