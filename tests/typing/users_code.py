"""Code as users write it, which type checkers accept in their strict modes. Nothing here is run: `test_typing.py` has it checked.

Each assert_type() says which type a checker sees, so that an answer of Any fails."""
from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from typing_extensions import assert_type

import forebay as fb


def photographs(folder: Path) -> fb.Pipeline:
    pipeline = (
        fb.images(folder).shuffle().decode_image().random_resized_crop(224, scale=(0.2, 1.0)).random_flip().color_jitter(0.4, hue=(-0.1, 0.1))
        .normalize(fb.IMAGENET).batch(64, last="drop"))
    assert_type(pipeline, fb.Pipeline)
    assert_type(pipeline.classes, list[str])
    assert_type(fb.Pipeline.from_json(pipeline.to_json()), fb.Pipeline)
    for problem in pipeline.check():
        assert_type(problem, fb.Problem)
        print(problem.operator, problem.message, problem.remedy)
    return pipeline


def many_data_sets(web: fb.Pipeline, code: fb.Pipeline) -> fb.Pipeline:
    both = fb.mix({"web": web, "code": code}, weights={"web": 3, "code": 0.5}, samples=1000, field="part")
    assert_type(both, fb.Pipeline)
    staged = fb.mix({"web": web, "code": code}, schedule=[(0, {"web": 1, "code": 0}), (1000, {"web": 0.5, "code": 0.5})], ramp="linear")
    assert_type(fb.concat(both, staged, more=web).repeat(2.5), fb.Pipeline)
    assert_type(fb.zip(web, more=code, on="key", missing="drop"), fb.Pipeline)
    return staged


def fields_of_a_batch(pipeline: fb.Pipeline) -> None:
    loader = fb.Loader(pipeline)
    assert_type(loader, fb.Loader[NDArray[Any]])
    batch = next(iter(loader))
    assert_type(batch, fb.Batch[NDArray[Any]])
    assert_type(batch["label"], NDArray[Any])
    assert_type(batch.ids, NDArray[np.int64])
    assert_type(batch.positions, NDArray[np.int64])
    assert_type((batch.padding, batch.epoch, batch.step, len(batch)), tuple[int, int, int, int])
    assert_type(list(batch), list[str])
    assert_type(batch.keys(), list[str])
    for name, value in batch.items():
        assert_type((name, value), tuple[str, NDArray[Any]])
    assert_type(batch.buffers("key"), tuple[NDArray[Any], ...])
    if "tokens" in batch:
        values, offsets = batch["tokens"]  # a ragged field
        print(values[offsets[0] : offsets[1]])
    keys = cast("list[str]", batch["key"])  # a field of text
    print(keys[0].upper())


def any_loader(loader: fb.Loader, other: fb.Loader[Any]) -> str:
    """A loader without a type argument is one of NumPy's arrays."""
    assert_type(next(iter(loader))["x"], NDArray[Any])
    return fb.digest(loader, other)


def brighter(sample: dict[str, Any]) -> dict[str, Any]:
    return {**sample, "image": sample["image"] + 1}


def noisy(sample: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    return {"x": sample["x"] + rng.normal(size=3)}


def functions(folder: str) -> fb.Pipeline:
    def has_label(sample: dict[str, Any]) -> bool:
        return bool(sample["label"] >= 0)

    return (fb.images(folder).filter(has_label, fields=["label"]).decode_image().map(brighter, workers="processes", version="1").map(noisy, fields="x", random=True)
            .rename(image="picture").select("picture").batch(8))


class Rows:
    def __len__(self) -> int:
        return 100

    def __getitem__(self, i: int) -> dict[str, NDArray[np.float32]]:
        return {"x": np.full(3, i, np.float32)}


def sources(folder: Path) -> list[fb.Pipeline]:
    return [
        fb.arrays(x=np.zeros((4, 3)), y="y.npy"),
        fb.files([folder / "a", "b"]),
        fb.manifest("list.csv", root=folder, columns=["label"]),
        fb.parquet("rows/*.parquet", columns=["id", "text"], null=fb.NULL_MASK).shuffle(block=8).cache(disk="10GiB"),
        fb.arrow("rows.arrow"),
        fb.webdataset("shards/{000..099}.tar"),
        fb.text("books/*.txt", by="line").tokenize("tokenizer.json").pack(2048),
        fb.parquet("chats/*.parquet").pack({"tokens": 2048, "loss_mask": 2048}, how="best-fit", eos={"tokens": 2}, shift=1, pad_value={"labels": -1}),
        fb.jsonl("records.jsonl"),
        fb.hdf5("trace.h5", fields={"x": "/x"}, window=16),
        fb.megatron("corpora/web_text_document", by="sequence"),
        fb.Dataset(Rows(), workers="threads"),
    ]


def events(offset: int) -> Iterator[dict[str, int]]:
    while True:
        yield {"n": offset}
        offset += 1


def streams() -> None:
    follow = fb.stream("redis://host/0?stream=events", fields={"n": "int64"}).shuffle(window=1000).batch(32)
    with fb.Loader(follow, steps_per_epoch=100, journal=None) as loader:
        loader.journal("run.journal")
    own = fb.stream(events).batch(4)
    with fb.Loader(own, steps_per_epoch=10, progress=True) as loader:
        assert_type([batch.ids for batch in loader], list[NDArray[np.int64]])


def shared(pipeline: fb.Pipeline) -> None:
    with fb.Loader(pipeline, share="auto", together=True, memory="2GiB") as loader:
        assert_type(next(iter(loader))["x"], NDArray[Any])


def ranks(pipeline: fb.Pipeline) -> fb.Loader:
    return fb.Loader(pipeline, rank=1, world_size=4, hosts=2, peers=["a:1", "b:1", "c:1", "d:1"], shard_by="locality", storage_options={"anonymous": True})


def studies(pipeline: fb.Pipeline) -> None:
    def step() -> None:
        print("trained")

    found = fb.diagnose(pipeline, step)
    assert_type(found, fb.Diagnosis)
    assert_type(fb.profile(pipeline, time="10s").best.pipeline, fb.Pipeline)
    print(fb.materialize(pipeline, "out/", format="arrow"))
    with fb.serve_metrics(0) as server:
        assert_type(server.url, str)


def errors(loader: fb.Loader) -> None:
    try:
        next(iter(loader))
    except (fb.Corrupt, fb.NotFound) as error:
        assert_type(error.key, str | None)
        print(error.code, error.operator, error.sample)
    except fb.InvalidArgument as error:
        assert_type(error.problems, list[fb.Problem])
