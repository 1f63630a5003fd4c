"""Ranks that a launcher has started write together what one process writes, on hosts of their own as on one."""
import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from materializing_far import LAUNCHERS, digest, files_in, numbers, started

import forebay as fb

WRITER = """
import sys
import forebay as fb
from materializing_far import numbers
made = fb.materialize(numbers(sys.argv[1], rows=int(sys.argv[3])), sys.argv[2], cut=sys.argv[4], shards=11)
print(made.complete, made.written)
"""
VARIABLES = {"torchrun": ("RANK", "WORLD_SIZE"), "slurm": ("SLURM_PROCID", "SLURM_NTASKS"),
             "open mpi": ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), "mpi": ("PMI_RANK", "PMI_SIZE")}


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch):
    for name in LAUNCHERS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))


def ended(processes):
    """What each of them printed last: whether all was complete when it ended, and how many samples it wrote."""
    told = []
    for process in processes:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        complete, written = out.split()[-2:]
        told.append((complete == "True", int(written)))
    return told


@pytest.mark.parametrize("launcher", list(VARIABLES))
def test_ranks_of_a_launcher_write_the_same_bytes_as_one(launcher, tmp_path):
    pipeline = numbers(tmp_path)
    fb.materialize(pipeline, tmp_path / "one", cut="last", shards=11)
    rank, world = VARIABLES[launcher]
    told = ended([started(WRITER, tmp_path, tmp_path / "ranks", 400, "last", SLURM_STEP_ID="0", **{rank: str(i), world: "3"}) for i in range(3)])
    assert files_in(tmp_path / "ranks") == files_in(tmp_path / "one")
    assert any(complete for complete, _ in told) and sum(written for _, written in told) == 400
    assert digest(fb.materialize(pipeline, tmp_path / "ranks", cut="last").pipeline) == digest(pipeline)


def test_ranks_bring_a_folder_up_to_date_together(photos, tmp_path):
    """Whichever of them ends last moves it into place, and all that were asked at once find it there."""
    root = shutil.copytree(photos, tmp_path / "photos")
    updater = """
import sys
import forebay as fb
pipeline = fb.images(sys.argv[1]).shuffle().decode_image().resize(24).batch(4)
made = fb.materialize(pipeline, sys.argv[2], cut="resize", shards=7, update=True)
print(made.complete, made.written)
"""
    assert ended([started(updater, root, tmp_path / "made")])[0][0]
    shutil.copy(root / "cats" / "cats_0.jpg", root / "cats" / "cats_00.jpg")
    (one,) = ended([started(updater, root, tmp_path / "one")])
    told = ended([started(updater, root, tmp_path / "made", RANK=str(i), WORLD_SIZE="3") for i in range(3)])
    assert files_in(tmp_path / "made") == files_in(tmp_path / "one")
    assert any(complete for complete, _ in told) and sum(written for _, written in told) == one[1]
    assert not (tmp_path / "made" / "_update").exists()


def test_one_rank_writes_its_share_and_says_that_others_are_left(tmp_path, monkeypatch):
    pipeline = numbers(tmp_path)
    for variable, value in (("RANK", "1"), ("WORLD_SIZE", "4")):
        monkeypatch.setenv(variable, value)
    made = fb.materialize(pipeline, tmp_path / "made", cut="last", shards=8)
    assert (made.complete, made.written) == (False, 100)
    with pytest.raises(fb.NotFound, match="no finished materialised data"):
        digest(made.pipeline)
    rest = fb.materialize(pipeline, tmp_path / "made", cut="last", rank=0, world_size=1)  # what is given goes before the variables
    assert (rest.complete, rest.written) == (True, 300)


@pytest.mark.parametrize("given, wrong", [({"rank": 3, "world_size": 3}, "out of range"), ({"world_size": 3}, "needs rank="),
                                          ({"rank": -1, "world_size": 2}, "rank"), ({"world_size": 0}, "world_size")])
