"""Packed parts of a mix: shares of tokens, the same for all ranks and threads, and states that any of them continue."""
import json

import numpy as np
import pytest

import forebay as fb
from pack_model import blocks_of, filled
from test_pack_rules import Texts, some_lengths

LENGTH = 16


def parts(**options):
    return {name: fb.Dataset(Texts(some_lengths(200, seed))).shuffle().pack(LENGTH, **options) for seed, name in enumerate(("web", "code"))}


def test_weights_are_shares_of_blocks_and_each_block_is_that_of_its_part():
    pipeline = fb.mix(parts(how="best-fit", eos=1), weights={"web": 3, "code": 1}, samples=1024).batch(8)
    texts = [Texts(some_lengths(200, seed)) for seed in range(2)]
    ended = [[np.append(row, 1) if len(row) else row for row in one.tokens] for one in texts]
    models = [blocks_of([len(row) for row in one], LENGTH, "best-fit") for one in ended]
    counts = [0, 0]
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            assert batch.part_names == ["web", "code"]
            for row, (part, number) in enumerate(zip(batch.parts, batch.ids)):
                counts[part] += 1
                assert list(np.asarray(batch["tokens"])[row]) == filled(ended[part], models[part][number], LENGTH)
        stats = loader.stats()
    assert counts == [768, 256]
    assert [part["samples"] for part in stats["parts"]] == counts, "blocks, as stats()['samples'] counts them"
    assert stats["samples"] == 1024


def test_parts_follow_each_other_and_are_repeated():
    one, other = parts(how="cut").values()
    with fb.Loader(one.batch(4), epochs=1) as a, fb.Loader(other.batch(4), epochs=1) as b:
        blocks = [sum(len(batch.ids) for batch in loader) for loader in (a, b)]
    with fb.Loader(fb.concat(one, other.repeat(2)).batch(4), epochs=1) as loader:
        assert sum(len(batch.ids) for batch in loader) == blocks[0] + 2 * blocks[1]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder, made = tmp_path_factory.mktemp("parts"), []
    for seed in range(2):
        rows = [list(row) for row in Texts(some_lengths(200, seed)).tokens]
        made.append(folder / f"{seed}.parquet")
        pq.write_table(pa.table({"tokens": pa.array(rows, pa.list_(pa.int32()))}), made[-1], row_group_size=50)
    return made


def test_nothing_depends_on_threads_and_ranks_and_a_run_goes_on_with_others(tables):
    pack = {"length": LENGTH, "eos": 2, "shift": 1, "cu_seqlens": True}
    of_tables = {name: fb.parquet(path).shuffle(block=2).pack(**pack) for name, path in zip(("a", "b"), tables)}
    for given in (parts(eos=2, shift=1), of_tables):
        pipeline = fb.mix(given, weights=dict.fromkeys(given, 1), samples=100).batch(4, last="pad")
        digests = {fb.digest(fb.Loader(pipeline, epochs=1, seed=5, threads=threads)) for threads in (1, 3)}
        for world in (2, 3):
            digests.add(fb.digest(*[fb.Loader(pipeline, epochs=1, seed=5, rank=rank, world_size=world) for rank in range(world)]))
        assert len(digests) == 1
        with fb.Loader(pipeline, epochs=1, seed=5) as loader:
            whole = [(part, int(i)) for batch in loader for part, i in zip(batch.parts, batch.ids)]
        with fb.Loader(pipeline, epochs=1, seed=5) as loader:
            for _ in range(6):
                next(iter(loader))
            state = json.loads(json.dumps(loader.state_dict()))
        rest = []
        for rank in range(2):
            with fb.Loader(pipeline, epochs=1, seed=5, rank=rank, world_size=2) as loader:
                loader.load_state_dict(state)
                rest += [(part, int(i)) for batch in loader for part, i in list(zip(batch.parts, batch.ids))[:len(batch.ids) - batch.padding]]
        assert sorted(rest) == sorted(whole[24:])


def test_a_table_and_user_code_are_mixed(tables):
    options = {"eos": 2, "shift": 1}
    mixed = {"table": fb.parquet(tables[0]).pack(LENGTH, **options), "code": parts(**options)["code"]}
    with fb.Loader(fb.mix(mixed).batch(4), epochs=1) as loader:
        found = [(part, int(i)) for batch in loader for part, i in zip(batch.parts, batch.ids)]
    assert len(set(found)) == len(found) and {part for part, _ in found} == {0, 1}
