"""Checks that the loaders delivered what they should, and writes the table. Works on the recorded JSON lines alone."""

import statistics

from harness import equality, report, summary
from harness.summary import spread

BASE = "forebay"
SHARDS = ("webdataset", "streaming")  # they read other objects: their requests are not counted against samples
LOCAL = ("forebay_local", "forebay_decode_local")


def rate(record):
    return record["samples"] / record["seconds"]


def row_of(record):
    """What makes two runs the same but for the round."""
    faults = ", ".join(f"{key}={value}" for key, value in record["faults"].items())
    return record["loader"], record["latency_ms"], str(record["requests"]), faults


def where(record):
    loader, latency, requests, faults = row_of(record)
    return f"{loader}, {latency} ms, requests {requests}{', ' + faults if faults else ''}, round {record['round']}"


def record_problems(record):
    """What is wrong with one run by itself."""
    if "error" in record:
        return equality.process_failures(record)
    found = record["problems"] + equality.process_failures(record)
    reads_here = record["loader"] not in (*SHARDS, *LOCAL) and "pillow" not in record["loader"]
    ahead = 0.5 * record["samples"] + 4 * record["batch"]  # fetched before the timed part began, at most
    if reads_here and record["server"]["requests"] < record["samples"] - max(ahead, 1024):
        found.append(f"the server saw {record['server']['requests']} requests for {record['samples']} samples")
    return found


def failures(records):
    """Every failed check (see harness.equality)."""
    return equality.failures(records, record_problems)


def problems(records):
    return equality.lines(failures(records), where)


def one_line(record):
    if "error" in record:
        return f"{where(record)}: FAILED: {record['error']}"
    peak = record["server"]["peak_in_flight"]
    return (f"{where(record)}: {rate(record):7.0f} samples/s  {1000 * record['cpu_s'] / record['samples']:6.3f} CPU s per "
            f"1,000  {record.get('peak_bytes', 0) / 1e6:5.0f} MB  first {1000 * record.get('first_batch_from_loader_s', 0):6.0f} ms  "
            f"peak in flight {peak}"
            + (f"  WRONG: {'; '.join(record['problems'])}" if record["problems"] else ""))


def ratios(mine, base):
    """Base's samples/s over these, round by round."""
    return summary.ratios(base, mine, rate)


HEADER = ("loader", "ms", "requests", "faults", "samples/s", "Forebay ÷ it", "CPU s per 1,000", "servers' CPU s per 1,000",
          "peak memory, MB", "first batch, ms", "in latencies", "listing, ms", "peak in flight", "requests seen ÷ samples")


def table_row(row, mine, groups, refused):
    loader, latency, requests, faults = row
    base = (BASE, latency, "auto", faults)
    servers = [1000 * sum(record["server_cpu_s"].values()) / record["samples"] for record in mine if "server_cpu_s" in record]
    return report.row([
        mine[0]["name"] + f" ({loader})", str(latency), requests, faults or "–", spread([rate(record) for record in mine], 0),
        report.ratio_cell(groups.get(base, []) if loader != BASE else [], mine, rate,
                          is_refused=not refused.isdisjoint((row, base))),
        spread([1000 * record["cpu_s"] / record["samples"] for record in mine], 3), spread(servers, 2),
        summary.column(mine, "peak_bytes", 1e-6, 0), summary.column(mine, "first_batch_from_loader_s", 1000, 0),
        summary.column(mine, "first_batch_from_loader_s", 1000 / latency, 1) if latency else "–",
        summary.column(mine, "listing_s", 1000, 0),
        spread([record["server"]["peak_in_flight"] for record in mine], 0),
        spread([record["server"]["requests"] / record["samples"] for record in mine], 2)])


def median_rate(records):
    return statistics.median(rate(record) for record in records)


def ceilings(groups):
    """{latency: the stand's greatest samples/s}, the best depth's median."""
    best = {}
    for (loader, latency, _, _), mine in groups.items():
        if loader == "ceiling":
            best[latency] = max(best.get(latency, 0), median_rate(mine))
    return best