def test_ranks_that_cannot_be_are_refused(given, wrong, tmp_path):
    with pytest.raises(fb.InvalidArgument, match=wrong):
        fb.materialize(numbers(tmp_path), tmp_path / "made", cut="last", **given)
    assert not (tmp_path / "made").exists()


def test_a_variable_that_is_no_number_never_makes_it_the_only_rank(tmp_path, monkeypatch):
    monkeypatch.setenv("RANK", "one")
    monkeypatch.setenv("WORLD_SIZE", "4")
    with pytest.raises(fb.InvalidArgument, match="environment variable RANK"):
        fb.materialize(numbers(tmp_path), tmp_path / "made", cut="last")


def test_the_program_finds_its_rank_too(tmp_path):
    pipeline = numbers(tmp_path)
    (tmp_path / "p.json").write_text(pipeline.to_json())
    fb.materialize(pipeline, tmp_path / "one", cut="last", shards=6)
    program = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    told = []
    for variables in ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2", "SLURM_STEP_ID": "0"}, {}):
        more = [] if variables else ["--rank", "0", "--world", "2"]
        process = started(program, Path(sys.executable).parent / "forebay", "materialize", tmp_path / "p.json", tmp_path / "made",
                          "--cut", "last", "--shards", "6", "--json", *more, **variables)
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        told.append(json.loads(out)["complete"])
    assert told == [False, True]
    assert files_in(tmp_path / "made") == files_in(tmp_path / "one")


# Hosts


def host(number):
    """What runs a program as if on a host of its own: its own name, processes, network, and memory shared by its processes."""
    return ("unshare", "--uts", "--ipc", "--net", "--pid", "--mount", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
            f'hostname host{number}; mount -t tmpfs tmpfs /dev/shm; exec "$@"', "sh")


@pytest.fixture
def hosts():
    if os.geteuid() != 0 or not shutil.which("unshare"):
        pytest.skip("NAMESPACES ABSENT: hosts of their own need root and unshare")
    process = started("import socket; print(socket.gethostname())", prefix=host(7))
    out, err = process.communicate(timeout=60)
    if out.strip() != "host7":
        pytest.skip(f"NAMESPACES ABSENT: {err.strip()}")
    return host


@pytest.mark.parametrize("cut", ["last", "best"])
def test_four_namespaced_hosts_write_the_same_bytes_as_one(hosts, cut, tmp_path):
    pipeline = numbers(tmp_path, rows=1000)
    told = ended([started(WRITER, tmp_path, tmp_path / "hosts", 1000, cut, prefix=hosts(i), RANK=str(i), WORLD_SIZE="4")
                  for i in range(4)])
    made = fb.materialize(pipeline, tmp_path / "hosts", cut="best")
    fb.materialize(pipeline, tmp_path / "one", cut=made.cut, shards=11)
    assert files_in(tmp_path / "hosts") == files_in(tmp_path / "one")
    assert any(complete for complete, _ in told) and sum(written for _, written in told) == 1000
    assert digest(made.pipeline) == digest(pipeline)


def test_a_host_that_dies_costs_its_share_alone(hosts, tmp_path):
    pipeline = numbers(tmp_path, rows=1000)
    fb.materialize(pipeline, tmp_path / "one", cut="last", shards=11)
    dies = WRITER.replace("made =", "import os; stop = lambda now: now['shards_done'] and os._exit(137)\nmade =") \
                 .replace("shards=11", "shards=11, progress=stop")
    others = [started(dies if i == 2 else WRITER, tmp_path, tmp_path / "hosts", 1000, "last", prefix=hosts(i), RANK=str(i), WORLD_SIZE="4")
              for i in range(4)]
    dead = others.pop(2)
    dead.communicate(timeout=300)
    assert dead.returncode == 137
    told = ended(others)
    assert not any(complete for complete, _ in told)
    (again,) = ended([started(WRITER, tmp_path, tmp_path / "hosts", 1000, "last", prefix=hosts(2), RANK="2", WORLD_SIZE="4")])
    assert again[0] and again[1] < 300
    assert files_in(tmp_path / "hosts") == files_in(tmp_path / "one")
