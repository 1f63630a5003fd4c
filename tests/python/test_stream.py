"""Sources without an end: nothing lost, nothing doubled, equal steps, states, journals, what happens when production outruns training."""

import asyncio
import itertools
import json
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import forebay as fb
from streaming import TOKEN, numbers, on_ranks, parts, steps_of_ranks, xs


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("FOREBAY_CLUSTER_TOKEN", TOKEN)


def take(pipeline, steps=None, state=None, **options):
    """x of the batches, and the state behind them."""
    with fb.Loader(pipeline, **options) as loader:
        if state is not None:
            loader.load_state_dict(state)
        got = [batch["x"].tolist() for batch in itertools.islice(loader, steps)]
        return got, loader.state_dict()


def test_records_come_in_order_and_epochs_are_steps():
    with fb.Loader(fb.stream(numbers()).batch(8), steps_per_epoch=5) as loader:
        assert len(loader) == 5
        for epoch in range(3):
            batches = list(loader)
            assert [batch.epoch for batch in batches] == [epoch] * 5
            assert [x for batch in batches for x in batch["x"].tolist()] == list(range(40 * epoch, 40 * epoch + 40))
            assert [i for batch in batches for i in batch.ids.tolist()] == list(range(40 * epoch, 40 * epoch + 40))


def test_without_steps_per_epoch_there_is_one_epoch_and_no_length():
    with fb.Loader(fb.stream(numbers()).batch(8)) as loader:
        with pytest.raises(TypeError, match="steps_per_epoch"):
            len(loader)
        assert sum(1 for _ in itertools.islice(loader, 100)) == 100
        assert loader.epoch == 0


def test_an_iterable_that_ends_ends_the_loop_with_the_rest():
    batches, _ = take(fb.stream(numbers(21)).batch(8))
    assert [len(batch) for batch in batches] == [8, 8, 5]
    batches, _ = take(fb.stream(numbers(21)).batch(8, last="drop"))
    assert [len(batch) for batch in batches] == [8, 8]
    with fb.Loader(fb.stream(numbers(0)).batch(8)) as loader:
        assert list(loader) == [] and list(loader) == []


def test_an_async_iterable_is_one_too():
    def factory(offset):
        async def records():
            for i in range(offset, 30):
                await asyncio.sleep(0)
                yield {"x": i}

        return records()

    batches, _ = take(fb.stream(factory).batch(10))
    assert sum(batches, []) == list(range(30))


def test_what_an_async_iterable_awaits_is_broken_off_when_the_loader_closes():
    ended = threading.Event()

    async def factory(offset):
        try:
            yield {"x": 1}
            await asyncio.Event().wait()
        finally:
            ended.set()

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "left running"
        with fb.Loader(fb.stream(factory).batch(1)) as loader:
            next(iter(loader))
    assert ended.wait(10)


