"""Code of users of PyTorch, which type checkers accept in their strict modes; see `users_code.py`."""
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from typing_extensions import assert_type

import forebay as fb
from forebay.torch import DataLoader


def net(image: torch.Tensor) -> torch.Tensor:
    return image.mean()


def train(pipeline: fb.Pipeline, state: Path) -> None:
    with fb.Loader(pipeline, seed=7, epochs=90, threads="auto", memory="2GiB", on_error="skip", max_errors=0.01, output="torch") as loader:
        assert_type(loader, fb.Loader[torch.Tensor])
        if state.exists():
            loader.load_state_dict(json.loads(state.read_text()))
        for _ in range(90):
            for batch in loader:
                assert_type(batch, fb.Batch[torch.Tensor])
                assert_type(batch["image"], torch.Tensor)
                assert_type(net(batch["image"].to("cuda")), torch.Tensor)
            state.write_text(json.dumps(loader.state_dict()))
        assert_type(loader.state_dict(), dict[str, Any])
        assert_type(len(loader), int)
        assert_type(loader.epoch, int)
        assert_type(loader.fingerprint, str)
        assert_type(loader.report(), str)
        assert_type(loader.classes, list[str])


def shared(pipeline: fb.Pipeline) -> None:
    with fb.Loader(pipeline, share="auto", together=True, output="torch") as loader:
        assert_type(next(iter(loader))["x"], torch.Tensor)


def replicas(pipeline: fb.Pipeline, mesh: DeviceMesh, group: torch.distributed.ProcessGroup) -> None:
    loader = fb.Loader(pipeline, mesh=mesh["dp"], share="auto", together=mesh["tp"].size(), output="torch")
    assert_type(loader, fb.Loader[torch.Tensor])
    assert_type(fb.Loader(pipeline, mesh=group).rank, int)


def drop_in(pipeline: fb.Pipeline) -> None:
    rows: torch.utils.data.TensorDataset = torch.utils.data.TensorDataset(torch.arange(10))
    loader = DataLoader(rows, batch_size=4, shuffle=True, num_workers=2, thread_safe=True)
    assert_type(loader.state_dict(), dict[str, Any])
    loader.load_state_dict(loader.state_dict())
    for batch in DataLoader(pipeline, batch_size=None):
        print(batch)
