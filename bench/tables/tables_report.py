"""Checks that the loaders delivered what they should, and writes the tables. Works on the recorded JSON lines alone."""

import statistics

from plans import BASES, STEP_MS
from report import NOISE, spread

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
        return [record["error"]]
    epochs = record["delivery"]["epochs"]
    found = list(record["delivery"]["problems"])
    for epoch, before in zip(epochs, [None, *epochs]):
        found += epoch_problems(record, epoch, before)
    if record.get("proof") is not None and not record["proof"]["rows"]:
        found.append("nothing of it was proven")
    if record["exit_code"] != 0:
        found.append(f"delivered everything, then exited with {record['exit_code']}")
    return list(dict.fromkeys(found))


def is_known(record, text):
    return record["cannot"] and "error" in record or any(known in text for known in record["known"])


def repeat_problems(records):
    """Forebay promises one order for one seed and batch size, whatever the cache, the output or the round."""
    for table in dict.fromkeys(record["table"] for record in records):
        mine = [record for record in records if record["table"] == table and record["loader"].startswith("forebay")]
        for number in range(2):
            orders = {record["delivery"]["epochs"][number]["order"] for record in mine
                      if len(record["delivery"]["epochs"]) > number}
            if len(orders) > 1:
                yield f"forebay, {table}: epoch {number} came in {len(orders)} orders with one seed"


def problems(records):
    """Every failed check as 'loader, table, round: what', but those that are known of a rival."""
    good = [record for record in records if "error" not in record]
    return [f"{where(record)}: {text}" for record in records for text in record_problems(record)
            if not is_known(record, text)] + list(repeat_problems(good))


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


def ratios(mine, base):
    """Base's rows/s over these, round by round."""
    rates = {record["round"]: rate(record) for record in base}
    return [rates[record["round"]] / rate(record) for record in mine if record["round"] in rates]


def some(records, key, scale, digits):
    found = [record[key] * scale for record in records if record.get(key) is not None]
    return spread(found, digits) if found else "–"


HEADER = ("| loader | gives | rows/s | {bases} | CPU s per 1 M rows | peak memory, MB | first batch, ms "
          "| from process start, ms | next(), µs of CPU | looking at all columns, µs | row groups a batch |")


def gives(record):
    order = {"rows": "rows mixed", "row groups": "row groups mixed", "files": "file order"}[record["claims"]["order"]]
    return order + (", exact batches" if record["claims"]["partial"] is not None else "")


def table_row(loader, groups, bases):
    mine = groups[loader]
    cells = [mine[0]["name"] + f" ({loader})", gives(mine[0]), spread([rate(record) for record in mine], 0)]
    for base in bases:
        ratio = ratios(mine, groups[base]) if base in groups and base != loader else []
        cells.append(spread(ratio, 2) if ratio else "–")
    epochs = [epoch["groups_a_batch"] for record in mine for epoch in record["delivery"]["epochs"]]
    cells += [spread([1e6 * record["cpu_s"] / record["rows"] for record in mine], 2), some(mine, "peak_bytes", 1e-6, 0),
              some(mine, "first_batch_s", 1000, 0), some(mine, "first_batch_from_process_s", 1000, 0),
              some(mine, "next_us", 1, 0),
              some(mine, "touch_us", 1, 0), f"{statistics.median(epochs):.0f}" if epochs else "–"]
    return "| " + " | ".join(cells) + " |"


def speed_table(records, what):
    """One table of rows/s for each data set."""
    bases = BASES[what] or ("forebay",)
    for table in dict.fromkeys(record["table"] for record in records):
        groups = {}
        for record in records:
            if record["table"] == table and not record["trains"]:
                groups.setdefault(record["loader"], []).append(record)
        if not groups:
            continue
        one = next(iter(groups.values()))[0]
        head = HEADER.format(bases=" | ".join(f"{base} ÷ it" for base in bases))
        yield from (f"## {table}: {one['table_rows']:,} rows, {one['bytes'] / 1e6:,.0f} MB, {one['groups']} row groups",
                    "", head,
                    "|---" * (head.count("|") - 1) + "|", *(table_row(loader, groups, bases) for loader in groups), "")


def trainer_lines(records):
    """How busy the emulated trainer was."""
    trained = [record for record in records if record["trains"]]
    if trained:
        yield from (f"## A trainer of {STEP_MS} ms a step", "",
                    "| table | rows a step | loader | busy, % | after the first batch, % | first batch, ms | steps/s "
                    "| CPU s |",
                    "|---|---|---|---|---|---|---|---|")
    for key in dict.fromkeys((record["table"], record["loader"]) for record in trained):
        mine = [record for record in trained if (record["table"], record["loader"]) == key]
        steps = [record["steps"] / record["seconds"] for record in mine]
        cells = [key[0], spread([record["batch"] for record in mine], 0), f"{mine[0]['name']} ({key[1]})",
                 some(mine, "busy", 100, 1),
                 some(mine, "busy_after_first", 100, 1), some(mine, "first_batch_s", 1000, 0), spread(steps, 1),
                 some(mine, "cpu_s", 1, 1)]
        yield "| " + " | ".join(cells) + " |"


def settings_lines(records):
    seen = {}
    for record in records:
        seen.setdefault(record["loader"], record)
    for loader, record in seen.items():
        settings = "; ".join(f"{key}: {value}" for key, value in record["settings"].items())
        yield f"- **{record['name']}** ({loader}), {record['version']}: {settings}"


def noisy(records):
    return [where(record) for record in records if record["others_cpu_s"] > NOISE * record["seconds"] * record["cores"]]


def table(records):
    """The whole report as Markdown."""
    good, wrong, told = [record for record in records if "error" not in record], problems(records), findings(records)
    lines = ["# Tables to batches", ""]
    if good:
        one = good[0]
        lines += [f"{one['what']}: batches of {one['batch']:,}, {one['threads']} threads or workers, "
                  f"{len({record['round'] for record in records})} interleaved rounds; median (min–max). "
                  f"{one['machine']}.", "",
                  *speed_table(good, one["what"]), *trainer_lines(good), "", *settings_lines(good), ""]
        if loud := noisy(good):
            lines += [f"NOISY (other programs took over {100 * NOISE:.0f} % of the CPU time): " + "; ".join(loud), ""]
    if told:
        lines += ["Known of rivals:", "", *[f"- {text}" for text in told], ""]
    lines += ["CHECKS FAILED:", "", *[f"- {text}" for text in wrong]] if wrong else ["Checks: all passed."]
    return "\n".join(lines) + "\n"
