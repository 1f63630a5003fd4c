"""materialize() and materialized(): the same samples as the original, whatever way they are written and read."""
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from materializing import (cuts_of, digests, files_in, joined_digest, numbers, photographs, table, uneven_photographs,
                           write_tables)

import forebay as fb


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    pytest.importorskip("pyarrow")
    return write_tables(tmp_path_factory.mktemp("tables"))


def made(pipeline, folder, **options):
    result = fb.materialize(pipeline, folder, **{"cut": "last", **options})
    assert result.complete
    return result


# ---- identical


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


# ---- written once, by many, whatever happens

WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
import materializing as m
import forebay as fb
pipeline = m.numbers() if sys.argv[2] == "numbers" else m.table(sys.argv[2])
print("ready", flush=True)
fb.materialize(pipeline, sys.argv[3], cut="last", shards=int(sys.argv[4]), format=sys.argv[5], update=len(sys.argv) > 6)
"""


def writer(what, folder, shards=9, format="arrow", *more, **options):
    return subprocess.Popen([sys.executable, "-c", WRITER, os.path.dirname(__file__), str(what), str(folder), str(shards), format, *more],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def killed_at_some_moment(start, draw, longest_s=0.4):
    """Starts a writer and kills it at a random moment once it has begun; whether it had not ended before."""
    process = start()
    assert process.stdout.readline() == "ready\n", process.communicate()
    try:
        process.wait(timeout=draw.uniform(0, longest_s))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode in (0, -signal.SIGKILL), err
    return process.returncode != 0


@pytest.mark.parametrize("kind", ["numbers", "table"])
def test_a_writer_killed_at_any_moment_leaves_nothing_wrong(kind, tables, tmp_path):
    """FOREBAY_KILLS says how many moments; 200 is what the release is judged by."""
    what = tables if kind == "table" else "numbers"
    whole = writer(what, tmp_path / "whole")
    whole.communicate()
    assert whole.returncode == 0
    expected = files_in(tmp_path / "whole")
    kills = int(os.environ.get("FOREBAY_KILLS", 20)) // 2
    draw, folder, killed = random.Random(kills), tmp_path / "killed", 0
    for _ in range(kills):
        if not killed_at_some_moment(lambda: writer(what, folder), draw):
            assert files_in(folder) == expected
            shutil.rmtree(folder)
        else:
            killed += 1
    last = writer(what, folder)
    _, err = last.communicate()
    assert last.returncode == 0, err
    assert files_in(folder) == expected
    assert killed > 0, "no writer was killed while it ran"


def test_two_writers_at_once_write_what_one_writes(tmp_path):
    writer("numbers", tmp_path / "one").communicate()
    writers = [writer("numbers", tmp_path / "two") for _ in range(2)]
    for process in writers:
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")


def test_a_full_disk_tells_how_to_go_on_and_going_on_works(tmp_path):
    """The largest file that may be written is smaller than a shard: as where there is no room left."""
    folder = tmp_path / "made"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    process = writer("numbers", folder, 2, preexec_fn=limit)
    _, err = process.communicate()
    assert process.returncode != 0
    assert "Unavailable" in err and "part-00000.arrow" in err and "the same command goes on" in err
    assert not list(folder.rglob("*.writing"))
    assert writer("numbers", folder, 2).wait() == 0
    assert writer("numbers", tmp_path / "whole", 2).wait() == 0
    assert files_in(folder) == files_in(tmp_path / "whole")


def test_ranks_together_write_what_one_writes(tables, tmp_path):
    made(table(tables), tmp_path / "one", shards=5)
    for rank in (2, 0, 1):
        result = fb.materialize(table(tables), tmp_path / "three", cut="last", shards=5, rank=rank, world_size=3)
        assert result.complete == (rank == 1)
    assert files_in(tmp_path / "three") == files_in(tmp_path / "one")


def test_an_interrupted_call_goes_on(tmp_path):
    seen = []

    def stop(now):
        seen.append(now)
        if now["shards_done"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fb.materialize(numbers(), tmp_path / "made", cut="last", shards=5, progress=stop)
    assert seen[-1]["shards"] == 5 and seen[-1]["samples"] == 157
    result = made(numbers(), tmp_path / "made", shards=5)
    assert result.written < result.samples
    made(numbers(), tmp_path / "whole", shards=5)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "whole")


# ---- up to date


def copied(photos, folder):
    shutil.copytree(photos, folder)
    return folder


@pytest.mark.parametrize("format", ["arrow", "wds", "jpeg"])
def test_update_makes_only_what_is_new_and_the_same_as_from_scratch(format, photos, tmp_path):
    root = copied(photos, tmp_path / "photos")
    pipeline = lambda: fb.images(root).shuffle().decode_image().resize((20, 20)).random_flip().batch(4)  # noqa: E731
    made(pipeline(), tmp_path / "made", shards=4, format=format)
    shutil.copy(root / "cats" / "cats_1.jpg", root / "cats" / "a_new_one.jpg")
    (root / "fish" / "fish_6.jpg").unlink()
    with pytest.raises(fb.InvalidArgument, match="update=True"):
        fb.materialize(pipeline(), tmp_path / "made", cut="last", shards=4, format=format)
    with pytest.raises(fb.StateMismatch, match="update=True"):
        fb.Loader(fb.materialized(tmp_path / "made").batch(4))
    result = made(pipeline(), tmp_path / "made", shards=4, format=format, update=True)
    assert result.written == result.samples == 21 and result.reused == 20
    scratch = made(pipeline(), tmp_path / "scratch", shards=4, format=format)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "scratch")
    assert digests(result.pipeline) == digests(scratch.pipeline)
    if format != "jpeg":
        assert digests(result.pipeline) == digests(pipeline())


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_update_of_a_table_decodes_new_row_groups_alone(format, tables, tmp_path):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    made(table(folder), tmp_path / "made", format=format, shards=3)
    write_tables(folder, files=2, first=-1)  # before all others, and in the place of the first
    result = made(table(folder), tmp_path / "made", format=format, shards=3, update=True)
    assert result.samples == 280 and result.reused == 140
    made(table(folder), tmp_path / "scratch", format=format, shards=3)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "scratch")
    assert digests(result.pipeline) == digests(table(folder))


def test_an_update_killed_at_any_moment_ends_as_one_that_was_not(tables, tmp_path):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    assert writer(folder, tmp_path / "old").wait() == 0
    write_tables(folder, files=1, first=7)
    assert writer(folder, tmp_path / "scratch").wait() == 0
    expected = files_in(tmp_path / "scratch")
    draw = random.Random(1)
    for _ in range(int(os.environ.get("FOREBAY_KILLS", 20)) // 4):
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        shutil.copytree(tmp_path / "old", tmp_path / "new")
        killed_at_some_moment(lambda: writer(folder, tmp_path / "new", 9, "arrow", "update"), draw)
        last = writer(folder, tmp_path / "new", 9, "arrow", "update")
        _, err = last.communicate()
        assert last.returncode == 0, err
        assert files_in(tmp_path / "new") == expected


def test_update_of_what_is_up_to_date_does_nothing(tmp_path):
    made(numbers(), tmp_path / "made")
    before = files_in(tmp_path / "made")
    assert made(numbers(), tmp_path / "made", update=True).written == 0
    assert files_in(tmp_path / "made") == before


def test_another_pipeline_is_no_update(photos, tmp_path):
    made(photographs(photos), tmp_path / "made")
    before = files_in(tmp_path / "made")
    for update in (False, True):
        with pytest.raises(fb.InvalidArgument, match="something else"):
            fb.materialize(fb.images(photos).decode_image().resize((9, 9)).batch(2), tmp_path / "made", cut="last", update=update)
    assert files_in(tmp_path / "made") == before


# ---- damage


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
    root = copied(photos, tmp_path / "photos")
    (root / "dogs" / "dogs_3.jpg").write_bytes((root / "dogs" / "dogs_3.jpg").read_bytes()[:300])
    with pytest.raises(fb.Corrupt, match="dogs_3.jpg"):
        fb.materialize(photographs(root), tmp_path / "made", cut="last")
    for policy in ("skip", "replace"):
        with pytest.raises(fb.InvalidArgument, match="on_error"):
            fb.materialize(photographs(root), tmp_path / policy, cut="last", on_error=policy)


# ---- others read it


def test_pyarrow_reads_arrow_and_parquet(tables, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.dataset as ds

    with fb.Loader(fb.parquet(tables, null=fb.NULL_MASK).batch(1000), epochs=1) as loader:
        batch = next(iter(loader))
    for format in ("arrow", "parquet"):
        made(fb.parquet(tables, null=fb.NULL_MASK).batch(8), tmp_path / format, format=format, shards=3)
        found = ds.dataset(tmp_path / format, format=format, exclude_invalid_files=False).to_table()
        assert found["id"].to_pylist() == list(range(210))
        assert found["n_valid"].to_pylist() == batch["n_valid"].tolist()
        assert found["text"].to_pylist() == list(batch["text"])
        assert found["list"].to_pylist() == [[j for j in range(i % 6)] for _ in range(3) for i in range(70)]
        assert found["names"].to_pylist() == [[f"a{j}" for j in range(i % 3)] for _ in range(3) for i in range(70)]
        assert np.array_equal(np.array(found["vector"].to_pylist(), np.float32), batch["vector"])
        assert all(not field.nullable for field in found.schema) and pa.types.is_float16(found.schema.field("half").type)


@pytest.mark.parametrize("module", ["duckdb", "polars"])
def test_databases_read_parquet(module, tables, tmp_path):
    other = pytest.importorskip(module)
    made(fb.parquet(tables, null=fb.NULL_MASK, columns=["n", "f", "text", "list"]).batch(8), tmp_path / "made", format="parquet", shards=3)
    pattern = str(tmp_path / "made" / "part-*.parquet")
    if module == "duckdb":
        rows = other.sql(f"select id, n, f, list from read_parquet('{pattern}') order by id").fetchall()
    else:
        rows = other.read_parquet(pattern).select("id", "n", "f", "list").sort("id").rows()
    with fb.Loader(fb.parquet(tables, null=fb.NULL_MASK).batch(1000), epochs=1) as loader:
        batch = next(iter(loader))
    assert [row[0] for row in rows] == list(range(210))
    assert [row[1] for row in rows] == batch["n"].tolist()
    assert [row[2] for row in rows] == batch["f"].tolist()
    assert [list(row[3]) for row in rows] == [list(range(i % 6)) for _ in range(3) for i in range(70)]


def members(folder):
    """Of all tar shards: the members of each sample by ending, and the order of names."""
    import tarfile

    found = {}
    for path in sorted(folder.glob("part-*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                assert member.isreg() and member.mtime == member.uid == member.gid == 0 and member.mode == 0o644
                key, _, ending = member.name.partition(".")
                found.setdefault(key, {})[ending] = archive.extractfile(member).read()
    return found


def test_tars_hold_pictures_labels_and_keys(photos, tmp_path):
    import io

    from PIL import Image

    with fb.Loader(fb.images(photos).decode_image().resize((16, 12)).batch(21), epochs=1) as loader:
        batch = next(iter(loader))
    made(fb.images(photos).decode_image().resize((16, 12)).batch(4), tmp_path / "pixels", format="wds", shards=2)
    made(fb.images(photos).decode_image().resize((16, 12)).batch(4), tmp_path / "encoded", cut="images", format="wds", shards=2)
    for name, ending in (("pixels", "png"), ("encoded", "jpg")):
        found = members(tmp_path / name)
        assert list(found) == [f"{i:09}" for i in range(21)]
        for i, sample in enumerate(found.values()):
            assert sorted(sample) == sorted([ending, "cls", "key.txt"])
            assert int(sample["cls"]) == batch["label"][i] and sample["key.txt"].decode() == batch["key"][i]
            if name == "pixels":
                assert np.array_equal(np.asarray(Image.open(io.BytesIO(sample["png"]))), batch["image"][i])
            else:
                assert sample["jpg"] == (photos / batch["key"][i]).read_bytes()


def test_tars_hold_tensors_as_npy(tmp_path):
    import io

    made(numbers(), tmp_path / "made", format="wds", shards=2)
    with fb.Loader(fb.materialized(tmp_path / "made").batch(157), epochs=1) as loader:
        batch = next(iter(loader))
    for i, sample in enumerate(members(tmp_path / "made").values()):
        for field in ("x", "big", "y"):
            assert np.array_equal(np.load(io.BytesIO(sample[f"{field}.npy"]), allow_pickle=False), batch[field][i])


def test_the_webdataset_package_reads_tars(photos, tmp_path):
    wds = pytest.importorskip("webdataset")
    made(fb.images(photos).decode_image().resize((16, 12)).batch(4), tmp_path / "made", format="wds", shards=1)
    with fb.Loader(fb.materialized(tmp_path / "made").batch(21), epochs=1) as loader:
        batch = next(iter(loader))
    samples = list(wds.WebDataset(str(tmp_path / "made" / "part-00000.tar"), shardshuffle=False).decode("rgb8"))
    assert len(samples) == 21
    for i, sample in enumerate(samples):
        assert np.array_equal(sample["png"], batch["image"][i]) and sample["cls"] == batch["label"][i]


# ---- JPEG


def test_jpeg_is_close_smaller_and_says_that_it_is_another_data_set(photos, tmp_path):
    pipeline = fb.images(photos).shuffle().decode_image().resize((32, 32)).random_flip().batch(4)
    exact = made(pipeline, tmp_path / "exact", format="wds")
    sizes = {}
    for quality in (50, 95):
        lossy = made(pipeline, tmp_path / str(quality), format="jpeg", quality=quality)
        sizes[quality] = lossy.bytes
        (theirs, their_print), (ours, our_print) = digests(pipeline), digests(lossy.pipeline)
        assert theirs != ours and their_print != our_print
        assert digests(lossy.pipeline) == digests(lossy.pipeline, threads=1)
    assert sizes[50] < sizes[95] < exact.bytes
    with fb.Loader(pipeline, seed=1) as first, fb.Loader(lossy.pipeline, seed=1) as second:
        a, b = next(iter(first)), next(iter(second))
        assert a.ids.tolist() == b.ids.tolist(), "the order is the same"
        assert np.abs(a["image"].astype(int) - b["image"].astype(int)).mean() < 6
        state = first.state_dict()
        with pytest.raises(fb.StateMismatch):
            second.load_state_dict(state)


def test_jpeg_of_encoded_pictures_keeps_them_within_the_limit(photos, tmp_path):
    import io

    from PIL import Image

    pipeline = fb.images(photos).decode_image().resize((32, 32)).batch(4)
    result = made(pipeline, tmp_path / "made", cut="images", format="jpeg", limit=50, quality=85)
    for sample in members(tmp_path / "made").values():
        picture = Image.open(io.BytesIO(sample["jpg"]))
        assert picture.format == "JPEG" and max(picture.size) == 50
    with fb.Loader(pipeline) as first, fb.Loader(result.pipeline) as second:
        assert np.abs(next(iter(first))["image"].astype(int) - next(iter(second))["image"].astype(int)).mean() < 12


def test_jpeg_with_restart_markers_is_the_same_data_set(photos, tmp_path):
    """Another form of the files, the same pixels: digests, states and fingerprint are the original's."""
    pipeline = fb.images(photos).shuffle().decode_image().random_resized_crop(24).normalize(fb.IMAGENET).batch(4)
    result = made(pipeline, tmp_path / "made", cut="images", format="jpeg", restart_markers=True)
    originals = {path.read_bytes() for path in photos.rglob("*.jpg")}
    for sample in members(tmp_path / "made").values():
        assert sample["jpg"] not in originals and b"\xff\xdd" in sample["jpg"] and b"\xff\xd0" in sample["jpg"]
    with fb.Loader(pipeline, seed=3) as first, fb.Loader(result.pipeline, seed=3, threads=3) as second:
        assert first.fingerprint == second.fingerprint
        assert [fb.digest(first) for _ in range(2)] == [fb.digest(second) for _ in range(2)]
    with fb.Loader(pipeline, seed=3) as first, fb.Loader(result.pipeline, seed=3) as second:
        next(iter(first))
        second.load_state_dict(first.state_dict())
        assert np.array_equal(next(iter(second))["image"], next(iter(first))["image"])
    assert json.loads((tmp_path / "made" / "_manifest.json").read_text())["restart_markers"] is True
    again = made(pipeline, tmp_path / "made", cut="images", format="jpeg", restart_markers=True)
    assert again.written == 0
    with pytest.raises(fb.InvalidArgument, match="something else"):
        made(pipeline, tmp_path / "made", cut="images", format="jpeg")


