"""torch.distributed.checkpoint: a loader is a Stateful, saved together with the model and the optimizer.

    torchrun torch_distributed_checkpoint.py FOLDER CHECKPOINTS

Run it again after a kill: it goes on from its last checkpoint, in the middle of an epoch.
"""
import sys
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from small_net import SAVE_EVERY, STEPS, SmallNet, photographs, report
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

import forebay as fb


# --8<-- [start:stateful]
class Training:
    """The model and the optimizer as a Stateful."""

    def __init__(self, net, optimizer):
        self.net, self.optimizer = net, optimizer

    def state_dict(self):
        net, optimizer = get_state_dict(self.net, self.optimizer)
        return {"net": net, "optimizer": optimizer}

    def load_state_dict(self, state):
        set_state_dict(self.net, self.optimizer, model_state_dict=state["net"], optim_state_dict=state["optimizer"])
# --8<-- [end:stateful]


def main(folder, checkpoints):
    torch.manual_seed(1)
    net = SmallNet(classes=3)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    # --8<-- [start:train]
    loader = fb.Loader(photographs(folder), seed=7, output="torch")
    training = Training(net, optimizer)

    # A checkpoint is whole once its metadata is written, which is last.
    step = max((int(saved.parent.name) for saved in Path(checkpoints).glob("*/.metadata")), default=0)
    if step:
        dcp.load({"training": training, "loader": loader}, checkpoint_id=f"{checkpoints}/{step}")
    while step < STEPS:
        for batch in loader:  # an epoch, or its rest
            loss = net(batch["image"], batch["label"])["loss"]
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            report(step, loss)
            if step % SAVE_EVERY == 0:
                dcp.save({"training": training, "loader": loader}, checkpoint_id=f"{checkpoints}/{step}")
            if step == STEPS:
                break
    # --8<-- [end:train]
    loader.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
