"""Rows of Parquet and Arrow files that appear: the same fields as of the files read as one table, each row once, states in the middle of files, ranks, policies."""

import datetime
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import forebay as fb
from streaming import TOKEN, on_ranks, steps_of_ranks, xs

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)


def put(folder, name, table, groups=None):
    """Whole at once, as writers should."""
    folder.mkdir(parents=True, exist_ok=True)
    hidden = folder / f"{name}.tmp"
    if name.endswith(".arrow"):
        with pa.ipc.new_file(hidden, table.schema) as writer:
            writer.write_table(table, groups)
    else:
        pq.write_table(table, hidden, row_group_size=groups)
    hidden.rename(folder / name)


def numbered(first, rows):
    """x counts, the rest follows from it."""
    x = np.arange(first, first + rows)
    return pa.table({"x": x, "half": x / 2, "text": pa.array([f"row {i}" for i in x], pa.string()),
                     "list": pa.array([list(range(i % 4)) for i in x], pa.list_(pa.int64()))})


SIZES = [(7, 3), (1, 1), (0, 1), (20, 6), (13, 100), (9, 2), (30, 7)]  # rows of a file, and of its row groups
ALL = sum(rows for rows, _ in SIZES)


def fill(folder, sizes=SIZES, first=0, ending="parquet", pause=0.0):
    for i, (rows, groups) in enumerate(sizes):
        put(folder, f"{first:05}-{i:03}.{ending}", numbered(first, rows), groups)
        first += rows
        time.sleep(pause)


def taken(pipeline, steps=None, state=None, **options):
    """x of each batch, and the state behind them."""
    with fb.Loader(pipeline, **options) as loader:
        if state is not None:
            loader.load_state_dict(state)
        got = []
        for batch in itertools.islice(loader, steps):
            for x, half, text, values in zip(batch["x"].tolist(), batch["half"].tolist(), batch["text"], rows_of(batch["list"])):
                assert (half, text, values) == (x / 2, f"row {x}", list(range(x % 4)))
            got.append(batch["x"].tolist())
        return got, loader.state_dict()


def rows_of(field):
    """Rows of a batch's field as Python's own values."""
    if isinstance(field, tuple):
        values, offsets = field
        return [values[a:b].tolist() for a, b in zip(offsets[:-1], offsets[1:])]
    return field.tolist() if isinstance(field, np.ndarray) else list(field)


def followed(folder, **options):
    return fb.parquet(folder / "*.parquet", follow=True, **options)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("null", ["mask", "value", "error"])