def test_real_pictures_of_all_kinds_get_restart_markers_or_stay_as_they_are(shared, tmp_path):
    import io

    from PIL import Image

    files = sorted(path for folder in ("exif-orientation", "odd", "large-jpeg", "webp") for path in (shared / "images" / folder).rglob("*") if path.suffix.lower() in (".jpg", ".jpeg", ".png", ".webp"))[:150]
    good = []
    for path in files:
        try:
            with fb.Loader(fb.files([str(path)]).decode_image().batch(1)) as loader:
                next(iter(loader))
            good.append(str(path))
        except fb.Error:
            pass
    pipeline = fb.files(good).rename(bytes="image").decode_image().batch(1)
    result = made(pipeline, tmp_path / "made", cut="rename", format="jpeg", restart_markers=True)
    with fb.Loader(pipeline) as first, fb.Loader(result.pipeline) as second:
        assert fb.digest(first) == fb.digest(second)


def test_restart_markers_where_bytes_are_looked_at_are_refused(photos, tmp_path):
    for pipeline, cut in ((fb.images(photos).batch(2), "images"), (fb.images(photos).map(lambda sample: {"n": len(sample["image"])}, fields=["image"]).decode_image().batch(1), "images")):
        with pytest.raises(fb.InvalidArgument, match="decode_image.. has to follow"):
            fb.materialize(pipeline, tmp_path / "made", cut=cut, format="jpeg", restart_markers=True)
    decoded = fb.images(photos).decode_image().resize((8, 8)).batch(2)
    with pytest.raises(fb.InvalidArgument, match="has to follow"):
        fb.materialize(decoded, tmp_path / "made", cut="resize", format="jpeg", restart_markers=True)
    assert not (tmp_path / "made").exists()


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
