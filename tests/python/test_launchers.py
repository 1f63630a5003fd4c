"""The recipes of docs/reference/cluster.md, with each launcher that is installed: nothing is told to the loader but peers=."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from materializing_far import LAUNCHERS
from peering import truth

WORLD, EPOCHS = 2, 4

PROGRAM = """
import json, sys
import forebay as fb
{first}
from peering import epoch_of, pipeline
peers, photos, told = sys.argv[1:]
with fb.Loader(pipeline(photos), seed=7, peers=peers, shard_by="count") as loader:
    epochs = [epoch_of(loader) for _ in range({epochs})]
    found = {{"world": loader.world_size, "epochs": epochs, "peer_hits": loader.stats()["caches"][0]["peer_hits"]}}
    with open(f"{{told}}/{{loader.rank}}.json", "w") as file:
        json.dump(found, file)
    {last}
"""


def program(folder, first="", last=""):
    path = folder / "program.py"
    path.write_text(PROGRAM.format(first=first, last=last, epochs=EPOCHS))
    return path


def launched(command, photos, told, peers, **variables):
    """Every rank took part, got its part of each epoch, and something from its peer."""
    environment = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
    environment |= {"PYTHONPATH": os.path.dirname(__file__), "FOREBAY_CLUSTER_ADDRESS": "127.0.0.1", **variables}
    done = subprocess.run([*map(str, command), peers, str(photos), str(told)], capture_output=True, text=True, timeout=240, env=environment,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    found = [json.loads((told / f"{rank}.json").read_text()) for rank in range(WORLD)]
    assert all(rank["world"] == WORLD for rank in found)
    for epoch, expected in enumerate(truth(photos, EPOCHS)):
        assert {**found[0]["epochs"][epoch], **found[1]["epochs"][epoch]} == expected
    assert sum(rank["peer_hits"] for rank in found) > 0


def launcher(name):
    """Beside this Python, or on the path."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    return found or pytest.skip(f"LAUNCHER ABSENT: {name}")


def mpirun():
    """Open MPI wants to be told that root may, MPICH does not know the word."""
    found = launcher("mpirun")
    says = subprocess.run([found, "--version"], capture_output=True, text=True, timeout=60).stdout
    return [found, "--allow-run-as-root", "--oversubscribe"] if "Open MPI" in says else [found]


# A rank that ends takes what it serves along: the others are still to have it in their last epoch.
def test_mpirun_and_what_mpi4py_knows(photos, tmp_path):
    pytest.importorskip("mpi4py")
    path = program(tmp_path, "from mpi4py import MPI", "MPI.COMM_WORLD.Barrier()")
    launched([*mpirun(), "-n", WORLD, sys.executable, path], photos, tmp_path, "launcher")


def test_mpirun_and_a_shared_folder(photos, tmp_path):
    launched([*mpirun(), "-n", WORLD, sys.executable, program(tmp_path)], photos, tmp_path, f"file://{tmp_path}/job")


def test_torchrun_and_its_store(photos, tmp_path):
    pytest.importorskip("torch")
    launched([launcher("torchrun"), "--nnodes=1", f"--nproc-per-node={WORLD}", "--rdzv-backend=c10d", "--rdzv-endpoint=127.0.0.1:0",
              program(tmp_path)], photos, tmp_path, "launcher", TORCHELASTIC_USE_AGENT_STORE="True")


def test_torchrun_and_a_process_group(photos, tmp_path):
    pytest.importorskip("torch")
    path = program(tmp_path, "import torch.distributed as dist; dist.init_process_group('gloo')", "dist.barrier()")
    launched([launcher("torchrun"), "--standalone", f"--nproc-per-node={WORLD}", path], photos, tmp_path, "launcher")


def srun():
    found = launcher("srun")
    if subprocess.run(["scontrol", "ping"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip("LAUNCHER ABSENT: no Slurm controller runs here")
    return [found, "-N1", f"-n{WORLD}"]


def test_srun_and_a_folder_of_all_jobs(photos, tmp_path):
    command = [*srun(), sys.executable, program(tmp_path)]
    for _ in range(2):
        launched(command, photos, tmp_path, f"file://{tmp_path}/jobs")
    assert len(os.listdir(tmp_path / "jobs")) == 2 * WORLD


def test_srun_with_pmix_and_what_mpi4py_knows(photos, tmp_path):
    pytest.importorskip("mpi4py")
    command = [*srun(), "--mpi=pmix", sys.executable, program(tmp_path, "from mpi4py import MPI", "MPI.COMM_WORLD.Barrier()")]
    if subprocess.run([*command[:-2], "true"], capture_output=True, timeout=60).returncode != 0:
        pytest.skip("LAUNCHER ABSENT: Slurm without PMIx")
    launched(command, photos, tmp_path, "launcher")


@pytest.mark.parametrize("way", ["folder", "launcher"])
def test_ray_train_and_its_ranks(photos, tmp_path, way):
    ray = pytest.importorskip("ray")
    train = pytest.importorskip("ray.train.v2.api.data_parallel_trainer")
    from ray.train import RunConfig, ScalingConfig

    peering = os.path.dirname(__file__)

    def loop(given):
        import ray.train

        sys.path.insert(0, given["peering"])
        os.environ["FOREBAY_CLUSTER_ADDRESS"] = "127.0.0.1"
        from peering import epoch_of, pipeline

        import forebay as fb

        with fb.Loader(pipeline(given["photos"]), seed=7, shard_by="count", peers=given["peers"]) as loader:
            assert loader.world_size == ray.train.get_context().get_world_size()
            epochs = [epoch_of(loader) for _ in range(EPOCHS)]
            Path(given["told"], f"{loader.rank}.json").write_text(json.dumps(epochs))

    ray.init(num_cpus=WORLD, include_dashboard=False)
    try:
        given = {"peering": peering, "photos": str(photos), "told": str(tmp_path), "peers": way if way == "launcher" else f"file://{tmp_path}/job"}
        train.DataParallelTrainer(loop, train_loop_config=given, scaling_config=ScalingConfig(num_workers=WORLD),
                                  run_config=RunConfig(storage_path=str(tmp_path / "results"))).fit()
    finally:
        ray.shutdown()
    found = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(WORLD)]
    for epoch, expected in enumerate(truth(photos, EPOCHS)):
        assert {**found[0][epoch], **found[1][epoch]} == expected
