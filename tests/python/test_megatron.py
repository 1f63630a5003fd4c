"""`fb.megatron`: the tokens that Megatron-LM would read, in any order, by any ranks, from any place; damage is told when a loader is opened."""
import importlib.util
import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from caching import TIERS
from loading import epochs, one_epoch
from megatron_files import CODES, drawn, index_bytes, write
from plain_bucket import Bucket, serving

import forebay as fb

DOCUMENTS = drawn(150)
JOINED = [np.concatenate(document) for document in DOCUMENTS]
SEQUENCES = [sequence for document in DOCUMENTS for sequence in document]


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    return write(tmp_path_factory.mktemp("megatron") / "web_text_document", DOCUMENTS)


def rows(pipeline, field="tokens", **options):
    """The values of one epoch by id."""
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            values, offsets = batch[field]
            for i, id in enumerate(batch.ids[: len(batch) - batch.padding].tolist()):
                found[id] = np.array(values[offsets[i]:offsets[i + 1]])
    return found


def same(found, expected, dtype=np.uint16):
    assert sorted(found) == list(range(len(expected)))
    for id, row in enumerate(expected):
        assert found[id].dtype == dtype
        assert np.array_equal(found[id], row), id


def test_documents_have_all_their_sequences(prefix):
    same(rows(fb.megatron(prefix).batch(7)), JOINED)
    same(rows(fb.megatron(prefix).shuffle().batch(7), seed=3), JOINED)


def test_sequences_by_themselves(prefix):
    same(rows(fb.megatron(prefix, by="sequence").batch(16)), SEQUENCES)


@pytest.mark.parametrize("dtype", CODES)
def test_every_type(tmp_path, dtype):
    documents = drawn(20, vocabulary=100)
    found = rows(fb.megatron(write(tmp_path / "a", documents, dtype)).batch(4))
    same(found, [np.concatenate(document).astype(dtype) for document in documents], np.dtype(dtype))


def test_modes_are_a_field_of_sequences(tmp_path):
    modes = np.arange(len(SEQUENCES)) % 3 - 1
    prefix = write(tmp_path / "a", DOCUMENTS, modes=modes)
    with fb.Loader(fb.megatron(prefix, by="sequence").shuffle().batch(16), seed=1) as loader:
        for batch in itertools.islice(loader, len(loader)):
            assert batch["mode"].dtype == np.int8
            assert np.array_equal(batch["mode"], modes[batch.ids])
    with fb.Loader(fb.megatron(prefix, by="sequence").select("mode").batch(16)) as loader:
        assert np.array_equal(next(iter(loader))["mode"], modes[:16])
    with fb.Loader(fb.megatron(prefix).batch(1)) as loader:
        assert "mode" not in next(iter(loader))


def test_threads_ranks_and_caches_change_nothing(prefix, tmp_path):
    pipeline = fb.megatron(prefix).shuffle()
    expected = epochs(pipeline.batch(8), count=2)
    assert epochs(pipeline.batch(8), count=2, threads=1) == expected
    assert epochs(pipeline.cache(ram="1MiB", disk="1MiB", dir=str(tmp_path)).batch(8), count=2) == expected
    found = []
    for rank in range(3):
        with fb.Loader(pipeline.batch(5), seed=7, rank=rank, world_size=3) as loader:
            for batch in loader:
                real = len(batch) - batch.padding
                found += zip(batch.positions[:real].tolist(), batch.ids[:real].tolist(), strict=True)
    with fb.Loader(pipeline.batch(8), seed=7) as loader:
        alone = [pair for batch in loader for pair in zip(batch.positions.tolist(), batch.ids.tolist(), strict=True)]
    assert sorted(set(found)) == alone


def test_a_run_goes_on_with_other_ranks(prefix):
    pipeline = fb.megatron(prefix).shuffle()
    with fb.Loader(pipeline.batch(8), seed=7) as loader:
        for _ in range(5):
            next(iter(loader))
        state = loader.state_dict()
        rest = [id for batch in loader for id in batch.ids.tolist()]
    assert len(str(state)) < 1500
    resumed = []
    for rank in range(2):
        with fb.Loader(pipeline.batch(3), seed=7, rank=rank, world_size=2) as loader:
            loader.load_state_dict(state)
            resumed += [id for batch in loader for id in batch.ids[: len(batch) - batch.padding].tolist()]
    assert sorted(set(resumed)) == sorted(rest)


def test_packs_take_all_tokens(prefix):
    with fb.Loader(fb.megatron(prefix).pack(64).batch(8), epochs=1) as loader:
        tokens = np.concatenate([batch["tokens"][batch["segments"] > 0] for batch in loader])
    assert tokens.dtype == np.uint16
    assert sorted(tokens.tolist()) == sorted(np.concatenate(JOINED).tolist())


