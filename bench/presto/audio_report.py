"""Checks that both made the same spectrograms, and writes the table. Works on the recorded JSON lines alone."""

import math

from harness import equality, report, summary

TOLERANCE = 1e-3  # of a spectrogram's sums: decoders of MP3 differ in the last bits, float32's sums too


def rate(record):
    return record["samples"] / record["seconds"]


def where(record):
    return f"{record['set']}, {record['loader']}, round {record['round']}"


def one_line(record):
    return f"{where(record)}: " + (f"FAILED: {record['error']}" if "error" in record else f"{rate(record):.0f} samples/s")


def of_record(record):
    yield from equality.process_failures(record)
    if "error" in record:
        return
    if not record["each_once"]:
        yield "not every recording once an epoch"
    if record["in_order"]:
        yield "the order is not shuffled"
    if record["dtype"] != "float32":
        yield f"values are {record['dtype']}"


def same_values(good):
    """(record, text) where a spectrogram is not what the first contestant made of the same recording."""
    first = {}
    for record in good:
        if "sums" not in record:
            continue
        expected = first.setdefault(record["set"], record)
        pairs = zip(expected["sums"], record["sums"])
        bad = [i for i, (ours, theirs) in enumerate(pairs)
               if not all(math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=1e-6) for a, b in zip(ours, theirs))]
        if bad or len(expected["sums"]) != len(record["sums"]):
            yield record, f"recording {bad[0] if bad else '?'} and {len(bad)} in all have other spectrograms than of {expected['loader']}"


def across(good):
    yield from same_values(good)
    for name in dict.fromkeys(record["set"] for record in good):
        yield from equality.differing([{**record, "shape": str(record["shape"])} for record in good if record["set"] == name], ("shape",))


def failures(records):
    return equality.failures(records, of_record, across)


def problems(records):
    return equality.lines(failures(records), where)


def table_lines(good, refused):
    yield from report.header(("recordings", "shape", "loader", "samples/s", "CPU s per 1,000", "Forebay ÷ it"))
    for name in dict.fromkeys(record["set"] for record in good):
        groups = summary.grouped([record for record in good if record["set"] == name], lambda record: record["loader"])
        for loader, mine in groups.items():
            ratio = "" if loader == "forebay" or "forebay" not in groups else (
                "refused" if (name, loader) in refused or (name, "forebay") in refused
                else summary.spread(summary.ratios(groups["forebay"], mine, rate), 2))
            cost = [1000 * record["cpu_s"] / record["samples"] for record in mine]
            yield report.row([f"{name}, {mine[0]['files']} files", str(mine[0]["shape"]), mine[0]["name"],
                              summary.spread([rate(record) for record in mine], 0), summary.spread(cost, 2), ratio])


def body(good, records):
    one = good[0]
    yield report.introduction(good, f"batches of {one['batch']}, {one['threads']} threads or workers; all files in the page cache")
    refused = equality.refused(failures(records), lambda record: (record["set"], record["loader"]))
    yield from ("", *table_lines(good, refused), "")
    for record in {record["loader"]: record for record in good}.values():
        yield f"- {record['name']}: {record['version']} {record['settings'] or ''}".rstrip()


def table(records):
    """The whole report as Markdown."""
    return report.document("Recordings to mel spectrograms", records, lambda good: body(good, records), problems(records), where)
