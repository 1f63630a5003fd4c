"""Forebay, used as any user would."""

from __future__ import annotations

import json
from typing import Any, Iterator

import forebay as fb


def epochs(job: dict[str, Any]) -> Iterator[Iterator[dict[str, Any]]]:
    """Yields epochs of batches: fields by name, and `ids`."""
    pipeline = fb.Pipeline.from_json(json.dumps({"forebay_pipeline": 1, "steps": job["steps"]}))
    with fb.Loader(pipeline, seed=job["seed"], threads=job["workers"] or "auto", rank=0, world_size=1) as loader:
        while True:
            yield (_fields(batch) for batch in loader)


def _fields(batch: Any) -> dict[str, Any]:
    return {"ids": batch.ids, **{name: batch[name] for name in batch}}
