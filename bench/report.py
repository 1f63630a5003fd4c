"""Checks that the loaders did the same work, and writes the table. Works on the recorded JSON lines alone."""

import math
import statistics

ANTIALIASED = "bilinear, anti-aliased"  # as rivals/recipe.py says it
BASE = "forebay"
NOISE = 0.1  # share of the machine that others may use before a run is called noisy


def tolerance(part, key, photos):
    """How far an honest loader's mean or standard deviation may be from the others'; for the detail, as a share.

    Crops are random: over 128 photographs the means scatter by 0.035 (one standard deviation) and the detail by 2 %, and
    both shrink with the root of the number. Four to five times that is allowed, and more where only some pixels were
    looked at (the timed epoch). Never under 6 % for the detail: libraries draw the crop's size differently.
    """
    if key == "detail":
        return max(0.06, 2.3 / math.sqrt(photos))
    return (1.8 if part == "proof" else 3.0) / math.sqrt(photos)


def record_problems(record):
    """What is wrong with one run by itself."""
    expected, found = record["photos"], []
    if record["exit_code"] != 0:
        found.append(f"delivered everything, then exited with {record['exit_code']}")
    for part in ("timed", "proof"):
        proof = record.get(part)
        if not proof:
            continue
        found += proof["problems"]
        if proof["samples"] != expected or proof["distinct"] != expected:
            found.append(f"{part}: {proof['samples']} samples of {proof['distinct']} photographs, not {expected}")
        if proof["shapes"] != [[3, 224, 224]] or proof["dtypes"] != ["float32"]:
            found.append(f"{part}: shape {proof['shapes']}, type {proof['dtypes']}")
        if proof["per_class"] != record["expected_per_class"]:
            found.append(f"{part}: per class {proof['per_class']}, not {record['expected_per_class']}")
    return found


def problems(records):
    """Every failed check as 'loader, round: what'. Empty means that the loaders delivered the same work."""
    good, found = [], []
    for record in records:
        where = f"{record['loader']}, round {record['round']}"
        wrong = [record["error"]] if "error" in record else record_problems(record)
        found += [f"{where}: {text}" for text in wrong]
        if "error" not in record:
            good.append(record)
    return found + pixel_problems(good) + repeat_problems(good)


def pixel_problems(records):
    """Loaders whose pixels are not those of the others."""
    found = []
    for part in ("timed", "proof"):
        proofs = [(record, record[part]) for record in records if record.get(part)]
        for key in ("mean", "std"):
            for channel, colour in enumerate(("red", "green", "blue")):
                values = [(record, proof[key][channel]) for record, proof in proofs]
                found += outliers(values, part, f"{key} of {colour}", key, relative=False)
        found += outliers([(record, proof["detail"]) for record, proof in proofs
                           if proof.get("detail") and record["settings"].get("resample") == ANTIALIASED],
                          part, "detail", "detail", relative=True)
    return found


def outliers(values, part, what, key, relative):
    """One line for each of [(record, value)] that is too far from the median of them all."""
    if not values:
        return []
    middle = statistics.median(value for _, value in values)
    allowed = tolerance(part, key, values[0][0]["photos"]) * (middle if relative else 1)
    return [f"{record['loader']}, round {record['round']}: {what} ({part}) is {value:.4f}, all loaders' median is "
            f"{middle:.4f}, tolerance {allowed:.4f}" for record, value in values if abs(value - middle) > allowed]


def repeat_problems(records):
    """Forebay promises the same bytes for the same seed: every round must have delivered one order and one content."""
    found = []
    for loader in sorted({record["loader"] for record in records if record["loader"].startswith(BASE)}):
        proofs = [record["timed"] for record in records if record["loader"] == loader]
        if len({(proof["order"], tuple(proof["mean"])) for proof in proofs}) > 1:
            found.append(f"{loader}: rounds with one seed delivered different orders or pixels")
    return found


