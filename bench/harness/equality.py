"""Equal work: what a run failed by itself, whether contestants delivered the same, and who is refused for it.

A failed check is a pair (record, what is wrong). A contestant with one is refused: it gets no ratio, the report names it,
and the benchmark's exit code is 1.
"""

import collections


def process_failures(record):
    """What the process of a run says: the reason for which there is no result, or that it ended badly behind it."""
    if "error" in record:
        return [record["error"]]
    return [f"delivered everything, then exited with {record['exit_code']}"] if record["exit_code"] != 0 else []


def good(records):
    """Those of runs that have a result."""
    return [record for record in records if "error" not in record]


def differing(records, keys):
    """(record, text) for each run in which one of these keys is not what most runs have.

    Most: of contestants, not of runs; where as many say one thing as another, those that ran first are believed.
    """
    for key in keys:
        believers = collections.defaultdict(dict)
        for record in good(records):
            believers[record[key]].setdefault(record["loader"])
        expected = max(believers, key=lambda value: len(believers[value]), default=None)
        for record in good(records):
            if record[key] != expected:
                yield record, f"{key} is {record[key]}, not {expected} as of {', '.join(believers[expected])}"


def failures(records, of_record, across=lambda good: ()):
    """All failed checks: of_record(record) gives texts; across(good records) gives pairs."""
    return [(record, text) for record in records for text in of_record(record)] + list(across(good(records)))


def lines(failed, where):
    """'where: what' of each; where(record) names a run."""
    return [f"{where(record)}: {text}" for record, text in failed]


def refused(failed, key=lambda record: record["loader"]):
    """Of whom no ratio counts, neither its own nor one that is taken of it."""
    return {key(record) for record, _ in failed}
