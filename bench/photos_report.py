"""Checks that the loaders did the same work, and writes the table. Works on the recorded JSON lines alone."""

import math
import statistics

from harness import equality, report, summary

ANTIALIASED = "bilinear, anti-aliased"  # as rivals/recipe.py says it
BASE = "forebay"


def tolerance(part, key, photos):
    """How far an honest loader's mean or standard deviation may be from the others'; for the detail, as a share.

    Crops are random: over 128 photographs the means scatter by 0.035 (one standard deviation) and the detail by 2 %, and
    both shrink with the root of the number. Four to five times that is allowed, and more where only some pixels were
    looked at (the timed epoch). Never under 6 % for the detail: libraries draw the crop's size differently.
    """
    if key == "detail":
        return max(0.06, 2.3 / math.sqrt(photos))
    return (1.8 if part == "proof" else 3.0) / math.sqrt(photos)


def where(record):
    return f"{record['loader']}, round {record['round']}"


def record_problems(record):
    """What is wrong with one run by itself."""
    found = equality.process_failures(record)
    for part in ("timed", "proof"):
        proof = record.get(part)
        if not proof:
            continue
        expected = record["photos"]
        found += proof["problems"]
        if proof["samples"] != expected or proof["distinct"] != expected:
            found.append(f"{part}: {proof['samples']} samples of {proof['distinct']} photographs, not {expected}")
        if proof["shapes"] != [[3, 224, 224]] or proof["dtypes"] != ["float32"]:
            found.append(f"{part}: shape {proof['shapes']}, type {proof['dtypes']}")
        if proof["per_class"] != record["expected_per_class"]:
            found.append(f"{part}: per class {proof['per_class']}, not {record['expected_per_class']}")
    return found


def failures(records):
    """Every failed check (see harness.equality)."""
    return equality.failures(records, record_problems, lambda good: [*pixel_problems(good), *repeat_problems(good)])


def problems(records):
    """Every failed check as 'loader, round: what'. Empty means that the loaders delivered the same work."""
    return equality.lines(failures(records), where)


def pixel_problems(records):
    """Loaders whose pixels are not those of the others."""
    for part in ("timed", "proof"):
        proofs = [(record, record[part]) for record in records if record.get(part)]
        for key in ("mean", "std"):
            for channel, colour in enumerate(("red", "green", "blue")):
                values = [(record, proof[key][channel]) for record, proof in proofs]
                yield from outliers(values, part, f"{key} of {colour}", key, relative=False)
        yield from outliers([(record, proof["detail"]) for record, proof in proofs
                             if proof.get("detail") and record["settings"].get("resample") == ANTIALIASED],
                            part, "detail", "detail", relative=True)


def outliers(values, part, what, key, relative):
    """A failed check for each of [(record, value)] that is too far from the median of them all."""
    if not values:
        return
    middle = statistics.median(value for _, value in values)
    allowed = tolerance(part, key, values[0][0]["photos"]) * (middle if relative else 1)
    for record, value in values:
        if abs(value - middle) > allowed:
            yield record, (f"{what} ({part}) is {value:.4f}, all loaders' median is {middle:.4f}, tolerance {allowed:.4f}")


def repeat_problems(records):
    """Forebay promises the same bytes for the same seed: every round must have delivered one order and one content."""
    for loader in sorted({record["loader"] for record in records if record["loader"].startswith(BASE)}):
        mine = of_loader(records, loader)
        if len({(record["timed"]["order"], tuple(record["timed"]["mean"])) for record in mine}) > 1:
            yield mine[0], "rounds with one seed delivered different orders or pixels"


def rate(record):
    return record["timed"]["samples"] / record["seconds"]


def cpu_s_per_1000(record):
    return 1000 * record["cpu_s"] / record["timed"]["samples"]


def one_line(record):
    if "error" in record:
        return f"{where(record)}: FAILED: {record['error']}"
    return (f"{where(record)}: {rate(record):7.0f} samples/s  {cpu_s_per_1000(record):5.2f} CPU s per 1,000  "
            f"{record['peak_bytes'] / 1e6:6.0f} MB")


def of_loader(records, loader):
    return [record for record in records if record["loader"] == loader]


def ratios(records, loader, base):
    """Base's samples/s over the loader's, round by round."""
    return summary.ratios(of_loader(records, base), of_loader(records, loader), rate)


HEADER = ("loader", "samples/s", "Forebay ÷ it", "CPU s per 1,000", "peak memory, MB", "of it mapped files",
          "first batch from loader, ms", "from process start, ms", "mean R G B", "detail")


def loader_row(records, loader, refused):
    mine = of_loader(records, loader)
    suffix = loader.partition("@")[2]
    base = f"{BASE}@{suffix}" if suffix else BASE
    pixels = next((record["proof"] for record in mine if record.get("proof")), mine[0]["timed"])
    return report.row([
        mine[0]["name"] + (f" [{suffix}]" if suffix else ""),
        summary.spread([rate(record) for record in mine], 0),
        report.ratio_cell(of_loader(records, base), mine, rate, is_refused=not refused.isdisjoint((loader, base))),
        summary.spread([cpu_s_per_1000(record) for record in mine], 2),
        summary.column(mine, "peak_bytes", 1e-6, 0),
        f"{statistics.median(record['peak_file_bytes'] for record in mine) / 1e6:,.0f}",
        summary.column(mine, "first_batch_from_loader_s", 1000, 0),
        summary.column(mine, "first_batch_from_process_s", 1000, 0),
        " ".join(f"{value:.3f}" for value in pixels["mean"]),
        f"{pixels['detail']:.4f}" if pixels.get("detail") else "–",
    ])


def loaders_in(records):
    return list(dict.fromkeys(record["loader"] for record in records))


def across_lines(records, refused):
    """For loaders with files of their own: Forebay on the originals against them."""
    for loader in loaders_in(records):
        values = ratios(records, loader, BASE) if "@" in loader and not loader.startswith(BASE) else []
        if values and refused.isdisjoint((loader, BASE)):
            yield f"Forebay on the originals ÷ {loader}: {summary.spread(values, 2)}."


def body(records, refused):
    one = records[0]
    yield report.introduction(records, f"{one['photos']} photographs, batch {one['batch']}, {one['threads']} threads or workers")
    yield from ("", *report.header(HEADER), *(loader_row(records, loader, refused) for loader in loaders_in(records)), "")
    yield from (*across_lines(records, refused), "")
    yield from report.settings_lines(records, lambda record: f"; {record['kilobytes_each']:.1f} kB a file")


def table(records):
    """The whole report as Markdown."""
    failed = failures(records)
    return report.document("Photographs to batches: the table", records, lambda good: body(good, equality.refused(failed)),
                           equality.lines(failed, where), where)
