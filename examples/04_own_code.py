"""Your own Python as the data set and as a step: called on threads, and the same on every run and for any number of them.

python 04_own_code.py
"""
import numpy as np

import forebay as fb


class Squares:
    """Anything with __len__ and __getitem__."""

    def __len__(self):
        return 10

    def __getitem__(self, i):
        return {"n": np.int64(i), "square": np.float64(i * i)}


def add_noise(sample, rng):
    """With random=True a generator made for this sample comes along: its numbers depend on seed, epoch and id alone."""
    sample["noisy"] = sample["square"] + rng.uniform(-0.1, 0.1)
    return sample


pipeline = fb.Dataset(Squares()).map(add_noise, random=True).batch(5)


def one_epoch(threads):
    with fb.Loader(pipeline, seed=7, epochs=1, threads=threads) as loader:
        return [(n, square, noisy)
                for batch in loader
                for n, square, noisy in zip(batch["n"], batch["square"], batch["noisy"])]


rows = one_epoch(threads=1)
for n, square, noisy in rows:
    print(f"{n} squared is {square:.0f}, within 0.1: {'yes' if abs(noisy - square) <= 0.1 else 'no'}")
print("the same with four threads:", "yes" if rows == one_epoch(threads=4) else "no")
