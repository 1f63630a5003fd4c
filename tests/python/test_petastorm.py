"""`forebay.petastorm.make_batch_reader`: what petastorm's own promises, and what it refuses."""
import inspect
import itertools

import numpy as np
import pytest

import forebay as fb
from forebay.petastorm import TransformSpec, make_batch_reader

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS, GROUP = 57, 10


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Two files of 30 and 27 rows in row groups of ten."""
    folder = tmp_path_factory.mktemp("petastorm") / "store"
    folder.mkdir()
    every = range(ROWS)
    table = pa.table({
        "id": pa.array(every, pa.int32()), "x": pa.array([i / 4 for i in every]), "s": pa.array([f"é{i}" for i in every]),
        "b": pa.array([b"\xff%d" % i for i in every]), "flag": pa.array([i % 2 == 0 for i in every]),
        "list": pa.array([[i, 2.0] for i in every], pa.list_(pa.float32())),
        "ragged": pa.array([list(range(i % 3)) for i in every], pa.list_(pa.int64())),
        "maybe": pa.array([None if i % 3 == 0 else i for i in every], pa.int64()),
        "maybe_s": pa.array([None if i % 3 == 0 else str(i) for i in every]),
        "maybe_in": pa.array([[None, i] for i in every], pa.list_(pa.float64())),
    })
    pq.write_table(table.slice(0, 30), folder / "a.parquet", row_group_size=GROUP)
    pq.write_table(table.slice(30), folder / "b.parquet", row_group_size=GROUP)
    return folder


def url(folder):
    return f"file://{folder}"


def groups(folder, field="id", **options):
    with make_batch_reader(url(folder), **{"schema_fields": [field], **options}) as reader:
        return [getattr(item, field).tolist() for item in reader]


IN_ORDER = [list(range(a, b)) for a, b in [(0, 10), (10, 20), (20, 30), (30, 40), (40, 50), (50, 57)]]


def test_items_are_row_groups_as_arrays(store):
    with make_batch_reader(url(store), shuffle_row_groups=False) as reader:
        assert reader.batched_output and reader.is_batched_reader and reader.num_epochs == 1 and reader.ngram is None
        assert not reader.last_row_consumed
        first = next(reader)
        assert first._fields == tuple(reader.schema.fields) and first._fields[:3] == ("id", "x", "s")
        assert first.id.dtype == np.int32 and first.id.tolist() == list(range(10))
        assert first.x.dtype == np.float64 and first.x[3] == 0.75
        assert first.s.dtype.kind == "U" and first.s[9] == "é9"
        assert first.b.dtype == object and first.b[2] == b"\xff2"
        assert first.flag.dtype == bool and first.flag.tolist() == [True, False] * 5
        assert first.list.dtype == np.float32 and first.list.shape == (10, 2)
        assert first.ragged.dtype == object and [len(row) for row in first.ragged] == [i % 3 for i in range(10)]
        assert first.maybe.dtype == np.float64 and np.isnan(first.maybe[0]) and first.maybe[1] == 1
        assert first.maybe_s[0] is None and first.maybe_s[1] == "1"
        assert first.maybe_in.shape == (10, 2) and np.isnan(first.maybe_in[:, 0]).all() and first.maybe_in[4, 1] == 4
        assert [len(item.id) for item in reader] == [10, 10, 10, 10, 7]
        assert reader.last_row_consumed
        assert reader.schema.x.numpy_dtype is np.float64 and reader.schema.fields["list"].shape == (None,)


def test_row_groups_are_whole_and_mixed_anew_in_every_epoch(store):
    read = groups(store, seed=1, num_epochs=3)
    epochs = [read[i : i + 6] for i in (0, 6, 12)]
    for epoch in epochs:
        assert sorted(epoch) == IN_ORDER
    assert epochs[0] != epochs[1] != epochs[2]
    assert groups(store, seed=1, num_epochs=3, workers_count=1) == read
    assert groups(store, seed=2, num_epochs=3) != read


def test_without_a_seed_every_reader_has_its_own_order(store):
    assert len({str(groups(store)) for _ in range(6)}) > 1


@pytest.mark.parametrize("row_groups", [True, False])
def test_shuffle_rows_mixes_inside_row_groups(store, row_groups):
    read = groups(store, seed=4, shuffle_rows=True, shuffle_row_groups=row_groups, num_epochs=2)
    for epoch in (read[:6], read[6:]):
        assert sorted(map(sorted, epoch)) == IN_ORDER
        assert sum(rows != sorted(rows) for rows in epoch) == 6
    assert ([sorted(rows) for rows in read[:6]] == IN_ORDER) == (not row_groups)
    assert read[:6] != read[6:]


def test_rows_stay_together_across_fields(store):
    with make_batch_reader(url(store), seed=4, shuffle_rows=True) as reader:
        for item in reader:
            assert [f"é{i}" for i in item.id] == item.s.tolist()
            assert np.array_equal(item.list[:, 0], item.id)
            assert [len(row) for row in item.ragged] == [i % 3 for i in item.id]


def test_endless_reading_stops_when_told(store):
    reader = make_batch_reader(url(store), num_epochs=None, schema_fields=["id"])
    assert sum(len(item.id) for item in itertools.islice(reader, 60)) == 570
    reader.stop()
    reader.join()
    with pytest.raises(RuntimeError, match="stopped"):
        next(reader)


def test_reset_begins_anew_and_only_at_the_end(store):
    with make_batch_reader(url(store), schema_fields=["id"], seed=3) as reader:
        next(reader)
        with pytest.raises(NotImplementedError):
            reader.reset()
        rest = list(reader)
        assert len(rest) == 5 and reader.last_row_consumed
        reader.reset()
        assert not reader.last_row_consumed
        assert len(list(reader)) == 6


@pytest.mark.parametrize("row_groups", [True, False])
@pytest.mark.parametrize("count", [2, 3, 4])
def test_shards_share_all_rows_equally(store, row_groups, count):
    for epochs in (1, 2):
        shards = [groups(store, cur_shard=shard, shard_count=count, shuffle_row_groups=row_groups, seed=5, num_epochs=epochs)
                  for shard in range(count)]
        rows = [sum(map(len, shard)) for shard in shards]
        assert max(rows) - min(rows) <= epochs
        assert sorted(i for shard in shards for rows in shard for i in rows) == sorted(list(range(ROWS)) * epochs)


def test_schema_fields_match_whole_names(store):
    with make_batch_reader(url(store), schema_fields=["maybe.*", "x"]) as reader:
        assert next(reader)._fields == ("x", "maybe", "maybe_s", "maybe_in")
    with make_batch_reader(url(store), schema_fields=["mayb"] + ["i."]) as reader:
        assert next(reader)._fields == ("id",)
    with pytest.raises(RuntimeError, match="No fields matching the criteria.*zz.*there are id, x"):
        make_batch_reader(url(store), schema_fields=["zz"])


def test_filters_act_on_rows(store):
    assert groups(store, filters=[("id", ">", 52)]) == [[53, 54, 55, 56]]
    either = groups(store, filters=[[("id", "=", 3)], [("s", "in", ["é40", "é41"])]], shuffle_row_groups=False)
    assert either == [[3], [40, 41]]


def test_lists_of_files_and_plain_paths(store):
    with make_batch_reader([url(store / "b.parquet"), url(store / "a.parquet")], shuffle_row_groups=False, schema_fields=["id"]) as reader:
        assert sorted(i for item in reader for i in item.id) == list(range(ROWS))
    with make_batch_reader(str(store), schema_fields=["id"]) as reader:
        assert len(list(reader)) == 6


class Even:
    """As petastorm's predicates."""

    def get_fields(self):
        return {"id"}

    def do_include(self, values):
        return values["id"] % 2 == 0