def spread(values, digits):
    """Median (min to max)."""
    low, middle, high = (f"{value:,.{digits}f}" for value in (min(values), statistics.median(values), max(values)))
    return middle if low == high else f"{middle} ({low}–{high})"


def rate(record):
    return record["timed"]["samples"] / record["seconds"]


def ratios(records, loader, base):
    """Base's samples/s over the loader's, round by round."""
    rates = {(record["loader"], record["round"]): rate(record) for record in records}
    rounds = sorted({record["round"] for record in records})
    return [rates[base, number] / rates[loader, number]
            for number in rounds if (base, number) in rates and (loader, number) in rates]


def loader_row(records, loader):
    mine = [record for record in records if record["loader"] == loader]
    suffix = loader.partition("@")[2]
    base = f"{BASE}@{suffix}" if suffix else BASE
    ratio = ratios(records, loader, base)
    pixels = next((record["proof"] for record in mine if record.get("proof")), mine[0]["timed"])
    mean = " ".join(f"{value:.3f}" for value in pixels["mean"])
    cells = [
        mine[0]["name"] + (f" [{suffix}]" if suffix else ""),
        spread([rate(record) for record in mine], 0),
        spread(ratio, 2) if ratio else "–",
        spread([1000 * record["cpu_s"] / record["timed"]["samples"] for record in mine], 2),
        spread([record["peak_bytes"] / 1e6 for record in mine], 0),
        f"{statistics.median(record['peak_file_bytes'] for record in mine) / 1e6:,.0f}",
        spread([1000 * record["first_batch_from_loader_s"] for record in mine], 0),
        spread([1000 * record["first_batch_from_process_s"] for record in mine], 0),
        mean,
        f"{pixels['detail']:.4f}" if pixels.get("detail") else "–",
    ]
    return "| " + " | ".join(cells) + " |"


HEADER = """\
| loader | samples/s | Forebay ÷ it | CPU s per 1,000 | peak memory, MB | of it mapped files | first batch from loader, ms \
| from process start, ms | mean R G B | detail |
|---|---|---|---|---|---|---|---|---|---|"""


def loaders_in(records):
    return list(dict.fromkeys(record["loader"] for record in records))


def settings_lines(records):
    for loader in loaders_in(records):
        record = next(record for record in records if record["loader"] == loader)
        settings = "; ".join(f"{key}: {value}" for key, value in record["settings"].items())
        yield f"- **{record['name']}** ({loader}), {record['version']}: {settings}; {record['kilobytes_each']:.1f} kB a file"


def across_lines(records):
    """For loaders with files of their own: Forebay on the originals against them."""
    for loader in loaders_in(records):
        values = ratios(records, loader, BASE) if "@" in loader and not loader.startswith(BASE) else []
        if values:
            yield f"Forebay on the originals ÷ {loader}: {spread(values, 2)}."


def table(records):
    """The whole report as Markdown."""
    wrong = problems(records)
    good = [record for record in records if "error" not in record]
    lines = ["# Photographs to batches: the table", ""]
    if good:
        one = good[0]
        lines += [f"{one['photos']} photographs, batch {one['batch']}, {one['threads']} threads or workers, "
                  f"{len({r['round'] for r in good})} interleaved rounds; median (min–max). {one['machine']}.",
                  "", HEADER, *[loader_row(good, loader) for loader in loaders_in(good)], "",
                  *across_lines(good), "", *settings_lines(good), ""]
        noisy = sorted({f"{r['loader']}, round {r['round']}" for r in good if r["foreign_share"] > NOISE})
        if noisy:
            lines += [f"NOISY (other programs took over {100 * NOISE:.0f} % of the CPU time): " + "; ".join(noisy), ""]
    lines += ["EQUALITY CHECKS FAILED:", "", *[f"- {text}" for text in wrong]] if wrong else ["Equality checks: all passed."]
    return "\n".join(lines) + "\n"
