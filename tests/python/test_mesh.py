"""mesh=: ranks that hold parts of one replica get the same batches, and the replicas share each epoch."""
import json
import os
import signal
import socket
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import forebay as fb
from peering import truth
from sharing import ask

WORLD, ROWS = 4, 36
PROGRAM = """\
import itertools, json, os, sys
import numpy as np, torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
import forebay as fb

here = int(os.environ["RANK"])
told = {{}}

def numbers():
    return fb.arrays(x=np.arange({rows}) * 7).shuffle().batch(3)

def seen(batches):
    return [[batch.ids.tolist(), batch["x"].tobytes().hex()] for batch in batches]

def refused(**options):
    try:
        fb.Loader(numbers(), **options)
    except fb.InvalidArgument as error:
        return str(error)
    raise AssertionError("opened")

mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
{body}
dist.barrier()
with open(f"{{sys.argv[1]}}/{{here}}.json", "w") as file:
    json.dump(told, file)
dist.destroy_process_group()
"""


def processes(folder, body, *arguments):
    """What each of four processes told."""
    pytest.importorskip("torch", reason="PYTORCH ABSENT: device meshes are PyTorch's")
    (folder / "program.py").write_text(PROGRAM.format(rows=ROWS, body=body))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    paths = os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")])
    place = {"PYTHONPATH": paths, "WORLD_SIZE": str(WORLD), "LOCAL_WORLD_SIZE": str(WORLD), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [subprocess.Popen([sys.executable, folder / "program.py", folder, *map(str, arguments)],
                              env={**os.environ, **place, "RANK": str(rank)}) for rank in range(WORLD)]
    try:
        assert [rank.wait(300) for rank in ranks] == [0] * WORLD
    finally:
        for rank in ranks:
            rank.kill()
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(WORLD)]


@pytest.fixture
def host(tmp_path, monkeypatch):
    """The socket of a server that share="auto" starts, which is ended with the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = tmp_path / "forebay" / "auto.sock"
    yield path
    if status := ask(path):
        os.kill(status["process"], signal.SIGKILL)


def ids_of(batches):
    return [i for ids, _ in batches for i in ids]


def test_peers_get_equal_batches_and_any_mesh_resumes(tmp_path):
    told = processes(tmp_path, """
with fb.Loader(numbers(), seed=7, mesh=mesh["dp"]) as loader:
    told["place"] = [loader.rank, loader.world_size]
    told["epochs"] = [seen(loader), seen(loader)]
    passing = iter(loader)
    told["begun"] = seen(itertools.islice(passing, 2))
    states = [None] * 4
    dist.all_gather_object(states, loader.state_dict())
told["states"] = states

with fb.Loader(numbers(), seed=7, mesh=mesh["dp"].get_group()) as loader:
    loader.load_state_dict(states[3])
    told["rest"] = seen(loader)

flat = init_device_mesh("cpu", (4, 1), mesh_dim_names=("dp", "tp"))
with fb.Loader(numbers(), seed=7, mesh=flat["dp"]) as loader:
    loader.load_state_dict(states[1])
    told["rest of four"] = seen(loader)
""")
    for name in ("place", "epochs", "begun", "rest"):
        assert told[0][name] == told[1][name] and told[2][name] == told[3][name], name
    assert [told[rank]["place"] for rank in (0, 2)] == [[0, 2], [1, 2]]
    for epoch in range(2):
        replicas = [ids_of(told[rank]["epochs"][epoch]) for rank in (0, 2)]
        assert sorted(replicas[0] + replicas[1]) == list(range(ROWS)), "each sample once over the replicas"
    states = told[0]["states"]
    assert states == [states[0]] * WORLD
    begun = [i for rank in (0, 2) for i in ids_of(told[rank]["begun"])]
    for rest in ([told[rank]["rest"] for rank in (0, 2)], [each["rest of four"] for each in told]):
        assert sorted(begun + [i for batches in rest for i in ids_of(batches)]) == list(range(ROWS))
    with fb.Loader(fb.arrays(x=np.arange(ROWS) * 7).shuffle().batch(3), seed=7, rank=1, world_size=2) as loader:
        assert told[2]["epochs"] == [[[batch.ids.tolist(), batch["x"].tobytes().hex()] for batch in loader] for _ in range(2)]


def test_several_dimensions_count_in_order_and_mistakes_are_told(tmp_path):
    told = processes(tmp_path, """
