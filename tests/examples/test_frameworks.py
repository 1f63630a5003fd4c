"""The examples for other frameworks run where these are installed, and find that what they show is so.

Those that save checkpoints are also killed in the middle of an epoch: the run that goes on has the losses of a run that was not killed."""
import importlib.util
import os
import re
import signal
import subprocess
import sys

import pytest

from project import ROOT, run, write_photos

PROGRAMS = ROOT / "examples" / "frameworks"
NEEDS = {
    "lightning_data_module": ["torch", "lightning"],
    "accelerate_training": ["torch", "accelerate"],
    "huggingface_trainer": ["torch", "accelerate", "transformers"],
    "ray_train": ["torch", "ray"],
    "torch_distributed_checkpoint": ["torch"],
    "fsdp_device_mesh": ["torch"],
    "orbax_checkpoints": ["jax", "orbax"],
    "keras_fit": ["tensorflow"],
    "jax_training": ["jax"],
}
WITHOUT_CHECKPOINTS = ("keras_fit", "jax_training")
BY_TORCHRUN = {"fsdp_device_mesh": 4}  # name → processes
WITH_CHECKPOINTS = [name for name in NEEDS if name not in WITHOUT_CHECKPOINTS]
STEPS, SAVED, KILLED = 12, 8, 10  # an epoch has 6 steps (3 with the two workers of Ray): both are in the middle of one
LOSS = re.compile(r"^step (\d+): loss (\S+)$", re.MULTILINE)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("frameworks") / "photos")


def need(name):
    missing = [package for package in NEEDS[name] if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def train(name, photos, checkpoints, *more, **environment):
    """Runs the program to its end, or to its death. Returns its exit code and its losses, (step, text) in order."""
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={BY_TORCHRUN[name]}"] if name in BY_TORCHRUN else []
    done = subprocess.run([sys.executable, *launcher, PROGRAMS / f"{name}.py", photos, checkpoints, *more], capture_output=True, text=True, timeout=1800,
                          stdin=subprocess.DEVNULL, env={**os.environ, **environment})
    killed = done.returncode == -signal.SIGKILL or "Signal 9 (SIGKILL)" in done.stderr  # of a process of torchrun
    assert killed or done.returncode == 0, done.stdout + done.stderr
    assert ": no\n" not in done.stdout, done.stdout
    return -signal.SIGKILL if killed else 0, [(int(step), loss) for step, loss in LOSS.findall(done.stdout)]


def killing(tmp_path):
    return {"FOREBAY_KILL_AT": f"step {KILLED}:", "FOREBAY_KILL_ONCE": str(tmp_path / "killed"),
            "PYTHONPATH": os.pathsep.join([str(ROOT / "tests" / "examples" / "killed"), os.environ.get("PYTHONPATH", "")])}


def test_none_is_forgotten():
    assert {path.stem for path in PROGRAMS.glob("*.py")} == {*NEEDS, "small_net"}
    assert all(f"`{name}.py`" in (PROGRAMS / "README.md").read_text() for name in NEEDS)


@pytest.mark.parametrize("name", WITHOUT_CHECKPOINTS)
def test_example(name, photos):
    need(name)
    output = run(sys.executable, PROGRAMS / f"{name}.py", photos, timeout_s=600)
    assert ": yes\n" in output and ": no\n" not in output, output


@pytest.mark.parametrize("name", [name for name in WITH_CHECKPOINTS if name != "ray_train"])
def test_a_run_that_was_killed_in_mid_epoch_goes_on_with_the_same_losses(name, photos, tmp_path):
    need(name)
    code, whole = train(name, photos, tmp_path / "whole")
    assert code == 0 and [step for step, _ in whole] == list(range(1, STEPS + 1))
    code, first = train(name, photos, tmp_path / "parts", **killing(tmp_path))
    assert code == -signal.SIGKILL and first == whole[:KILLED]
    code, rest = train(name, photos, tmp_path / "parts")
    assert code == 0 and rest == whole[SAVED:]


def test_workers_of_ray_go_on_with_the_same_losses_after_one_was_killed(photos, tmp_path):
    need("ray_train")
    # Ray gives its processes the lowest priority, and takes workers for dead that are not there within a minute: on a busy machine none ever is.
    patient = {"RAY_worker_niceness": "0", "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "900"}
    _, whole = train("ray_train", photos, tmp_path / "whole", **patient)
    assert [step for step, _ in whole] == list(range(1, STEPS + 1))
    code, losses = train("ray_train", photos, tmp_path / "parts", **killing(tmp_path), **patient)
    assert code == 0 and (tmp_path / "killed").exists()
    assert [step for step, _ in losses].count(KILLED) == 2, "once before the kill and once after it"
    assert losses[-(STEPS - SAVED):] == whole[SAVED:] and set(losses) == set(whole)


def test_batches_made_once_for_a_replica_train_alike(photos, tmp_path):
    need("fsdp_device_mesh")
    _, each = train("fsdp_device_mesh", photos, tmp_path / "each")
    _, once = train("fsdp_device_mesh", photos, tmp_path / "once", "once", XDG_RUNTIME_DIR=str(tmp_path))
    assert len(each) == STEPS and each == once
