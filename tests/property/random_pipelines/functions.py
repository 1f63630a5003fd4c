"""User code for `.map` and `.filter`. Each stands by itself: a reproduction holds its text."""

import numpy as np


def same(sample):
    return sample


def add_sum(sample, of, name):
    value = sample[of]
    total = len(value) if isinstance(value, (str, bytes, list)) else np.abs(np.asarray(value)).astype("float64").sum()
    return {**sample, name: np.float64(total)}


def add_text(sample, of, name):
    value = sample[of]
    return {**sample, name: f"<{value if isinstance(value, str) else len(np.atleast_1d(np.frombuffer(value, 'u1') if isinstance(value, bytes) else value))}>"}


def add_bytes(sample, of, name):
    value = sample[of]
    return {**sample, name: value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(np.asarray(value).tobytes()[:9])}


def add_row(sample, of, name):
    size = len(sample[of]) if isinstance(sample[of], (str, bytes, list)) else int(np.asarray(sample[of]).size)
    return {**sample, name: np.arange(size % 4, dtype="int32")}


def add_constant(sample, name, value):
    return {**sample, name: value}


def only_constant(sample, name, value):
    return {name: value}


def negate(sample, of):
    value = np.asarray(sample[of])
    return {**sample, of: ~value if value.dtype == bool else (0 - value).astype(value.dtype)}


def to_float(sample, of):
    return {**sample, of: np.asarray(sample[of]).astype("float64")}


def pair(sample, of):
    value = np.asarray(sample[of])
    return {**sample, of: np.stack([value, value])}


def in_place(sample, of):
    sample[of][...] = 1
    return sample


def keep_only(sample, names):
    return {name: sample[name] for name in names}


def fail_at(sample, of, every):
    value = sample[of]
    size = len(value) if isinstance(value, (str, bytes, list)) else int(np.abs(np.nan_to_num(np.asarray(value, "float64"))).sum() % 1000)
    if size % every == 0:
        raise ValueError("a bad one")
    return sample


def draw(sample, rng, name):
    return {**sample, name: rng.random(3, dtype="float32")}


def draw_onto(sample, rng, of):
    value = np.asarray(sample[of])
    return {**sample, of: (value + rng.integers(0, 2, value.shape)).astype(value.dtype)}


def keep_odd(sample, of):
    value = sample[of]
    if isinstance(value, (str, bytes, list)):
        return len(value) % 2 == 1
    return int(np.abs(np.nan_to_num(np.asarray(value, "float64"), posinf=1, neginf=1)).sum() % 1000) % 2 == 1


def keep_some(sample, of, every):
    value = sample[of]
    size = len(value) if isinstance(value, (str, bytes, list)) else int(np.abs(np.nan_to_num(np.asarray(value, "float64"), posinf=1, neginf=1)).sum() % 1000)
    return size % every != 0


def keep_all(sample):
    return True


RANDOM = {"draw", "draw_onto"}