def test_a_blend_of_prefixes(prefix, tmp_path):
    other = write(tmp_path / "code", drawn(80, seed=1))
    blend = fb.mix({"web": fb.megatron(prefix).shuffle(), "code": fb.megatron(other).shuffle()}, weights={"web": 7, "code": 3}, samples=1000)
    with fb.Loader(blend.batch(50), seed=5, epochs=1) as loader:
        parts = np.concatenate([batch.parts for batch in loader])
    assert abs(np.bincount(parts)[0] - 700) <= 1
    assert one_epoch(blend.batch(50), threads=1) == one_epoch(blend.batch(13))


def test_the_fingerprint_follows_the_data_and_not_the_place(prefix, tmp_path):
    def fingerprint(at, **how):
        with fb.Loader(fb.megatron(at, **how).batch(1)) as loader:
            return loader.fingerprint

    assert fingerprint(write(tmp_path / "copy", DOCUMENTS)) == fingerprint(prefix)
    assert fingerprint(write(tmp_path / "fewer", DOCUMENTS[1:])) != fingerprint(prefix)
    assert fingerprint(prefix, by="sequence") != fingerprint(prefix)


def test_from_a_bucket_samples_are_ranges(prefix):
    files = {f"data/web.{end}": open(f"{prefix}.{end}", "rb").read() for end in ("bin", "idx")}
    bucket = Bucket(files)
    with serving(bucket) as options:
        same(rows(fb.megatron("s3://data/data/web").batch(7), storage_options=options), JOINED)
        same(rows(fb.megatron(f"{options['endpoint']}/data/data/web", by="sequence").batch(7)), SEQUENCES)
    ranges = [{name.lower(): value for name, value in headers.items()}["range"] for command, path, headers in bucket.asked
              if command == "GET" and path.endswith(".bin")]
    assert ranges.count(f"bytes=0-{len(JOINED[0]) * 2 - 1}") >= 1


