"""Figures over rounds: median and spread, and ratios that are taken round by round."""

import statistics


def figures(values):
    """{median, least, greatest}."""
    return {"median": statistics.median(values), "least": min(values), "greatest": max(values)}


def spread(values, digits):
    """Median (least–greatest) as text; the median alone where they look the same; – where there are none."""
    if not values:
        return "–"
    found = figures(values)
    low, middle, high = (f"{found[name]:,.{digits}f}" for name in ("least", "median", "greatest"))
    return middle if low == high else f"{middle} ({low}–{high})"


def column(records, key, scale, digits):
    """The spread of what the records have under a key, scaled; records that lack it do not count."""
    return spread([record[key] * scale for record in records if record.get(key) is not None], digits)


def ratios(base, mine, rate):
    """Base's rate over mine, one for each round in which both ran."""
    of_round = {record["round"]: rate(record) for record in base}
    return [of_round[record["round"]] / rate(record) for record in mine if record["round"] in of_round]


def grouped(records, key):
    """{key(record): its records}, in the order of their first run."""
    groups = {}
    for record in records:
        groups.setdefault(key(record), []).append(record)
    return groups
