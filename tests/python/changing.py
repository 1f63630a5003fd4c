"""What the tests of changing mixes share: pipelines whose fields tell part and id, and loaders at a position."""
from collections import Counter

import numpy as np

import forebay as fb

WINDOW = 1024
SIZES = {"a": 5000, "b": 3000, "c": 700}
FIRST = {"a": 0, "b": 10_000, "c": 20_000, "d": 30_000}


def part(name, count=None):
    """Samples with a field x, which tells the part and the id."""
    return fb.arrays(x=np.arange(FIRST[name], FIRST[name] + (count or SIZES[name]))).shuffle()


def mixed(weights, batch=64, samples=4096, schedule=None, **counts):
    names = weights if weights else schedule[0][1]
    return fb.mix({name: part(name, counts.get(name)) for name in names}, weights=weights, schedule=schedule, samples=samples).batch(batch)


EVEN, TWO = {"a": 1, "b": 1, "c": 2}, {"a": 6, "b": 1, "c": 1}


def xs(loader, until=None):
    """The x of the rows of this rank up to a position of its epoch, or to its end: (epoch, position, x)."""
    rows = []
    for batch in loader:
        real = len(batch) - batch.padding
        rows += list(zip([batch.epoch] * real, batch.positions.tolist(), batch["x"].tolist(), strict=False))
        if until is not None and loader.state_dict()["position"] >= until:
            break
    return rows


def advance(pipeline, until, epochs=0, **options):
    """A loader at a position of an epoch, and what it gave before."""
    loader = fb.Loader(pipeline, **options)
    rows = []
    for _ in range(epochs):
        rows += xs(loader)
    return loader, rows + (xs(loader, until) if until else [])


def resumed(pipeline, state, epochs, world_size=1, **options):
    """The x of all rows from a state on, in order, as so many ranks give them."""
    load = options.pop("load", {})
    rows = []
    for rank in range(world_size):
        with fb.Loader(pipeline, epochs=epochs, rank=rank, world_size=world_size, **options) as loader:
            loader.load_state_dict(state, **load)
            while loader.epoch < epochs:
                rows += xs(loader)
    return [x for _, _, x in sorted(rows)]


def values(rows):
    return [x for _, _, x in rows]


def of_parts(drawn):
    return Counter("abcd"[x // 10_000] for x in drawn)


def once_each_pass(drawn, name, size):
    """Fails if a sample comes twice before all have come."""
    mine = [x for x in drawn if "abcd"[x // 10_000] == name]
    for at in range(0, len(mine), size):
        one = mine[at : at + size]
        assert len(set(one)) == len(one), name


def nested(samples=4096, batch=32):
    inner = fb.mix({"en": part("a"), "de": part("b")}, weights={"en": 3, "de": 1})
    return fb.mix({"web": inner, "code": part("c")}, weights={"web": 2, "code": 1}, samples=samples).batch(batch)