def test_tokens_without_an_index_are_arrays(tmp_path):
    """Raw tokens of one type, such as nanoGPT's train.bin, and .npy files are arrays."""
    tokens = np.arange(1000, dtype=np.uint16)
    tokens.tofile(tmp_path / "train.bin")
    raw = np.memmap(tmp_path / "train.bin", np.uint16, "r")
    windows = raw[: len(raw) // 33 * 33].reshape(-1, 33)
    np.save(tmp_path / "train.npy", windows)
    with fb.Loader(fb.arrays(tokens=windows).shuffle().batch(5), seed=2) as loader:
        batch = next(iter(loader))
        assert np.array_equal(batch["tokens"], windows[batch.ids])
    assert one_epoch(fb.arrays(tokens=windows).batch(4)) == one_epoch(fb.arrays(tokens=str(tmp_path / "train.npy")).batch(4))


# What the .idx file holds, the error, and words of its message.
DAMAGED = [
    (b"", fb.Corrupt, "empty"),
    (b"PAR1" * 20, fb.Error, "expected the .idx file of a Megatron data set"),
    (index_bytes("uint16", [3, 2], [0, 1, 2])[:-1], fb.Corrupt, "2 sequences and 3 document indices of its header; the file is truncated"),
    (index_bytes("uint16", [3, 2], [0, 1, 2]) + b"\0", fb.Corrupt, "truncated or damaged"),
    (index_bytes("uint16", [3, -2], [0, 1, 2], pointers=[0, 6]), fb.Corrupt, "sequence 1 has -2 tokens"),
    (index_bytes("uint16", [3, 2], [0, 1, 2], pointers=[0, 8]), fb.Corrupt, "sequence 1 has 4 bytes from byte 8 on, and the .bin file has 10 bytes"),
    (index_bytes("uint16", [3, 2], [0, 1, 2], pointers=[-2, 6]), fb.Corrupt, "sequence 0 has 6 bytes from byte -2 on"),
    (index_bytes("uint16", [3, 2], [0, 2, 1]), fb.Corrupt, "document 2 begins at sequence 1, and the one before at 2"),
    (index_bytes("uint16", [3, 2], [0, 1]), fb.Corrupt, 'ends its last document at sequence 1, and there are 2 sequences; by="sequence" reads'),
    (index_bytes("uint16", [3, 2], [0, 2], pointers=[4, 0]), fb.Unsupported, 'in pieces: sequence 1 begins at byte 0.*by="sequence"'),
    (index_bytes("uint16", [0, 0], [0, 1, 2]), fb.InvalidArgument, "holds no token"),
    (index_bytes("uint16", [3, 2], [0, 1, 2]).replace(b"\x01", b"\x02", 1), fb.Unsupported, "version 2 of the format; known is 1"),
]


@pytest.mark.parametrize("index, error, words", DAMAGED, ids=lambda one: one if isinstance(one, str) else "")
def test_a_damaged_index_is_told_when_a_loader_is_opened(tmp_path, index, error, words):
    (tmp_path / "a.bin").write_bytes(bytes(10))
    (tmp_path / "a.idx").write_bytes(index)
    with pytest.raises(error, match=words) as told:
        fb.Loader(fb.megatron(tmp_path / "a").batch(1))
    assert told.value.key.endswith("a.idx")


def test_a_missing_file_is_named(tmp_path):
    (tmp_path / "a.idx").write_bytes(index_bytes("uint16", [3], [0, 1]))
    with pytest.raises(fb.NotFound, match=r"there is no .*/a\.bin; a Megatron data set is two files, and its prefix"):
        fb.Loader(fb.megatron(tmp_path / "a").batch(1))
    with pytest.raises(fb.NotFound, match=r"there is no .*/b\.idx"):
        fb.Loader(fb.megatron(tmp_path / "b").batch(1))


def test_a_file_that_is_cut_while_it_is_read_is_corrupt(tmp_path):
    prefix = write(tmp_path / "a", DOCUMENTS)
    with fb.Loader(fb.megatron(prefix).batch(10)) as loader:
        os.truncate(f"{prefix}.bin", 1000)
        with pytest.raises(fb.Corrupt, match=r"a\.bin"):
            for _ in range(10):  # far more than a loader reads ahead
                list(loader)


@pytest.mark.parametrize(("args", "message", "remedy"), [
    ({"prefix": ""}, "prefix is empty", "without .bin and .idx"),
    ({"prefix": "a.bin"}, "prefix is 'a.bin', which is one of two files", "give the prefix of both: 'a'"),
    ({"prefix": "a/b.idx"}, "prefix is 'a/b.idx', which is one of two files", "give the prefix of both: 'a/b'"),
    ({"prefix": "a.npy"}, "prefix is 'a.npy', an array", 'fb.arrays(tokens="a.npy")'),
    ({"prefix": "a", "by": "token"}, 'by is "token"', 'give "document" or "sequence"'),
])
def test_check_says_what_is_wrong(args, message, remedy):
    problems = [problem for problem in fb.megatron(**args).check() if problem.operator.endswith("megatron")]
    assert [(message in one.message, remedy in one.remedy) for one in problems] == [(True, True)], problems


def test_json_both_ways():
    pipeline = fb.megatron("corpora/web", by="sequence").shuffle().pack(8).batch(2)
    assert fb.Pipeline.from_json(pipeline.to_json()).to_json() == pipeline.to_json()
    assert pipeline.check() == []


BUILD = """
import sys, numpy as np, torch
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder
prefix, theirs = sys.argv[1:]
builder = IndexedDatasetBuilder(theirs + ".bin", dtype=np.int32, multimodal=True)
for document in range(20):
    for sequence in range(document % 3 + 1):
        builder.add_item(torch.arange(document * 10, document * 10 + sequence + 2), mode=sequence)
    builder.end_document()
builder.finalize(theirs + ".idx")
read = IndexedDataset(prefix)
documents = [read[i] for i in range(len(read))]
np.savez(theirs + ".npz", lengths=read.sequence_lengths, documents=read.document_indices, tokens=np.concatenate(documents))
"""


def test_megatrons_own_reader_and_writer_agree(prefix, tmp_path):
    """Runs where megatron.core can be imported (PYTHONPATH may name a checkout)."""
    if importlib.util.find_spec("megatron") is None:
        pytest.skip("not installed: megatron.core")
    theirs = str(tmp_path / "theirs")
    done = subprocess.run([sys.executable, "-c", BUILD, prefix, theirs], capture_output=True, text=True, timeout=300)
    if "ModuleNotFoundError" in done.stderr:
        pytest.skip(f"megatron.core cannot be imported: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    read = np.load(theirs + ".npz")
    assert read["lengths"].tolist() == [len(sequence) for sequence in SEQUENCES]
    assert np.array_equal(read["tokens"], np.concatenate(SEQUENCES))
    expected = [np.concatenate([np.arange(d * 10, d * 10 + s + 2) for s in range(d % 3 + 1)]) for d in range(20)]
    same(rows(fb.megatron(theirs).batch(3)), expected, np.int32)
    with fb.Loader(fb.megatron(theirs, by="sequence").batch(100)) as loader:
        assert next(iter(loader))["mode"].tolist() == [s for d in range(20) for s in range(d % 3 + 1)]


@pytest.mark.parametrize("tier", TIERS, ids=str)
def test_caches_of_the_tokens(prefix, tmp_path, tier):
    pipeline = fb.megatron(prefix).shuffle().cache(**tier, dir=str(tmp_path)).batch(8)
    assert epochs(pipeline, count=2) == epochs(fb.megatron(prefix).shuffle().batch(8), count=2)
