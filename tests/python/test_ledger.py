"""stats() of every face says what the one description of the ledger says; its parts add up, and its counters only grow."""
import importlib.machinery
import importlib.util
import json
import subprocess
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay as fb
from forebay import _core, metrics
from project import ROOT, write_photos

SCHEMA = json.loads(_core.ledger_schema())
FILES, LARGEST = 40, 3000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ledger")
    for number in range(FILES):
        (folder / f"{number:02}.bin").write_bytes(b"x" * (number * LARGEST // FILES))
    return folder


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("ledger") / "rows.parquet"
    pq.write_table(pa.table({"x": np.arange(1000.0)}), path, row_group_size=100)
    return path


def keys_of(schema, within=""):
    """Names with those of their groups, with what kind each is."""
    for one in schema:
        if "figures" in one:
            yield from keys_of(one["figures"], f"{within}{one['name']}.")
        else:
            yield f"{within}{one['name']}", one["kind"]


KINDS = dict(keys_of(SCHEMA["figures"]))


def figures_of(value, name=""):
    """(name in the schema, place, value) of all figures of a dict."""
    if KINDS.get(name):
        yield name, value
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from figures_of(one, f"{name}.{key}" if name else key)
    else:
        assert isinstance(value, list), name
        for one in value:
            yield from figures_of(one, name)


def counters_of(stats):
    """Numbers that may only grow, in the order of the dict."""
    numbers = []
    for name, value in figures_of(stats):
        if KINDS[name] == "counter":
            numbers.append((name, value))
        if KINDS[name] == "histogram":
            numbers += [(name, count) for count in [*value["counts"], value["count"], value["sum"]]]
    return numbers


def check_parts(store):
    assert store["requests"] == store["warm_reads"] + store["cold_reads"] + store["listings"] + store["heads"]
    sizes, latencies = store["read_bytes"], store["latency_seconds"]
    for histogram in (sizes, latencies):
        assert len(histogram["counts"]) == len(histogram["bounds"]) + 1
        assert sum(histogram["counts"]) == histogram["count"]
        assert histogram["bounds"] == sorted(histogram["bounds"])
    assert sizes["sum"] == store["bytes"]
    assert store["warm_reads"] + latencies["count"] + store["in_flight"] == store["requests"]
    assert latencies["sum"] == store["seconds"]


OF_FEW = ("parts.", "stream.", "partitions.", "rehearsal.")

def test_the_dict_has_the_names_of_the_schema_in_its_order(table, tmp_path):
    pipeline = fb.parquet(str(table)).cache(ram="1MB", disk="1MB", dir=str(tmp_path)).batch(100)
    with fb.Loader(pipeline, epochs=1) as loader:
        list(loader)
        stats = loader.stats()
    assert list(dict.fromkeys(name for name, _ in figures_of(stats))) == [name for name in KINDS if not name.startswith(OF_FEW)]
    assert stats["version"] == SCHEMA["version"]
    json.dumps(stats)


def test_a_stream_has_the_figures_of_streams():
    with fb.Loader(fb.stream(lambda offset: iter([{"x": i} for i in range(offset, 20)])).batch(8)) as loader:
        list(loader)
        stats = loader.stats()
    had = {name for name, _ in figures_of(stats)}
    assert {name for name in KINDS if name.startswith(("stream.", "partitions."))} <= had
    assert stats["stream"]["arrived"] == 20 and stats["partitions"][0]["dropped"] == 0
    assert stats["wait_seconds"]["arrival"] >= 0


def test_a_pipeline_without_tables_and_caches_leaves_only_these_out(folder):
    with fb.Loader(fb.files(f"{folder}/*.bin").batch(8), epochs=1) as loader:
        list(loader)
        had = {name for name, _ in figures_of(loader.stats())}
    assert had == {name for name in KINDS if not name.startswith(("chunks.", "caches.", *OF_FEW))}


def test_the_program_says_the_same_figures(folder, tmp_path):
    path = tmp_path / "pipeline.json"
    path.write_text(fb.files(f"{folder}/*.bin").batch(8).to_json())
    command = ["forebay", "run", str(path), "--epochs", "1", "--ranks", "2", "--stats"]
    both = json.loads(subprocess.run([*command, "--json"], capture_output=True, text=True, check=True).stdout)["stats"]
    assert len(both) == 2, "one for each rank"
    names = {name for name, _ in figures_of(both[0])}
    assert names == {name for name in KINDS if not name.startswith(("chunks.", "caches.", *OF_FEW))}
    assert sum(one["samples"] for one in both) == FILES
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert text.count("\nstores[0].requests ") == 2 and "\nmemory_bytes.peak " in text
    without = subprocess.run(command[:-1], capture_output=True, text=True, check=True).stdout
    assert "stores[0]" not in without


def test_the_page_is_made_of_the_schema():
    loader = importlib.machinery.SourceFileLoader("stats_page", str(ROOT / "tools" / "stats_page"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("stats_page", loader))
    loader.exec_module(module)
    assert (ROOT / "docs" / "reference" / "stats.md").read_text() == module.page(SCHEMA, metrics.metric_name), "run tools/stats_page > docs/reference/stats.md"


def test_bytes_and_seconds_stand_in_the_names_of_what_is_measured_in_them():
    def check(schema, within):
        for one in schema:
            name = within + one["name"]
            if "figures" in one:
                check(one["figures"], name + ".")
            else:
                assert [unit for unit in ("bytes", "seconds") if unit in name] == [unit for unit in [one["unit"]] if unit in ("bytes", "seconds")]

    check(SCHEMA["figures"], "")


def test_each_file_is_opened_and_read_once_an_epoch(folder):
    for path in folder.iterdir():
        path.read_bytes()  # so that none has to be waited for
    with fb.Loader(fb.files(f"{folder}/*.bin").shuffle().batch(8), epochs=3) as loader:
        for _ in range(3):
            list(loader)
        (store,) = loader.stats()["stores"]
    stored = [number * LARGEST // FILES for number in range(FILES)]
    assert store["warm_reads"] + store["cold_reads"] == 3 * FILES
    assert store["opens"] >= 3 * FILES
    if store["cold_reads"] == 0:  # one that was not at hand is opened again by the thread that may wait
        assert store["opens"] == 3 * FILES
    assert (store["listings"], store["heads"]) == (2, 1), "the folder; and whether the pattern is the name of a file or a folder"
    assert store["bytes"] == 3 * sum(stored)
    assert store["read_bytes"]["counts"][0] == 3 * sum(size <= 256 for size in stored)
    assert store["read_bytes"]["count"] == 3 * FILES
    check_parts(store)


def test_what_has_to_be_waited_for_is_cold_and_has_a_latency(folder):
    link = {"imitate_latency_ms": "3"}
    with fb.Loader(fb.files(f"{folder}/*.bin").batch(8), epochs=1, storage_options=link) as loader:
        list(loader)
        (store,) = loader.stats()["stores"]
    assert store["warm_reads"] == 0 and store["cold_reads"] == FILES
    latencies = store["latency_seconds"]
    short = sum(count for bound, count in zip(latencies["bounds"], latencies["counts"]) if bound < 0.003)
    assert short == 0, "nothing is faster than the link"
    check_parts(store)


def test_the_disk_of_a_cache_is_a_store_of_its_own(folder, tmp_path):
    pipeline = fb.files(f"{folder}/*.bin").cache(ram=0, disk="1MB", dir=str(tmp_path / "cache")).batch(8)
    link = {"imitate_latency_ms": "1"}
    for _ in range(2):  # what the first run keeps the second finds
        with fb.Loader(pipeline, epochs=1, storage_options=link) as loader:
            list(loader)
            stats = loader.stats()
    source, disk = stats["stores"]
    assert disk["name"].startswith(str(tmp_path / "cache"))
    assert source["cold_reads"] == 0 and stats["caches"][0]["disk"]["hits"] == FILES
    assert disk["warm_reads"] + disk["cold_reads"] == FILES
    check_parts(source)
    check_parts(disk)


@pytest.mark.parametrize("source", ["files", "table"])
def test_counters_only_grow(source, folder, table):
    described = fb.files(f"{folder}/*.bin") if source == "files" else fb.parquet(str(table))
    with fb.Loader(described.shuffle().batch(8), seed=1) as loader:
        list(loader)
        before = counters_of(loader.stats())
        for epoch in range(4):
            for number, _ in enumerate(loader):
                now = counters_of(loader.stats())
                assert [name for name, _ in now] == [name for name, _ in before]
                assert not [(new, old) for new, old in zip(now, before) if new[1] < old[1]], (epoch, number)
                before = now


def test_waits_are_divided_without_a_rest_and_the_report_tells_them():
    """Of a function that is slow: the consumer waits for it, and that is what it is told."""
    released = threading.Event()

    def slow(sample):
        released.wait(0.05)
        return sample

    pipeline = fb.arrays(x=np.arange(8, dtype=np.float32)).map(slow).batch(4)
    with fb.Loader(pipeline, seed=1, epochs=1) as loader:
        assert loader.report() == "No batch was asked for yet.\n"
        for _ in loader:
            pass
        stats, text = loader.stats(), loader.report()
    waits = stats["wait_seconds"]
    assert sum(waits.values()) == pytest.approx(stats["consumer_wait_seconds"], abs=1e-9)
    assert 0 < stats["consumer_wait_seconds"] <= stats["elapsed_seconds"]
    assert waits["user"] == max(waits.values())
    assert "your own function" in text and "To change: your function" in text


def pipelines_of_all_kinds(folder):
    photos = fb.images(str(write_photos(folder / "photos"))).decode_image().resize((64, 64))
    pq.write_table(pa.table({"x": np.arange(50_000), "y": np.arange(50_000.0)}), folder / "t.parquet", row_group_size=5000)
    table = fb.parquet(str(folder / "t.parquet"))
    return {
        "photographs": photos.shuffle().batch(4),
        "table": table.shuffle(block=2).batch(512),
        "large batches": table.batch(4096),
        "arrays": fb.arrays(x=np.arange(10_000)).shuffle().batch(64),
        "user code": fb.arrays(x=np.arange(100)).map(lambda sample: sample).batch(4),
    }


@pytest.mark.parametrize("threads", [1, 3])
def test_the_time_of_the_threads_is_divided_without_a_rest(tmp_path, threads):
    for kind, pipeline in pipelines_of_all_kinds(tmp_path).items():
        with fb.Loader(pipeline, seed=1, epochs=2, threads=threads) as loader:
            assert sum(loader.stats()["thread_seconds"].values()) == 0
            for number, _ in enumerate(loader):
                if number % 10 == 0:
                    adds_up(loader.stats(), threads, kind)
        stats = loader.stats()
        adds_up(stats, threads, kind)
        parts = stats["thread_seconds"]
        assert (parts["row_groups"] > 0) == (kind in ("table", "large batches")), kind
        assert (parts["plan"] > 0) == (kind == "large batches"), kind
        assert parts["rows"] > 0 and parts["engine"] > 0, kind


def adds_up(stats, threads, kind):
    parts = stats["thread_seconds"]
    assert sum(parts.values()) == pytest.approx(threads * stats["elapsed_seconds"], abs=1e-6), kind
    assert min(parts.values()) >= 0, kind


def test_waiting_for_pythons_lock_is_waiting():
    def compute(sample):
        total = 0
        for number in range(40_000):
            total += number
        return {**sample, "total": total}

    with fb.Loader(fb.arrays(x=np.arange(4000)).map(compute).batch(4), epochs=1) as loader:
        begun = time.perf_counter()
        batches = iter(loader)
        for _ in range(100):
            next(batches)
        outside = time.perf_counter() - begun
        stats = loader.stats()
        report = loader.report()
    waits = stats["wait_seconds"]
    assert waits["interpreter"] > 0.1 * outside, waits  # two threads compute in Python, one of them at a time
    assert sum(waits.values()) == pytest.approx(stats["consumer_wait_seconds"])
    assert stats["consumer_wait_seconds"] <= outside
    assert "another thread had Python's lock" in report


def test_without_functions_the_lock_is_free():
    with fb.Loader(fb.arrays(x=np.arange(4000)).batch(4), epochs=1) as loader:
        for _ in loader:
            pass
        waits = loader.stats()["wait_seconds"]
    assert waits["interpreter"] < 0.05  # whatever the machine's other work adds
