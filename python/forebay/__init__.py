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

import importlib as _importlib
from typing import TYPE_CHECKING
from typing import Any as _Any

from ._core import Batch, __version__
from ._engine import engine
from ._pyarrow import find_pyarrow as _find_pyarrow
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
from .metrics import serve_metrics
from .mixing import concat, mix
from .pipeline import IMAGENET, Normalization, Pipeline
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
    parquet,
    text,
    webdataset,
)
from .streams import stream
from ._versions import versions

_find_pyarrow()

if TYPE_CHECKING:
    from . import dali as dali
    from . import jax as jax
    from . import tf as tf
    from . import torch as torch
    from .diagnosis import Diagnosis, Remedy, diagnose
    from .materializing import Materialized, materialize
    from .profiling import Estimate, Profile, Strategy, profile
    from .simulating import Simulation, simulate

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
    "mix",
    "parquet",
    "profile",
    "serve_metrics",
    "simulate",
    "stream",
    "text",
    "versions",
    "webdataset",
]

# Adapters to other frameworks. Each imports its framework, so it is loaded on first use.
_FACES = ("dali", "jax", "tf", "torch")

# Most programs use none of these, so that their modules are loaded on first use, too.
_FROM_MODULES = {
    "Diagnosis": "diagnosis",
    "Estimate": "profiling",
    "Materialized": "materializing",
    "Profile": "profiling",
    "Remedy": "diagnosis",
    "Simulation": "simulating",
    "Strategy": "profiling",
    "diagnose": "diagnosis",
    "materialize": "materializing",
    "profile": "profiling",
    "simulate": "simulating",
}


if not TYPE_CHECKING:  # or checkers would accept every name

    def __getattr__(name: str) -> _Any:
        if name in _FACES:
            return _importlib.import_module(f"{__name__}.{name}")
        if module := _FROM_MODULES.get(name):
            value = globals()[name] = getattr(_importlib.import_module(f"{__name__}.{module}"), name)
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_FROM_MODULES})
