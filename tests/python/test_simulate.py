"""fb.simulate, forebay simulate and forebay plan --hosts: many hosts, and none of them needed."""
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import forebay as fb
from forebay.errors import InvalidArgument

SIZES = {"samples": 40_000, "sample_bytes": "100kB", "batch_size": 32}


def run(*arguments):
    program = Path(sys.executable).with_name("forebay")
    return subprocess.run([program, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def test_later_epochs_come_from_memory_and_peers():
    found = fb.simulate(hosts=8, ranks_per_host=2, storage="100MB/s", link="10Gbit/s", ram="1GB", **SIZES)
    assert found.gain > 10
    assert found.first_seconds == pytest.approx(40_000 * 1e5 / 1e8, rel=0.05)
    later = found.data["runs"][0]["epochs"][-1]
    assert later["bytes"]["storage"] == 0
    assert later["transfers"] <= 15
    assert {run["policy"] for run in found.data["runs"]} == {"local", "count", "regular", "clairvoyant"}
    assert "times as fast" in str(found)


def test_what_half_the_memory_keeps_is_half_of_what_storage_gives():
    found = fb.simulate(hosts=8, storage={"rate": "1GB/s", "latency": 0.001, "requests_per_second": 1e6, "knee": 16}, ram="250MB", **SIZES)
    later = found.data["runs"][0]["epochs"][-1]["bytes"]
    assert later["storage"] / sum(later.values()) == pytest.approx(0.5, abs=0.01)
    assert found.data["model"]["kept"] == pytest.approx(0.5)


def test_sizes_come_from_the_listing_of_a_data_set(photos):
    pipeline = fb.images(photos).shuffle().decode_image().resize((16, 16)).batch(4)
    found = fb.simulate(pipeline, hosts=2, ram="1GiB")
    files = [path for path in Path(photos).rglob("*") if path.is_file()]
    assert found.data["options"]["samples"] == fb.Loader(pipeline).size
    assert 0 < found.data["options"]["sample_bytes"] <= max(path.stat().st_size for path in files)
    assert found.data["options"]["batch_size"] == 4


def test_a_report_is_one_page(tmp_path):
    found = fb.simulate(hosts=2, ram="1GB", **SIZES)
    assert found.report(tmp_path / "report.html") == str(found)
    assert "clairvoyant" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("options,named", [
    ({"hosts": 0}, "hosts"), ({"storage": "fast"}, "storage"), ({"storage": {"speed": 1}}, "speed"), ({"link": -1}, "link"),
    ({"samples": 0}, "samples"), ({"batch_size": None}, "batch_size"), ({"epochs": 1}, "epochs"), ({"train": "much"}, "train"),
])
def test_what_cannot_be_is_refused(options, named):
    with pytest.raises(InvalidArgument, match=named):
        fb.simulate(**{"hosts": 2, **SIZES, **options})


def test_sizes_that_nobody_knows_are_asked_for():
    with pytest.raises(InvalidArgument, match="sample_bytes"):
        fb.simulate(fb.arrays(x=np.arange(100)).batch(4), hosts=2)


def test_the_program_says_the_same(tmp_path):
    given = ["simulate", "--hosts", 8, "--ranks-per-host", 2, "--storage-rate", "100MB/s", "--ram", "1GB", "--samples", 40_000,
             "--sample-bytes", "100kB", "--batch", 32]
    told = run(*given, "--json", "--report", tmp_path / "page.html")
    assert told.returncode == 0, told.stderr
    same = fb.simulate(hosts=8, ranks_per_host=2, storage="100MB/s", ram="1GB", **SIZES)
    assert json.loads(told.stdout) == same.data
    assert (tmp_path / "page.html").exists()
    assert "What would change a later epoch" in run(*given).stdout
    assert run("simulate", "--hosts", 8, "--link", "x", "--samples", 1).returncode == 1


def test_plan_says_before_a_job_what_it_reads_from_where(photos, tmp_path):
    pipeline = fb.images(photos).shuffle().cache(ram="1MiB", disk="1MiB", dir=str(tmp_path)).decode_image().resize((8, 8)).batch(2)
    (tmp_path / "p.json").write_text(pipeline.to_json())
    told = run("plan", tmp_path / "p.json", "--hosts", 2, "--ranks-per-host", 2, "--json")
    assert told.returncode == 0, told.stderr
    plan = json.loads(told.stdout)
    second = plan["second_epoch"]
    assert plan["shard_by"] == "locality" and plan["ranks"] == 4
    assert second["own"] + second["moved"] == plan["samples"] and second["storage"] == 0
    assert second["own"] > second["moved"]
    assert "later epochs" in run("plan", tmp_path / "p.json", "--hosts", 2).stdout
