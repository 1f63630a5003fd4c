"""Mistakes of users of JAX; see `wrong_code.py`."""
from __future__ import annotations

import forebay as fb

pipeline = fb.arrays(x="x.npy").batch(4)
fb.jax.iterate(pipeline, seeds=7)  # wrong: no such option of the loader
for batch in fb.Loader(pipeline, output="jax"):
    batch["x"].to("cuda")  # wrong: an array of JAX's is no tensor
