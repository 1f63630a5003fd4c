"""The Markdown around a benchmark's own table."""

from harness import equality, noise, summary

REFUSED = "refused"


def row(cells):
    return "| " + " | ".join(cells) + " |"


def header(names):
    """Two lines."""
    return [row(names), "|---" * len(names) + "|"]


def ratio_cell(base, mine, rate, digits=2, is_refused=False):
    """Base's rate over mine; no figure for who did other work."""
    return REFUSED if is_refused else summary.spread(summary.ratios(base, mine, rate), digits)


def introduction(records, what):
    """'what, 3 interleaved rounds; median (min–max). The machine.'"""
    rounds = len({record["round"] for record in records})
    return f"{what}, {rounds} interleaved round{'s' * (rounds != 1)}; median (min–max). {records[0]['machine']}."


def settings_lines(records, more=lambda record: ""):
    """One line a contestant: what it calls itself, version, settings, and more(record)."""
    for loader, mine in summary.grouped(records, lambda record: record["loader"]).items():
        settings = "; ".join(f"{key}: {value}" for key, value in mine[0]["settings"].items())
        yield f"- **{mine[0]['name']}** ({loader}), {mine[0]['version']}{': ' * bool(settings)}{settings}{more(mine[0])}"


def verdict(wrong):
    """What the checks found."""
    return ["EQUALITY CHECKS FAILED:", "", *[f"- {text}" for text in wrong]] if wrong else ["Equality checks: all passed."]


def document(title, records, body, wrong, where):
    """The whole report: body(good records) between the title and what is to be told of all runs."""
    good = equality.good(records)
    lines = [f"# {title}", "", *([*body(good), "", *noise.lines(good, where)] if good else []), *verdict(wrong)]
    return "\n".join(lines) + "\n"