hybrid = init_device_mesh("cpu", (2, 2, 1), mesh_dim_names=("dp_replicate", "dp_shard", "tp"))
with fb.Loader(numbers(), seed=7, mesh=hybrid["dp_replicate", "dp_shard"]) as loader:
    told["hybrid"] = [loader.rank, loader.world_size]
    told["ids"] = loader.rank, [i for batch in loader for i in batch.ids.tolist()]
backwards = DeviceMesh("cpu", [[3, 1], [2, 0]], mesh_dim_names=("a", "b"))
with fb.Loader(numbers(), mesh=backwards) as loader:
    told["backwards"] = [loader.rank, loader.world_size]
told["whole"] = refused(mesh=mesh)
told["tp"] = refused(mesh=mesh["tp"])
told["rank"] = refused(mesh=mesh["dp"], rank=0)
part, group = DeviceMesh("cpu", [0, 1]), dist.new_group([0, 1])
if here < 2:
    with fb.Loader(numbers(), mesh=part) as one, fb.Loader(numbers(), mesh=group) as two:
        told["part"] = [one.rank, one.world_size, two.rank, two.world_size]
else:
    told["part"] = [refused(mesh=part), refused(mesh=group)]
dist.barrier()
dist.destroy_process_group()
told["ended"] = refused(mesh=backwards)
dist.init_process_group("gloo", init_method=f"file://{sys.argv[1]}/again", rank=here, world_size=4)
""")
    assert [each["hybrid"] for each in told] == [[rank, WORLD] for rank in range(WORLD)]
    assert sorted(i for each in told for i in each["ids"][1]) == list(range(ROWS))
    assert [each["backwards"] for each in told] == [[rank, WORLD] for rank in (3, 1, 2, 0)]
    for each in told:
        assert "'tp'" in each["whole"] and 'mesh["dp"]' in each["whole"]
        assert "'tp'" in each["tp"]
        assert "leave rank= and world_size= out" in each["rank"]
        assert "not initialized" in each["ended"]
    assert [each["part"] for each in told[:2]] == [[0, 2, 0, 2], [1, 2, 1, 2]]
    assert all("not in mesh=" in text for each in told[2:] for text in each["part"])


def test_peers_of_a_host_have_their_batches_made_once(photos, tmp_path, host):
    told = processes(tmp_path, """
from sharing import ask
pipeline = fb.images(sys.argv[2]).shuffle().decode_image().random_resized_crop(24).random_flip().normalize(fb.IMAGENET).batch(3)
with fb.Loader(pipeline, seed=7, mesh=mesh["dp"], share="auto", together=mesh["tp"].size()) as loader:
    told["seen"] = [[batch.ids.tolist(), batch["image"].tobytes().hex()] for _ in range(2) for batch in loader]
    dist.barrier()
    if here == 0:
        told["together"] = ask(sys.argv[3])["together"]
    dist.barrier()
""", photos, host)
    assert told[0]["seen"] == told[1]["seen"] and told[2]["seen"] == told[3]["seen"]
    ids = [i for rank in (0, 2) for i in ids_of(told[rank]["seen"][: len(told[rank]["seen"]) // 2])]
    assert set(ids) == set(range(21))
    steps, counts = len(told[0]["seen"]), told[0]["together"]
    assert counts["batches_given"] >= 4 * steps
    # Two replicas. The server is one batch ahead. All steps lie within its window, so that nobody is left behind.
    assert 2 * steps <= counts["batches_made"] <= 2 * (steps + 1), counts


# Each in processes of its own: loaders of one process share what a cache has, and then ask no peer.
@pytest.mark.parametrize("which", ["dp", "hybrid"])
def test_peers_of_other_hosts_meet_in_the_mesh(photos, tmp_path, which):
    told = processes(tmp_path, """
