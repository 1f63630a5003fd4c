"""loader.trace(): a file that Perfetto's UI opens, in which the same happens as stats() counts."""
import collections
import json
import threading

import numpy as np
import pytest
from project import write_photos

import forebay as fb

CONSUMER, BATCHES, THREADS, USER, READS = 1, 2, 3, 4, 5
ROWS = 21  # of write_photos()


@pytest.fixture
def photos(tmp_path):
    return write_photos(tmp_path / "photos")


def pictures(root):
    return fb.images(str(root)).shuffle().decode_image().random_resized_crop(32).batch(4)


def events_of(path):
    found = collections.defaultdict(list)
    for event in json.loads(path.read_text()):
        found[event["ph"]].append(event)
    return found


def traced(tmp_path, pipeline, **options):
    path = tmp_path / "trace.json"
    with fb.Loader(pipeline, seed=1, epochs=1, **options) as loader:
        with loader.trace(path):
            for _ in loader:
                pass
        return events_of(path), loader.stats()


def seconds(slices, *names):
    return sum(event["dur"] for event in slices if event["name"] in names) * 1e-6


@pytest.mark.parametrize("threads", [1, 3])
def test_slices_of_threads_and_waits_are_what_stats_count(tmp_path, photos, threads):
    events, stats = traced(tmp_path, pictures(photos), threads=threads)
    work = [event for event in events["X"] if event["pid"] == THREADS]
    for name in ("rows", "assembly"):
        assert seconds(work, name) == pytest.approx(stats["thread_seconds"][name], rel=0.1, abs=0.005), name
    # What follows on the last batch may go on behind the trace's end.
    assert 0 < seconds(work, "engine") <= stats["thread_seconds"]["engine"] * 1.1 + 0.005
    waits = [event for event in events["X"] if event["pid"] == CONSUMER]
    assert seconds(waits, *stats["wait_seconds"]) == pytest.approx(stats["consumer_wait_seconds"], rel=0.1, abs=0.002)


def test_slices_of_a_row_lie_beside_or_within_one_another(tmp_path, photos):
    events, _ = traced(tmp_path, pictures(photos), threads=3)
    rows = collections.defaultdict(list)
    for event in events["X"]:
        rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    assert rows
    for slices in rows.values():
        open_until = []
        for begin, end in sorted(slices, key=lambda slice: (slice[0], -slice[1])):
            while open_until and open_until[-1] <= begin + 0.0015:  # figures have three digits behind a microsecond
                open_until.pop()
            assert not open_until or end <= open_until[-1] + 0.0015
            open_until.append(end)


def test_arrows_lead_to_the_batch_of_every_sample(tmp_path, photos):
    events, _ = traced(tmp_path, pictures(photos))
    assert len({event["id"] for event in events["f"]}) == len(events["f"]) == ROWS
    begun = collections.Counter(event["id"] for event in events["s"])
    assert all(begun[event["id"]] >= 1 for event in events["f"] + events["t"])
    batches = [event for event in events["X"] if event["pid"] == BATCHES]
    assert sum(event["args"]["rows"] for event in batches) == ROWS
    for end in events["f"]:  # each arrow ends in a slice
        assert any(batch["tid"] == end["tid"] and batch["ts"] <= end["ts"] <= batch["ts"] + batch["dur"] for batch in batches)


def test_reads_have_their_object_and_size(tmp_path):
    keys = [f"{i:02}.bin" for i in range(20)]
    for key in keys:
        (tmp_path / key).write_bytes(b"x" * 1000)
    slow = {"imitate_latency_ms": 5}
    events, _ = traced(tmp_path, fb.files(str(tmp_path / "*.bin")).batch(4), storage_options=slow)
    reads = [event for event in events["X"] if event["pid"] == READS]
    assert sorted(event["args"]["object"].rpartition("/")[2] for event in reads) == keys
    assert {event["args"]["bytes"] for event in reads} == {1000}
    assert min(event["dur"] for event in reads) >= 5000


