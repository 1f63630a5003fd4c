"""Checks that both made the same numbers of the same windows, and writes the table. Works on the recorded JSON lines alone."""

import math

from harness import equality, report, summary

TOLERANCE = 1e-5  # of the weighted sums over an epoch: float32 values, added up in other orders


def rate(record):
    return record["samples"] / record["seconds"]


def where(record):
    return f"{record['windows']}, {record['loader']}, round {record['round']}"


def one_line(record):
    return f"{where(record)}: " + (f"FAILED: {record['error']}" if "error" in record else f"{rate(record):.0f} windows/s")


def of_record(record):
    yield from equality.process_failures(record)
    if "error" in record:
        return
    if not record["each_once"]:
        yield "not every window once an epoch"
    if record["in_order"]:
        yield "the order is not shuffled"


def other_sums(good):
    """(record, text) where a sum is not that of the first contestant on the same windows. The cusum ends at zero, so it is held to the RMS."""
    first = {}
    for record in good:
        expected = first.setdefault(record["windows"], record)["sums"]
        scale = {"rms": abs(expected["rms"]), "power": abs(expected["power"]), "cusum": abs(expected["rms"])}
        for name, value in expected.items():
            if not math.isclose(record["sums"][name], value, rel_tol=TOLERANCE, abs_tol=TOLERANCE * scale[name]):
                yield record, f"the {name} comes to {record['sums'][name]}, not {value}"


def across(good):
    yield from other_sums(good)
    for windows in dict.fromkeys(record["windows"] for record in good):
        yield from equality.differing([record for record in good if record["windows"] == windows], ("samples",))


def failures(records):
    return equality.failures(records, of_record, across)


def problems(records):
    return equality.lines(failures(records), where)


def table_lines(good, refused):
    yield from report.header(("windows", "loader", "windows/s", "CPU s per 1,000", "Forebay ÷ it"))
    for windows in dict.fromkeys(record["windows"] for record in good):
        groups = summary.grouped([record for record in good if record["windows"] == windows], lambda record: record["loader"])
        for loader, mine in groups.items():
            ratio = "" if loader == "forebay" or "forebay" not in groups else (
                "refused" if (windows, loader) in refused or (windows, "forebay") in refused
                else summary.spread(summary.ratios(groups["forebay"], mine, rate), 2))
            cost = [1000 * record["cpu_s"] / record["samples"] for record in mine]
            yield report.row([windows, mine[0]["name"], summary.spread([rate(record) for record in mine], 0), summary.spread(cost, 3), ratio])


def body(good, records):
    one = good[0]
    yield report.introduction(good, f"{one['megabytes']} MB of float32 voltage and current (shuffle + gzip chunks), windows of 4,096 rows, batches of "
                                    f"{one['batch']}, {one['threads']} threads or workers; the file in the page cache")
    refused = equality.refused(failures(records), lambda record: (record["windows"], record["loader"]))
    yield from ("", *table_lines(good, refused), "")
    for record in {record["loader"]: record for record in good}.values():
        yield f"- {record['name']}: {record['version']} {record['settings'] or ''}".rstrip()


def table(records):
    """The whole report as Markdown."""
    return report.document("HDF5 windows to RMS, power and CUSUM", records, lambda good: body(good, records), problems(records), where)
