"""FSDP2 and tensor parallelism over a DeviceMesh: two replicas of two ranks each. The ranks of a replica get the same batches.

    torchrun --nproc-per-node=4 fsdp_device_mesh.py FOLDER CHECKPOINTS [once]

Runs on CPUs, too. With `once` the host's server makes each batch once for all ranks of a replica. Run it again after a kill: it
goes on from its last checkpoint, in the middle of an epoch.
"""
import sys
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from small_net import SAVE_EVERY, STEPS, photographs, report
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch_distributed_checkpoint import Training

import forebay as fb


def main(folder, checkpoints, once=""):
    # --8<-- [start:ranks]
    dist.init_process_group("gloo")                                    # "nccl", and "cuda" below, on GPUs
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    # --8<-- [end:ranks]
    pipeline = photographs(folder)
    if once:
        # --8<-- [start:once]
        loader = fb.Loader(pipeline, seed=7, output="torch", mesh=mesh["dp"], share="auto", together=mesh["tp"].size())
        # --8<-- [end:once]
    else:
        # --8<-- [start:mesh]
        loader = fb.Loader(pipeline, seed=7, output="torch", mesh=mesh["dp"])
        # --8<-- [end:mesh]

    torch.manual_seed(1)
    net = nn.Sequential(nn.Flatten(), nn.Linear(3 * 32 * 32, 64), nn.ReLU(), nn.Linear(64, 3))
    # --8<-- [start:parallel]
    parallelize_module(net, mesh["tp"], {"1": ColwiseParallel(), "3": RowwiseParallel()})
    fully_shard(net, mesh=mesh["dp"])
    # --8<-- [end:parallel]
    optimizer = torch.optim.Adam(net.parameters(), lr=0.001)
    training = Training(net, optimizer)

    # A checkpoint is whole once its metadata is written, which is last.
    step = max((int(saved.parent.name) for saved in Path(checkpoints).glob("*/.metadata")), default=0)
    if step:
        dcp.load({"training": training, "loader": loader}, checkpoint_id=f"{checkpoints}/{step}")
    # --8<-- [start:train]
    while step < STEPS:
        for batch in loader:  # an epoch, or its rest
            loss = nn.functional.cross_entropy(net(batch["image"]), batch["label"])
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            step += 1
            if dist.get_rank() == 0:
                report(step, loss)  # of the first replica
            if step % SAVE_EVERY == 0:
                dcp.save({"training": training, "loader": loader}, checkpoint_id=f"{checkpoints}/{step}")
            if step == STEPS:
                break
    # --8<-- [end:train]
    loader.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])
