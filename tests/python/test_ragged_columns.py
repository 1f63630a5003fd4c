"""Columns of lists of fixed-size lists, such as boxes (n, 4): the same rows whatever they go through."""
import numpy as np
import pytest
from loading import one_epoch

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS = 50
KINDS = {
    "boxes": (pa.list_(pa.list_(pa.float32(), 4)), (4,), np.float32),
    "polygons": (pa.large_list(pa.list_(pa.list_(pa.int16(), 2), 3)), (3, 2), np.int16),
    "flags": (pa.list_(pa.list_(pa.bool_(), 2)), (2,), np.bool_),
}


def row_of(name, i):
    _, rest, dtype = KINDS[name]
    count = (7 * i) % 5
    return (np.arange(count * int(np.prod(rest))).reshape(count, *rest) * 3 + i).astype(dtype)


def table():
    columns = {name: pa.array([row_of(name, i).tolist() for i in range(ROWS)], kind) for name, (kind, _, _) in KINDS.items()}
    return pa.table({**columns, "row": np.arange(ROWS)})


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("boxes")
    pq.write_table(table().slice(0, 30), folder / "0.parquet", row_group_size=8)
    pq.write_table(table().slice(30), folder / "1.parquet", row_group_size=9)
    return str(folder)


def pieces(value):
    values, offsets = (np.asarray(one) for one in value)
    assert offsets.dtype == np.int64 and offsets[0] == 0 and offsets[-1] == len(values)
    return [values[a:b] for a, b in zip(offsets, offsets[1:])]


def check(pipeline, names=tuple(KINDS), change=lambda x: x, **options):
    """Every row of an epoch is that of the table."""
    seen = []
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            for name in names:
                for i, piece in zip(batch["row"], pieces(batch[name]), strict=True):
                    wanted = change(row_of(name, int(i)))
                    assert piece.shape == wanted.shape and piece.dtype == wanted.dtype
                    np.testing.assert_array_equal(piece, wanted)
            seen.extend(int(i) for i in batch["row"])
    assert sorted(seen) == list(range(ROWS))


def digest(pipeline, **options):
    with fb.Loader(pipeline, epochs=1, seed=5, **options) as loader:
        return fb.digest(loader)


@pytest.mark.parametrize("source", ["parquet", "arrow", "memory"])
def test_rows_are_those_of_the_table(path, source, tmp_path):
    with pa.ipc.new_file(tmp_path / "t.arrow", table().schema) as writer:
        writer.write_table(table(), max_chunksize=11)
    made = {"parquet": fb.parquet(path), "arrow": fb.arrow(str(tmp_path / "t.arrow")), "memory": fb.arrow(table().slice(0))}[source]
    check(made.shuffle(block=2).batch(7))
    check(made.batch(1))


def test_a_slice_of_a_table_has_its_own_rows():
    with fb.Loader(fb.arrow(table().slice(20, 9)).batch(4), epochs=1) as loader:
        found = [piece for batch in loader for piece in pieces(batch["boxes"])]
    assert [one.tolist() for one in found] == [row_of("boxes", i).tolist() for i in range(20, 29)]


def through(pipeline, step, tmp_path):
    steps = {
        "ram": lambda: pipeline.cache(ram="64MiB", disk=0),
        "disk": lambda: pipeline.cache(ram=0, disk="64MiB", dir=str(tmp_path)),
        "cache behind a map": lambda: pipeline.map(same, version="1").cache(ram=0, disk="64MiB", dir=str(tmp_path)),
        "map": lambda: pipeline.map(same, version="1"),
        "processes": lambda: pipeline.map(same, version="1", workers="processes"),
        "a map of another field": lambda: pipeline.map(lambda s: {"more": 1}, fields="row"),
    }
    return steps[step]()


def same(sample):
    return sample


@pytest.mark.parametrize("step", ["ram", "disk", "cache behind a map", "map", "processes", "a map of another field"])
def test_rows_stay_through_caches_and_functions(path, tmp_path, step):
    pipeline = through(fb.parquet(path).shuffle(), step, tmp_path).batch(6)
    names = ("boxes", "polygons", "flags")
    for _ in range(2):
        check(pipeline, names)
    with fb.Loader(pipeline, epochs=2) as loader:
        for _ in range(2):
            assert sum(len(piece) for batch in loader for piece in pieces(batch["boxes"])) == sum(
                len(row_of("boxes", i)) for i in range(ROWS))


