#!/usr/bin/env python3
"""Batches of like lengths: the padding and the unequal work of ranks of Forebay's .bucket beside models of other samplers.

    bench/mix/buckets.py [--samples 100000] [--budget 16000] [--ranks 8] [--median 300] [--sigma 0.6]

Lengths are log-normal. No data is read: a batch of n samples costs n times its longest. The models follow the rules of lhotse's DynamicBucketingSampler
(buckets of equal total length, a buffer, the batches of a step drawn from one bucket at random) and of tf.data's bucket_by_sequence_length (a batch is given as soon as
its bucket is full), with 30 buckets each.
"""

import argparse
import time

import numpy as np


def lengths_of(samples, median, sigma, seed=0):
    return np.ceil(median * np.exp(sigma * np.random.default_rng(seed).standard_normal(samples))).astype(np.int64)


def lhotse(lengths, budget, ranks=1, buckets=30, buffer=20_000, seed=0):
    """Batches as DynamicBucketingSampler(max_duration=budget, num_buckets=30, shuffle=True, sync_buckets=True) makes them: indices of samples."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(lengths))
    first = np.sort(lengths[order[:10_000]])
    ends = np.searchsorted(np.cumsum(first), np.sum(first) * np.arange(1, buckets) / buckets)
    bounds = first[np.minimum(ends, len(first) - 1)]
    held = [[] for _ in range(buckets)]
    batches, taken, count, bucket = [], 0, 0, []
    while taken < len(order) or count:
        while taken < len(order) and count < buffer:
            held[np.searchsorted(bounds, lengths[order[taken]], side="right")].append(order[taken])
            taken, count = taken + 1, count + 1
        ready = [b for b in held if b and sum(lengths[i] for i in b[: budget // 10]) >= budget] or [b for b in held if b]
        if len(batches) % ranks == 0 or not bucket:
            bucket = ready[rng.integers(len(ready))]
        batch, total, longest = [], 0, 0
        while bucket and (not batch or total + longest <= budget):
            at = rng.integers(len(bucket))
            bucket[at], bucket[-1] = bucket[-1], bucket[at]
            if batch and total + lengths[bucket[-1]] > budget:
                break
            batch.append(bucket.pop())
            total, longest = total + lengths[batch[-1]], max(longest, lengths[batch[-1]])
        batches.append(np.array(batch))
        count -= len(batch)
    return batches


def tensorflow(lengths, budget, buckets=30, seed=0):
    """Batches as bucket_by_sequence_length makes them of a shuffled data set, with sizes that fit the budget at the upper boundary of each bucket."""
    order = np.random.default_rng(seed).permutation(len(lengths))
    bounds = np.unique(np.quantile(lengths, np.arange(1, buckets) / buckets).astype(np.int64))
    sizes = [max(1, int(budget // most)) for most in [*bounds, lengths.max()]]
    held = [[] for _ in sizes]
    batches = []
    for sample in order:
        bucket = int(np.searchsorted(bounds, lengths[sample], side="left"))
        held[bucket].append(sample)
        if len(held[bucket]) == sizes[bucket]:
            batches.append(np.array(held[bucket]))
            held[bucket] = []
    return batches + [np.array(rest) for rest in held if rest]


def forebay(lengths, budget, seed=0, **options):
    import forebay as fb

    pipeline = fb.arrays(length=lengths).shuffle().bucket(tokens=budget, **options)
    with fb.Loader(pipeline, seed=seed, epochs=1, rank=0, world_size=1) as loader:
        return [batch.ids.copy() for batch in loader]


def measured(lengths, batches, ranks):
    """The share of padding, and the difference between the costliest and the cheapest batch of a step, over the costliest: mean and 99th percentile."""
    costs = np.array([len(batch) * lengths[batch].max() for batch in batches], dtype=float)
    whole = costs[: len(costs) // ranks * ranks].reshape(-1, ranks)
    spread = 1 - whole.min(axis=1) / whole.max(axis=1)
    return {"batches": len(batches), "padding": 1 - lengths.sum() / costs.sum(), "spread": spread.mean(), "spread_p99": np.quantile(spread, 0.99),
            "longest_batch": costs.max()}


def main():
    line = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in {"samples": 100_000, "budget": 16_000, "ranks": 8, "median": 300.0, "sigma": 0.6}.items():
        line.add_argument(f"--{name}", type=type(value), default=value)
    given = line.parse_args()
    lengths = lengths_of(given.samples, given.median, given.sigma)
    print(f"{given.samples} samples, {lengths.sum()} tokens, budget {given.budget}, {given.ranks} ranks")
    print(f"{'':12} batches  padding  spread in a step: mean, 99 %   seconds")
    for name, make in {"forebay": lambda: forebay(lengths, given.budget), "lhotse": lambda: lhotse(lengths, given.budget, given.ranks),
                       "tf.data": lambda: tensorflow(lengths, given.budget)}.items():
        begun = time.monotonic()
        found = measured(lengths, make(), given.ranks)
        print(f"{name:12} {found['batches']:7} {found['padding']:8.2%} {found['spread']:12.2%} {found['spread_p99']:12.2%} {time.monotonic() - begun:14.1f}")


if __name__ == "__main__":
    main()
