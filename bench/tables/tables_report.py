"""Checks that the loaders delivered what they should, and writes the tables. Works on the recorded JSON lines alone."""

import statistics

from harness import equality, report, summary
from tables_plans import BASES, RAMPS, STEP_MS

MIXED = 4            # row groups that a batch of mixed rows comes from, at least, where the table has as many
IN_SEQUENCE = 0.05   # share of rows that may follow their neighbour in the file, where rows are mixed


def rate(record):
    return record["rows"] / record["seconds"]


def where(record):
    return f"{record['loader']}, {record['table']}{', trainer' if record['trains'] else ''}, round {record['round']}"


def epoch_problems(record, epoch, before):
    """What is wrong with one finished epoch; `before` is the one before, if any."""
    claims, batch = record["claims"], record["batch"]
    if epoch["lost"] or epoch["repeated"] or epoch["rows"] != record["table_rows"]:
        yield f"an epoch of {epoch['rows']} rows, {epoch['lost']} lost, {epoch['repeated']} more than once"
    if claims["partial"] is not None and (epoch["other_sizes"] > claims["partial"] or epoch["largest"] > batch):
        yield f"{epoch['other_sizes']} of {epoch['batches']} batches are not of {batch} rows"
    if claims["order"] == "rows" and epoch["in_sequence"] > IN_SEQUENCE:
        yield f"{100 * epoch['in_sequence']:.0f} % of the rows follow their neighbour"
    if claims["order"] == "rows" and epoch["groups_a_batch"] < min(MIXED, record["groups"]):
        yield f"a batch has rows of {epoch['groups_a_batch']:.0f} row groups"
    if before is not None and claims["order"] != "files" and epoch["order"] == before["order"]:
        yield "two epochs in the same order"


def record_problems(record):
    """What is wrong with one run by itself."""
    if "error" in record:
        return equality.process_failures(record)
    epochs = record["delivery"]["epochs"]
    found = list(record["delivery"]["problems"])
    for epoch, before in zip(epochs, [None, *epochs]):
        found += epoch_problems(record, epoch, before)
    if record.get("proof") is not None and not record["proof"]["rows"]:
        found.append("nothing of it was proven")
    return list(dict.fromkeys(found + equality.process_failures(record)))


def is_known(record, text):
    return record["cannot"] and "error" in record or any(known in text for known in record["known"])


def repeat_problems(records):
    """Forebay promises one order for one seed, batch size and shuffle, whatever the cache, the output or the round."""
    for table, ramp in dict.fromkeys((record["table"], record["loader"] in RAMPS) for record in records):
        mine = [record for record in records if record["table"] == table and record["loader"].startswith("forebay")
                and (record["loader"] in RAMPS) == ramp]
        for number in range(2):
            orders = {record["delivery"]["epochs"][number]["order"] for record in mine
                      if len(record["delivery"]["epochs"]) > number}
            for one in summary.grouped(mine if len(orders) > 1 else [], lambda record: record["loader"]).values():
                yield one[0], f"epoch {number} came in {len(orders)} orders with one seed"


def failures(records):
    """Every failed check (see harness.equality), but those that are known of a rival."""
    return equality.failures(records, lambda record: [text for text in record_problems(record) if not is_known(record, text)],
                             repeat_problems)


def problems(records):
    """Every failed check as 'loader, table, round: what', but those that are known of a rival."""
    return equality.lines(failures(records), where)


def findings(records):
    """What rivals are known to fail, and did."""
    return sorted({f"{record['loader']}, {record['table']}: {text}" for record in records
                   for text in record_problems(record)
                   if is_known(record, text)})


def one_line(record):
    if "error" in record:
        return f"{where(record)}: FAILED: {record['error']}"
    text = (f"{where(record)}: {rate(record):9,.0f} rows/s  {record['cpu_s']:5.2f} CPU s  "
            f"{record['peak_bytes'] / 1e6:5.0f} MB")
    if "next_us" in record:
        text += f"  next {record['next_us']:.0f} us"
    if record["trains"]:
        text += f"  busy {100 * record['busy']:.1f} %"
    wrong = record_problems(record)
    return text + (f"  WRONG: {'; '.join(wrong)}" if wrong else "")