def sweep_lines(groups):
    """Auto against the best fixed setting, and what the settings right of the knee keep of it."""
    limits = ceilings(groups)
    for loader, latency in dict.fromkeys((row[0], row[1]) for row in groups if row[0] != "ceiling"):
        fixed = {int(row[2]): mine for row, mine in groups.items() if row[:2] == (loader, latency) and row[2] != "auto"}
        if not fixed:
            continue
        depth = max(fixed, key=lambda number: median_rate(fixed[number]))
        best = median_rate(fixed[depth])
        yield f"- {loader}, {latency} ms: best fixed setting {depth} with {best:,.0f}/s."
        if beyond := [number for number in fixed if number > depth]:
            worst = min(beyond, key=lambda number: median_rate(fixed[number]))
            yield f"  Right of it the least is {worst}: {100 * median_rate(fixed[worst]) / best:.0f} % of the best."
        auto = groups.get((loader, latency, "auto", ""))
        if not auto:
            continue
        bound = min(best, limits.get(latency, best)) if loader == BASE else best
        yield f"  auto ÷ min(ceiling, best fixed): {median_rate(auto) / bound:.3f}."
        speed = [1 / value for value in ratios(auto, fixed[depth])]
        cpu = {record["round"]: record["cpu_s"] / record["samples"] for record in fixed[depth]}
        saved = [cpu[record["round"]] * record["samples"] / record["cpu_s"] for record in auto
                 if record["round"] in cpu and record["cpu_s"]]
        if speed and saved:
            yield (f"  auto ÷ best fixed, round by round: samples/s {spread(speed, 3)}; CPU seconds (best fixed ÷ auto) "
                   f"{spread(saved, 3)}.")


def decode_lines(groups):
    """Fetch and decode together against what the cores can do."""
    by_name = {(row[0], row[1]): mine for row, mine in groups.items()}
    for (name, latency), both in by_name.items():
        decode, fetch = by_name.get(("forebay_decode_local", latency)), by_name.get((BASE, latency))
        if name != "forebay_decode" or not decode or not fetch:
            continue
        each = [statistics.median(values) for values in (
            [record["cpu_s"] / record["samples"] for record in decode],
            [record["cpu_s"] / record["samples"] for record in fetch],
            [sum(record["server_cpu_s"].values()) / record["samples"] for record in fetch])]
        bound = both[0]["cores"] / sum(each)
        yield (f"- {latency} ms: the cores can do {bound:,.0f}/s (CPU ms per sample: decode {1000 * each[0]:.2f}, fetch "
               f"{1000 * each[1]:.2f}, servers {1000 * each[2]:.2f}); reached {100 * median_rate(both) / bound:.0f} %.")


def fault_lines(groups):
    """What each loader keeps of its speed under each fault."""
    for (loader, latency, requests, faults), mine in groups.items():
        clean = groups.get((loader, latency, requests, ""))
        if faults and clean:
            kept = [1 / value for value in ratios(mine, clean)]
            yield f"- {loader}, {latency} ms, {faults}: {spread([100 * value for value in kept], 0)} % of its fault-free speed."


def body(records, refused):
    groups, one = summary.grouped(records, row_of), records[0]
    yield report.introduction(records, f"{one['what']}: {one['photos']} photographs of {one['mean_bytes'] / 1000:.0f} kB, "
                                       f"batch {one['batch']}, {one['threads']} threads or workers")
    yield from ("", *report.header(HEADER), *(table_row(row, mine, groups, refused) for row, mine in groups.items()), "")
    notes = [*sweep_lines(groups), *decode_lines(groups), *fault_lines(groups)]
    notes += [f"- The stand's ceiling at {latency} ms: {best:,.0f}/s." for latency, best in ceilings(groups).items()]
    yield from [*notes, ""] if notes else []
    yield from report.settings_lines(records)


def table(records):
    """The whole report as Markdown."""
    failed = failures(records)
    return report.document("Photographs behind a slow gateway: the table", records,
                           lambda good: body(good, equality.refused(failed, row_of)), equality.lines(failed, where), where)
