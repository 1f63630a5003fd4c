"""The code of the PyTorch part of docs/reference/frameworks.md runs as it stands, and does what the page says."""
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="PYTORCH ABSENT: forebay.torch needs it")

import forebay as fb  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "frameworks.md"
PART = PAGE.read_text().split("## PyTorch")[1].split("\n## ")[0]


def block(containing):
    found = [text for text in re.findall(r"^```python\n(.*?)^```", PART, re.MULTILINE | re.DOTALL) if containing in text]
    assert len(found) == 1
    return found[0]


def pipeline():
    return fb.arrays(x=np.arange(24)).shuffle().batch(4)


def test_evaluation():
    names = {"fb": fb, "pipeline": pipeline(), "held_out": pipeline()}
    exec(block("restart=True"), names)
    firsts = {name: [next(iter(names[name])).ids.tolist() for _ in range(2)] for name in ("training", "validation")}
    assert firsts["training"][0] != firsts["training"][1] and firsts["validation"][0] == firsts["validation"][1]


@pytest.mark.filterwarnings("ignore")
def test_distributed_checkpoints(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained = []
    names = {"fb": fb, "pipeline": pipeline(), "train": lambda batch: trained.append(batch.ids.tolist())}
    exec(block("dcp.save"), names)
    with fb.Loader(pipeline(), seed=7) as loader:
        assert trained + names["rest"] == [batch.ids.tolist() for batch in loader]


BEFORE = """\
import json, os, sys
import numpy as np, torch
import forebay as fb

torch.distributed.init_process_group("gloo")
pipeline = fb.arrays(x=np.arange(24)).shuffle().batch(4)
"""
BEHIND = """
with open(os.path.join(sys.argv[1], os.environ["RANK"] + ".json"), "w") as file:
    json.dump([[batch.ids.tolist(), batch["x"].tobytes().hex()] for batch in loader], file)
torch.distributed.barrier()
torch.distributed.destroy_process_group()
"""


def test_tensor_parallel_ranks(tmp_path):
    program = BEFORE + block("init_device_mesh") + BEHIND
    (tmp_path / "program.py").write_text(program)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = {"WORLD_SIZE": "4", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [subprocess.Popen([sys.executable, tmp_path / "program.py", tmp_path], env={**os.environ, **place, "RANK": str(rank)}) for rank in range(4)]
    assert [rank.wait(300) for rank in ranks] == [0] * 4
    seen = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(4)]
    assert seen[0] == seen[1] and seen[2] == seen[3], "equal rows for tensor-parallel peers"
    ids = sum((ids for ids, _ in seen[0] + seen[2]), [])
    assert sorted(ids) == list(range(24)), "and each sample once over the replicas"
