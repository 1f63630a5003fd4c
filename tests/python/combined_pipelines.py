"""Pipelines over several data sets, each with what its steps promise: for the tests of combinations."""
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from combining import BESIDE, EPOCH, FIRST, LENGTH, SIZES, balanced, by_weight, of, once_each_pass, paired, shares, weights_of

import forebay as fb


@dataclass(frozen=True)
class Case:
    """A pipeline without a batch, of which `promise` gets the rows of four epochs."""

    make: Any
    promise: Any
    size: Any = None  # samples of an epoch, where that is said
    parts: list = field(default_factory=list)
    functions: bool = False  # has no JSON form
    in_turn: bool = False  # each part once an epoch, so that parts change between epochs only
    ends_with_parts: bool = False  # an epoch ends where its parts do, which depends on the seed


def split(pipeline, part="train", **options):
    return fb.split(pipeline, train=0.7, val=0.3, **options)[part]


def all_of(rows, ids):
    """Each epoch has each of these ids of one data set once."""
    for epoch in range(4):
        assert sorted(row.id for row in rows if row.epoch == epoch) == sorted(ids)


def both_parts(*promises):
    """What is promised of each part, of its own rows."""

    def promise(rows):
        for part, own in enumerate(promises):
            own(of(rows, part))

    return promise


def and_paired(promise):
    def both(rows):
        paired(rows)
        promise(rows)

    return both


def with_noise(name, promise):
    """The noise of Data.noisy() comes by weight in each pass of its own; the rest is promised as without it."""

    def both(rows):
        noises = [row.fields["noise"] - BESIDE - FIRST["d"] for row in rows]
        for row, noise in zip(rows, noises, strict=True):
            assert row.id == row.x - FIRST[name] + SIZES[name] * noise
        weights, n = weights_of("d"), SIZES["d"]
        for begin in range(0, len(noises) - n + 1, n):
            counts = Counter(noises[begin : begin + n])
            assert all(abs(counts[id] - n * weight / sum(weights)) < 1 for id, weight in enumerate(weights))
        promise([replace(row, id=row.id % SIZES[name]) for row in rows])

    return both


def in_shares(weights, *promises):
    def promise(rows):
        shares(rows, weights)
        both_parts(*promises)(rows)

    return promise


def draws(name, n):
    return lambda rows: by_weight(rows, n, weights_of(name))


def passes(name):
    return lambda rows: once_each_pass(rows, SIZES[name])


def kept(name, part="train", **options):
    """Which ids a split keeps."""

    def promise(rows):
        epochs = [{row.id for row in rows if row.epoch == epoch} for epoch in range(4)]
        assert all(ids == epochs[0] for ids in epochs) and 0 < len(epochs[0]) < SIZES[name]
        assert len(rows) == 4 * len(epochs[0])

    return promise


def blocks_once(rows):
    for part in {row.part for row in rows}:
        for epoch in range(4):
            ids = [row.id for row in of(rows, part) if row.epoch == epoch]
            assert sorted(ids) == list(range(len(ids)))


def shares_of_blocks(rows):
    shares(rows, (3, 1))
    assert all(row.fields["tokens"][1] == (LENGTH,) for row in rows)


def counts_are_alike(rows, epoch):
    counts = Counter(row.id for row in rows if row.epoch == epoch)
    assert max(counts.values()) - min(counts.values()) <= 1