def test_predicate_gets_a_frame_and_keeps_rows(store):
    pytest.importorskip("pandas")
    assert groups(store, predicate=Even(), shuffle_row_groups=False) == [[i for i in rows if i % 2 == 0] for rows in IN_ORDER]


def test_shards_that_are_told_no_seed_share_one_order(store):
    shards = [groups(store, cur_shard=shard, shard_count=3) for shard in range(3)]
    assert sorted(i for shard in shards for rows in shard for i in rows) == list(range(ROWS))


def test_a_predicate_that_names_no_field_is_an_error(store):
    class OfNothing(Even):
        def get_fields(self):
            return set()

    with make_batch_reader(url(store), predicate=OfNothing()) as reader, pytest.raises(ValueError, match="names no field"):
        next(reader)


def test_an_unknown_field_of_a_predicate_is_told_at_the_first_item(store):
    with make_batch_reader(url(store), schema_fields=["x"], predicate=Even()) as reader:
        for _ in range(2):
            with pytest.raises(ValueError, match="predicate: id are no fields"):
                next(reader)
        assert not reader.last_row_consumed


def test_transform_spec_edits_and_removes_fields(store):
    pytest.importorskip("pandas")

    def edit(frame):
        frame["y"] = frame["x"] * 2
        frame["m"] = [np.full((2, 3), i, dtype=np.float32) for i in frame["id"]]
        return frame

    spec = TransformSpec(edit, edit_fields=[("y", np.float64, (), False), ("m", np.float32, (2, 3), False)], removed_fields=["s"])
    with make_batch_reader(url(store), schema_fields=["id", "x", "s"], transform_spec=spec, shuffle_row_groups=False) as reader:
        first = next(reader)
        assert first._fields == ("id", "x", "y", "m") == tuple(reader.schema.fields)
        assert first.y.tolist() == (first.x * 2).tolist() and first.m.shape == (10, 2, 3) and first.m[4, 1, 2] == 4
    selected = TransformSpec(selected_fields=["s", "id"])
    with make_batch_reader(url(store), transform_spec=selected) as reader:
        assert next(reader)._fields == ("s", "id")
    wrong = TransformSpec(lambda frame: frame.drop(columns=["x"]))
    with make_batch_reader(url(store), transform_spec=wrong) as reader, pytest.raises(ValueError, match="transform_spec: the function gave"):
        next(reader)
    with pytest.raises(ValueError):
        TransformSpec(removed_fields=["a"], selected_fields=["b"])