def test_the_digest_depends_on_nothing_but_the_rows(path, tmp_path):
    pipeline = fb.parquet(path).shuffle(block=3)
    wanted = digest(pipeline.batch(4), threads=1)
    assert digest(pipeline.batch(9), threads=4) == wanted
    assert digest(pipeline.cache(ram=0, disk="64MiB", dir=str(tmp_path)).batch(4)) == wanted
    assert digest(pipeline.map(same, version="1").batch(4)) == wanted


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_materialized_tables_have_the_rows(path, tmp_path, format):
    fb.materialize(fb.parquet(path).cast("float64", field="boxes").batch(5), tmp_path / "made", cut="cast", format=format)
    made = fb.materialized(str(tmp_path / "made"))
    check(made.shuffle().batch(5), ("boxes",), lambda x: x.astype(np.float64))
    check(made.shuffle().batch(5), ("polygons", "flags"))


def more(sample):
    return {"more": int(sample["row"]) * 2}


def test_rows_beside_those_of_a_function_are_materialized(path, tmp_path):
    fb.materialize(fb.parquet(path).map(more, fields="row", version="1").batch(5), tmp_path / "made", cut="map", format="arrow")
    check(fb.materialized(str(tmp_path / "made")).shuffle().batch(5))


def test_rows_are_padded(path):
    longest = max(len(row_of("boxes", i)) for i in range(ROWS))
    with fb.Loader(fb.parquet(path).pad("boxes", -1).pad("polygons", 7, length=6).batch(ROWS), epochs=1) as loader:
        [batch] = loader
    assert batch["boxes"].shape == (ROWS, longest, 4) and batch["polygons"].shape == (ROWS, 6, 3, 2)
    for i in range(ROWS):
        count = len(row_of("boxes", i))
        np.testing.assert_array_equal(batch["boxes"][i, :count], row_of("boxes", i))
        assert (batch["boxes"][i, count:] == -1).all()
        np.testing.assert_array_equal(batch["polygons"][i, : len(row_of("polygons", i))], row_of("polygons", i))
        assert (batch["polygons"][i, len(row_of("polygons", i)):] == 7).all()
    with pytest.raises(fb.Unsupported, match="'boxes' has 4 elements, more than length=2"):
        list(fb.Loader(fb.parquet(path).pad("boxes", 0, length=2).batch(ROWS), epochs=1))


def test_column_operators_work_on_each_element(path):
    pipeline = fb.parquet(path)
    check(pipeline.clip(min=10, max=40, field="boxes").batch(7), ("boxes",), lambda x: x.clip(10, 40))
    check(pipeline.cast("int64", field="boxes").batch(7), ("boxes",), lambda x: x.astype(np.int64))
    check(pipeline.normalize(2, 4, field="boxes").batch(7), ("boxes",), lambda x: ((x.astype(np.float64) - 2) / 4).astype(np.float32))


def test_a_cast_names_the_row_whose_value_does_not_fit():
    values = pa.array([[[1, 2]], [[3, 4], [5, 300]], [[6, 7]]], pa.list_(pa.list_(pa.int32(), 2)))
    loader = fb.Loader(fb.arrow(pa.table({"x": values})).cast("uint8", field="x").batch(3), epochs=1, on_error="skip")
    [batch] = loader
    assert [piece.tolist() for piece in pieces(batch["x"])] == [[[1, 2]], [[6, 7]]]
    assert [error["sample"] for error in loader.errors()] == [1]


def test_aggregates_say_what_they_work_on(path):
    with pytest.raises(fb.InvalidArgument, match="numbers of one axis"):
        fb.Loader(fb.parquet(path).aggregate("sum", field="boxes").batch(4))


def nulls():
    return pa.table({"x": pa.array([[[1, 2], None], None, [], [[None, 4]], [[5, 6], [7, 8]]], pa.list_(pa.list_(pa.int32(), 2)))})


