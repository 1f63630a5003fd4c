"""Accelerate: ranks from the Accelerator, and the loader's position in its checkpoints.

    accelerate launch accelerate_training.py FOLDER CHECKPOINTS

Run it again after a kill: it goes on from its last checkpoint, in the middle of an epoch.
"""
import sys
from pathlib import Path

import torch
from accelerate import Accelerator
from small_net import SAVE_EVERY, STEPS, SmallNet, photographs, report

import forebay as fb


def main(folder, checkpoints):
    torch.manual_seed(1)
    # --8<-- [start:train]
    accelerator = Accelerator(cpu=True)
    net = SmallNet(classes=3)
    net, optimizer = accelerator.prepare(net, torch.optim.Adam(net.parameters(), lr=0.01))
    loader = fb.Loader(photographs(folder), seed=7, rank=accelerator.process_index, world_size=accelerator.num_processes, output="torch")
    accelerator.register_for_checkpointing(loader)  # it has state_dict and load_state_dict

    step = max((int(saved.name) for saved in Path(checkpoints).glob("[0-9]*")), default=0)
    if step:
        accelerator.load_state(f"{checkpoints}/{step}")
    while step < STEPS:
        for batch in loader:  # an epoch, or its rest
            loss = net(batch["image"].to(accelerator.device), batch["label"].to(accelerator.device))["loss"]
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            report(step, loss)
            if step % SAVE_EVERY == 0:
                accelerator.save_state(f"{checkpoints}/unfinished")
                if accelerator.is_main_process:
                    Path(checkpoints, "unfinished").rename(f"{checkpoints}/{step}")
                accelerator.wait_for_everyone()
            if step == STEPS:
                break
    # --8<-- [end:train]
    loader.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
