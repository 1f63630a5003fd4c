"""What the tests of combinations share: small data sets on disk, pipelines over several of them at once, and the rows that all ranks of a run get."""
import json
from collections import Counter
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pytest
from megatron_files import write
from PIL import Image

import forebay as fb

SIZES = {"a": 60, "b": 90, "c": 40, "d": 25}
FIRST = {"a": 0, "b": 10_000, "c": 20_000, "d": 30_000}
BESIDE = 100_000  # y - x of samples side by side
LENGTH = 16  # of packed blocks
WINDOW = 1024  # positions after which the shares of a mix are exact
EPOCH = WINDOW // 4  # so that four epochs are a window


class Data:
    """Files of small data sets; the field x tells the data set and the id, and y, of another data set, belongs to x."""

    def __init__(self, folder, **grown):
        """`grown`: data sets that have more samples behind their others."""
        self.folder = folder
        self.sizes = SIZES | grown
        for name in SIZES:
            self._arrays(name, self.sizes[name], np.random.default_rng([1, FIRST[name]]))
            self._tokens(name, np.random.default_rng([2, FIRST[name]]))
        self._pictures(np.random.default_rng(3))

    def _arrays(self, name, count, random):
        x = np.arange(FIRST[name], FIRST[name] + count)
        columns = {"x": x, "y": x + BESIDE, "label": np.minimum(np.arange(count) % 7, 2), "w": (np.arange(count) % 4).astype(np.float64),
                   "length": random.integers(3, 40, count)}  # fmt: skip
        for field, values in columns.items():
            np.save(self.folder / f"{name}.{field}.npy", values)
        rows = zip(*(columns[field].tolist() for field in ("x", "label", "w", "length")), strict=True)
        self._table(name, columns)
        lines = [json.dumps(dict(zip(("x", "label", "w", "length"), row, strict=True))) for row in rows]
        (self.folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n")

    def _table(self, name, columns):
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        table = pa.table({field: columns[field] for field in ("x", "label", "w", "length")})
        pq.write_table(table, self.folder / f"{name}.parquet", row_group_size=7)

    def _tokens(self, name, random):
        documents = [[random.integers(10, 1000, int(random.integers(1, 2 * LENGTH)))] for _ in range(self.sizes[name])]
        write(self.folder / name, documents)

    def _pictures(self, random):
        for kind in ("photos", "masks"):
            for number in range(12):
                path = self.folder / kind / f"class{number % 2}" / f"{number:02}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(random.integers(0, 256, (40 + number, 60 - number, 3), dtype=np.uint8)).save(path)

    def fields(self, name, *fields):
        return fb.arrays(**{field: self.folder / f"{name}.{field}.npy" for field in fields})

    def numbers(self, name):
        return self.fields(name, "x", "label", "w", "length")

    def beside(self, name):
        return self.fields(name, "y")

    def both(self, name):
        """As `zip` gives them, but of one data set."""
        return self.fields(name, "x", "label", "w", "length", "y")

    def zip(self, name):
        return fb.zip(x=self.numbers(name), y=self.beside(name))

    def noisy(self, name):
        """Beside each sample one of "d" that is drawn by weight, as the field `noise`."""
        return fb.zip(x=self.numbers(name), noise=self.fields("d", "y", "w").shuffle().sample(weights="w").rename(y="noise").select("noise"))

    def lines(self, name):
        return fb.jsonl(self.folder / f"{name}.jsonl")

    def table(self, name):
        return fb.parquet(self.folder / f"{name}.parquet")

    def tokens(self, name):
        return fb.megatron(self.folder / name)

    def photos(self):
        return fb.images(self.folder / "photos").decode_image()

    def masks(self):
        return fb.images(self.folder / "masks", split_by="none").decode_image(mode="gray").rename(image="mask")


@dataclass(frozen=True)
class Row:
    """One sample of an epoch: where it stands in the epoch's order, and what it has."""

    epoch: int
    position: int
    part: int
    id: int
    fields: dict[str, Any]

    @property
    def x(self):
        return self.fields["x"]


def plain(value):
    """A value that can be compared: a number as such, an array by type, shape and bytes."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        return value.item()
    return (value.dtype.str, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def rows_of_batch(batch, repeats=False):
    """Without the repeats that fill up a batch, or with them."""
    real = len(batch) - (0 if repeats else batch.padding)
    columns = {}
    for name, values in batch.items():
        if isinstance(values, tuple):
            flat, offsets = values
            values = [flat[offsets[i] : offsets[i + 1]] for i in range(len(batch))]
        columns[name] = [plain(value) for value in values]
    parts = [0] * len(batch) if batch.parts is None else batch.parts.tolist()
    return [Row(batch.epoch, int(batch.positions[i]), parts[i], int(batch.ids[i]), {name: values[i] for name, values in columns.items()}) for i in range(real)]


def steps_of(pipeline, world=1, epochs=1, state=None, **options):
    """The batches of each step as lists of rows, one list for each rank. Checks that `len(loader)` is what comes, on every rank."""
    by_rank = []
    for rank in range(world):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world, **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            taken = []
            for epoch in range(loader.epoch, epochs):
                done = state["step"] if state is not None and epoch == state["epoch"] else 0
                said = len(loader)
                batches = [rows_of_batch(batch) for batch in loader]
                assert len(batches) + done == said, f"rank {rank} of {world}: {len(batches)} batches behind {done}, and len() is {said}"
                taken += batches
            by_rank.append(taken)
    assert len({len(taken) for taken in by_rank}) == 1, "ranks take unequal numbers of steps"
    return list(zip(*by_rank, strict=True))


def rows_of(pipeline, world=1, epochs=1, state=None, **options):
    """All rows in the order of the epochs. Checks that each position comes once."""
    rows = [row for step in steps_of(pipeline, world, epochs, state, **options) for batch in step for row in batch]
    rows.sort(key=lambda row: (row.epoch, row.position))
    places = [(row.epoch, row.position) for row in rows]
    assert len(set(places)) == len(places), "a position comes twice"
    return rows


def drawn(rows):
    return [(row.part, row.id) for row in rows]


def states_of(pipeline, epochs=1, world=1, **options):
    """The states after the first batch, in the middle and before the last batch of the last epoch, through JSON, and the rows until each."""
    with fb.Loader(pipeline, epochs=epochs, rank=0, world_size=world, **options) as loader:
        for _ in range(epochs - 1):
            for _ in loader:
                pass
        batches = len(loader)
        places = sorted({1, batches // 2, batches - 1} - {0})
        return [json.loads(json.dumps(state)) for place, state in enumerate((loader.state_dict() for _ in islice(loader, batches - 1)), 1) if place in places]


def digests(pipeline, world=1, epochs=2, **options):
    loaders = [fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world, **options) for rank in range(world)]
    try:
        return [fb.digest(*loaders) for _ in range(epochs)]
    finally:
        for loader in loaders:
            loader.close()


# Promises of steps


def shares(rows, weights):
    """Each part has its share of whole windows of a mix."""
    assert len(rows) % WINDOW == 0
    counts = Counter(row.part for row in rows)
    for part, weight in enumerate(weights):
        assert abs(counts[part] - len(rows) * weight / sum(weights)) < 1, (part, counts)


def once_each_pass(rows, size):
    """No sample comes again before all have come."""
    for begin in range(0, len(rows), size):
        ids = [row.id for row in rows[begin : begin + size]]
        assert len(set(ids)) == len(ids)


def by_weight(rows, n, weights):
    """Of each n draws, a sample has its share, rounded down or up."""
    for begin in range(0, len(rows) // n * n, n):
        counts = Counter(row.id for row in rows[begin : begin + n])
        for id, weight in enumerate(weights):
            assert abs(counts[id] - n * weight / sum(weights)) < 1, (id, counts[id])


def balanced(rows, classes=3):
    """Of each `classes` positions each class has one."""
    for begin in range(0, len(rows) // classes * classes, classes):
        assert sorted(row.fields["label"] for row in rows[begin : begin + classes]) == list(range(classes))


def paired(rows):
    """What was side by side still is."""
    assert all(row.fields["y"] == row.x + BESIDE for row in rows)


def weights_of(name):
    return [id % 4 for id in range(SIZES[name])]


def of(rows, part):
    return [row for row in rows if row.part == part]
