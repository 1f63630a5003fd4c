"""Code of users of JAX, which type checkers accept in their strict modes; see `users_code.py`."""
from __future__ import annotations

from typing import Any

import jax
from typing_extensions import assert_type

import forebay as fb


def output_of_jax(pipeline: fb.Pipeline) -> jax.Array:
    with fb.Loader(pipeline, output="jax") as loader:
        assert_type(loader, fb.Loader[jax.Array])
        for batch in loader:
            assert_type(batch["x"], jax.Array)
            return batch["x"]
    raise AssertionError


def other_frameworks(pipeline: fb.Pipeline, mesh: jax.sharding.Mesh) -> None:
    with fb.jax.iterate(pipeline, mesh, seed=7, threads=2) as batches:
        for batch in batches:
            print(batch["x"])
        assert_type(batches.state_dict(), dict[str, Any])
