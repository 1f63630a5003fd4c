"""Every benchmark in Python runs at its smallest size with Forebay alone, proves what was delivered, and says who is missing."""
import csv
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from project import ROOT

pytest.importorskip("forebay", reason="FOREBAY ABSENT: the benchmarks measure it")
Image = pytest.importorskip("PIL.Image", reason="PILLOW ABSENT: it makes the photographs")

PHOTOS = 8
PASSED = "Equality checks: all passed.\n"
needs_arrow = pytest.mark.skipif(not importlib.util.find_spec("pyarrow"), reason="PYARROW ABSENT: it writes the tables")


@pytest.fixture(scope="module")
def few_photos(tmp_path_factory):
    """A folder like the one of real files, with as few photographs as the benchmarks take."""
    root, draw = tmp_path_factory.mktemp("shared"), np.random.default_rng(0)
    rows = []
    for number in range(PHOTOS):
        path = root / "data" / "images" / "flowers" / ("daisy", "roses")[number % 2] / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        coarse = Image.fromarray(draw.integers(0, 256, (6, 6, 3), dtype=np.uint8))
        coarse.resize((480, 320), Image.Resampling.BICUBIC).save(path, quality=90)
        rows.append({"path": path.relative_to(root / "data"), "format": "jpeg", "width": 480, "height": 320})
    with open(root / "data" / "IMAGES.tsv", "w", newline="") as file:
        table = csv.DictWriter(file, rows[0], delimiter="\t")
        table.writeheader()
        table.writerows(rows)
    return root


