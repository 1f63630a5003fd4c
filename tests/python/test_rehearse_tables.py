"""Rehearsal over sources whose rows come many at a time: tables, tar shards and lines, where an old row may bring its row group."""
import io
import itertools
import json
import tarfile

import numpy as np
import pytest
from streaming import on_ranks

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ROWS, OF_CLASS = 600, 150


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Row groups of 17 rows in three files; `id` is the row."""
    folder = tmp_path_factory.mktemp("rehearsed")
    for number, (begin, end) in enumerate(itertools.pairwise([0, 130, 131, ROWS])):
        ids = np.arange(begin, end)
        columns = {
            "id": ids, "label": (ids // OF_CLASS).astype(np.int32), "name": [f"class {i // OF_CLASS}" for i in ids], "x": ids.astype(np.float32) / 2,
            "text": [f"row {i} " * (i % 4) for i in ids], "list": pa.array([list(range(i % 6)) for i in ids], pa.list_(pa.int64())),
        }
        pq.write_table(pa.table(columns), folder / f"part-{number}.parquet", row_group_size=17)
    return folder


def pipeline_of(table, where="raw", **options):
    mixed = lambda: fb.parquet(str(table)).shuffle(block=3, lanes=4)
    if where == "raw":
        return lambda new, old: mixed().rehearse(old, **{"capacity": 7, **options}).batch(new)
    return lambda new, old: mixed().clip(max=250, field="x").rehearse(old, where="here", **{"capacity": 7, **options}).clip(min=3, field="x").batch(new)


def steps(pipeline, world=1, new=16, old=8, state=None, stop=None, epochs=2, **options):
    """Of each step the ids of new rows, sorted, and those of old ones in their order; and the state behind the last. Each row has its own values."""

    def run(rank):
        got = []
        with fb.Loader(pipeline(new // world, old // world), seed=3, rank=rank, world_size=world, epochs=2, **options) as loader:
            if state is not None:
                loader.load_state_dict(state)
            for batch in itertools.islice((batch for _ in range(epochs) for batch in loader), stop):
                marks, ids = batch["rehearsed"], batch.ids
                assert np.array_equal(batch["id"], ids) and np.array_equal(batch["label"], ids // OF_CLASS)
                assert list(batch["text"]) == [f"row {i} " * (i % 4) for i in ids]
                values, offsets = batch["list"]
                assert np.array_equal(np.diff(offsets), ids % 6)
                assert all(np.array_equal(values[a:b], np.arange(b - a)) for a, b in itertools.pairwise(offsets))
                got.append((ids[~marks].tolist(), list(zip(ids[marks].tolist(), batch["x"][marks].tolist()))))
            return got, loader.state_dict()

    ranks = on_ranks(world, run)
    assert all(saved == ranks[0][1] for _, saved in ranks)
    return [(sorted(sum((new for new, _ in step), [])), sum((old for _, old in step), [])) for step in zip(*(got for got, _ in ranks))], ranks[0][1]


KINDS = [{}, {"by": "name"}, {"by": None, "capacity": 40}, {"policy": "balanced", "capacity": 30}, {"where": "here"}, {"where": "here", "ram": 0},
         {"where": "here", "ram": "3kB", "by": None, "capacity": 40}]


@pytest.mark.parametrize("options", KINDS)
def test_the_same_for_1_2_and_4_ranks_any_threads_and_after_a_resume(table, options):
    pipeline = pipeline_of(table, **options)
    whole, _ = steps(pipeline)
    assert len(whole) == 2 * 38
    for world, threads in ((1, 1), (2, 1), (2, 3), (4, 2)):
        assert steps(pipeline, world, threads=threads)[0] == whole, (world, threads)
    _, state = steps(pipeline, stop=17)
    assert steps(pipeline, state=state)[0] == whole[17:] == steps(pipeline, 2, state=state)[0]
    seen = set()
    for at, (new, old) in enumerate(whole):
        assert len(old) == (8 if at else 0) and {i for i, _ in old} <= seen, "old rows are of the steps before"
        seen |= set(new)
    assert seen == set(range(ROWS))


@pytest.mark.parametrize("options", KINDS)
def test_little_memory_changes_nothing(table, options):
    pipeline = pipeline_of(table, **options)
    whole, _ = steps(pipeline)
    for threads in (1, 3):
        # With by= what is needed is known behind the pass that reads classes.
        with pytest.raises(fb.OutOfBudget) as refused, fb.Loader(pipeline(16, 8), memory=1000, threads=threads) as loader:
            next(iter(loader))
        assert steps(pipeline, memory=refused.value.bytes_needed, threads=threads)[0] == whole


def test_kept_rows_of_a_step_are_those_that_were_new_there(table):
    raw, _ = steps(pipeline_of(table))
    here, _ = steps(pipeline_of(table, where="here"))
    assert [(new, [i for i, _ in old]) for new, old in raw] == [(new, [i for i, _ in old]) for new, old in here], "the draws do not depend on where"
    assert all(x == i / 2 for _, old in raw for i, x in old)
    assert all(x == max(min(i / 2, 250), 3) for _, old in here for i, x in old)


def test_classes_are_those_of_the_column(table):
    for by in ("label", "name"):
        _, state = steps(pipeline_of(table, by=by), stop=38)
        classes = state["rehearsal"]["classes"]
        assert [(seen, len(kept)) for _, seen, _, _, kept, *_ in classes] == [(OF_CLASS, 7)] * 4
        assert all(len({i // OF_CLASS for i in kept}) == 1 for _, _, _, _, kept, *_ in classes)


def test_python_steps_run_again_only_for_what_is_not_kept(table):
    def run(ram):
        calls = []

        def noted(sample):
            calls.append(1)
            return {"x": sample["x"]}

        pipeline = fb.parquet(str(table)).shuffle(block=2).map(noted, fields="x", version="1").rehearse(8, capacity=7, where="here", ram=ram).batch(16)
        with fb.Loader(pipeline, seed=1, epochs=1) as loader:
            return [batch.ids.tolist() for batch in loader], len(calls)

    kept, calls = run(None)
    again, more = run(0)
    assert kept == again and more == ROWS + 37 * 8
    assert ROWS <= calls < more - 30, "but for rows that were drawn while the step in which they were new was being prepared"


def test_a_task_rehearses_rows_that_the_task_before_kept(table):
    state = None
    for task in range(4):
        pipeline = fb.parquet(str(table)).only(label=task).shuffle(block=2).rehearse(4, capacity=5).batch(8)
        with fb.Loader(pipeline, seed=task, rehearsal=state, epochs=1) as loader:
            old = set()
            for batch in loader:
                marks = batch["rehearsed"]
                assert np.array_equal(batch["id"], batch.ids) and set(batch["label"][~marks].tolist()) == {task}
                old |= set(batch["label"][marks].tolist())
            assert old == set(range(task + 1))
            state = loader.state_dict()
    assert [label for label, *_ in state["rehearsal"]["classes"]] == [0, 1, 2, 3]


def test_only_the_fields_that_are_wanted_are_in_old_rows(table):
    pipeline = fb.parquet(str(table), filter=[("id", ">=", 300)]).select("id", "list").rehearse(4, capacity=5).batch(8)
    with fb.Loader(pipeline, epochs=1) as loader:
        for batch in loader:
            assert batch.ids.min() >= 300 and np.array_equal(batch["id"], batch.ids)
            assert set(batch.keys()) == {"id", "list", "rehearsed"}, "the class is told by a column that is not in the batch"


def test_a_damaged_old_row_is_left_out(tmp_path):
    values = [None if i in (5, 6, 40) else i for i in range(96)]
    pq.write_table(pa.table({"x": pa.array(values, pa.int64()), "label": np.arange(96) % 2}), tmp_path / "a.parquet", row_group_size=10)
    for where in ("raw", "here"):
        with fb.Loader(fb.parquet(str(tmp_path)).rehearse(4, capacity=96, where=where).batch(8), on_error="skip", epochs=2) as loader:
            seen = [i for _ in range(2) for batch in loader for i in batch.ids.tolist()]
        assert not {5, 6, 40} & set(seen) and len(set(seen)) == 93 and len(seen) > 2 * 93


@pytest.mark.parametrize("options, message", [({"by": "colour"}, "no field 'colour'"), ({"by": "list"}, "neither a whole number nor a text"),
                                              ({"by": "x"}, "neither a whole number nor a text")])
def test_fields_that_tell_no_class_are_named(table, options, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(fb.parquet(str(table)).rehearse(4, capacity=5, **options).batch(8))


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    for shard in range(2):
        with tarfile.open(folder / f"{shard}.tar", "w") as tar:
            for i in range(shard * 48, shard * 48 + 48):
                for name, data in ((f"{i:03}.bin", bytes([i]) * (100 + i)), (f"{i:03}.cls", str(i // 24).encode())):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    tar.addfile(member, io.BytesIO(data))
    return str(folder / "*.tar")


@pytest.mark.parametrize("options", [{}, {"by": None}, {"where": "here"}, {"where": "here", "ram": 0}])
def test_samples_of_tar_shards(shards, options):
    def run(world, state=None, stop=None):
        def of_rank(rank):
            source = fb.webdataset(shards, fields={"data": "bin", "label": "cls"}, chunk="8kB").shuffle(block=2, lanes=2)
            with fb.Loader(source.rehearse(4 // world, capacity=5, **options).batch(8 // world), seed=1, rank=rank, world_size=world, epochs=1) as loader:
                if state is not None:
                    loader.load_state_dict(state)
                got = []
                for batch in itertools.islice(loader, stop):
                    assert [bytes(one) for one in batch["data"]] == [bytes([i]) * (100 + i) for i in batch.ids]
                    assert np.array_equal(batch["label"], batch.ids // 24)
                    got.append((batch.ids[~batch["rehearsed"]].tolist(), batch.ids[batch["rehearsed"]].tolist()))
                return got, loader.state_dict()

        ranks = on_ranks(world, of_rank)
        return [(sorted(sum((new for new, _ in step), [])), sum((old for _, old in step), [])) for step in zip(*(got for got, _ in ranks))], ranks[0][1]

    whole, _ = run(1)
    assert len(whole) == 12 and whole == run(2)[0] == run(4)[0]
    assert run(2, run(1, stop=5)[1])[0] == whole[5:]


def test_lines_of_json(tmp_path):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"x": i, "label": i // 50}) + "\n" for i in range(200)))
    with fb.Loader(fb.jsonl(tmp_path / "a.jsonl").shuffle().rehearse(4, capacity=5).batch(8), epochs=1) as loader:
        for at, batch in enumerate(loader):
            assert np.array_equal(batch["x"], batch.ids) and batch["rehearsed"].sum() == (4 if at else 0)
        assert [len(kept) for _, _, _, _, kept, *_ in loader.state_dict()["rehearsal"]["classes"]] == [5] * 4