def test_the_fields_are_those_of_the_same_files_as_one_table(tmp_path, ending, null):
    moment = datetime.datetime(2026, 1, 2, 3, 4, 5, 678901)
    some = 5 if null != "error" else 0  # every so many rows a null, or none
    if some and ending == "parquet" and int(pa.__version__.split(".")[0]) < 25:
        pytest.skip(f"pyarrow {pa.__version__} cannot write nulls among lists of one length to Parquet; 25 can")

    def table(first, rows):
        def with_nulls(value, kind=None):
            return pa.array([None if some and i % some == 3 else value(i) for i in range(first, first + rows)], kind)

        columns = {f"n_{kind}": with_nulls(int, getattr(pa, kind)()) for kind in ("int8", "uint16", "int32", "int64", "uint64")}
        return pa.table({
            **columns,
            "f16": with_nulls(lambda i: np.float16(i / 2), pa.float16()), "f32": with_nulls(lambda i: i / 3, pa.float32()),
            "f64": with_nulls(lambda i: i / 7), "flag": with_nulls(lambda i: i % 3 == 0),
            "text": with_nulls(lambda i: "ü" * (i % 5)), "bytes": with_nulls(lambda i: bytes(range(i % 7)), pa.binary()),
            "fixed": with_nulls(lambda i: [i, i + 1, i + 2], pa.list_(pa.float32(), 3)),
            "list": with_nulls(lambda i: list(range(i % 4)), pa.list_(pa.int16())),
            "words": with_nulls(lambda i: ["ab" * k for k in range(i % 3)], pa.list_(pa.string())),
            "kind": with_nulls(lambda i: "uvw"[i % 3]).dictionary_encode(),
            "day": with_nulls(lambda i: moment.date() + datetime.timedelta(i)), "at": with_nulls(lambda i: moment, pa.timestamp("us")),
            "ago": with_nulls(lambda i: datetime.timedelta(seconds=i), pa.duration("ms")),
            "point": pa.array([{"x": i, "y": {"z": str(i)}} for i in range(first, first + rows)]),
            "map": pa.array([[("k", i)] * (i % 3) for i in range(first, first + rows)], pa.map_(pa.string(), pa.int32())),
            "deep": pa.array([[[i], []] for i in range(first, first + rows)]),
        })

    for i, (rows, groups) in enumerate([(10, 4), (3, 3), (20, 7)]):
        put(tmp_path / f"part={i}", f"{i}.{ending}", table(sum([10, 3, 20][:i]), rows), groups)
    how = {"null": {"mask": fb.NULL_MASK, "error": "error"}.get(null)}
    if null == "value":  # which goes into columns of its kind
        numbers_only = [name for name in table(0, 1).column_names if name.startswith("n_") or name in ("f16", "f32", "f64")]
        how = {"null": {name: 7 for name in numbers_only}, "columns": [*numbers_only, "part"]}
    source = fb.parquet if ending == "parquet" else fb.arrow
    with fb.Loader(source(tmp_path, **how).batch(33), epochs=1) as loader:
        whole = next(iter(loader))
    with fb.Loader(source(tmp_path, follow=True, **how).batch(11), steps_per_epoch=3) as loader:
        batches = list(loader)
    assert batches[0].keys() == whole.keys()
    if null != "value":
        assert {"point.y.z", "words", "at", "part", "map.key"} <= set(whole.keys())
    for name in whole.keys():
        together = sum((rows_of(batch[name]) for batch in batches), [])
        assert together == rows_of(whole[name]), name
        if isinstance(whole[name], np.ndarray):
            assert batches[0][name].dtype == whole[name].dtype and batches[0][name].shape[1:] == whole[name].shape[1:]
    if null == "mask":
        assert not whole["n_int8_valid"].all()


