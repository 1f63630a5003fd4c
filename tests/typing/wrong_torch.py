"""Mistakes of users of PyTorch; see `wrong_code.py`."""
from __future__ import annotations

import torch

import forebay as fb

pipeline = fb.arrays(x="x.npy").batch(4)
for batch in fb.Loader(pipeline, output="torch"):
    batch["x"].astype("float32")  # wrong: a tensor is no array of NumPy's
    batch.ids.to("cuda")  # wrong: ids are an array of NumPy's
    label: str = batch["label"]  # wrong: a tensor

plain: fb.Loader[torch.Tensor] = fb.Loader(pipeline)  # wrong: without output= arrays are NumPy's
