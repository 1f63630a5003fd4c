"""Accelerate: ranks from the Accelerator, and the loader's place in its checkpoints.

    accelerate launch accelerate_training.py FOLDER
"""
import sys
import tempfile

import torch
from accelerate import Accelerator
from small_net import SmallNet, photographs

import forebay as fb


def train(folder, steps, checkpoint=None, save=None):
    """The labels of each step."""
    torch.manual_seed(1)
    accelerator = Accelerator(cpu=True)
    net = SmallNet(classes=3)
    net, optimizer = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.01))
    with fb.Loader(photographs(folder), seed=7, rank=accelerator.process_index, world_size=accelerator.num_processes, output="torch") as loader:
        accelerator.register_for_checkpointing(loader)  # it has state_dict and load_state_dict
        if checkpoint:
            accelerator.load_state(checkpoint)
        seen = []
        while len(seen) < steps:
            for batch in loader:
                loss = net(batch["image"].to(accelerator.device), batch["label"].to(accelerator.device))["loss"]
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
                seen.append(batch["label"].tolist())
                if len(seen) == steps:
                    break
        if save:
            accelerator.save_state(save)
    return seen


def main(folder):
    whole = train(folder, 10)
    with tempfile.TemporaryDirectory() as place:
        first = train(folder, 4, save=place)
        rest = train(folder, 6, checkpoint=place)
    print("the same batches after a checkpoint in mid-epoch:", "yes" if first + rest == whole else "no")


if __name__ == "__main__":
    main(sys.argv[1])