def test_a_factory_that_does_not_return_is_told_once_and_ends_with_its_process():
    code = """
import threading
import forebay as fb, forebay._feeding, forebay.loader
forebay.loader.STUCK_AFTER_S = 0.2
def factory(offset):
    yield {"x": 1}
    threading.Event().wait()
with fb.Loader(fb.stream(factory).batch(1)) as loader:
    next(iter(loader))
loader.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr.count("left running") == 1 and "leaked" not in done.stderr, done.stderr


def test_all_kinds_of_fields_arrive():
    def factory(offset):
        for i in range(offset, 6):
            yield {"x": i, "name": f"r{i}", "raw": bytes([i]), "row": np.full((2, 3), i, np.float32), "long": np.arange(i)}

    with fb.Loader(fb.stream(factory).batch(3)) as loader:
        first, second = loader
        assert second["name"] == ["r3", "r4", "r5"] and second["raw"] == [b"\3", b"\4", b"\5"]
        assert second["row"].shape == (3, 2, 3) and (second["row"][1] == 4).all()
        values, offsets = second["long"]
        assert values.tolist() == [0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4] and offsets.tolist() == [0, 3, 7, 12]


@pytest.mark.parametrize("window", [None, 50])
@pytest.mark.parametrize("before, after", [(1, 1), (2, 1), (1, 3), (3, 2)])
def test_nothing_is_lost_or_doubled_by_a_resume_on_other_ranks(tmp_path, before, after, window):
    def pipeline(world):
        source = fb.stream(parts(300, 70), partition=[0, 1])
        return (source if window is None else source.shuffle(window=window)).batch(12 // world)

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, state = steps_of_ranks(pipeline, before, f"file://{tmp_path}/a", steps=11, seed=3)
    assert len(json.dumps(state)) < 1500
    rest, _ = steps_of_ranks(pipeline, after, f"file://{tmp_path}/b", state=state, seed=3)
    assert sorted(xs(first) + xs(rest)) == sorted([*range(300), *range(10**6, 10**6 + 70)])


def test_a_window_is_shuffled_and_its_rest_comes_as_it_would_have():
    pipeline = fb.stream(numbers(200)).shuffle(window=40).batch(8)
    whole, _ = take(pipeline, seed=5)
    for i in range(5):
        block = sum(whole[5 * i : 5 * i + 5], [])
        assert sorted(block) == list(range(40 * i, 40 * i + 40)) and block != sorted(block)
    _, state = take(pipeline, steps=7, seed=5)
    rest, _ = take(pipeline, state=state, seed=5)
    assert rest == whole[7:]
    assert take(pipeline, seed=6)[0] != whole


def test_ranks_whose_partitions_have_very_different_pace_take_the_same_steps(tmp_path):
    def factory(offset, partition):
        for i in range(offset, 500 if partition == "fast" else 25):
            if partition == "slow":
                time.sleep(0.01)
            yield {"x": i + (10**6 if partition == "slow" else 0)}

    def pipeline(world):
        return fb.stream(factory, partition=["fast", "slow"]).batch(5)

    steps, _ = steps_of_ranks(pipeline, 3, f"file://{tmp_path}", seed=1)
    assert len(steps) == 35
    assert sorted(xs(steps)) == sorted([*range(500), *range(10**6, 10**6 + 25)])


@pytest.mark.parametrize("differs", ["seed", "batch size", "window"])
def test_a_rank_that_has_another_run_than_rank_0_is_told(tmp_path, differs):
    """It would get some records that others get, too, and others nobody would get."""

    def run(rank):
        other = rank == 1
        pipeline = fb.stream(numbers(256)).shuffle(window=64 if other and differs == "window" else 32).batch(4 if other and differs == "batch size" else 8)
        with fb.Loader(pipeline, rank=rank, world_size=2, peers=f"file://{tmp_path}", seed=8 if other and differs == "seed" else 7) as loader:
            if not other:
                return next(iter(loader))["x"].tolist()
            with pytest.raises(fb.StateMismatch, match=f"other settings than rank 0: {differs}="):
                next(iter(loader))

    on_ranks(2, run)


def test_several_ranks_need_to_hear_from_rank_0():
    with pytest.raises(fb.InvalidArgument, match="peers="):
        fb.Loader(fb.stream(numbers()).batch(4), rank=0, world_size=2)


@pytest.mark.parametrize("policy", ["block", "drop_oldest", "sample"])
def test_a_journal_repeats_a_run_that_arrival_would_not(tmp_path, policy):
    def factory(offset, partition):
        pause = np.random.default_rng()
        for i in range(offset, 400):
            if pause.random() < 0.1:
                time.sleep(0.002)
            yield {"x": i + 10**6 * partition}

    def pipeline(batch, **buffer):
        return fb.stream(factory, partition=[0, 1]).buffer(policy, **buffer).shuffle(window=40).batch(batch)

    with fb.Loader(pipeline(10, bytes="1MB"), seed=2, steps_per_epoch=30) as loader:
        loader.journal(tmp_path / "journal")
        first = [x for batch in itertools.islice(loader, 20) for x in (time.sleep(0.001), batch["x"].tolist())[1]]
    again = []
    with fb.Loader(pipeline(4, bytes="200KB"), seed=2, journal=tmp_path / "journal", threads=1) as loader:
        for batch in loader:
            again += batch["x"].tolist()
    assert again[:200] == first
    assert (tmp_path / "journal").stat().st_size < 300 + 100 * (len(again) // 40 + 1)


def test_a_window_of_which_two_are_larger_than_the_buffer(tmp_path):
    """Steps that begin in one window and end in the next need some of both."""
    def records(offset):
        return ({"x": n, "blob": np.zeros(25_000, np.float32)} for n in range(offset, 400))

    with fb.Loader(fb.stream(records).buffer(bytes="20MB").shuffle(window=130).batch(64), steps_per_epoch=6) as loader:
        assert sorted(x for batch in loader for x in batch["x"].tolist())[:100] == list(range(100))


def test_records_that_nobody_asks_for_any_more_go(tmp_path):
    """Also those that were pushed to a feed which was closed: of each rehearsed record that is read again, say, or of a loader that ended."""
    source = fb.stream(lambda offset: ({"x": np.full(1000, n)} for n in range(offset, 100_000)))
    held = next(iter(source._functions.values()))._held
    pipeline = source.rehearse(2, capacity=30, by="").batch(4)
    with fb.Loader(pipeline, steps_per_epoch=20) as loader:
        for _ in loader:
            pass
        state = loader.state_dict()
        for _ in range(5):
            loader.load_state_dict(state)
            next(iter(loader))
        assert len(held) < 3000
    with fb.Loader(pipeline, steps_per_epoch=1) as loader:
        next(iter(loader))
    assert len(held) < 300, "of loaders that are closed"


@pytest.mark.parametrize("text", ["/data/\udcff", "\ud800", "plain"])
def test_what_an_iterable_raises_ends_the_run_whatever_its_text(text):
    def records(offset, partition):
        if partition == "bad":
            raise ConnectionError(text)
        return ({"x": n} for n in range(offset, 1000))

    with fb.Loader(fb.stream(records, partition=["bad", "a", "b"]).batch(4), steps_per_epoch=1000) as loader, pytest.raises(ConnectionError):
        list(loader)


def test_a_journal_is_not_continued_under_another_policy(tmp_path):
    def records(offset):
        return ({"x": n} for n in range(offset, 400))

    path = tmp_path / "journal"
    with fb.Loader(fb.stream(records).buffer("block").batch(4), steps_per_epoch=5) as loader:
        loader.journal(path)
        list(loader)
        state = loader.state_dict()
    with fb.Loader(fb.stream(records).buffer("sample").batch(4), steps_per_epoch=5) as loader:
        loader.load_state_dict(state, strict=False)
        with pytest.raises(fb.InvalidArgument, match="buffer"):
            loader.journal(path)


def test_a_journal_ends_where_the_run_goes_elsewhere(tmp_path):
    pipeline = fb.stream(lambda offset: ({"x": n} for n in range(offset, 4000))).batch(4)
    path = tmp_path / "journal"
    with fb.Loader(pipeline, steps_per_epoch=5) as loader:
        first = loader.state_dict()
        loader.journal(path)
        kept = [batch["x"].tolist() for batch in loader]
        loader.load_state_dict(first)
        list(loader)
        loader.journal(tmp_path / "other")
        list(loader)
    with fb.Loader(pipeline, steps_per_epoch=5, journal=path) as loader:
        assert [batch["x"].tolist() for batch in loader] == kept


def test_a_journal_is_continued_after_a_resume_and_says_whose_it_is(tmp_path):
    pipeline = fb.stream(numbers(100)).batch(10)
    path = tmp_path / "journal"
    with fb.Loader(pipeline, seed=1) as loader:
        loader.journal(path)
        first = [batch["x"].tolist() for batch in itertools.islice(loader, 4)]
        state = loader.state_dict()
        assert len(path.read_text().splitlines()) > 4, "what is before a state is there, also where the process is killed now"
    with fb.Loader(pipeline, seed=1) as loader:
        loader.load_state_dict(state)
        loader.journal(path)
        rest = [batch["x"].tolist() for batch in loader]
    with fb.Loader(pipeline, seed=1, journal=path) as loader:
        assert [batch["x"].tolist() for batch in loader] == first + rest
    with pytest.raises(fb.StateMismatch, match="the seed"):
        fb.Loader(pipeline, seed=2, journal=path)
    with fb.Loader(pipeline, seed=2) as loader, pytest.raises(fb.InvalidArgument, match="another stream, seed"):
        loader.journal(path)
    with pytest.raises(fb.NotFound, match="no journal"):
        fb.Loader(pipeline, journal=tmp_path / "none")
    (tmp_path / "other").write_text("hello\n")
    with pytest.raises(fb.InvalidArgument, match="no journal"):
        fb.Loader(pipeline, journal=tmp_path / "other")


def test_numpy_types_are_types_of_fields():
    plain = fb.stream("redis://host/0/clicks", fields={"x": "int64", "y": ("float32", (3,))})
    assert fb.stream("redis://host/0/clicks", fields={"x": np.int64, "y": (np.dtype("float32"), (3,))}).to_json() == plain.to_json()


def test_a_damaged_line_of_a_journal_is_told_and_one_that_was_cut_off_ends_it(tmp_path):
    pipeline = fb.stream(numbers(60)).batch(10)
    with fb.Loader(pipeline) as loader:
        loader.journal(tmp_path / "journal")
        run = [batch["x"].tolist() for batch in loader]
    lines = (tmp_path / "journal").read_text().splitlines(keepends=True)
    (tmp_path / "damaged").write_text("".join([*lines[:4], lines[4].replace("parts", "pasts"), *lines[5:]]))
    with fb.Loader(pipeline, journal=tmp_path / "damaged") as loader, pytest.raises(fb.Corrupt, match="damaged: the line behind record 30 is"):
        assert [batch["x"].tolist() for batch in itertools.islice(loader, 3)] == run[:3]
        list(loader)
    (tmp_path / "cut").write_text("".join([*lines[:4], lines[4][:-5]]))
    with fb.Loader(pipeline, journal=tmp_path / "cut") as loader:
        assert [batch["x"].tolist() for batch in loader] == run[:3]


def test_what_training_does_not_take_is_dropped_and_counted():
    made = threading.Event()

    def factory(offset):
        for i in range(offset, 20_000):
            yield {"x": i, "pad": np.zeros(250, np.float32)}
        made.set()
        while True:
            time.sleep(0.01)
            yield {"x": -1, "pad": np.zeros(250, np.float32)}

    with fb.Loader(fb.stream(factory).buffer("drop_oldest", bytes="500KB").batch(10), steps_per_epoch=10**6) as loader:
        rows = iter(loader)
        first = next(rows)["x"].tolist()
        assert made.wait(60)
        seen = first + [x for _ in range(200) for x in next(rows)["x"].tolist()]
        dropped = loader.state_dict()["streams"][""]["partitions"][0][2]
        real = [x for x in seen if x >= 0]
        assert real == sorted(real) and len(set(real)) == len(real)
        assert dropped > 15_000
        assert loader.stats()["partitions"][0]["dropped"] >= dropped
        assert loader.stats()["stream"]["memory_bytes"] < 2_000_000


def test_a_sample_is_of_all_that_came():
    with fb.Loader(fb.stream(numbers()).buffer("sample").batch(16), steps_per_epoch=10**6) as loader:
        rows = iter(loader)
        last = -1
        for _ in range(30):
            batch = next(rows)["x"].tolist()
            assert batch == sorted(batch) and batch[0] > last
            last = batch[-1]
            time.sleep(0.005)
        assert loader.state_dict()["streams"][""]["partitions"][0][2] > 0


def test_a_window_goes_on_only_as_it_was_begun():
    source = fb.stream(numbers(4000))
    for begun, other in (("sample", "block"), ("block", "sample")):
        _, state = take(source.buffer(begun).shuffle(window=40).batch(8), steps=2, seed=1)
        with fb.Loader(source.buffer(other).shuffle(window=40).batch(8), seed=1) as loader:
            with pytest.raises(fb.StateMismatch, match="same .buffer"):
                loader.load_state_dict(state)
        _, state = take(source.buffer(begun).shuffle(window=40).batch(8), steps=5, seed=1)
        take(source.buffer(other).shuffle(window=40).batch(8), steps=1, state=state, seed=1)  # between windows all go on


def test_memory_stays_bounded_where_production_is_much_faster():
    def factory(offset):
        blob = np.zeros(25_000, np.float32)
        for i in itertools.count(offset):
            yield {"x": i, "blob": blob + 0}

    with fb.Loader(fb.stream(factory).buffer(bytes="5MB").batch(4), steps_per_epoch=1000) as loader:
        for _ in itertools.islice(loader, 50):
            time.sleep(0.005)
            assert loader.stats()["stream"]["memory_bytes"] < 12_000_000


def test_the_users_exception_keeps_its_type():
    def factory(offset):
        yield {"x": 1}
        raise KeyError("no more")

    with fb.Loader(fb.stream(factory).batch(4)) as loader, pytest.raises(KeyError, match="no more") as caught:
        list(loader)
    assert any("offset 1" in note for note in caught.value.__notes__)


def test_a_record_that_is_no_dict_is_an_error_that_says_so():
    with fb.Loader(fb.stream(lambda offset: iter([3])).batch(1)) as loader, pytest.raises(TypeError, match="not a dict"):
        list(loader)


async def awaits_without_yield(offset):
    return [{"x": 1}]


@pytest.mark.parametrize("factory, message", [
    (lambda offset: None, "gave NoneType; give an iterable"), (awaits_without_yield, "without `yield`"),
])
def test_a_factory_that_gives_no_iterable_is_told_what_to_give(factory, message):
    with fb.Loader(fb.stream(factory).batch(1)) as loader, pytest.raises(TypeError, match=message):
        list(loader)


def test_fields_that_are_no_dictionary_are_told_what_to_give():
    with pytest.raises(TypeError, match="give a dictionary"):
        fb.stream("redis://host/0/name", fields=["x"])


def test_a_folder_that_is_followed_is_told_how(tmp_path):
    with pytest.raises(fb.Error, match="is a folder, not a file; for the files below it use"):
        list(fb.Loader(fb.files(tmp_path, follow=True).batch(1)))


@pytest.mark.parametrize("build, message", [
    (lambda s: s.shuffle(), "window="),
    (lambda s: s.shuffle(block=3, window=5), "block="),
    (lambda s: s.take(5), "no first samples"),
    (lambda s: s.cache(), "come once"),
    (lambda s: s.only(x=[1]), "steps would be of other sizes"),
    (lambda s: s.buffer().buffer("spill"), "there is a .buffer\\(\\) already"),
    (lambda s: s.buffer("never"), 'unknown policy "never"'),
    (lambda s: s.buffer(bytes=0), "bytes is 0"),
])
def test_steps_that_streams_cannot_have_are_named(build, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(build(fb.stream(numbers())).batch(2))


@pytest.mark.parametrize("options, message", [
    ({"on_error": "replace"}, "no other sample"), ({"epochs": 3}, "steps_per_epoch"), ({"steps_per_epoch": 0}, "steps_per_epoch"),
])
def test_options_that_streams_cannot_have_are_named(options, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(fb.stream(numbers()).batch(2), **options)


def test_options_of_streams_are_refused_for_data_sets(tmp_path):
    for options in ({"steps_per_epoch": 3}, {"journal": tmp_path / "x"}):
        with pytest.raises(fb.InvalidArgument, match="for streams"):
            fb.Loader(fb.arrays(x=np.zeros(3)).batch(1), **options)
    with fb.Loader(fb.arrays(x=np.zeros(3)).batch(1)) as loader, pytest.raises(fb.InvalidArgument, match="only streams"):
        loader.journal(tmp_path / "x")
    with pytest.raises(fb.InvalidArgument, match="is a data set"):
        fb.Loader(fb.arrays(x=np.zeros(3)).buffer().batch(1))


def test_states_of_streams_and_data_sets_are_told_apart():
    _, state = take(fb.stream(numbers()).batch(2), steps=2)
    with fb.Loader(fb.arrays(x=np.zeros(3)).batch(1)) as loader, pytest.raises(fb.StateMismatch, match="of a stream"):
        loader.load_state_dict(state)
    with fb.Loader(fb.stream(parts(9, 9), partition=[0, 1]).batch(2)) as loader, pytest.raises(fb.StateMismatch):
        loader.load_state_dict(state, strict=False)
    with fb.Loader(fb.stream(numbers()).batch(2)) as loader:
        for broken in ({**state, "streams": {"": {}}}, {**state, "streams": {"": {"number": -1, "partitions": [["", ""]]}}},
                       {**state, "streams": {"": {"number": 4, "partitions": [["", "x"]]}}}):
            with pytest.raises(fb.InvalidArgument):
                loader.load_state_dict(broken)
        loader.load_state_dict(state)
        assert next(iter(loader))["x"].tolist() == [4, 5]


def test_closing_is_quick_whatever_the_stream_does():
    def factory(offset):
        yield {"x": 1}
        time.sleep(1.0)
        yield {"x": 2}

    loader = fb.Loader(fb.stream(factory).batch(4))
    waiting = threading.Thread(target=lambda: pytest.raises(fb.Cancelled, list, loader), daemon=True)
    waiting.start()
    time.sleep(0.2)
    began = time.monotonic()
    loader.close()
    assert time.monotonic() - began < 5
    waiting.join(10)
    assert not waiting.is_alive()


def test_a_dead_rank_0_is_named(tmp_path, capfd):
    (tmp_path / "meet").mkdir()

    def run(rank):
        loader = fb.Loader(fb.stream(numbers()).batch(4), rank=rank, world_size=2, peers=f"file://{tmp_path}/meet")
        rows = iter(loader)
        next(rows)
        if rank == 0:
            loader.close()
            return None
        return loader, rows

    (_, (loader, rows)) = on_ranks(2, run)
    stuck = threading.Thread(target=lambda: pytest.raises(fb.Cancelled, list, rows), daemon=True)
    stuck.start()
    time.sleep(1)
    loader.close()
    stuck.join(20)
    assert not stuck.is_alive()


def test_text_and_json_lines_are_followed_while_they_are_written(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps({"x": i}) + "\n" for i in range(10)))

    def write():
        with path.open("a") as file:
            for i in range(10, 40):
                line = json.dumps({"x": i}) + "\n"
                for piece in (line[:3], line[3:]):
                    file.write(piece)
                    file.flush()

    writer = threading.Thread(target=write)
    writer.start()
    batches, state = take(fb.jsonl(tmp_path / "*.jsonl", fields={"x": "int64"}, follow=True).batch(8), steps=5)
    writer.join()
    assert sum(batches, []) == list(range(40))
    assert state["streams"][""]["partitions"][0][1] == str(path.stat().st_size)
    with fb.Loader(fb.text(path, follow=True).batch(4), steps_per_epoch=2) as loader:
        assert [text for batch in loader for text in batch["text"]] == [json.dumps({"x": i}) for i in range(8)]
    with pytest.raises(fb.InvalidArgument, match="fields="):
        fb.jsonl(path, follow=True)


def test_photographs_that_appear_are_decoded(tmp_path):
    image = pytest.importorskip("PIL.Image")

    def put(i):
        hidden = tmp_path / f".{i}.png"
        image.fromarray(np.full((20 + i, 30, 3), i, np.uint8)).save(hidden)
        hidden.rename(tmp_path / f"{i:03}.png")

    for i in range(5):
        put(i)
    later = threading.Timer(0.5, lambda: [put(i) for i in range(5, 12)])
    later.start()
    pipeline = fb.files(tmp_path / "*.png", follow=True).decode_image().center_crop(16).batch(4)
    with fb.Loader(pipeline, steps_per_epoch=3) as loader:
        batches = list(loader)
    later.join()
    assert sorted(key for batch in batches for key in batch["key"]) == [f"{i:03}.png" for i in range(12)]
    for batch in batches:
        for key, picture in zip(batch["key"], batch["image"]):
            assert (picture == int(key[:3])).all()
