"""Checks whether two loaders delivered the same. Each difference is a sentence."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["of_epoch", "of_timed", "of_values"]

MEAN_TOLERANCE = 0.02    # relative to the range of values: decoders and resamplers round differently, which is not less work
MOST_TOLERANCE = 0.1     # the 99th percentile of differences, likewise
STATISTICS_TOLERANCE = 0.1  # relative to the deviation of all values: random numbers differ


def of_values(ours: str, theirs: str) -> list[str]:
    """Compares pictures without random numbers, sample by sample."""
    with np.load(ours) as file:
        mine = dict(zip(file["ids"].tolist(), file["image"].astype(np.float64)))
    with np.load(theirs) as file:
        other = dict(zip(file["ids"].tolist(), file["image"].astype(np.float64)))
    if set(mine) != set(other):
        return ["other samples came when the steps had no random numbers"]
    wide = max(max(image.max() for image in mine.values()) - min(image.min() for image in mine.values()), 1e-9)
    for number, image in mine.items():
        if image.shape != other[number].shape:
            return [f"sample {number} is {list(other[number].shape)}, not {list(image.shape)}"]
        apart = np.abs(image - other[number]) / wide
        if apart.mean() > MEAN_TOLERANCE or np.quantile(apart, 0.99) > MOST_TOLERANCE:
            return [f"without random numbers, the picture of sample {number} differs by {100 * apart.mean():.1f} % of the range of values"]
    return []


def of_epoch(ours: dict[str, Any], theirs: dict[str, Any], *, ordered: bool, drop_last: bool) -> list[str]:
    """Compares the content of an epoch, random numbers included."""
    found = []
    if ours["forms"] != theirs["forms"]:
        found.append(f"it delivers {_forms(theirs)}, not {_forms(ours)}")
    if len(set(theirs["ids"])) != len(theirs["ids"]):
        found.append("it delivers samples more than once")
    if len(ours["ids"]) != len(theirs["ids"]) or (not drop_last and set(ours["ids"]) != set(theirs["ids"])):
        found.append(f"it delivers {len(set(theirs['ids']))} samples an epoch, not {len(ours['ids'])}, or others")
    if sorted(ours["sizes"]) != sorted(theirs["sizes"]):
        found.append("its batches have other sizes")
    if ordered and ours["ids"] != theirs["ids"]:
        found.append("it delivers another order, though nothing is shuffled")
    if not ordered and len(theirs["ids"]) > 20 and theirs["ids"] == sorted(theirs["ids"]):
        found.append("it delivers in the order of storage, though the pipeline shuffles")
    for name in ("labels", "keys"):
        both = set(ours[name]) & set(theirs[name])
        wrong = [number for number in both if ours[name][number] != theirs[name][number]]
        if wrong:
            found.append(f"{len(wrong)} samples have other {name}")
    deviation = max(ours["deviation"], 1e-9)
    if abs(ours["mean"] - theirs["mean"]) > STATISTICS_TOLERANCE * deviation or abs(
        theirs["deviation"] / deviation - 1
    ) > STATISTICS_TOLERANCE:
        found.append(f"its pictures have the mean {theirs['mean']:.3f} and the deviation {theirs['deviation']:.3f}, "
                     f"not {ours['mean']:.3f} and {ours['deviation']:.3f}")
    return found


def of_timed(epochs: list[dict[str, Any]], samples: int) -> list[str]:
    """Checks timed epochs: each sample must occur once, and none may be missing."""
    if any(epoch["samples"] != samples or epoch["distinct"] != samples for epoch in epochs):
        return [f"an epoch that was timed did not have each of {samples} samples once"]
    return []


def _forms(record: dict[str, Any]) -> str:
    return ", ".join(f"{name} ({form})" for name, form in record["forms"].items())
