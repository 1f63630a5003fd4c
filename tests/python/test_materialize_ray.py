"""Ray's tasks write the bytes that one process writes, whoever of them dies."""
import importlib.util
import json
import os
import shutil
import signal
from pathlib import Path

import numpy as np
import pytest
from materializing_far import LAUNCHERS, digest, files_in, numbers
from project import run

import forebay as fb

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="RAY ABSENT: pip install 'forebay[ray]'")


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in (*LAUNCHERS, "RAY_ADDRESS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")


@pytest.fixture(scope="module")
def ray():
    """A cluster of one host that says it has four cores."""
    import ray

    ray.init(num_cpus=4, log_to_driver=False, configure_logging=False, include_dashboard=False)
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("workers", [1, 4])
def test_any_number_of_workers_writes_the_same_bytes_as_none(ray, workers, tmp_path):
    pipeline = numbers(tmp_path)
    fb.materialize(pipeline, tmp_path / "one", cut="last", shards=7)
    told = []
    made = fb.materialize(pipeline, tmp_path / "ray", cut="last", shards=7, engine="ray", workers=workers, progress=told.append)
    assert files_in(tmp_path / "ray") == files_in(tmp_path / "one")
    assert (made.complete, made.samples, made.shards, made.written) == (True, 400, 7, 400)
    assert [now["shards_done"] for now in told] == list(range(1, 8))
    assert (told[-1]["samples_done"], told[-1]["samples"], told[-1]["shards"]) == (400, 400, 7)
    assert digest(made.pipeline) == digest(pipeline)
    again = fb.materialize(pipeline, tmp_path / "ray", cut="last", engine="ray")
    assert again.complete and again.written == 0


def test_what_was_begun_is_gone_on_with_by_either(ray, tmp_path):
    pipeline = numbers(tmp_path)
    fb.materialize(pipeline, tmp_path / "one", cut="last", shards=8)
    part = fb.materialize(pipeline, tmp_path / "made", cut="last", shards=8, rank=0, world_size=2)
    assert not part.complete
    made = fb.materialize(pipeline, tmp_path / "made", cut="last", engine="ray")
    assert made.complete and made.written == 200
    assert files_in(tmp_path / "made") == files_in(tmp_path / "one")


def test_a_folder_is_brought_up_to_date_by_tasks(ray, photos, tmp_path):
    root = shutil.copytree(photos, tmp_path / "photos")
    pipeline = lambda: fb.images(root).shuffle().decode_image().resize(24).batch(4)  # noqa: E731
    how = {"cut": "resize", "format": "wds", "shards": 5}
    fb.materialize(pipeline(), tmp_path / "made", **how)
    shutil.copy(root / "cats" / "cats_0.jpg", root / "cats" / "cats_00.jpg")
    made = fb.materialize(pipeline(), tmp_path / "made", **how, engine="ray", update=True)
    one = fb.materialize(pipeline(), tmp_path / "one", **how)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "one")
    assert made.complete and made.written == made.samples == one.samples and made.reused == made.samples - 1
    assert digest(made.pipeline) == digest(pipeline())


class DiesOnce:
    """Kills the process that it runs in at one sample, the first time; notes which process saw which sample."""

    def __init__(self, folder, at):
        self.folder, self.at = str(folder), at

    def __call__(self, sample):
        number = int(sample["x"][0]) // len(sample["x"])
        with open(os.path.join(self.folder, "seen"), "a") as file:
            file.write(f"{os.getpid()} {number}\n")
        mark = os.path.join(self.folder, "died")
        if number == self.at and not os.path.exists(mark):
            open(mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"x": sample["x"] * 2}


def test_a_worker_killed_in_mid_shard_costs_that_shard_alone(ray, tmp_path):
    rows, shards, killed = 8000, 8, 5  # shards far longer than what a loader reads ahead
    numbers(tmp_path, rows=rows, width=800)
    source = fb.arrays(x=str(tmp_path / "x.npy"))
    (tmp_path / "notes").mkdir()
    pipeline = source.map(DiesOnce(tmp_path / "notes", killed * 1000 + 700), version="1").batch(4)
    made = fb.materialize(pipeline, tmp_path / "ray", cut="map", shards=shards, engine="ray", workers=2)
    assert made.complete and (tmp_path / "notes/died").exists()
    seen = {}
    for line in (tmp_path / "notes/seen").read_text().splitlines():
        process, sample = map(int, line.split())
        seen.setdefault(sample, []).append(process)
    looked_at = {sample for sample, processes in seen.items() if os.getpid() in processes}  # by whoever opens it
    for shard in range(shards):
        last = max(set(range(shard * 1000, shard * 1000 + 1000)) - looked_at)
        assert shard == killed or len(seen[last]) == 1, f"shard {shard} was made {len(seen[last])} times"
    plain = source.map(DiesOnce(tmp_path / "notes", -1), version="1").batch(4)
    fb.materialize(plain, tmp_path / "one", cut="map", shards=shards)
    assert {name: text for name, text in files_in(tmp_path / "ray").items() if name != "_manifest.json"} == \
           {name: text for name, text in files_in(tmp_path / "one").items() if name != "_manifest.json"}