def test_the_cache_changes_nothing(store, tmp_path):
    plain = groups(store, seed=3, num_epochs=2)
    folder = tmp_path / "cache"
    options = dict(cache_type="local-disk", cache_location=str(folder), cache_size_limit=64 << 20, seed=3)
    assert groups(store, num_epochs=2, **options) == plain
    assert groups(store, num_epochs=2, **options) == plain
    assert any(folder.iterdir())


@pytest.mark.parametrize("options, instead", [
    ({"shuffle_row_drop_partitions": 2}, r"shuffle\(block=8\)"), ({"rowgroup_selector": object()}, "filters="), ({"shard_seed": 3}, "seed="),
    ({"cache_extra_settings": {"shards": 3}}, "nothing else"), ({"filesystem": object()}, "storage_options="),
    ({"schema_fields": "id"}, "list of regular expressions"),
    ({"dataset_url_or_urls": "hdfs://cluster/store"}, "file://"), ({"filters": "id > 3"}, "list of such lists")])
def test_what_cannot_be_honoured_says_what_to_use(store, options, instead):
    with pytest.raises(fb.InvalidArgument, match=f"(?s)make_batch_reader.*{instead}"):
        make_batch_reader(**{"dataset_url_or_urls": url(store), **options})


@pytest.mark.parametrize("options", [
    {"num_epochs": 0}, {"num_epochs": -1}, {"cur_shard": 0}, {"shard_count": 2}, {"cur_shard": 2, "shard_count": 2}, {"reader_pool_type": "fork"},
    {"workers_count": 0}, {"results_queue_size": 0}, {"cache_type": "ram"}, {"cache_type": "local-disk"}, {"predicate": 3},
    {"filters": [("id", ">")]}])
def test_wrong_values_are_value_errors(store, options):
    with pytest.raises(ValueError):
        make_batch_reader(url(store), **options)


def test_arguments_are_those_of_petastorm():
    names = ("dataset_url_or_urls schema_fields reader_pool_type workers_count results_queue_size seed shuffle_rows shuffle_row_groups "
             "shuffle_row_drop_partitions predicate rowgroup_selector num_epochs cur_shard shard_count shard_seed cache_type cache_location "
             "cache_size_limit cache_row_size_estimate cache_extra_settings hdfs_driver transform_spec filters storage_options "
             "zmq_copy_buffers filesystem convert_early_to_numpy").split()
    parameters = inspect.signature(make_batch_reader).parameters
    assert [name for name, one in parameters.items() if one.kind is not one.KEYWORD_ONLY] == names
    for name in names:
        assert name in make_batch_reader.__doc__
