"""Of damaged files nothing is passed on that was not written."""
import os
import random
import shutil

import numpy as np
import pytest
from materializing import digests, files_in, made, numbers, photographs, table

import forebay as fb


def outcome(pipeline, **options):
    with fb.Loader(pipeline, seed=1, epochs=1, **options) as loader:
        return [batch.ids.tolist() for batch in loader]


@pytest.mark.parametrize("kind", ["photographs", "numbers", "table", "parquet", "wds"])
def test_no_flipped_bit_is_passed_on(kind, photos, tables, tmp_path):
    """A bit anywhere in any file: the same values come, or an error that is told; never others."""
    pipeline = {"numbers": numbers, "table": lambda: table(tables), "parquet": lambda: table(tables)}.get(kind, lambda: photographs(photos))()
    format = kind if kind in ("parquet", "wds") else "arrow"
    result = made(pipeline, tmp_path / "made", shards=2, format=format)
    expected = digests(result.pipeline, epochs=1)
    draw = random.Random(kind)
    names = [name for name, what in files_in(tmp_path / "made").items() if what != "folder"]
    told = 0
    for name in names:
        path = tmp_path / "made" / name
        whole = path.read_bytes()
        for _ in range(12):
            flipped = bytearray(whole)
            flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
            path.write_bytes(flipped)
            try:
                got = digests(result.pipeline, epochs=1)
            except fb.Error as error:
                told += 1
                assert isinstance(error, (fb.Corrupt, fb.Unsupported, fb.StateMismatch, fb.InvalidArgument)), (name, error)
            else:
                assert got[0] == expected[0], name
        path.write_bytes(whole)
    assert told > 10
    assert digests(result.pipeline, epochs=1) == expected


@pytest.mark.parametrize("kind", ["photographs", "table"])
def test_files_that_were_cut_off_or_are_gone_are_named(kind, photos, tables, tmp_path):
    pipeline = photographs(photos) if kind == "photographs" else table(tables)
    result = made(pipeline, tmp_path / "made", shards=2)
    for name in ("part-00001.arrow", "_index/part-00001.arrow", "_manifest.json"):
        path = tmp_path / "made" / name
        whole = path.read_bytes()
        for size in (0, 1, len(whole) // 2, len(whole) - 2):
            path.write_bytes(whole[:size])
            with pytest.raises(fb.Error, match=os.path.basename(name)):
                outcome(result.pipeline)
        path.unlink()
        with pytest.raises(fb.Error, match=os.path.basename(name)):
            outcome(result.pipeline)
        path.write_bytes(whole)


def test_a_damaged_sample_goes_by_on_error(photos, tmp_path):
    result = made(photographs(photos), tmp_path / "made", shards=1)
    path = tmp_path / "made" / "part-00000.arrow"
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 0x10
    path.write_bytes(damaged)
    with pytest.raises(fb.Corrupt, match="part-00000.arrow sample .*checksum"):
        outcome(result.pipeline)
    left = sum(outcome(result.pipeline, on_error="skip"), [])
    assert len(left) == 20, "one picture alone"
    assert sorted(sum(outcome(result.pipeline, on_error="replace"), [])) != list(range(21))


def test_of_samples_of_one_length_a_damaged_one_goes_by_on_error_too(tmp_path):
    values = np.random.default_rng(0).integers(0, 255, (210, 3000), dtype=np.uint8)
    result = made(fb.arrays(x=values, label=np.arange(210)), tmp_path / "made", shards=3)
    path = tmp_path / "made" / "part-00001.arrow"
    whole = path.read_bytes()
    at = whole.index(values[100].tobytes()) + 77
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
    pipeline = result.pipeline.shuffle().batch(32)
    with pytest.raises(fb.Corrupt, match="part-00001.arrow sample 30.*checksum") as caught, fb.Loader(pipeline, epochs=1) as loader:
        list(loader)
    assert caught.value.sample == 100
    for policy, rows in (("skip", 209), ("replace", 210)):
        with fb.Loader(pipeline, epochs=1, on_error=policy) as loader:
            batches = list(loader)
            assert [(bad["sample"], bad["count"]) for bad in loader.errors()] == [(100, 1)]
        ids = np.concatenate([batch.ids for batch in batches])
        assert len(ids) == rows and 100 not in ids
        assert np.array_equal(np.concatenate([batch["x"] for batch in batches]), values[ids])
        assert np.array_equal(np.concatenate([batch["label"] for batch in batches]), ids)


def test_a_bad_original_is_told_and_cannot_be_left_out(photos, tmp_path):
    root = shutil.copytree(photos, tmp_path / "photos")
    (root / "dogs" / "dogs_3.jpg").write_bytes((root / "dogs" / "dogs_3.jpg").read_bytes()[:300])
    with pytest.raises(fb.Corrupt, match="dogs_3.jpg"):
        fb.materialize(photographs(root), tmp_path / "made", cut="last")
    for policy in ("skip", "replace"):
        with pytest.raises(fb.InvalidArgument, match="on_error"):
            fb.materialize(photographs(root), tmp_path / policy, cut="last", on_error=policy)