def test_functions_of_the_program_itself_are_sent(ray, tmp_path):
    source = fb.arrays(x=str(numbers(tmp_path) and tmp_path / "x.npy"))
    factor = 3

    def scaled(sample):
        return {"x": sample["x"] * factor}

    pipeline = source.map(scaled, version="1").shuffle().batch(4)
    made = fb.materialize(pipeline, tmp_path / "ray", cut="map", shards=4, engine="ray")
    assert digest(made.pipeline) == digest(pipeline)


class Squares:
    def __len__(self):
        return 50

    def __getitem__(self, i):
        return {"x": np.full(3, i * i)}


def test_data_sets_in_python_are_sent(ray, tmp_path):
    pipeline = fb.Dataset(Squares(), version="1").shuffle().batch(4)
    made = fb.materialize(pipeline, tmp_path / "ray", cut="last", shards=4, engine="ray")
    assert digest(made.pipeline) == digest(pipeline)


def test_what_cannot_be_sent_is_refused_with_the_reason(ray, tmp_path):
    with pytest.raises(fb.InvalidArgument, match="in this process's memory.*write it to files"):
        fb.materialize(fb.arrays(x=np.arange(9)).batch(2), tmp_path / "made", cut="last", engine="ray")
    lock = __import__("threading").Lock()

    def holds(sample):
        with lock:
            return sample

    source = fb.arrays(x=str(numbers(tmp_path) and tmp_path / "x.npy"))
    with pytest.raises(fb.InvalidArgument, match="Ray cannot send.*holds"):
        fb.materialize(source.map(holds, version="1").batch(2), tmp_path / "made", cut="map", engine="ray")
    assert not (tmp_path / "made").exists()


def test_an_error_of_a_sample_is_the_one_that_it_is_without(ray, tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for i in range(200):
        (folder / f"{i:03}.jpg").write_bytes(b"no picture" if i == 150 else Path(_picture(tmp_path)).read_bytes())
    pipeline = fb.files(str(folder / "*.jpg")).decode_image().resize(8).batch(2)
    with pytest.raises((fb.Corrupt, fb.Unsupported)) as alone:
        fb.materialize(pipeline, tmp_path / "one", cut="resize", shards=5)
    with pytest.raises(type(alone.value)) as caught:
        fb.materialize(pipeline, tmp_path / "ray", cut="resize", shards=5, engine="ray")
    assert str(caught.value) == str(alone.value)


def _picture(folder):
    from PIL import Image

    path = folder / "picture.jpg"
    if not path.exists():
        Image.fromarray(np.zeros((16, 16, 3), np.uint8)).save(path)
    return path


def test_misuse_is_told_before_anything_is_done(tmp_path):
    pipeline = numbers(tmp_path)
    for arguments, wrong in (({"engine": "spark"}, "engine is 'spark'"), ({"engine": "ray", "rank": 0, "world_size": 2}, "one call has all"),
                             ({"workers": 3}, "workers= is for"), ({"engine": "ray", "workers": 0}, "workers")):
        with pytest.raises(fb.InvalidArgument, match=wrong):
            fb.materialize(pipeline, tmp_path / "made", cut="last", **arguments)
    assert not (tmp_path / "made").exists()


def test_the_program_starts_a_cluster_and_ends_it(tmp_path, monkeypatch):
    pipeline = numbers(tmp_path)
    (tmp_path / "p.json").write_text(pipeline.to_json())
    monkeypatch.setenv("FOREBAY_PYTHON", __import__("sys").executable)
    told = json.loads(run("forebay", "materialize", tmp_path / "p.json", tmp_path / "ray", "--cut", "last", "--shards", "5", "--engine", "ray",
                          "--workers", "2", "--json").splitlines()[-1])
    assert told["complete"] and told["written"] == 400
    fb.materialize(pipeline, tmp_path / "one", cut="last", shards=5)
    assert files_in(tmp_path / "ray") == files_in(tmp_path / "one")
