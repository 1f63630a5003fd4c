"""Forebay: turns stored data, a pipeline and a seed into a reproducible stream of training batches.

    import forebay as fb

    pipeline = (
        fb.images("photos/train")
        .shuffle()
        .decode_image()
        .random_resized_crop(224)
        .random_flip()
        .normalize(fb.IMAGENET)
        .batch(64)
    )
    with fb.Loader(pipeline, seed=7) as loader:
        for batch in loader:
            batch["image"], batch["label"]  # float32 (64, 3, 224, 224), int64 (64,)
"""

import os as _os

from . import _core
from ._core import Batch, __version__
from ._typing import TYPE_CHECKING
from ._typing import Any as _Any

if TYPE_CHECKING:
    from . import dali as dali
    from . import jax as jax
    from . import tf as tf
    from . import torch as torch
    from ._engine import engine
    from ._versions import versions
    from .diagnosis import Diagnosis, PartCost, Remedy, diagnose
    from .errors import (
        Cancelled,
        Corrupt,
        DataWarning,
        Error,
        Internal,
        InvalidArgument,
        NotFound,
        OutOfBudget,
        Problem,
        StateMismatch,
        Unavailable,
        Unsupported,
        WorkerDied,
    )
    from .loader import Loader, digest
    from .materializing import Materialized, materialize
    from .metrics import serve_metrics
    from .mixing import concat, mix, zip
    from .pipeline import IMAGENET, Normalization, Pipeline
    from .profiling import Estimate, Profile, Strategy, profile
    from .simulating import Simulation, simulate
    from .sources import (
        NULL_MASK,
        Dataset,
        arrays,
        arrow,
        files,
        hdf5,
        images,
        jsonl,
        manifest,
        materialized,
        megatron,
        parquet,
        text,
        webdataset,
    )
    from .splitting import split
    from .streams import stream

_os.register_at_fork(after_in_child=_core.be_quiet_at_exit)

__all__ = [
    "__version__",
    "IMAGENET",
    "NULL_MASK",
    "Batch",
    "Cancelled",
    "Corrupt",
    "DataWarning",
    "Dataset",
    "Diagnosis",
    "Error",
    "Estimate",
    "Internal",
    "InvalidArgument",
    "Loader",
    "Materialized",
    "NotFound",
    "Normalization",
    "OutOfBudget",
    "PartCost",
    "Pipeline",
    "Problem",
    "Profile",
    "Remedy",
    "Simulation",
    "StateMismatch",
    "Strategy",
    "Unavailable",
    "Unsupported",
    "WorkerDied",
    "arrays",
    "arrow",
    "concat",
    "diagnose",
    "digest",
    "engine",
    "files",
    "hdf5",
    "images",
    "jsonl",
    "manifest",
    "materialize",
    "materialized",
    "megatron",
    "mix",
    "parquet",
    "profile",
    "serve_metrics",
    "simulate",
    "split",
    "stream",
    "text",
    "versions",
    "webdataset",
    "zip",
]

# Modules of the package that are attributes of it once they are first used: adapters to other
# frameworks, each of which imports its framework, and those that the names below are from.
_MODULES = {
    "dali": (),
    "jax": (),
    "tf": (),
    "torch": (),
    "_engine": ("engine",),
    "_versions": ("versions",),
    "diagnosis": ("Diagnosis", "PartCost", "Remedy", "diagnose"),
    "errors": (
        "Cancelled", "Corrupt", "DataWarning", "Error", "Internal", "InvalidArgument", "NotFound", "OutOfBudget", "Problem", "StateMismatch", "Unavailable",
        "Unsupported", "WorkerDied",
    ),
    "loader": ("Loader", "digest"),
    "materializing": ("Materialized", "materialize"),
    "mixing": ("concat", "mix", "zip"),
    "metrics": ("serve_metrics",),
    "pipeline": ("IMAGENET", "Normalization", "Pipeline"),
    "profiling": ("Estimate", "Profile", "Strategy", "profile"),
    "simulating": ("Simulation", "simulate"),
    "sources": (
        "NULL_MASK", "Dataset", "arrays", "arrow", "files", "hdf5", "images", "jsonl", "manifest", "materialized", "megatron", "parquet", "text",
        "webdataset",
    ),
    "splitting": ("split",),
    "streams": ("stream",),
}  # fmt: skip
_HOMES = {name: module for module, names in _MODULES.items() for name in names}


if not TYPE_CHECKING:  # or checkers would accept every name

    def __getattr__(name: str) -> _Any:
        from importlib import import_module

        if name in _MODULES:
            return import_module(f"{__name__}.{name}")
        if home := _HOMES.get(name):
            value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
