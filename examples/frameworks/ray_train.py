"""Ray Train: each worker a rank of one plan; together they see each photograph once an epoch.

    python ray_train.py FOLDER
"""
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("RAY_TRAIN_V2_ENABLED", "1")

import ray.train
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer, prepare_model

HERE = str(Path(__file__).resolve().parent)


def worker(config):
    import sys

    sys.path.insert(0, config["code"])
    import torch
    from small_net import SmallNet, photographs

    import forebay as fb

    context = ray.train.get_context()
    torch.manual_seed(1)
    net = prepare_model(SmallNet(classes=3))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    with fb.Loader(photographs(config["folder"]), seed=7, epochs=1, rank=context.get_world_rank(), world_size=context.get_world_size(),
                   threads=1, output="torch") as loader:
        ids = []
        for batch in loader:
            net(batch["image"], batch["label"])["loss"].backward()
            optimizer.step()
            optimizer.zero_grad()
            ids += batch.ids[:len(batch) - batch.padding].tolist()
        state = json.dumps(loader.state_dict())
    Path(config["told"], f"{context.get_world_rank()}.json").write_text(json.dumps({"ids": ids, "state": state, "samples": loader.size}))
    ray.train.report({"seen": len(ids)})


def main(folder):
    with tempfile.TemporaryDirectory() as told, tempfile.TemporaryDirectory() as storage:
        config = {"folder": str(Path(folder).resolve()), "told": told, "code": HERE}
        TorchTrainer(worker, train_loop_config=config, scaling_config=ScalingConfig(num_workers=2), run_config=RunConfig(storage_path=storage)).fit()
        ranks = [json.loads(path.read_text()) for path in sorted(Path(told).glob("*.json"))]
    seen = sorted(sample for rank in ranks for sample in rank["ids"])
    print("each photograph once over both workers:", "yes" if seen == list(range(ranks[0]["samples"])) else "no")
    print("one state for all:", "yes" if len({rank["state"] for rank in ranks}) == 1 else "no")


if __name__ == "__main__":
    main(sys.argv[1])