@pytest.fixture
def bench(tmp_path):
    """Runs a benchmark: what it printed, what it told meanwhile, and its records."""
    def run(script, *arguments, exit_code=0):
        out = tmp_path / "records.jsonl"
        command = [sys.executable, ROOT / "bench" / script, "--work", tmp_path / "work", "--rounds", "1", "--out", out, *arguments]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)
        assert done.returncode == exit_code, done.stdout + done.stderr
        return done.stdout, done.stderr, [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []

    return run


def test_photos(bench, few_photos):
    text, told, records = bench("photos.py", "--shared", few_photos, "--photos", PHOTOS, "--batch", 4)
    assert PASSED in text and [record["timed"]["samples"] for record in records] == [PHOTOS]
    missing, = (line for line in told.splitlines() if line.startswith("NOT INSTALLED"))
    assert "torch_pillow (bench/rivals/install RIVALS torch_pillow)" in missing and "forebay (" not in missing


def test_an_earlier_recording_is_checked_again(bench, few_photos, tmp_path):
    _, _, records = bench("photos.py", "--shared", few_photos, "--photos", PHOTOS, "--batch", 4, "--loaders", "forebay")
    records[0]["timed"]["samples"] -= 1
    (tmp_path / "lazy.jsonl").write_text(json.dumps(records[0]) + "\n")
    text, _, _ = bench("photos.py", "--report", tmp_path / "lazy.jsonl", exit_code=1)
    assert f"- forebay, round 0: timed: {PHOTOS - 1} samples of {PHOTOS} photographs, not {PHOTOS}" in text and "| refused |" in text


@pytest.mark.skipif(not importlib.util.find_spec("h5py"), reason="H5PY ABSENT: it writes the signals")
def test_signals(bench, few_photos):
    text, _, records = bench("presto/signals.py", "--shared", few_photos, "--megabytes", 2, "--batch", 16, "--loaders", "forebay")
    assert PASSED in text and [record["samples"] for record in records] == [2 * 60, 2 * 119]


@needs_arrow
def test_tables(bench):
    text, told, records = bench("tables/tables.py", "--tables", "wide_lists", "--rows", 2000, "--batch", 64,
                                "--loaders", "limit,forebay,forebay_disk,polars")
    assert PASSED in text and [(record["loader"], record["rows"]) for record in records] == [("forebay", 2000), ("forebay_disk", 2000)]
    assert "limit (--limit-program is not given); polars (bench/rivals/install RIVALS polars)" in told


@needs_arrow
def test_a_trainer_of_a_table(bench):
    text, _, records = bench("tables/tables.py", "--what", "trainer", "--tables", "criteo", "--rows", 2000, "--batch", 64,
                             "--loaders", "forebay")
    assert PASSED in text and [record["trains"] for record in records] == [False, True]


def test_storage(bench, few_photos, servers):
    servers("ceph", "faults")
    text, _, records = bench("storage/storage.py", "--shared", few_photos, "--photos", PHOTOS, "--batch", 4, "--latencies", 1,
                             "--warm", 1, "--limit", 1, "--loaders", "forebay,ceiling,litdata")
    assert PASSED in text and [record["loader"] for record in records] == ["forebay"]


def test_user_code(bench):
    text, _, records = bench("user_code.py", "--samples", 16, "--threads", 2)
    assert PASSED in text and "| processes over threads |" in text
    assert [record["loader"] for record in records] == ["threads", "processes", "costs"]


def test_the_drop_in(bench, few_photos):
    if not importlib.util.find_spec("torch"):
        _, told, records = bench("torch_dropin.py", exit_code=1)
        assert records == [] and told.splitlines() == [
            f"NOT INSTALLED, left out: torch ({sys.executable} lacks torch); forebay ({sys.executable} lacks torch)",
            "nothing was measured: no contestant can run here"]
        return
    text, _, records = bench("torch_dropin.py", "--shared", few_photos, "--photos", PHOTOS, "--cases", "photos-0", "cheap-0")
    assert PASSED in text and len(records) == 4


@needs_arrow
def test_frameworks(bench, few_photos):
    text, _, records = bench("frameworks/frameworks.py", "--shared", few_photos, "--photos", PHOTOS, "--batch", 4, "--rows", 2000, "--table-batch", 64,
                             "--epochs", 1)
    assert PASSED in text and [record["data"] for record in records].count("table") == len(records) / 2


@needs_arrow
def test_two_loaders(bench, few_photos):
    text, _, records = bench("engine/two_loaders.py", "--shared", few_photos, "--photos", PHOTOS, "--batch", 4, "--rows", 2000,
                             "--table-batch", 64, "--epochs", 1, "--pairs", "table")
    assert PASSED in text and [len(record["loaders"]) for record in records] == [1, 1, 2, 2]
    assert all(record["threads"]["forebay-compute"] >= 1 for record in records)


@needs_arrow
def test_tars(bench, few_photos):
    text, told, records = bench("presto/tars.py", "--shared", few_photos, "--photos", 2 * PHOTOS, "--batch", 4, "--epochs", 1)
    assert PASSED in text and "webdataset" in told
    assert [record["loader"] for record in records] == ["forebay", "forebay_decoded", "folder_decoded"]
    assert records[1]["proof"]["content"] == records[2]["proof"]["content"]


def test_cuts(bench, few_photos):
    text, _, records = bench("presto/cuts.py", "--shared", few_photos, "--part", 0.004, "--time", "3s", "--seconds", 0.1, "--pipelines", "CV", "table")
    assert PASSED in text and "| regret, % |" in text
    assert {record["name"] for record in records} == {"CV", "table"}


def test_free_threads():
    done = subprocess.run([sys.executable, ROOT / "bench" / "engine" / "free_threads.py", "--samples", "32", "--rounds", "1"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[0] for line in done.stdout.splitlines()[1:]] == ["1 thread", "2 threads", "gain"]


def test_first_batch(few_photos):
    done = subprocess.run([sys.executable, ROOT / "bench" / "engine" / "first_batch.py", few_photos / "data" / "images" / "flowers",
                           "--rounds", "1", "--batch", "4"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    wall, critical = done.stdout.splitlines()
    assert "wall time" in wall and "critical path" in critical


def test_first_batch_from_the_start_of_a_process(few_photos):
    done = subprocess.run([sys.executable, ROOT / "bench" / "engine" / "first_batch.py", few_photos / "data" / "images" / "flowers",
                           "--start", "--rounds", "1", "--batch", "4"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [line.split(":")[1].strip() for line in done.stdout.splitlines()] == ["interpreter", "import forebay", "first batch, from the start"]


@needs_arrow
def test_first_epoch():
    done = subprocess.run([sys.executable, ROOT / "bench" / "engine" / "first_epoch.py", "--rounds", "1", "--scale", "0.005"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["photographs", "table", "lists"]


@pytest.mark.skipif(not importlib.util.find_spec("tokenizers"), reason="TOKENIZERS ABSENT: it trains the tokenizer")
def test_tokens_of_pages(bench, tmp_path):
    novel = tmp_path / "shared" / "data" / "text" / "novel.txt"
    novel.parent.mkdir(parents=True)
    novel.write_text("\n\n".join(f"It was paragraph {i}, isn't it? \u00e9 & <{i}>" for i in range(40)))
    text, told, records = bench("presto/tokens.py", "--shared", tmp_path / "shared", "--pages", 8, "--batch", 3)
    assert PASSED in text and [(record["loader"], record["delivered"]) for record in records] == [("forebay", 8)]
    assert "selectolax (bench/rivals/install" in told


def test_mixes(bench):
    text, told, records = bench("mix/mix.py", "--quick")
    assert PASSED in text and "grain (bench/rivals/install" in told
    assert [(record["kind"], record["loader"], record["checked"] >= 2000, record["resume_same"]) for record in records] == [
        ("arrays", "forebay", True, True), ("json", "forebay", True, True)]


def test_what_a_mix_costs(bench):
    text, _, records = bench("mix/cost.py", "--quick", "--parts", 1, 8)
    assert PASSED in text and "| 8 parts, by weights |" in text and "| a loader of a mix of all |" in text
    assert {record["distinct"] for record in records if record["case"] == "rows"} == {2**11}
