"""Streams for tests: records that say themselves which they are, and ranks that run beside each other."""

from __future__ import annotations

import threading
from typing import Any, Callable, Iterator

import forebay as fb

TOKEN = "0123456789abcdef0123456789abcdef"


def numbers(end: int | None = None, classes: int = 5) -> Callable[[int], Iterator[dict]]:
    """`factory(offset)`: record i has x = i and label = i // (end / classes), or i % classes without an end."""

    def factory(offset: int) -> Iterator[dict]:
        i = offset
        while end is None or i < end:
            yield {"x": i, "label": i % classes if end is None else i * classes // end}
            i += 1

    return factory


def parts(*ends: int) -> Callable[[int, int], Iterator[dict]]:
    """`factory(offset, partition)`: partition p has ends[p] records, whose x is 10**6 * p + i."""

    def factory(offset: int, partition: int) -> Iterator[dict]:
        for i in range(offset, ends[partition]):
            yield {"x": 10**6 * partition + i}

    return factory


def on_ranks(world: int, run: Callable[[int], Any], timeout_s: float = 120.0) -> list[Any]:
    """`run(rank)` of all ranks at once; raises what one of them raised."""
    results: list[Any] = [None] * world
    errors: list[BaseException] = []

    def one(rank: int) -> None:
        try:
            results[rank] = run(rank)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=one, args=(rank,), daemon=True) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout_s)
        assert not thread.is_alive(), "a rank hangs"
    if errors:
        raise errors[0]
    return results


def steps_of_ranks(pipeline_of: Callable[[int], fb.Pipeline], world: int, peers: str, steps: int | None = None,
                   state: dict | None = None, **options: Any) -> tuple[list[list[tuple]], dict]:
    """Of each step the (position, x) of all ranks in the order of the stream; and the state behind the last one."""

    def run(rank: int) -> tuple[list[tuple], dict]:
        with fb.Loader(pipeline_of(world), rank=rank, world_size=world, peers=peers if world > 1 else None, **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            got = []
            for batch in loader:
                kept = len(batch.ids) - batch.padding
                got.append(list(zip(batch.positions.tolist()[:kept], batch["x"].tolist()[:kept])))
                if steps is not None and len(got) == steps:
                    break
            return got, loader.state_dict()

    ranks = on_ranks(world, run)
    assert len({len(got) for got, _ in ranks}) == 1, "all ranks take the same number of steps"
    assert all(saved == ranks[0][1] for _, saved in ranks), "states are the same on every rank"
    return [sorted(sum(step, [])) for step in zip(*(got for got, _ in ranks))], ranks[0][1]


def xs(steps: list[list[tuple]]) -> list[int]:
    return [x for step in steps for _, x in step]
