"""Ray Train: each worker is a rank of one plan; a worker that dies is replaced, and all go on from the last checkpoint.

    python ray_train.py FOLDER CHECKPOINTS
"""
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")

import ray.train
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model

HERE = str(Path(__file__).resolve().parent)


def note(folder, loader, batch):
    """Writes which samples of the first epoch this rank has seen."""
    if batch.epoch == 0:
        with open(Path(folder, f"{loader.rank}.json"), "a") as file:
            print(json.dumps([loader.size, batch.ids[:len(batch) - batch.padding].tolist()]), file=file)


# --8<-- [start:worker]
def worker(config):
    sys.path.insert(0, config["code"])
    import torch
    from small_net import SAVE_EVERY, STEPS, SmallNet, photographs, report

    import forebay as fb

    torch.manual_seed(1)
    net = prepare_model(SmallNet(classes=3))
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    loader = fb.Loader(photographs(config["folder"]), seed=7, threads=1, output="torch")  # Ray Train says which rank this is
    step = 0
    if checkpoint := ray.train.get_checkpoint():
        with checkpoint.as_directory() as folder:
            saved = torch.load(Path(folder, "saved.pt"))
        net.load_state_dict(saved["net"])
        optimizer.load_state_dict(saved["optimizer"])
        loader.load_state_dict(saved["loader"])
        step = saved["step"]
    while step < STEPS:
        for batch in loader:  # an epoch, or its rest
            loss = net(batch["image"], batch["label"])["loss"]
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            note(config["seen"], loader, batch)
            if loader.rank == 0:
                with open(Path(config["seen"], "losses"), "a") as file:
                    report(step, loss, file)
            if step % SAVE_EVERY == 0:
                with tempfile.TemporaryDirectory() as folder:
                    saved = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "loader": loader.state_dict(), "step": step}
                    torch.save(saved, Path(folder, "saved.pt"))
                    first = loader.rank == 0  # the state is the same on every rank
                    ray.train.report({"loss": loss.item()}, checkpoint=ray.train.Checkpoint.from_directory(folder) if first else None)
            if step == STEPS:
                break
    loader.close()
# --8<-- [end:worker]


def main(folder, checkpoints):
    with tempfile.TemporaryDirectory() as seen:
        config = {"folder": str(Path(folder).resolve()), "seen": seen, "code": HERE}
        # --8<-- [start:fit]
        run = RunConfig(storage_path=str(Path(checkpoints).resolve()), failure_config=FailureConfig(max_failures=1))
        TorchTrainer(worker, train_loop_config=config, scaling_config=ScalingConfig(num_workers=2), run_config=run).fit()
        # --8<-- [end:fit]
        print(Path(seen, "losses").read_text(), end="")
        steps = [json.loads(line) for path in Path(seen).glob("*.json") for line in path.read_text().splitlines()]
    samples = sorted(sample for _, ids in steps for sample in ids)
    print("each photograph once in the first epoch of both workers:", "yes" if samples == list(range(steps[0][0])) else "no")


if __name__ == "__main__":
    main(*sys.argv[1:])
