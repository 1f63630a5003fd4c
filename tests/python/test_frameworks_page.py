"""The code of the PyTorch part of docs/reference/frameworks.md runs as it stands, and does what the page says."""
import itertools
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PYTORCH ABSENT: forebay.torch needs it")

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


def blocks_of_torchtitan(folder):
    """The page's build_dataloader over a folder of texts, called as torchtitan calls it."""
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {word: number for number, word in enumerate(["[UNK]", "a", "b", "c"])}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.save(str(folder / "tokenizer.json"))
    texts = ["a b c " * (1 + number % 5) for number in range(60)]
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    names = {"fb": fb}
    exec(block("class Blocks"), names)
    config = SimpleNamespace(training=SimpleNamespace(dataset_path=str(folder / "*.jsonl"), seq_len=16, local_batch_size=2),
                             model=SimpleNamespace(hf_assets_path=str(folder)))
    return lambda rank, size: names["build_dataloader"](dp_world_size=size, dp_rank=rank, tokenizer=None, job_config=config)


def rows(batches):
    return [(row.tolist(), label.tolist()) for inputs, labels in batches for row, label in zip(inputs["input"], labels)]


def test_torchtitan_gets_dicts_and_labels_for_as_many_steps_as_it_wants(tmp_path):
    build = blocks_of_torchtitan(tmp_path)
    loader = build(0, 1)
    steps = len(loader.loader)
    seen = list(itertools.islice(loader, 2 * steps))
    for inputs, labels in seen:
        tokens = inputs["input"]
        assert tokens.shape == labels.shape == (2, 16) and tokens.dtype == labels.dtype == torch.int64
        same = labels[:, :-1] == tokens[:, 1:]
        assert (same | (labels[:, :-1] == -100)).all() and (labels != -100).any()
    assert rows(seen[:steps]) != rows(seen[steps:]), "shuffled anew"
    assert sum(int((labels == -100).sum()) for _, labels in seen) > 0, "padding is no label"


@pytest.mark.filterwarnings("ignore")
def test_torchtitan_saves_a_loader_and_goes_on_with_another_degree(tmp_path):
    import torch.distributed.checkpoint as dcp
    from torch.distributed.checkpoint.stateful import Stateful

    build = blocks_of_torchtitan(tmp_path)
    steps = len(build(0, 1).loader)
    whole = rows(itertools.islice(build(0, 1), steps))
    halves = [build(rank, 2) for rank in range(2)]
    assert all(isinstance(half, Stateful) for half in halves)
    begun = [row for half in halves for row in rows(itertools.islice(half, 2))]
    assert halves[0].state_dict() == halves[1].state_dict()
    dcp.save({"dataloader": halves[1]}, checkpoint_id=tmp_path / "checkpoint")
    resumed = build(0, 1)
    resumed.load_state_dict({})
    dcp.load({"dataloader": resumed}, checkpoint_id=tmp_path / "checkpoint")
    assert sorted(begun + rows(itertools.islice(resumed, steps - 4))) == sorted(whole)