def test_row_groups_and_user_code_are_seen(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow as pa
    import pyarrow.parquet as pq
    pq.write_table(pa.table({"a": np.arange(1000)}), tmp_path / "table.parquet", row_group_size=100)

    def double(sample):
        return {"a": sample["a"] * 2}

    events, _ = traced(tmp_path, fb.parquet(str(tmp_path / "table.parquet")).map(double).batch(50))
    groups = [event["args"]["row group"] for event in events["X"] if event["name"] == "row group"]
    assert sorted(groups) == list(range(10))
    calls = [event for event in events["X"] if event["pid"] == USER]
    assert len(calls) == 1000 and {"double" in event["name"] for event in calls} == {True}


def test_the_wait_is_a_range_of_pytorchs_profiler(photos):
    profiler = pytest.importorskip("torch.profiler")
    with fb.Loader(pictures(photos), epochs=1) as loader, profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as profile:
        batches = sum(1 for _ in loader)
    counts = {event.key: event.count for event in profile.key_averages()}
    assert counts["forebay: wait for a batch"] == batches + 1  # and for the end of the epoch


def test_a_trace_stays_under_its_limit(tmp_path, photos, capfd):
    path = tmp_path / "trace.json"
    with fb.Loader(pictures(photos), epochs=20) as loader:
        with loader.trace(path, limit="20kB"):
            for _ in range(20):
                for _ in loader:
                    pass
    assert path.stat().st_size <= 20_000
    assert json.loads(path.read_text())[-1]["args"]["events_left_out"] > 0
    assert "is full" in capfd.readouterr().err


def test_content_is_the_same(tmp_path, photos):
    def digest(**how):
        with fb.Loader(pictures(photos), seed=3, epochs=1) as loader:
            if not how:
                return fb.digest(loader)
            with loader.trace(**how):
                return fb.digest(loader)

    assert digest(path=tmp_path / "trace.json") == digest()


def test_traces_follow_one_another_but_are_not_two_at_once(tmp_path, photos):
    with fb.Loader(pictures(photos)) as loader:
        for name in ("one.json", "two.json"):
            with loader.trace(str(tmp_path / name)):
                with pytest.raises(fb.InvalidArgument, match="traced already"):
                    with loader.trace(tmp_path / name):
                        pass
                for _ in loader:
                    pass
            assert any(event["name"] == "batch" for event in json.loads((tmp_path / name).read_text()))


def test_filters_are_decided_before(tmp_path, photos):
    some = fb.images(str(photos)).filter(lambda sample: sample["label"] > 0, fields="label").decode_image().resize((8, 8)).batch(4)
    with fb.Loader(some, epochs=1) as loader, loader.trace(tmp_path / "trace.json"):
        assert sum(len(batch["image"]) for batch in loader) == 14
    assert events_of(tmp_path / "trace.json")["X"]


def test_mistakes_are_told_and_leave_no_trace(tmp_path, photos):
    with fb.Loader(pictures(photos)) as loader:
        with pytest.raises(fb.Unavailable, match="no/such"):
            with loader.trace("/no/such/folder/trace.json"):
                pass
        for limit in (100, "nothing", -1):
            with pytest.raises(fb.InvalidArgument):
                with loader.trace(tmp_path / "trace.json", limit=limit):
                    pass
        assert not (tmp_path / "trace.json").exists()
        with pytest.raises(ZeroDivisionError):
            with loader.trace(tmp_path / "trace.json"):
                next(iter(loader))
                1 / 0
        assert events_of(tmp_path / "trace.json")["X"]
    with pytest.raises(fb.InvalidArgument, match="closed"):
        with loader.trace(tmp_path / "after.json"):
            pass


def test_a_loader_that_is_closed_meanwhile_leaves_a_whole_file(tmp_path, photos):
    with fb.Loader(pictures(photos)) as loader:
        with loader.trace(tmp_path / "trace.json"):
            batches = iter(loader)
            next(batches)
            closer = threading.Thread(target=loader.close)
            closer.start()
            closer.join()
    assert events_of(tmp_path / "trace.json")["X"]