def test_files_that_are_written_while_it_runs_come_once_and_in_their_order(tmp_path):
    put(tmp_path, "first.parquet", numbered(0, 0))
    writer = threading.Thread(target=fill, args=(tmp_path,), kwargs={"pause": 0.1})
    writer.start()
    batches, state = taken(followed(tmp_path).batch(8), ALL // 8)
    writer.join()
    assert sum(batches, []) == list(range(ALL // 8 * 8))
    assert state["streams"][""]["number"] == ALL // 8 * 8
    assert len(json.dumps(state)) < 1000


def test_a_folder_is_the_files_below_it(tmp_path):
    for i in range(3):
        put(tmp_path / f"day={i}", "rows.parquet", numbered(10 * i, 10), 4)
    (tmp_path / "day=0" / "notes.txt").write_text("none of it")
    (tmp_path / "_SUCCESS").touch()
    with fb.Loader(fb.parquet(tmp_path, columns=["day", "x"], follow=True).batch(30), steps_per_epoch=1) as loader:
        batch = next(iter(loader))
    assert list(batch.keys()) == ["day", "x"]
    assert batch["x"].tolist() == list(range(30)) and batch["day"].tolist() == [x // 10 for x in range(30)]


@pytest.mark.parametrize("window", [None, 16])
def test_it_goes_on_behind_every_step(tmp_path, window):
    fill(tmp_path)

    def pipeline(batch=10):
        return followed(tmp_path).shuffle(window=window).batch(batch) if window else followed(tmp_path).batch(batch)

    whole, _ = taken(pipeline(), 8, seed=4)
    assert sorted(sum(whole, [])) == list(range(80)) and (window is None) == (sum(whole, []) == list(range(80)))
    state = None
    for step in range(8):
        got, state = taken(pipeline(), 1, json.loads(json.dumps(state)) if state else None, seed=4)
        assert got == [whole[step]], step
    _, state = taken(pipeline(), 3, seed=4)
    assert sum(taken(pipeline(1), 50, state, seed=4)[0], []) == sum(whole[3:], []), "with another batch size"


def test_one_and_three_ranks_give_one_stream_and_go_on_from_each_other(tmp_path):
    fill(tmp_path / "rows")

    def pipeline(world):
        return followed(tmp_path / "rows").batch(6 // world)

    def on(world, name, **options):
        (tmp_path / name).mkdir()
        return steps_of_ranks(pipeline, world, f"file://{tmp_path / name}", seed=2, **options)

    one, _ = on(1, "a", steps=13)
    assert xs(one) == list(range(78))
    three, _ = on(3, "b", steps=13)
    assert three == one
    _, state = on(3, "c", steps=5)
    assert on(1, "d", steps=8, state=state)[0] == one[5:]
    _, state = on(1, "e", steps=5)
    assert on(3, "f", steps=8, state=state)[0] == one[5:]


RANK = """
import json, sys
import forebay as fb
spec = json.loads(sys.argv[1])
pipeline = fb.parquet(spec["folder"] + "/*.parquet", follow=True).batch(5)
with fb.Loader(pipeline, seed=1) as loader:
    if spec["state"]:
        loader.load_state_dict(spec["state"])
    for batch in loader:
        print(json.dumps([batch["x"].tolist(), loader.state_dict()]), flush=True)
"""


def test_killed_at_any_moment_it_goes_on_from_its_last_state(tmp_path):
    put(tmp_path, "first.parquet", numbered(0, 0))
    sizes = SIZES * 3
    writer = threading.Thread(target=fill, args=(tmp_path, sizes), kwargs={"pause": 0.05})
    writer.start()
    got, state, lives = [], None, 0
    until = time.monotonic() + 120
    while len(got) < 3 * ALL // 5 * 5 and time.monotonic() < until:
        spec = json.dumps({"folder": str(tmp_path), "state": state})
        life = subprocess.Popen([sys.executable, "-c", RANK, spec], stdout=subprocess.PIPE, text=True)
        # Each life ends by kill -9 some steps after it began, whatever it does then.
        for line, _ in zip(life.stdout, range(7 + lives % 5)):
            rows, state = json.loads(line)
            got += rows
            if len(got) >= 3 * ALL // 5 * 5:
                break
        os.kill(life.pid, signal.SIGKILL)
        life.wait()
        life.stdout.close()
        lives += 1
    writer.join()
    assert got == list(range(3 * ALL // 5 * 5))
    assert lives > 2


def test_bad_files_and_rows_are_told_and_left_out_by_the_policy(tmp_path):
    put(tmp_path, "0.parquet", numbered(0, 10), 5)
    (tmp_path / "1.parquet").write_bytes(b"PAR1 this is none PAR1")
    put(tmp_path, "2.parquet", numbered(10, 10), 5)
    cut = (tmp_path / "2.parquet").read_bytes()
    (tmp_path / "3.parquet").write_bytes(cut[: len(cut) // 2])
    put(tmp_path, "4.parquet", numbered(20, 10).set_column(1, "half", pa.array(["text"] * 10)), 5)
    put(tmp_path, "5.parquet", numbered(20, 10).drop_columns("text"), 5)
    put(tmp_path, "6.parquet", numbered(20, 10), 5)
    damaged = bytearray((tmp_path / "6.parquet").read_bytes())
    start = pq.ParquetFile(tmp_path / "6.parquet").metadata.row_group(1).column(0).data_page_offset
    damaged[start : start + 20] = b"\xff" * 20
    (tmp_path / "6.parquet").write_bytes(damaged)
    put(tmp_path, "7.parquet", numbered(30, 20), 5)
    names = {"1": "", "3": "", "4": "'half'", "5": "'text'", "6": "row group 1"}

    pipeline = followed(tmp_path).batch(5)
    with fb.Loader(pipeline, steps_per_epoch=10, on_error="skip") as loader:
        got = sum((batch["x"].tolist() for batch in loader), [])
        errors = loader.errors()
    assert got == [*range(25), *range(30, 50)]
    assert len(errors) == len(names)
    for file, what in names.items():
        (told,) = [error for error in errors if f"{file}.parquet" in error["key"]]
        assert told["code"] == "Corrupt" and what in told["key"] + told["message"], told

    with fb.Loader(pipeline) as loader:
        with pytest.raises(fb.Corrupt, match="1.parquet"):
            for batch in loader:
                pass


def test_nulls_are_bad_rows_where_nothing_stands_for_them(tmp_path):
    put(tmp_path, "0.parquet", pa.table({"x": pa.array([0, None, 2, 3], pa.int64())}))
    with fb.Loader(followed(tmp_path).batch(2), steps_per_epoch=2, on_error="skip") as loader:
        assert [batch["x"].tolist() for batch in loader] == [[0], [2, 3]]
    with fb.Loader(followed(tmp_path, null=7).batch(4), steps_per_epoch=1) as loader:
        assert next(iter(loader))["x"].tolist() == [0, 7, 2, 3]


def test_a_file_that_is_removed_in_the_middle_is_told_and_one_that_is_done_may_go(tmp_path):
    put(tmp_path, "0.parquet", numbered(0, 10), 3)
    put(tmp_path, "1.parquet", numbered(10, 10), 3)
    pipeline = followed(tmp_path).batch(5)
    _, in_the_middle = taken(pipeline, 1)
    _, behind = taken(pipeline, 2)
    (tmp_path / "0.parquet").unlink()
    assert taken(pipeline, 2, behind)[0] == [list(range(10, 15)), list(range(15, 20))]
    with pytest.raises(fb.NotFound, match="0.parquet.*row 4"):
        taken(pipeline, 1, in_the_middle)
    with fb.Loader(pipeline, on_error="skip") as loader:
        loader.load_state_dict(in_the_middle)
        batches = [batch["x"].tolist() for batch in itertools.islice(loader, 2)]
    assert batches == [[10, 11, 12, 13], [14, 15, 16, 17, 18]]


def test_a_file_is_not_read_before_it_is_left_alone(tmp_path):
    put(tmp_path, "0.parquet", numbered(0, 5))
    put(tmp_path / "aside", "1.parquet", numbered(5, 10))
    whole = (tmp_path / "aside" / "1.parquet").read_bytes()

    def write_slowly():  # pauses are shorter than what counts as settled
        with (tmp_path / "1.parquet").open("wb") as file:
            for at in range(0, len(whole), len(whole) // 8):
                file.write(whole[at : at + len(whole) // 8])
                file.flush()
                time.sleep(0.3)

    writer = threading.Thread(target=write_slowly)
    writer.start()
    assert sum(taken(followed(tmp_path).batch(5), 3)[0], []) == list(range(15))
    writer.join()


def test_policies_journals_and_rehearsal_are_those_of_streams(tmp_path):
    folder = tmp_path / "rows"
    fill(folder, [(200, 17)] * 10)
    with fb.Loader(followed(folder).buffer("spill", bytes="20KB", disk="50MB").batch(50), steps_per_epoch=40) as loader:
        time.sleep(2.5)
        assert sum((batch["x"].tolist() for batch in loader), []) == list(range(2000))
    dropping = followed(folder).buffer("drop_oldest", bytes="20KB").batch(10)
    with fb.Loader(dropping, seed=2) as loader:
        loader.journal(tmp_path / "journal")
        rows = iter(loader)
        first = [next(rows)["x"].tolist()]
        time.sleep(3)
        first += [next(rows)["x"].tolist() for _ in range(5)]
        dropped = loader.stats()["partitions"][0]["dropped"]
    with fb.Loader(dropping, seed=2, journal=tmp_path / "journal") as loader:
        assert [batch["x"].tolist() for batch in itertools.islice(loader, 6)] == first
    assert dropped > 500
    rehearsing = fb.parquet(folder / "*.parquet", columns=["x"], follow=True).rehearse(4, capacity=30, by=None).batch(8)
    with fb.Loader(rehearsing, seed=3) as loader:
        whole = [(batch["x"].tolist(), batch["rehearsed"].tolist()) for batch in itertools.islice(loader, 30)]
    with fb.Loader(rehearsing, seed=3) as loader:
        list(itertools.islice(loader, 12))
        state = json.loads(json.dumps(loader.state_dict()))
    with fb.Loader(rehearsing, seed=3) as loader:
        loader.load_state_dict(state)
        assert [(batch["x"].tolist(), batch["rehearsed"].tolist()) for batch in itertools.islice(loader, 18)] == whole[12:]
    assert all(sum(marks) == 4 for _, marks in whole[1:])


def test_memory_stays_within_the_buffer_and_a_row_group(tmp_path):
    pad = b"x" * 1000
    for i in range(20):
        put(tmp_path, f"{i:02}.parquet", pa.table({"x": np.arange(1000 * i, 1000 * i + 1000), "pad": [pad] * 1000}), 250)
    with fb.Loader(followed(tmp_path).buffer("block", bytes="1MB").batch(50), steps_per_epoch=400) as loader:
        most, got = 0, []
        for batch in loader:
            got += batch["x"].tolist()
            most = max(most, loader.stats()["stream"]["memory_bytes"])
    assert got == list(range(20_000))
    assert 0 < most < 3_000_000


def test_a_row_group_that_is_too_large_for_memory_is_named(tmp_path):
    put(tmp_path, "0.parquet", pa.table({"x": np.random.default_rng(0).random(4_000_000)}), 4_000_000)
    with fb.Loader(followed(tmp_path).batch(5), memory="48MB") as loader, pytest.raises(fb.OutOfBudget, match="0.parquet, row group 0"):
        next(iter(loader))


def test_what_makes_no_sense_is_refused(tmp_path):
    put(tmp_path, "0.parquet", numbered(0, 10))
    with pytest.raises(fb.InvalidArgument, match="one pattern"):
        fb.parquet([tmp_path / "0.parquet"], follow=True)
    with pytest.raises(fb.InvalidArgument, match="in memory"):
        fb.arrow(numbered(0, 3), follow=True)
    for pipeline, what in [(followed(tmp_path).shuffle().batch(2), "window="), (followed(tmp_path).take(3).batch(2), "first samples"),
                           (followed(tmp_path).cache().batch(2), "come once"), (followed(tmp_path).filter(lambda row: True).batch(2), "drops")]:
        with pytest.raises(fb.InvalidArgument, match=what):
            fb.Loader(pipeline)
    with pytest.raises(fb.InvalidArgument, match="no column 'xx'"):
        fb.Loader(followed(tmp_path, columns=["xx"]).batch(2))
    with pytest.raises(fb.NotFound, match="no rows"):
        fb.Loader(fb.parquet(tmp_path / "none*.parquet", follow=True).batch(2))
    with pytest.raises(fb.Unsupported, match="local files"):
        fb.Loader(fb.parquet("s3://bucket/*.parquet", follow=True).batch(2))
    with fb.Loader(followed(tmp_path).batch(2)) as loader, pytest.raises(TypeError, match="steps_per_epoch"):
        len(loader)


def test_a_filter_is_decided_file_by_file(tmp_path):
    fill(tmp_path)
    pipeline = followed(tmp_path, filter=[("x", ">=", 20), ("x", "<", 60)]).batch(5)
    whole, _ = taken(pipeline, 8)
    assert sum(whole, []) == list(range(20, 60))
    state = None
    for step in range(8):
        got, state = taken(pipeline, 1, state)
        assert got == [whole[step]]


def test_a_state_of_other_columns_is_refused(tmp_path):
    fill(tmp_path)
    _, state = taken(followed(tmp_path).batch(5), 2)
    with fb.Loader(fb.parquet(tmp_path / "*.parquet", columns=["x"], follow=True).batch(5)) as loader, pytest.raises(fb.StateMismatch):
        loader.load_state_dict(state)


def test_json_and_the_command_line_know_it(tmp_path):
    fill(tmp_path)
    pipeline = followed(tmp_path, columns=["x"]).batch(4)
    read = fb.Pipeline.from_json(pipeline.to_json())
    assert read.to_json() == pipeline.to_json() and '"follow": true' in pipeline.to_json().replace('":true', '": true')
    with fb.Loader(read, steps_per_epoch=2) as loader:
        assert sum((batch["x"].tolist() for batch in loader), []) == list(range(8))


def test_a_wait_for_files_ends_with_the_loader(tmp_path):
    put(tmp_path, "0.parquet", numbered(0, 3))
    loader = fb.Loader(followed(tmp_path).batch(4))
    waiting = threading.Thread(target=lambda: pytest.raises(fb.Cancelled, list, loader), daemon=True)
    waiting.start()
    time.sleep(1.5)
    began = time.monotonic()
    loader.close()
    assert time.monotonic() - began < 5
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_wait_for_a_first_file_to_settle_is_bounded_and_two_openings_agree(tmp_path):
    fill(tmp_path)
    results = on_ranks(2, lambda rank: taken(followed(tmp_path).batch(10), 8)[0])
    assert results[0] == results[1]
