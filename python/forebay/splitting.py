"""One data set as several: disjoint pipelines over the same data. They touch no storage."""

from __future__ import annotations

from ._appending import _float
from .errors import InvalidArgument, Unsupported
from .pipeline import Pipeline

__all__ = ["split"]

# Shares such as 0.7 + 0.2 + 0.1 add up to a little more or less than 1.
_ROUNDING = 1e-9


def split(pipeline: Pipeline, /, *, by: str = "key", stratify: str | None = None, salt: str = "", **shares: float) -> dict[str, Pipeline]:
    """Splits a pipeline into disjoint ones, by a hash that data added later do not change.

        parts = fb.split(fb.images("photos"), train=0.9, val=0.1)
        train = parts["train"].shuffle().decode_image().random_resized_crop(224).batch(64)

    Each sample is in one part at most: in the part whose range of hashes has the hash of its key, or
    of its group. So a sample stays in its part when others are added, on every machine, and for every
    seed. The ranges are those of the shares in the order in which they are given, from 0 on: give
    the same shares again for the same parts. Shares are expected shares: of n samples, or groups, a
    share p has p * n of them, give or take sqrt(n * p * (1 - p)). A class has the same shares, in
    the same sense.

    Args:
        pipeline: without a batch. Its steps so far are those of all parts.
        by: "key", which reads nothing: the path below the root for files, else the name of the file
            and the number of the sample in it, and the number of the sample where there are no
            files. Or the name of a field, a whole number or a text, that tells groups: all samples
            of a patient or a speaker are then in one part. It is read in a pass before the first
            batch, as filters are.
        stratify: Unsupported. Exact shares of each class would move samples from one part to
            another when data are added.
        salt: another text gives another split of the same shares.
        shares: the share of each part, above 0. They add up to 1 at most; samples of the rest are
            in no part.

    Returns a dict from names to pipelines, in the order of the shares. A part is the pipeline with
    `.keep_keys(begin, end)` or `.keep_groups(by, begin, end)` behind it.

    Errors: TypeError if `pipeline` is none; InvalidArgument for shares that are not above 0 or add
    up to more than 1, and for none. `check()` reports an unknown field.
    """
    if not isinstance(pipeline, Pipeline):
        raise TypeError(f"split: the first argument is of type {type(pipeline).__name__}; it is a pipeline: fb.images(…), fb.parquet(…)")
    if stratify is not None:
        raise Unsupported(
            "split: stratify= is not there. Each class has the shares already, as expected shares; exact ones would move samples to "
            "another part when data are added. Leave it out"
        )
    if not isinstance(by, str):
        raise InvalidArgument(f'split: by is {by!r:.100}; give "key", or the name of a field')
    ranges = _ranges(shares)
    given = {"salt": salt} if salt != "" else {}
    if by == "key":
        return {name: pipeline.keep_keys(begin, end, **given) for name, (begin, end) in ranges.items()}
    return {name: pipeline.keep_groups(by, begin, end, **given) for name, (begin, end) in ranges.items()}


def _ranges(shares: dict[str, float]) -> dict[str, tuple[float, float]]:
    if not shares:
        raise InvalidArgument("split: there are no parts; give the share of each: split(pipeline, train=0.9, val=0.1)")
    ranges = {}
    end = 0.0
    for name, share in shares.items():
        share = _float(f"split: {name}", share)
        if not 0 < share <= 1:
            raise InvalidArgument(f"split: {name} is {share}; a share is above 0, and at most 1")
        begin, end = end, end + share
        if end > 1 + _ROUNDING:
            raise InvalidArgument(f"split: the shares add up to {sum(map(float, shares.values())):g}; 1 is the most")
        end = 1.0 if abs(end - 1) <= _ROUNDING else end
        ranges[name] = (begin, end)
    return ranges