from peering import epoch_of, pipeline
os.environ["FOREBAY_CLUSTER_ADDRESS"] = "127.0.0.1"
os.environ["TORCHELASTIC_USE_AGENT_STORE"] = "True"  # as torchrun does; its store would mix the replicas up
hybrid = init_device_mesh("cpu", (2, 2, 1), mesh_dim_names=("dp_replicate", "dp_shard", "tp"))
one = {"dp": mesh["dp"], "hybrid": hybrid["dp_replicate", "dp_shard"]}[sys.argv[3]]
with fb.Loader(pipeline(sys.argv[2]), seed=7, mesh=one, peers="launcher", shard_by="count") as loader:
    told["epochs"] = [epoch_of(loader) for _ in range(3)]
    told["hits"] = loader.stats()["caches"][0]["peer_hits"]
    dist.barrier()
""", photos, which)
    expected = truth(photos, 3)
    if which == "dp":
        assert told[0]["epochs"] == told[1]["epochs"] and told[2]["epochs"] == told[3]["epochs"]
    for epoch in range(3):
        assert {sample: value for each in told for sample, value in each["epochs"][epoch].items()} == expected[epoch]
    assert sum(each["hits"] for each in told) > 0


class Ranks:
    def __init__(self, rank, size):
        self.get_rank, self.size = (lambda: rank), (lambda: size)


def numbers():
    return fb.arrays(x=np.arange(12)).batch(2)


def test_any_object_that_knows_rank_and_size():
    with fb.Loader(numbers(), mesh=Ranks(1, 3)) as loader:
        assert (loader.rank, loader.world_size) == (1, 3)
        assert loader._given["rank"] == 1 and loader._given["world_size"] == 3
    with fb.Loader(numbers(), mesh=None) as loader:
        assert (loader.rank, loader.world_size) == (0, 1)


def test_peers_cannot_meet_in_an_object_that_cannot_send():
    with pytest.raises(fb.InvalidArgument, match="no process group of torch.distributed, in which its ranks could meet"):
        fb.Loader(fb.arrays(x=np.arange(12)).cache(ram="1MiB").batch(2), mesh=Ranks(0, 2), peers="launcher")


@pytest.mark.parametrize("mesh, message", [
    ("dp", "mesh is 'dp'; mesh= takes a DeviceMesh"), (4, "mesh is 4"), ((0, 2), "mesh is \\(0, 2\\)"),
    (Ranks(-1, 2), "not in mesh="), (Ranks(2, 2), "rank 2 is out of range"), (Ranks(0, 0), "world_size is 0"),
    (types.SimpleNamespace(axis_names=("data",), devices=[]), "mesh of JAX.*fb.jax.iterate")])
def test_what_is_no_mesh_is_refused(mesh, message):
    with pytest.raises(fb.InvalidArgument, match=message):
        fb.Loader(numbers(), mesh=mesh)


def test_a_mesh_comes_before_the_variables_of_a_launcher(monkeypatch):
    for name, value in {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}.items():
        monkeypatch.setenv(name, value)
    with fb.Loader(numbers(), mesh=Ranks(1, 2)) as loader:
        assert (loader.rank, loader.world_size) == (1, 2)
        assert len(list(loader)) == 3


def test_torch_is_not_imported_for_it():
    code = ("import sys, numpy as np, forebay as fb\nclass Ranks:\n    def rank(self): return 0\n    def size(self): return 2\n"
            "fb.Loader(fb.arrays(x=np.arange(4)).batch(1), mesh=Ranks())\nassert 'torch' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path("/"))
