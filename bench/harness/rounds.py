"""Interleaved rounds: A B C …, B C A …, so that what the machine does in the meantime, and who goes first, meets all contestants alike."""

import json
import os
import sys

from harness import noise


def turned(runs, number):
    """The runs of round `number`: whoever comes first in a round has the better machine (5 to 10 % where processors are shared)."""
    first = number % len(runs) if runs else 0
    return [*runs[first:], *runs[:first]]


def measure(rounds, runs_of, run, describe, out):
    """Every run's record, in the order in which they were made.

    runs_of(number) lists a round's runs; run(one, number) makes one and returns its record; describe(record) is the line
    that is shown meanwhile. Each record gets `round`, `machine` and `cores`, and stands in the file `out` as a line of
    JSON as soon as it is there.
    """
    records, head = [], {"machine": noise.machine(), "cores": os.cpu_count()}
    with open(out, "w") as file:
        for number in range(rounds):
            for one in runs_of(number):
                record = head | {"round": number} | run(one, number)
                records.append(record)
                file.write(json.dumps(record) + "\n")
                file.flush()
                print(describe(record), file=sys.stderr, flush=True)
    return records


def recorded(path):
    """The records of an earlier measurement."""
    with open(path) as lines:
        return [json.loads(line) for line in lines]
