"""Lengths that the index of a data set has: `.pack()` and `.bucket()` over them read nothing to measure."""
import numpy as np
import pytest
from megatron_files import drawn, write

import forebay as fb

DOCUMENTS = [document for document in drawn(120, longest=20) if sum(map(len, document))]
JOINED = [np.concatenate(document) for document in DOCUMENTS]
LENGTH = 64  # no document is longer


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return write(tmp_path_factory.mktemp("known") / "web", DOCUMENTS)


@pytest.fixture(scope="module")
def mask(tmp_path_factory):
    return write(tmp_path_factory.mktemp("known") / "mask", [[np.ones(len(one), np.uint8)] for one in JOINED], "uint8")


def measured(sample):
    return sample


def bytes_read(loader):
    return sum(store["bytes"] for store in loader.stats()["stores"])


def epoch(pipeline, **options):
    """The batches, and the bytes that were read for them."""
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        batches = [({name: (batch[name] if not isinstance(batch[name], tuple) else np.concatenate(batch[name])).tolist() for name in batch}, batch.ids.tolist())
                   for batch in loader]
        return batches, bytes_read(loader)


PIPELINES = {
    "pack": lambda d: d.pack(LENGTH),
    "best-fit": lambda d: d.pack(LENGTH, how="best-fit", eos=2),
    "cast": lambda d: d.cast("int32", field="tokens").pack(LENGTH, shift=1),
    "names": lambda d: d.rename(tokens="ids").clip(0, 30_000, field="ids").select("ids").rename(ids="x").pack(LENGTH, field="x"),
    "chosen": lambda d: d.take(70).pack(LENGTH),
}


@pytest.mark.parametrize("kind", PIPELINES)
def test_packs_are_those_of_measured_lengths_and_nothing_is_read_for_them(prefix, kind):
    make = PIPELINES[kind]
    read = sum(2 * len(row) for row in (JOINED[:70] if kind == "chosen" else JOINED))
    known, bytes_known = epoch(make(fb.megatron(prefix).cast("uint16", field="tokens")).shuffle().batch(4), seed=1)
    by_pass, bytes_by_pass = epoch(make(fb.megatron(prefix).map(measured, version="1")).shuffle().batch(4), seed=1)
    assert known == by_pass
    assert bytes_by_pass - bytes_known == read


def test_buckets_are_those_of_measured_lengths_and_nothing_is_read_for_them(prefix):
    def bucketed(pipeline, **options):
        return pipeline.shuffle().bucket(by="tokens", tokens=300, **options)

    known, bytes_known = epoch(bucketed(fb.megatron(prefix)), seed=1)
    by_pass, bytes_by_pass = epoch(bucketed(fb.megatron(prefix).map(measured, version="1"), ragged=["tokens"]), seed=1)
    assert known == by_pass
    assert bytes_by_pass - bytes_known == sum(2 * len(row) for row in JOINED)


def test_parts_of_a_zip_know_their_lengths_too(prefix, mask):
    fields = {"tokens": LENGTH, "mask": LENGTH}
    pair = fb.zip(fb.megatron(prefix), mask=fb.megatron(mask).rename(tokens="mask"))
    known, bytes_known = epoch(pair.pack(fields).batch(4))
    by_pass, bytes_by_pass = epoch(pair.map(measured, version="1").pack(fields).batch(4))
    assert known == by_pass and bytes_by_pass - bytes_known == 3 * sum(map(len, JOINED))


def test_fields_of_different_lengths_are_found_in_the_index(prefix, tmp_path):
    other = write(tmp_path / "mask", [[np.ones(len(one) + (i == 3), np.uint8)] for i, one in enumerate(JOINED)], "uint8")
    pipeline = fb.zip(fb.megatron(prefix), mask=fb.megatron(other).rename(tokens="mask")).pack({"tokens": LENGTH, "mask": LENGTH}).batch(4)
    with pytest.raises(fb.Corrupt, match=r"have? .*one length in each sample") as caught:
        epoch(pipeline)
    assert caught.value.sample == 3
    with fb.Loader(pipeline, epochs=1, on_error="skip") as loader:
        assert sum(1 for _ in loader) > 0 and [error["sample"] for error in loader.errors()] == [3]


def test_rows_of_one_known_length_need_no_pass():
    tokens = np.arange(300, dtype=np.int32).reshape(100, 3)
    calls = []

    def never(sample):
        calls.append(1)
        return sample

    with fb.Loader(fb.arrays(tokens=tokens).pack(7).batch(2), epochs=1) as loader:
        rows = np.concatenate([np.array(batch["tokens"]) for batch in loader])
    assert np.array_equal(rows[:, :6].reshape(-1, 3), tokens)
    with fb.Loader(fb.arrays(tokens=tokens).map(never).pack(7).batch(2), epochs=1) as loader:
        for _ in loader:
            pass
    assert len(calls) == 200, "a function may give other rows, so they are measured"


def test_ranks_agree_and_a_run_goes_on(prefix):
    pipeline = fb.megatron(prefix).shuffle().pack(LENGTH).batch(2, last="pad")
    digests = {fb.digest(*[fb.Loader(pipeline, epochs=1, seed=3, rank=rank, world_size=world) for rank in range(world)]) for world in (1, 2, 3)}
    assert len(digests) == 1
    with fb.Loader(pipeline, epochs=1) as loader:
        whole = [batch.ids.tolist() for batch in loader]
    with fb.Loader(pipeline, epochs=1) as loader:
        next(iter(loader))
        state = loader.state_dict()
    with fb.Loader(pipeline, epochs=1) as loader:
        loader.load_state_dict(state)
        assert [batch.ids.tolist() for batch in loader] == whole[1:]
