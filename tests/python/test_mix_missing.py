"""`fb.mix(..., missing="mask")`: a field that only some parts have is zeros in the others, and a bool says so."""
import numpy as np
import pytest

import forebay as fb

N = 40


def labelled(n=N):
    return fb.arrays(x=np.arange(n, dtype=np.float32), label=np.arange(n, dtype=np.int64) + 1, box=np.ones((n, 4), np.float32))


def bare(n=N):
    return fb.arrays(x=-np.arange(n, dtype=np.float32))


def noted(n=N):
    return fb.arrays(x=np.arange(n, dtype=np.float32) + 1000, note=np.array([f"note {i}" for i in range(n)]))


def mixed(parts, **options):
    return fb.mix(parts, missing="mask", **options)


def test_what_a_part_lacks_is_zeros_and_a_bool_says_so():
    pipeline = mixed({"a": labelled().shuffle(), "b": bare().shuffle(), "c": noted().shuffle()}).batch(8)
    assert not pipeline.check()
    seen = [0, 0, 0]
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            assert sorted(batch) == ["box", "box_valid", "label", "label_valid", "note", "note_valid", "x"]
            assert batch["label"].dtype == np.int64 and batch["box"].shape == (len(batch), 4) and batch["label_valid"].dtype == bool
            for row, part in enumerate(batch.parts):
                seen[part] += 1
                assert batch["label_valid"][row] == batch["box_valid"][row] == (part == 0) and batch["note_valid"][row] == (part == 2)
                assert batch["label"][row] == (batch["x"][row] + 1 if part == 0 else 0)
                assert (batch["box"][row] == (1 if part == 0 else 0)).all()
                assert batch["note"][row] == (f"note {int(batch['x'][row]) - 1000}" if part == 2 else "")
    assert seen == [N] * 3


def test_rows_of_any_length_are_empty_or_padded(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [list(range(i % 5)) for i in range(N)]
    pq.write_table(pa.table({"n": np.arange(N), "tokens": pa.array(rows, pa.list_(pa.int32())), "tags": pa.array([["a", "b"]] * N)}), tmp_path / "a.parquet", row_group_size=10)
    pq.write_table(pa.table({"n": np.arange(N) + 100}), tmp_path / "b.parquet", row_group_size=10)
    parts = {"a": fb.parquet(tmp_path / "a.parquet").shuffle(block=2), "b": fb.parquet(tmp_path / "b.parquet").shuffle(block=2)}
    for pipeline in (mixed(parts).batch(8), mixed(parts).map(dict).batch(8)):
        with fb.Loader(pipeline, epochs=1) as loader:
            for batch in loader:
                values, offsets = batch["tokens"]
                for row, n in enumerate(batch["n"].tolist()):
                    assert values[offsets[row]:offsets[row + 1]].tolist() == (rows[n] if n < 100 else [])
                    assert batch["tags"][row] == (["a", "b"] if n < 100 else []) and batch["tokens_valid"][row] == (n < 100)
    with fb.Loader(mixed(parts).pad("tokens", -1, length=6).batch(8), epochs=1) as loader:
        for batch in loader:
            for row, n in enumerate(batch["n"].tolist()):
                assert batch["tokens"][row].tolist() == ((rows[n] if n < 100 else []) + [-1] * 6)[:6]


def test_a_mask_of_nulls_stays_the_mask(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"n": np.arange(6), "v": pa.array([1.0, None, 2.0, None, 3.0, 4.0])}), tmp_path / "a.parquet")
    parts = {"a": fb.parquet(tmp_path / "a.parquet", null=fb.NULL_MASK).select("n", "v", "v_valid"), "b": fb.arrays(n=np.arange(6) + 100)}
    with fb.Loader(mixed(parts).batch(12), epochs=1) as loader:
        batch = next(iter(loader))
    assert sorted(batch) == ["n", "v", "v_valid"]
    assert {n: ok for n, ok in zip(batch["n"].tolist(), batch["v_valid"].tolist()) if ok} == dict.fromkeys((0, 2, 4, 5), True)


def test_mixes_in_mixes_and_the_field_of_the_part():
    inner = mixed({"a": labelled().select("x", "label"), "b": bare()}, field="of")
    with fb.Loader(mixed({"in": inner, "c": noted()}).batch(8), epochs=1) as loader:
        for batch in loader:
            assert sorted(batch) == ["label", "label_valid", "note", "note_valid", "of", "of_valid", "x"]
            for row, part in enumerate(batch.parts):
                assert (batch["label_valid"][row], batch["note_valid"][row], batch["of_valid"][row]) == (part == 0, part == 2, part < 2)


def test_nothing_depends_on_threads_ranks_and_caches(tmp_path):
    pipeline = mixed({"a": labelled().shuffle(), "b": noted().shuffle()}, weights={"a": 1, "b": 3}, samples=96)
    digests = {fb.digest(*[fb.Loader(pipeline.batch(4), epochs=1, seed=5, rank=rank, world_size=world, threads=threads) for rank in range(world)])
               for world, threads in ((1, 1), (1, 3), (2, 2), (3, 1))}
    digests.add(fb.digest(fb.Loader(pipeline.cache(dir=str(tmp_path)).batch(4), epochs=1, seed=5)))
    assert len(digests) == 1


def test_steps_behind_see_the_fields_of_all():
    pipeline = mixed({"a": labelled(), "b": bare()}).cast("float64", field="label").rename(label="y").select("x", "y", "label_valid").batch(4)
    with fb.Loader(pipeline, epochs=1) as loader:
        batch = next(iter(loader))
    assert sorted(batch) == ["label_valid", "x", "y"] and batch["y"].dtype == np.float64


@pytest.mark.parametrize("make, message", [
    (lambda: mixed({"a": labelled().select("x", "label"), "b": bare(), "c": fb.arrays(x=np.ones(3, np.float32), label=np.ones(3, np.float32))}), "the field 'label' is int64 () in 'a' and float32 () in 'c'"),
    (lambda: mixed({"a": labelled().map(dict, fields=["label"]), "b": bare()}), "some parts lack the field 'label', and it has no zeros: a function makes it"),
    (lambda: fb.mix({"a": labelled(), "b": bare()}), 'fill it with zeros by missing="mask" of the mix'),
    (lambda: mixed({"a": fb.arrays(tokens=np.ones((3, 2), np.int32)).pack(4), "b": fb.arrays(tokens=np.ones((3, 2), np.int32)).pack(4)}), 'missing="mask" is not for packed blocks'),
])
def test_mistakes_say_the_way_out(make, message):
    with pytest.raises(fb.InvalidArgument) as caught:
        fb.Loader(make().batch(2))
    assert message in str(caught.value)