def even_in_passes(rows, n, classes=3):
    """Chunks promise equal classes over each pass of draws, not in each three positions."""
    for begin in range(0, len(rows) // n * n, n):
        counts = Counter(row.fields["label"] for row in rows[begin : begin + n])
        assert all(abs(count - n / classes) <= 1 for count in counts.values()) and len(counts) == classes


def patches_fill_the_grid(rows):
    all_of(rows, range(12))
    for row in rows:
        _, (patches, values), _ = row.fields["patches"]
        assert patches == np.prod(np.frombuffer(row.fields["grid"][2], np.int32)) and values == 3 * 7 * 7
        assert row.fields["y"] == row.id + BESIDE


def with_half(sample):
    return {**sample, "half": sample["x"] / 2}


CASES = {
    "a zip in a mix": Case(
        lambda d: fb.mix({"pairs": d.zip("a").shuffle(), "plain": d.both("b").shuffle()}, weights={"pairs": 3, "plain": 1}, samples=EPOCH),
        and_paired(in_shares((3, 1), passes("a"), passes("b"))), EPOCH, ["pairs", "plain"]),
    "zips one after the other": Case(
        lambda d: fb.concat(d.zip("a").shuffle(), d.zip("b")), and_paired(both_parts(lambda rows: all_of(rows, range(60)), lambda rows: all_of(rows, range(90)))),
        150, ["0", "1"], in_turn=True),
    "a zip that is drawn": Case(lambda d: d.zip("a").shuffle().sample(50, weights="w"), and_paired(draws("a", 50)), 50),
    "a zip that is balanced": Case(lambda d: d.zip("a").shuffle().balance(samples=70), and_paired(balanced), 70),
    "noise beside samples": Case(lambda d: d.noisy("a").shuffle(), with_noise("a", lambda rows: all_of(rows, range(60))), 60),
    "noise beside drawn samples": Case(lambda d: d.noisy("a").shuffle().sample(50, weights="w"), with_noise("a", draws("a", 50)), 50),
    "noise beside balanced samples": Case(lambda d: d.noisy("a").shuffle().balance(samples=70), with_noise("a", balanced), 70),
    "noise beside a part of a split": Case(lambda d: split(d.noisy("a")).shuffle(), with_noise("a", kept("a"))),
    "noise in a mix": Case(
        lambda d: fb.mix({"noisy": d.noisy("a").shuffle(), "clean": d.both("b").rename(y="noise").shuffle()}, weights={"noisy": 3, "clean": 1}, samples=EPOCH),
        in_shares((3, 1), with_noise("a", passes("a")), passes("b")), EPOCH, ["noisy", "clean"]),
    "functions in the parts of a zip": Case(
        lambda d: fb.zip(x=d.numbers("a").map(with_half).select("x", "half", "length").shuffle(), y=d.beside("a").map(lambda sample: {"y": sample["y"]}).select("y")),
        and_paired(lambda rows: all_of(rows, range(60))), 60, functions=True),
    "a balanced and a drawn part": Case(
        lambda d: fb.mix({"even": d.numbers("a").shuffle().balance(), "drawn": d.numbers("b").shuffle().sample(70, weights="w")},
                         weights={"even": 1, "drawn": 3}, samples=EPOCH),
        in_shares((1, 3), balanced, draws("b", 70)), EPOCH, ["even", "drawn"]),
    "drawn parts by size": Case(
        lambda d: fb.mix({"a": d.numbers("a").shuffle().sample(300), "b": d.numbers("b").shuffle().sample(100)}, temperature=1, samples=EPOCH),
        in_shares((3, 1), lambda rows: by_weight(rows, 300, [1] * 60), lambda rows: by_weight(rows, 100, [1] * 90)), EPOCH, ["a", "b"]),
    "drawn parts to the end of all": Case(
        lambda d: fb.mix({"a": d.numbers("a").shuffle().sample(30), "b": d.numbers("b").balance(samples=45)}, weights={"a": 1, "b": 1}, end="all"),
        both_parts(lambda rows: by_weight(rows, 30, [0.5] * 60), balanced), None, ["a", "b"], ends_with_parts=True),
    "each part once": Case(
        lambda d: fb.mix({"a": d.numbers("a").shuffle().sample(30, replacement=False), "b": d.numbers("b").shuffle(), "c": d.numbers("c").balance(samples=33)}),
        both_parts(lambda rows: by_weight(rows, 30, [1] * 60), passes("b"), balanced), 153, ["a", "b", "c"], in_turn=True),
    "the part of a split of a zip": Case(lambda d: split(d.zip("a")).shuffle(), and_paired(kept("a"))),
    "the part of a split of a zip by group": Case(lambda d: split(d.zip("a"), by="x").shuffle(), and_paired(kept("a"))),
    "the part of a split, balanced": Case(lambda d: split(d.numbers("b")).shuffle().balance(samples=80), balanced, 80),
    "the part of a split, drawn": Case(lambda d: split(d.numbers("b"), "val").shuffle().sample(500),
                                       lambda rows: [counts_are_alike(rows, epoch) for epoch in range(4)], 500),
    "splits of a mix": Case(
        lambda d: split(fb.mix({"pairs": d.zip("a").shuffle(), "plain": d.both("a").shuffle()}), "val"),
        and_paired(lambda rows: both_parts(kept("a"), lambda other: all_of(other, [row.id for row in of(rows, 0) if row.epoch == 0]))(rows)), None, ["pairs", "plain"], in_turn=True),
    "splits as parts": Case(
        lambda d: fb.mix({"old": split(d.numbers("b")).shuffle().sample(40, weights="w"), "new": split(d.numbers("a"), "val").shuffle()},
                         weights={"old": 1, "new": 1}, samples=EPOCH),
        in_shares((1, 1)), EPOCH, ["old", "new"]),
    "a mix in a mix": Case(
        lambda d: fb.mix({"web": fb.mix({"en": d.zip("a").shuffle(), "de": d.both("b").shuffle().balance()}, weights={"en": 3, "de": 1}),
                          "code": d.both("c").shuffle().sample(21, weights="w")}, weights={"web": 3, "code": 1}, samples=EPOCH),
        and_paired(both_parts(passes("a"), balanced, draws("c", 21))), EPOCH, ["web/en", "web/de", "code"]),
    "repeated parts": Case(
        lambda d: fb.mix({"a": d.zip("a").shuffle().repeat(2), "b": d.both("b").sample(20).repeat(1.5), "c": d.both("c").shuffle().balance().repeat(0.5)}),
        and_paired(both_parts(passes("a"), lambda rows: by_weight(rows, 20, [1] * 90), balanced)), 170, ["a", "b", "c"], in_turn=True),
    "lines that are drawn and balanced": Case(
        lambda d: fb.mix({"drawn": d.lines("a").shuffle().sample(50, weights="w"), "even": d.lines("b").shuffle().balance(samples=66), "arrays": d.numbers("c").shuffle()},
                         weights={"drawn": 2, "even": 1, "arrays": 1}, samples=EPOCH),
        in_shares((2, 1, 1), draws("a", 50), lambda rows: even_in_passes(rows, 66), passes("c")), EPOCH, ["drawn", "even", "arrays"]),
    "tables that are drawn and balanced": Case(
        lambda d: fb.mix({"drawn": d.table("a").shuffle(block=2).sample(50, weights="w"), "even": d.table("b").shuffle(block=3).balance(samples=66),
                          "some": split(d.table("c")).shuffle(block=2, lanes=2).sample(15)}, weights={"drawn": 2, "even": 1, "some": 1}, samples=EPOCH),
        in_shares((2, 1, 1), draws("a", 50), lambda rows: even_in_passes(rows, 66)), EPOCH, ["drawn", "even", "some"]),
    "a table with an array beside it, balanced": Case(
        lambda d: fb.zip(table=d.table("a").shuffle(block=2), y=d.beside("a")).balance(samples=77), and_paired(lambda rows: even_in_passes(rows, 77)), 77),
    "lines with an array beside them, drawn": Case(
        lambda d: fb.zip(lines=d.lines("a"), y=d.beside("a")).shuffle().sample(77, weights="w"), and_paired(draws("a", 77)), 77),
    "filtered and taken": Case(
        lambda d: fb.mix({"pairs": d.zip("a").filter(lambda s: s["x"] % 2 == 0, fields="x").take(20).shuffle(), "plain": d.both("b").take(30).shuffle().balance(samples=30)}),
        and_paired(both_parts(lambda rows: all_of(rows, range(0, 40, 2)), balanced)), 50, ["pairs", "plain"], functions=True),
    "cached parts": Case(
        lambda d: fb.mix({"pairs": d.zip("a").map(with_half, version="1").cache(ram="1MiB", disk=0).shuffle(),
                          "drawn": d.both("b").map(with_half, version="1").cache(ram="1MiB", disk=0).shuffle().sample(100, weights="w"),
                          "even": d.both("c").map(with_half, version="1").cache(ram="1MiB", disk=0).shuffle().balance()}).cache(ram="1MiB", disk=0),
        and_paired(both_parts(passes("a"), draws("b", 100), balanced)), 200, ["pairs", "drawn", "even"], in_turn=True, functions=True),
    "packs of token files": Case(
        lambda d: fb.mix({"web": d.tokens("a").shuffle().pack(LENGTH, how="best-fit", eos=2), "code": d.tokens("b").shuffle().pack(LENGTH, how="cut", eos=2)},
                         weights={"web": 3, "code": 1}, samples=EPOCH),
        shares_of_blocks, EPOCH, ["web", "code"]),
    "packs one after the other": Case(
        lambda d: fb.concat(d.tokens("a").cast("int32", field="tokens").shuffle().pack(LENGTH, shift=1),
                            d.tokens("b").cast("int32", field="tokens").pack(LENGTH, shift=1, how="cut")), blocks_once, None, ["0", "1"], in_turn=True),
    "patches with numbers beside them": Case(
        lambda d: fb.zip(d.photos().patchify(7, merge=2, min_pixels=196, max_pixels=2000), y=d.beside("a"), end="first").shuffle(),
        patches_fill_the_grid, 12),
    "pictures with masks in a mix": Case(
        lambda d: fb.mix({"pairs": fb.zip(image=d.photos(), mask=d.masks(), on="key").shuffle().balance(samples=20),
                          "more": fb.zip(image=d.photos(), mask=d.masks(), on="key").shuffle().sample(9)}).random_crop(24, field=["image", "mask"]),
        both_parts(lambda rows: balanced(rows, 2), lambda rows: by_weight(rows, 9, [1] * 12)), 29, ["pairs", "more"]),
}  # fmt: skip