HEADER = ("CPU s per 1 M rows", "peak memory, MB", "first batch, ms", "from process start, ms", "next(), µs of CPU",
          "looking at all columns, µs", "row groups a batch")


def gives(record):
    order = {"rows": "rows mixed", "row groups": "row groups mixed", "files": "file order"}[record["claims"]["order"]]
    return order + (", exact batches" if record["claims"]["partial"] is not None else "")


def table_row(loader, groups, bases, refused):
    mine = groups[loader]
    cells = [mine[0]["name"] + f" ({loader})", gives(mine[0]), summary.spread([rate(record) for record in mine], 0)]
    cells += [report.ratio_cell(groups.get(base, []) if base != loader else [], mine, rate,
                                is_refused=not refused.isdisjoint({(name, mine[0]["table"]) for name in (loader, base)}))
              for base in bases]
    epochs = [epoch["groups_a_batch"] for record in mine for epoch in record["delivery"]["epochs"]]
    cells += [summary.spread([1e6 * record["cpu_s"] / record["rows"] for record in mine], 2),
              summary.column(mine, "peak_bytes", 1e-6, 0), summary.column(mine, "first_batch_from_loader_s", 1000, 0),
              summary.column(mine, "first_batch_from_process_s", 1000, 0), summary.column(mine, "next_us", 1, 0),
              summary.column(mine, "touch_us", 1, 0), f"{statistics.median(epochs):.0f}" if epochs else "–"]
    return report.row(cells)


def speed_table(records, what, refused):
    """One table of rows/s for each data set."""
    bases = BASES[what] or ("forebay",)
    speeds = [record for record in records if not record["trains"]]
    for table, mine in summary.grouped(speeds, lambda record: record["table"]).items():
        groups, one = summary.grouped(mine, lambda record: record["loader"]), mine[0]
        yield from (f"## {table}: {one['table_rows']:,} rows, {one['bytes'] / 1e6:,.0f} MB, {one['groups']} row groups", "",
                    *report.header(("loader", "gives", "rows/s", *(f"{base} ÷ it" for base in bases), *HEADER)),
                    *(table_row(loader, groups, bases, refused) for loader in groups), "")


TRAINER_HEADER = ("table", "rows a step", "loader", "busy, %", "after the first batch, %", "first batch, ms", "steps/s", "CPU s")


def trainer_lines(records):
    """How busy the emulated trainer was."""
    trained = summary.grouped([record for record in records if record["trains"]],
                              lambda record: (record["table"], record["loader"]))
    if trained:
        yield from (f"## A trainer of {STEP_MS} ms a step", "", *report.header(TRAINER_HEADER))
    for (table, loader), mine in trained.items():
        yield report.row([table, summary.column(mine, "batch", 1, 0), f"{mine[0]['name']} ({loader})",
                          summary.column(mine, "busy", 100, 1), summary.column(mine, "busy_after_first", 100, 1),
                          summary.column(mine, "first_batch_from_loader_s", 1000, 0),
                          summary.spread([record["steps"] / record["seconds"] for record in mine], 1),
                          summary.column(mine, "cpu_s", 1, 1)])


def body(records, refused, told):
    one = records[0]
    yield report.introduction(records, f"{one['what']}: batches of {one['batch']:,}, {one['threads']} threads or workers")
    yield from ("", *speed_table(records, one["what"], refused), *trainer_lines(records), "", *report.settings_lines(records))
    if told:
        yield from ("", "Known of rivals:", "", *[f"- {text}" for text in told])


def table(records):
    """The whole report as Markdown."""
    failed = failures(records)
    refused = equality.refused(failed, lambda record: (record["loader"], record["table"]))
    return report.document("Tables to batches", records, lambda good: body(good, refused, findings(records)),
                           equality.lines(failed, where), where)
