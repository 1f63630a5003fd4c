"""materialize() and materialized(): the same samples as the original, whatever way they are written and read."""
import json
import shutil
import threading

import numpy as np
import pytest
from materializing import cuts_of, digests, joined_digest, made, numbers, photographs, table, uneven_photographs

import forebay as fb


@pytest.mark.parametrize("kind", ["numbers", "photographs", "uneven_photographs"])
@pytest.mark.parametrize("format", ["arrow", "wds"])
def test_samples_are_identical_behind_every_cut(kind, format, photos, tmp_path):
    pipeline = {"numbers": numbers, "photographs": lambda: photographs(photos),
                "uneven_photographs": lambda: uneven_photographs(photos)}[kind]()
    expected = digests(pipeline)
    cuts = cuts_of(pipeline, tmp_path / "none")
    assert len(cuts) >= 2
    for cut in cuts:
        for shards in (1, 3, "auto"):
            folder = tmp_path / f"{cut}-{shards}"
            result = made(pipeline, folder, cut=cut, shards=shards, format=format)
            assert result.cut == cut and result.written == result.samples
            assert shards == "auto" or result.shards == shards
            for threads in (1, 4):
                assert digests(result.pipeline, threads=threads) == expected, (cut, shards, threads)


@pytest.mark.parametrize("format", ["arrow", "parquet"])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_tables_are_identical_behind_every_cut(format, compression, tables, tmp_path):
    pipeline = table(tables)
    expected = digests(pipeline)
    for cut in cuts_of(pipeline, tmp_path / "none"):
        for shards in (1, 3):
            result = made(pipeline, tmp_path / f"{cut}-{shards}", cut=cut, shards=shards, format=format, compression=compression)
            assert digests(result.pipeline, threads=2) == expected, (cut, shards)


@pytest.mark.parametrize("kind", ["photographs", "table"])
def test_ranks_and_little_memory_change_nothing(kind, photos, tables, tmp_path):
    pipeline = photographs(photos) if kind == "photographs" else table(tables)
    result = made(pipeline, tmp_path / "made", shards=3)
    for world_size in (1, 2, 3):
        expected = joined_digest(pipeline, world_size)
        assert joined_digest(result.pipeline, world_size) == expected
        assert joined_digest(result.pipeline, world_size, memory="24MB", threads=1) == expected


def test_states_go_on_across_original_and_materialised_data(photos, tables, tmp_path):
    for name, pipeline in (("p", photographs(photos)), ("t", table(tables))):
        result = made(pipeline, tmp_path / name, shards=2)
        ways = [pipeline, result.pipeline]
        for first, second in (ways, ways[::-1]):
            with fb.Loader(first, seed=5, epochs=1) as loader:
                batches = iter(loader)
                for _ in range(3):
                    next(batches)
                state = json.loads(json.dumps(loader.state_dict()))
                rest = fb.digest(loader)
            with fb.Loader(second, seed=5, epochs=1) as loader:
                loader.load_state_dict(state)
                assert fb.digest(loader) == rest, name


def test_functions_before_the_cut_run_once_and_behind_it_each_epoch(photos, tmp_path):
    calls = {"before": 0, "behind": 0}
    lock = threading.Lock()

    def count(name):
        def function(sample):
            with lock:
                calls[name] += 1
            return sample
        return function

    pipeline = (fb.images(photos).decode_image().resize((16, 16)).map(count("before"), version="1").random_flip()
                .map(count("behind")).batch(4))
    result = made(pipeline, tmp_path / "made")
    once = calls["before"]
    assert once >= result.samples and calls["behind"] == 0
    digests(result.pipeline)
    assert calls["before"] == once and calls["behind"] == 2 * result.samples


def test_a_copy_of_the_folder_reads_the_same(photos, tmp_path):
    pipeline = photographs(photos)
    made(pipeline, tmp_path / "made")
    shutil.copytree(tmp_path / "made", tmp_path / "copy")
    behind = fb.materialized(tmp_path / "copy").shuffle().random_flip().batch(4)
    assert digests(behind) == digests(pipeline)


# ---- misuse


@pytest.mark.parametrize("options, message", [
    ({"format": "csv"}, "format"),
    ({"compression": "gzip"}, "compression"),
    ({"quality": 5}, "quality and limit are for"),
    ({"restart_markers": True}, "restart_markers is for"),
    ({"format": "jpeg", "quality": 90, "restart_markers": True}, "restart_markers is for"),
    ({"format": "jpeg", "quality": 0}, "quality"),
    ({"format": "jpeg", "quality": 101}, "quality"),
    ({"format": "jpeg", "limit": True}, "limit"),
    ({"shards": 0}, "shards"),
    ({"rank": 2, "world_size": 2}, "rank"),
    ({"cut": "batch"}, "there are:"),
])
def test_wrong_arguments_are_told_before_anything_is_written(options, message, photos, tmp_path):
    with pytest.raises((fb.InvalidArgument, ValueError), match=message):
        fb.materialize(photographs(photos), tmp_path / "made", **{"cut": "last", **options})
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("format, message", [("parquet", "is for tables"), ("jpeg", "no field is a picture")])
def test_formats_that_do_not_fit_the_samples_are_refused(format, message, tmp_path):
    with pytest.raises(fb.Unsupported, match=message):
        fb.materialize(numbers(), tmp_path / "made", cut="last", format=format)


@pytest.mark.parametrize("format", ["wds", "jpeg"])
def test_tars_of_tables_are_refused(format, tables, tmp_path):
    with pytest.raises(fb.Unsupported, match="this is a table"):
        fb.materialize(table(tables), tmp_path / "made", cut="last", format=format)


def test_choosing_before_the_cut_is_refused(photos, tables, tmp_path):
    with pytest.raises(fb.InvalidArgument, match="take"):
        fb.materialize(fb.images(photos).take(5).decode_image().resize((9, 9)).batch(2), tmp_path / "made", cut="last")
    with pytest.raises(fb.InvalidArgument, match="filter"):
        fb.materialize(fb.parquet(tables, columns=["f"], filter=[("f", ">", 0)]).batch(2), tmp_path / "made", cut="last")


def test_nothing_finished_says_what_to_do(tmp_path):
    with pytest.raises(fb.NotFound, match="run the same command"):
        fb.Loader(fb.materialized(tmp_path).batch(2))


def test_chunks_of_some_megabytes_are_looked_at_like_small_ones(tmp_path):
    h5py = pytest.importorskip("h5py")
    values = np.random.default_rng(3).random((2_000, 1024), dtype=np.float32)
    with h5py.File(tmp_path / "large.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(1_000, 1024))
    pipeline = fb.hdf5(str(tmp_path / "large.h5"), {"x": "/x"}).batch(64)
    made = fb.materialize(pipeline, tmp_path / "made", cut="last")
    with fb.Loader(made.pipeline, epochs=1) as loader, fb.Loader(pipeline, epochs=1) as original:
        assert fb.digest(loader) == fb.digest(original)
