"""Rows of a block in a random order, cut into exact batches: what users of plain readers write themselves, in NumPy."""

import numpy as np

BLOCK = 8  # row groups that are mixed, as Forebay's default


class Mixer:
    """Takes columns (arrays, or (values, offsets) of lists), gives batches; what is left waits for the next block."""

    def __init__(self, batch, random):
        self.batch, self.random, self.left = batch, random, None

    def batches(self, columns, last=False):
        if self.left:
            columns = {name: joined(self.left[name], found) for name, found in columns.items()}
        rows = count(columns)
        columns = take(columns, self.random.permutation(rows))
        whole = rows if last else rows - rows % self.batch
        for begin in range(0, whole, self.batch):
            yield cut(columns, begin, min(begin + self.batch, rows))
        self.left = cut(columns, whole, rows) if whole < rows else None


def count(columns):
    found = next(iter(columns.values()))
    return len(found[1]) - 1 if isinstance(found, tuple) else len(found)


def joined(first, second):
    if not isinstance(first, tuple):
        return np.concatenate([first, second])
    begin, end = first[1][0], first[1][-1]
    values = np.concatenate([first[0][begin:end], second[0][second[1][0]:second[1][-1]]])
    return values, np.concatenate([first[1][:-1] - begin, second[1] - second[1][0] + end - begin])


def take(columns, order):
    return {name: take_lists(*found, order) if isinstance(found, tuple) else np.take(found, order)
            for name, found in columns.items()}


def take_lists(values, offsets, order):
    lengths = np.diff(offsets)[order]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    return values[np.repeat(offsets[:-1][order] - ends[:-1], lengths) + np.arange(ends[-1])], ends


def cut(columns, begin, end):
    """Rows from begin to end, without a copy of fixed-size values."""
    def one(found):
        if not isinstance(found, tuple):
            return found[begin:end]
        values, offsets = found
        return values[offsets[begin]:offsets[end]], offsets[begin:end + 1] - offsets[begin]
    return {name: one(found) for name, found in columns.items()}
