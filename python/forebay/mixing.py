"""Many data sets as one: sources that are made of other pipelines. They touch no storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import _core
from ._appending import _float, plain_args
from ._numpy import np
from ._typing import Any
from .errors import InvalidArgument
from .pipeline import Pipeline

__all__ = ["concat", "mix", "zip"]


def mix(
    parts: Mapping[str, Pipeline],
    weights: Mapping[str, float] | None = None,
    temperature: float | None = None,
    schedule: Sequence[tuple[int, Mapping[str, float]]] | None = None,
    ramp: str = "step",
    samples: int | None = None,
    end: str = "first",
    field: str | None = None,
    missing: str = "error",
) -> Pipeline:
    """Describes several pipelines as one data set, mixed.

        pipeline = (
            fb.mix({"web": fb.parquet("web").shuffle(), "code": fb.text("code").shuffle()}, weights={"web": 3, "code": 1})
            .tokenize("tokenizer.json")
            .pad("tokens", length=512)
            .batch(8)
        )

    A part is a pipeline without a batch: its own source, shuffle, steps and caches. It may be a mix
    itself. Steps behind a mix apply to the samples of all parts, which must have the same fields
    there.

    Which part a position is given to, and which of its samples that is, follow from seed and
    position. With shares, each part has its share to within one sample after any number of blocks
    of 1,024 positions, and inside a block the parts come at random. A part whose samples are used up
    begins its next pass, shuffled anew. In the next epoch parts go on where they stand. Without
    weights, temperature and schedule an epoch has each sample of each part once, shuffled over all
    parts.

    Args:
        parts: the pipelines by name. Names are not empty and have no "/".
        weights: the share of each part. They need not add up to 1; a part of weight 0 is not read.
        temperature: shares by size: proportional to size ** (1 / temperature). 1 gives parts the
            shares of their sizes, and larger numbers make the shares more alike.
        schedule: stages, as pairs of the position from which weights hold and the weights. The first
            stage begins at 0. Positions count samples of all ranks and over all epochs.
        ramp: "step": a stage holds until the next one begins. "linear": weights move from those of a
            stage at its beginning to those of the next one at its beginning.
        samples: the length of an epoch, for all ranks together.
        end: the length of an epoch if `samples` is not given. "first": it ends before the first part
            would begin its second pass. "all": it ends when each part has been passed once. A stream
            among the parts has no second pass: with "first" the first data set ends an epoch, and
            "all" is a problem.
        field: name of an int64 field that is added: the number of the sample's part, in the order of
            `parts`.
        missing: "error": a field that only some of the parts have is a problem. "mask": the others have
            zeros there (empty texts, empty rows of fields whose rows differ in length), and each
            sample gets a bool field `<name>_valid`, unless a part has one already.

    Errors: TypeError if a part is no pipeline; InvalidArgument for parts that nest deeper than 16
    levels. `check()` reports all other mistakes, and names the part of each.
    """
    if not isinstance(parts, Mapping):
        raise TypeError(f"mix: parts are a dict from names to pipelines, not {type(parts).__name__}; fb.concat(a, b) takes them without names")
    args = {
        "weights": _weights("mix: weights", parts, weights),
        "temperature": None if temperature is None else _float("mix: temperature", temperature),
        "schedule": _schedule(parts, schedule),
        "ramp": None if ramp == "step" else ramp,
        "samples": samples,
        "end": None if end == "first" else end,
        "field": field,
        "missing": None if missing == "error" else missing,
    }
    return _of_parts("mix", list(parts.items()), args)


def concat(*parts: Pipeline, **named: Pipeline) -> Pipeline:
    """Describes several pipelines as one data set, one after the other.

        fb.concat(fb.jsonl("2024.jsonl"), fb.jsonl("2025.jsonl")).batch(32)

    A part is a pipeline without a batch, as for `mix`. An epoch has the samples of the first part in
    the order of that part, then those of the next one. `fb.mix` without weights shuffles over all
    parts.

    Args:
        parts: pipelines. Messages call them "0", "1", and so on.
        named: more of them, with names, behind the others.

    Errors: those of `mix`.
    """
    return _of_parts("concat", [*((str(number), part) for number, part in enumerate(parts)), *named.items()], {})


def zip(*parts: Pipeline, on: str | None = None, missing: str = "error", end: str = "error", **named: Pipeline) -> Pipeline:
    """Describes several pipelines side by side: a sample has the fields of all of them.

        pairs = fb.zip(
            image=fb.images("photos", split_by="none").decode_image(),
            mask=fb.images("masks", split_by="none").decode_image(mode="gray").rename(image="mask"),
            on="key",
        )
        pipeline = pairs.shuffle().random_crop(224, field=["image", "mask"]).batch(32)

    A part is a pipeline without a batch: a source, and steps that see the fields of this part alone.
    Steps behind the zip see those of all parts, under their own names. Two parts must not give
    fields of one name; `.rename()` and `.select()` in a part settle that. The field `key`, and the
    one that is named by `on`, is taken from the first part alone.

    Samples come in the order of the first part: by its `.shuffle()`, or by one behind the zip.
    `batch.ids` number the samples of the zip.

    Another part may have draws of its own, by `.sample()` or `.balance()`, as noise that is drawn
    anew for each recording:

        fb.zip(speech=speech.shuffle(), noise=noise.shuffle().sample(weights="hours"))

    It gives one draw for each sample of the other parts, in the sequence that it would give alone,
    and goes on with it from epoch to epoch. It may have any number of samples, `on` is not for it,
    and its steps may choose samples. With n samples of the other parts, `batch.ids` are then
    i + n * j for sample i of these and sample j of this part.

    A function in a part (`.map`) sees the fields of the part. A `.select()` behind it in the part
    names those that leave it, and so does one behind an `fb.Dataset`.

    A part may choose its samples (`.take`, `.filter`, `.only`, `fb.split`): the zip joins those that
    it has chosen. It may have a `.cache()`, which keeps the fields of this part alone.

    A sample is bad if it is bad in any part; what `on_error` does then, it does to the whole sample.

    All sources but streams and those that are made of other pipelines may be parts. The first part
    is read as it would be alone. Tables, lines and tar files that are not the first part, or that
    are beside files or draws, are held in memory: 4 GiB are the most for each, or the loader's
    `memory`.

    Args:
        parts: pipelines. Messages call them "0", "1", and so on.
        named: more of them, with names, behind the others.
        on: None: sample i of each part belongs together. "key": samples with the same key, which is
            the path below the root without its extension, and in a tar file the name of a sample.
            Otherwise the name of a field that the source of each part has, of text or of whole
            numbers, which is known without reading the sample's file. Several samples of the first
            part may belong to one of another part.
        missing: what becomes of samples of the first part without a partner in every other part.
            "error": InvalidArgument, which names a few of them. "drop": they are left out. Samples
            of the other parts without a partner are never an error.
        end: by position, for parts of unequal numbers of samples. "error": InvalidArgument, with
            the numbers. "first": the zip ends with the shortest part.

    Errors: those of `mix`. Opening the loader (or its first batch, if a part has a `.filter`) raises
    those of `missing` and `end`, InvalidArgument
    if two samples of another part than the first have one value of `on`, and OutOfBudget for a part
    that is too large to be held in memory.
    """
    args = {"on": on, "missing": None if missing == "error" else missing, "end": None if end == "error" else end}
    return _of_parts("zip", [*((str(number), part) for number, part in enumerate(parts)), *named.items()], args)


def _of_parts(source: str, parts: list[tuple[str, Pipeline]], args: Mapping[str, Any]) -> Pipeline:
    functions: dict[int, Any] = {}
    descriptions = []
    steps = 0
    for name, part in parts:
        if not isinstance(name, str):
            raise TypeError(f"{source}: names of parts are text; got {name!r} of type {type(name).__name__}")
        if not isinstance(part, Pipeline):
            raise TypeError(f"{source}: the part '{name}' is of type {type(part).__name__}; parts are pipelines: fb.parquet(…), fb.Dataset(…)")
        if part._description.depth() >= _core.DEEPEST_PARTS:
            raise InvalidArgument(f"{source}: the part '{name}' has {part._description.depth()} levels of parts; {_core.DEEPEST_PARTS} are the most")
        descriptions.append((name, part._description))
        functions.update({steps + step: function for step, function in part._functions.items()})
        steps += part._description.step_count()
    return Pipeline(_core.Description.of_parts(source, descriptions, plain_args(source, args)), functions)


def _schedule(parts: Mapping[str, Pipeline], stages: Any) -> Any:
    if not isinstance(stages, (list, tuple)):
        return stages
    plain = []
    for stage in stages:
        pair = isinstance(stage, (list, tuple)) and len(stage) == 2
        plain.append([stage[0], _weights("mix: schedule", parts, stage[1])] if pair else stage)
    return plain


def _weights(what: str, parts: Mapping[str, Pipeline], weights: Any) -> Any:
    """Returns weights in the order of the parts: the order in which they were given is of no
    meaning.
    """
    if not isinstance(weights, Mapping):
        return weights
    if bad := [name for name in weights if not isinstance(name, str)]:
        raise TypeError(f"{what}: names of parts are text; got {bad[0]!r} of type {type(bad[0]).__name__}")
    plain = {name: _weight(weight) for name, weight in weights.items()}
    return {name: plain[name] for name in [*parts, *plain] if name in plain}


def _weight(weight: Any) -> Any:
    number = isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool)
    return float(weight) if number else weight