@pytest.mark.parametrize("stored", ["memory", "parquet"])
def test_nulls_are_filled_or_masked(tmp_path, stored):
    pq.write_table(nulls(), tmp_path / "n.parquet")
    source = {"memory": lambda **args: fb.arrow(nulls(), **args), "parquet": lambda **args: fb.parquet(tmp_path / "n.parquet", **args)}[stored]
    filled = [[[1, 2], [9, 9]], [], [], [[9, 4]], [[5, 6], [7, 8]]]
    [batch] = fb.Loader(source(null=9).batch(5), epochs=1)
    assert [piece.tolist() for piece in pieces(batch["x"])] == filled
    [batch] = fb.Loader(source(null=fb.NULL_MASK).batch(5), epochs=1)
    assert batch["x_valid"].tolist() == [True, False, True, True, True]
    assert [piece.tolist() for piece in pieces(batch["x_items_valid"])] == [
        [[True, True], [False, False]], [], [], [[False, True]], [[True, True], [True, True]]]
    [batch] = fb.Loader(source(null=fb.NULL_MASK).fill_null(9, field="x").batch(5), epochs=1)
    assert [piece.tolist() for piece in pieces(batch["x"])] == filled
    with fb.Loader(source().batch(5), epochs=1, on_error="skip") as loader:
        [batch] = loader
        assert [piece.tolist() for piece in pieces(batch["x"])] == [[], [[5, 6], [7, 8]]]
        assert sorted(error["sample"] for error in loader.errors()) == [0, 1, 3]


def test_lists_of_lists_of_fixed_size_have_lengths():
    kind = pa.list_(pa.list_(pa.list_(pa.int32(), 2)))
    [batch] = fb.Loader(fb.arrow(pa.table({"x": pa.array([[[[1, 2]], [[3, 4], [5, 6]]], [[]], []], kind)})).batch(3), epochs=1)
    assert [piece.tolist() for piece in pieces(batch["x"])] == [[[1, 2], [3, 4], [5, 6]], [], []]
    assert [piece.tolist() for piece in pieces(batch["x.lengths"])] == [[1, 2], [0], []]


def test_members_of_structs_in_lists_have_their_shape():
    kind = pa.list_(pa.struct([("bbox", pa.list_(pa.float32(), 4)), ("category", pa.int64())]))
    rows = [[{"bbox": [1, 2, 3, 4], "category": 7}], [], [{"bbox": [5, 6, 7, 8], "category": 1}, {"bbox": [0, 0, 1, 1], "category": 2}]]
    [batch] = fb.Loader(fb.arrow(pa.table({"objects": pa.array(rows, kind)})).batch(3), epochs=1)
    assert [piece.tolist() for piece in pieces(batch["objects.bbox"])] == [[one["bbox"] for one in row] for row in rows]
    assert [piece.tolist() for piece in pieces(batch["objects.category"])] == [[one["category"] for one in row] for row in rows]


@pytest.mark.parametrize("output", ["torch", "jax"])
def test_other_frameworks_get_the_rows(path, output):
    pytest.importorskip(output)
    check(fb.parquet(path).select("boxes", "polygons", "row").batch(7), ("boxes", "polygons"), output=output)


def test_the_data_loader_of_torch_gets_the_rows(path):
    torch = pytest.importorskip("torch")
    import forebay.torch

    loader = forebay.torch.DataLoader(fb.parquet(path).select("boxes", "row").batch(7))
    rows = {}
    for batch in loader:
        values, offsets = batch["boxes"]
        assert isinstance(values, torch.Tensor) and values.shape[1:] == (4,)
        rows.update((int(i), piece) for i, piece in zip(batch["row"], pieces((values, offsets)), strict=True))
    assert all(np.array_equal(rows[i], row_of("boxes", i)) for i in range(ROWS))


def test_ranks_divide_the_rows(path):
    pipeline = fb.parquet(path).shuffle(block=2).batch(3)
    seen = []
    for rank in range(3):
        with fb.Loader(pipeline, epochs=1, rank=rank, world_size=3, seed=1) as loader:
            for batch in loader:
                real = len(batch) - batch.padding
                seen.extend(int(i) for i in batch["row"][:real])
                for i, piece in zip(batch["row"], pieces(batch["boxes"]), strict=True):
                    np.testing.assert_array_equal(piece, row_of("boxes", int(i)))
    assert sorted(seen) == list(range(ROWS))


def test_the_description_is_the_same_in_json(path):
    pipeline = fb.parquet(path).pad("boxes", 0).shuffle().batch(6)
    assert one_epoch(fb.Pipeline.from_json(pipeline.to_json())) == one_epoch(pipeline)
