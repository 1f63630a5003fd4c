"""Tar shards: the values that tarfile and the package webdataset give; the same bytes whatever the machinery; damage that is told."""
import io
import json
import os
import random
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from loading import epoch_ids, one_epoch
from project import run

import forebay as fb
from servers.s3 import Client

BUCKET = "shards"
SAMPLES, SHARDS = 240, 5


@pytest.fixture(autouse=True)
def own_cache(nothing_from_outside, monkeypatch, tmp_path):
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path / "cache"))


def write_tar(path, files, format=tarfile.PAX_FORMAT):
    """`files`: names with bytes, in this order."""
    with tarfile.open(path, "w", format=format) as tar:
        for name, data in files:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return path


def sample(i):
    """Pictures are noise of lengths that differ, so that chunks do."""
    data = np.random.default_rng(i).integers(0, 256, 200 + 37 * (i % 50), np.uint8).tobytes()
    return [(f"train/{i:05}.jpg", data), (f"train/{i:05}.cls", str(i % 7).encode()),
            (f"train/{i:05}.json", json.dumps({"n": i, "text": "ö" * (i % 5)}).encode())]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shards")
    ends = np.linspace(0, SAMPLES, SHARDS + 1).astype(int)
    formats = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
    for number, (begin, end) in enumerate(zip(ends, ends[1:])):
        write_tar(folder / f"train-{number:03}.tar", sum((sample(i) for i in range(begin, end)), []), formats[number % 3])
    return folder


def mixed(shards, batch=16, block=3, lanes=2, chunk=16_000, **cache):
    pipeline = fb.webdataset(shards / "train-*.tar", chunk=chunk)
    return (pipeline.cache(**cache) if cache else pipeline).shuffle(block=block, lanes=lanes).batch(batch)


def rows(pipeline, **options):
    """All samples by id."""
    found = {}
    with fb.Loader(pipeline.batch(7), **options) as loader:
        for batch in loader:
            for row in range(len(batch) - batch.padding):
                found[int(batch.ids[row])] = {name: batch[name][row] for name in batch}
    return [found[i] for i in sorted(found)]


def refused(kind, pipeline, *parts, **options):
    with pytest.raises(kind) as caught:
        with fb.Loader(pipeline.batch(4), **options) as loader:
            list(loader)
    for part in parts:
        assert part in str(caught.value)
    return caught.value


# ---- values


def test_samples_are_those_of_tarfile(shards):
    read = rows(fb.webdataset(shards))
    assert len(read) == SAMPLES
    for i, row in enumerate(read):
        (name, jpg), (_, label), (_, text) = sample(i)
        assert row["key"] == name.removesuffix(".jpg") and bytes(row["jpg"]) == jpg
        assert row["cls"] == int(label) and row["json"] == text.decode()


def test_samples_are_those_of_the_package_webdataset(shards):
    wds = pytest.importorskip("webdataset")
    theirs = list(wds.WebDataset([str(path) for path in sorted(shards.glob("*.tar"))], shardshuffle=False, empty_check=False))
    ours = rows(fb.webdataset(shards))
    assert [row["key"] for row in ours] == [one["__key__"] for one in theirs]
    for row, one in zip(ours, theirs):
        assert bytes(row["jpg"]) == one["jpg"] and row["cls"] == int(one["cls"]) and row["json"] == one["json"].decode()


def by_tarfile(path):
    """Samples as the rule says, with what tarfile reads."""
    samples, base = [], None
    with tarfile.open(path, "r:", ignore_zeros=True) as tar:
        for member in tar:
            folder, _, last = member.name.rpartition("/")
            if not (member.isreg() or member.islnk() or member.issym()) or "." not in last[1:] or last.startswith(".") or last.endswith("."):
                continue
            stem, _, extension = last.partition(".")
            name = f"{folder}/{stem}" if folder else stem
            if name != base:
                samples.append({"key": name})
                base = name
            samples[-1][extension.lower()] = tar.extractfile(member).read()
    return samples


@pytest.mark.parametrize("name", ["compressed.tar", "testgz.tar"])
def test_real_shards_are_read_as_tarfile_reads_them(shared, name):
    path = shared / "webdataset" / name
    expected = by_tarfile(path)
    read = rows(fb.webdataset(path, optional=sorted(set().union(*expected) - {"key"})))
    assert len(read) == len(expected) > 0
    for row, one in zip(read, expected):
        assert row["key"] == one.pop("key")
        assert {name: bytes(row[name]) for name in one} == one


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_read_in_every_form(tmp_path, format):
    folder = "/".join(["a-rather-long-folder"] * 6)  # what ustar can still divide
    names = [f"{folder}/{i:03}" for i in range(3)]
    if format != tarfile.USTAR_FORMAT:
        names += [f"{folder}/{'n' * 300}", "ümläut/001"]
    write_tar(tmp_path / "a.tar", [(f"{name}.txt", name.encode()) for name in names], format)
    assert [(row["key"], row["txt"]) for row in rows(fb.webdataset(tmp_path / "a.tar"))] == [(name, name) for name in names]


def test_tars_of_gnu_tar_are_read(tmp_path):
    (tmp_path / "in").mkdir()
    for i in range(5):
        (tmp_path / "in" / f"{i}.txt").write_text(str(i))
    os.symlink("0.txt", tmp_path / "in" / "0.link")
    for form in ("gnu", "pax", "ustar", "v7", "oldgnu"):
        run("tar", f"--format={form}", "-C", tmp_path / "in", "--sort=name", "-cf", tmp_path / "a.tar", ".")
        assert [row["txt"] for row in rows(fb.webdataset(tmp_path / "a.tar", ["txt"]))] == list("01234")
        assert [bytes(row["link"]) for row in rows(fb.webdataset(tmp_path / "a.tar", ["link"]), on_error="skip")] == [b"0"]


def test_fields_have_the_names_and_the_order_of_extensions_that_are_said(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.png", b"p0"), ("0.jpg", b"j0"), ("0.cls", b"3"), ("1.png", b"p1"), ("1.cls", b"4")])
    pipeline = fb.webdataset(tmp_path / "a.tar", fields={"image": "jpg;png", "label": "cls"})
    assert pipeline.check() == []
    assert [(bytes(row["image"]), int(row["label"])) for row in rows(pipeline)] == [(b"j0", 3), (b"p1", 4)]
    assert set(rows(fb.webdataset(tmp_path / "a.tar", ["cls"]))[0]) == {"cls", "key"}


def test_pictures_are_decoded_as_from_a_folder(photos, tmp_path):
    paths = sorted(Path(photos).rglob("*.jpg"), key=lambda path: str(path.relative_to(photos)))
    write_tar(tmp_path / "a.tar", [(f"{i:03}.jpg", path.read_bytes()) for i, path in enumerate(paths)])

    def pictures(source):
        with fb.Loader(source.decode_image().random_resized_crop(24).random_flip().select("image").batch(4), seed=3) as loader:
            return fb.digest(loader)

    from_tar = fb.webdataset(tmp_path / "a.tar", fields={"image": "jpg;jpeg"}, chunk=5000)
    assert pictures(from_tar) == pictures(fb.images(photos))


# ---- the same whatever the machinery


@pytest.fixture(scope="module")
def expected(shards):
    with fb.Loader(mixed(shards), seed=7, threads=1) as loader:
        return [fb.digest(loader) for _ in range(3)]


def epochs(pipeline, count=3, **options):
    with fb.Loader(pipeline, seed=7, **options) as loader:
        return [fb.digest(loader) for _ in range(count)]


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("batch", [1, 16, 240])
def test_the_digest_is_the_same_for_any_threads_and_batch(shards, expected, threads, batch):
    assert epochs(mixed(shards, batch=batch), threads=threads) == expected


def test_epochs_and_blocks_are_other_orders_of_the_same_samples(shards, expected):
    assert len(set(expected)) == 3
    with fb.Loader(mixed(shards), seed=7) as loader:
        first, second = epoch_ids(loader), epoch_ids(loader)
    assert sorted(first) == sorted(second) == list(range(SAMPLES)) and first != second


@pytest.mark.parametrize("lanes", [1, 2, 4])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_share_every_epoch_of_any_lanes(shards, lanes, world):
    seen = []
    for rank in range(world):
        with fb.Loader(mixed(shards, batch=8, lanes=lanes), seed=7, rank=rank, world_size=world) as loader:
            seen.append(list(loader))
    assert len({len(batches) for batches in seen}) == 1
    ids = [int(i) for batches in seen for batch in batches for i in batch.ids[: len(batch) - batch.padding]]
    assert sorted(ids) == list(range(SAMPLES))


def test_a_resumed_epoch_goes_on_with_the_same_bytes(shards):
    def tail(loader):
        return [(batch.ids.tolist(), [bytes(one) for one in batch["jpg"]]) for batch in loader]

    with fb.Loader(mixed(shards), seed=7) as loader:
        whole = tail(loader)
    for stop in (1, 7, len(whole) - 1):
        with fb.Loader(mixed(shards), seed=7, threads=1) as loader:
            iterator = iter(loader)
            for _ in range(stop):
                next(iterator)
            state = json.loads(json.dumps(loader.state_dict()))
        with fb.Loader(mixed(shards), seed=7, threads=3) as loader:
            loader.load_state_dict(state)
            assert tail(loader) == whole[stop:]


def test_caches_change_nothing(shards, expected, tmp_path):
    for options in ({"ram": "64MiB", "disk": 0}, {"ram": 0, "disk": "1GiB", "dir": str(tmp_path / "kept")}):
        assert epochs(mixed(shards, **options)) == expected
        assert epochs(mixed(shards, **options)) == expected


def test_json_says_the_same(shards, expected):
    assert epochs(fb.Pipeline.from_json(mixed(shards).to_json())) == expected


def test_a_list_and_braces_and_a_folder_are_the_same_shards(shards):
    names = [shards / f"train-{i:03}.tar" for i in range(SHARDS)]
    digests = {one_epoch(fb.webdataset(given).batch(16)) for given in
               (shards, names, names[::-1], str(shards / "train-{000..004}.tar"), str(shards / "*.tar"))}
    assert len(digests) == 1


def test_little_memory_makes_it_slower_and_not_another(shards, expected):
    assert epochs(mixed(shards), memory="600KB") == expected


def test_a_sample_larger_than_the_memory_is_refused_with_the_figure(tmp_path):
    write_tar(tmp_path / "a.tar", [("0.bin", bytes(8 << 20))])
    refused(fb.OutOfBudget, fb.webdataset(tmp_path / "a.tar"), "memory", memory="4MiB")


# ---- the index


def bytes_read(loader):
    return sum(store["bytes"] for store in loader.stats()["stores"])


def test_an_index_is_kept_and_one_of_a_changed_shard_is_not_used(shards, tmp_path):
    kept = tmp_path / "cache" / "tar_indexes"
    path = write_tar(tmp_path / "a.tar", sum(map(sample, range(20)), []))
    with fb.Loader(fb.webdataset(path).batch(4)) as loader:
        first = loader.fingerprint
        cold = bytes_read(loader)
    assert len(list(kept.iterdir())) == 1
    with fb.Loader(fb.webdataset(path).batch(4)) as loader:
        assert loader.fingerprint == first and bytes_read(loader) < cold
    write_tar(path, sum(map(sample, range(10, 40)), []))
    assert [row["key"] for row in rows(fb.webdataset(path))] == [f"train/{i:05}" for i in range(10, 40)]


def test_a_damaged_index_is_made_again(tmp_path):
    path = write_tar(tmp_path / "a.tar", sum(map(sample, range(5)), []))
    read = one_epoch(fb.webdataset(path).batch(4))
    (kept,) = (tmp_path / "cache" / "tar_indexes").iterdir()
    for damage in (b"", b"x", kept.read_bytes()[:-3], kept.read_bytes().replace(b"jpg", b"png")):
        kept.write_bytes(damage)
        assert one_epoch(fb.webdataset(path).batch(4)) == read


def told(folder, pattern="*.tar"):
    """Keys of all samples, and the warnings, of a program of its own."""
    program = f"""
import json, sys
import forebay as fb
with fb.Loader(fb.webdataset({str(folder / pattern)!r}, index="beside").batch(8)) as loader:
    print(json.dumps([[key for batch in loader for key in batch["key"]], sum(store["bytes"] for store in loader.stats()["stores"])]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    keys, read = json.loads(done.stdout)
    return keys, read, done.stderr


def test_an_index_beside_each_shard_serves_whoever_reads_the_folder(tmp_path, monkeypatch):
    folder = tmp_path / "shards"
    folder.mkdir()
    for number in range(3):
        write_tar(folder / f"{number}.tar", sum(map(sample, range(10 * number, 10 * number + 10)), []))
    keys, cold, warned = told(folder)
    assert keys == [f"train/{i:05}" for i in range(30)] and warned == ""
    assert sorted(path.name for path in folder.iterdir()) == ["0.tar", "0.tar.tarindex", "1.tar", "1.tar.tarindex", "2.tar", "2.tar.tarindex"]
    assert not (tmp_path / "cache" / "tar_indexes").exists()
    monkeypatch.setenv("FOREBAY_CACHE_DIR", str(tmp_path / "another host"))
    again, warm, warned = told(folder)
    assert again == keys and warm < cold and warned == ""
    assert told(folder, "*")[0] == keys  # they are no shards
    moved = folder.rename(tmp_path / "moved")
    assert told(moved)[0] == keys and told(moved)[2] == ""
    with fb.Loader(fb.webdataset(moved / "*.tar").batch(4)) as plain, fb.Loader(fb.webdataset(moved / "*.tar", index="beside").batch(4)) as beside:
        assert plain.fingerprint == beside.fingerprint and fb.digest(plain) == fb.digest(beside)


def test_a_stale_or_damaged_index_beside_a_shard_is_told_and_made_anew(tmp_path):
    path = write_tar(tmp_path / "a.tar", sum(map(sample, range(10)), []))
    kept = tmp_path / "a.tar.tarindex"
    told(tmp_path)
    good = kept.read_bytes()
    for damage in (b"", b"x", good[:-3], good.replace(b"jpg", b"png"), good + b"x"):
        kept.write_bytes(damage)
        keys, _, warned = told(tmp_path)
        assert keys == [f"train/{i:05}" for i in range(10)]
        assert "1 of the indexes beside shards are damaged" in warned and str(kept) in warned
        assert kept.read_bytes() == good and told(tmp_path)[2] == ""
    write_tar(path, sum(map(sample, range(5, 15)), []))
    keys, _, warned = told(tmp_path)
    assert keys == [f"train/{i:05}" for i in range(5, 15)] and "of another state of their shards" in warned
    assert kept.read_bytes() != good and told(tmp_path)[2] == ""
    # Another shard's index under this one's name.
    write_tar(tmp_path / "b.tar", sum(map(sample, range(20, 30)), []))
    told(tmp_path)
    kept.write_bytes((tmp_path / "b.tar.tarindex").read_bytes())
    keys, _, warned = told(tmp_path)
    assert keys == [f"train/{i:05}" for i in [*range(5, 15), *range(20, 30)]] and "of another state" in warned


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_told_and_read(tmp_path):
    write_tar(tmp_path / "a.tar", sum(map(sample, range(10)), []))
    tmp_path.chmod(0o500)
    keys, _, warned = told(tmp_path)
    tmp_path.chmod(0o700)
    assert len(keys) == 10 and "cannot be written" in warned


def test_an_index_beside_shards_far_away_and_other_words_are_refused(ceph, tmp_path):
    with pytest.raises(fb.InvalidArgument, match="local folders"):
        fb.Loader(fb.webdataset(f"s3://{BUCKET}/data/*.tar", index="beside").batch(4), storage_options=ceph)
    assert any("beside" in problem.remedy for problem in fb.webdataset("a.tar", index="here").check())


# ---- stores far away


@pytest.fixture(scope="module")
def ceph(servers, shards):
    found = servers("ceph")
    client = Client(found["FOREBAY_TEST_S3"], found["FOREBAY_TEST_S3_KEY"], found["FOREBAY_TEST_S3_SECRET"])
    client.make_bucket(BUCKET)
    for path in shards.glob("*.tar"):
        client.put(BUCKET, f"data/{path.name}", path.read_bytes())
    return {"endpoint": found["FOREBAY_TEST_S3"], "access_key_id": found["FOREBAY_TEST_S3_KEY"],
            "secret_access_key": found["FOREBAY_TEST_S3_SECRET"]}


def test_the_digest_from_a_bucket_is_that_of_local_shards(ceph, expected):
    far = fb.webdataset(f"s3://{BUCKET}/data/*.tar", chunk=16_000).shuffle(block=3, lanes=2).batch(16)
    assert epochs(far, storage_options=ceph) == expected
    assert epochs(far, storage_options=ceph) == expected  # by the kept index


def test_the_digest_from_a_web_server_is_that_of_local_shards(servers, shards, expected):
    found = servers("nginx")
    folder = Path(found["FOREBAY_TEST_HTTP_ROOT"]) / "shards"
    folder.mkdir(exist_ok=True)
    for path in shards.glob("*.tar"):
        (folder / path.name).write_bytes(path.read_bytes())
    url = found["FOREBAY_TEST_HTTP"] + "/shards/train-"
    for given in (url + "{000..004}.tar", [f"{url}{number:03}.tar" for number in range(SHARDS)]):
        assert epochs(fb.webdataset(given, chunk=16_000).shuffle(block=3, lanes=2).batch(16)) == expected
    refused(fb.Unsupported, fb.webdataset(url + "*.tar"), "cannot be listed")


# ---- what is wrong with samples and shards


def test_samples_that_lack_a_field_are_told_by_policy(tmp_path):
    path = write_tar(tmp_path / "a.tar", [("0.txt", b"a"), ("0.cls", b"0"), ("1.txt", b"b"), ("2.cls", b"2"), ("2.txt", b"c")])
    error = refused(fb.Corrupt, fb.webdataset(path), "has no cls", "optional=")
    assert error.sample == 1 and error.key == f"{path}: 1"
    assert [row["txt"] for row in rows(fb.webdataset(path), on_error="skip")] == ["a", "c"]
    optional = rows(fb.webdataset(path, optional="cls"))
    assert [(row["txt"], int(row["cls"]), bool(row["cls_valid"])) for row in optional] == [("a", 0, True), ("b", 0, False), ("c", 2, True)]


@pytest.mark.parametrize("extension", ["pyd", "pickle", "pkl", "pth", "meta.pyd"])
def test_pickles_are_refused_with_the_reason(tmp_path, extension):
    path = write_tar(tmp_path / "a.tar", [("0.txt", b"a"), (f"0.{extension}", b"cos\nsystem\n(S'true'\ntR.")])
    refused(fb.Unsupported, fb.webdataset(path), extension, "runs what it says", "fields=")
    assert [row["txt"] for row in rows(fb.webdataset(path, ["txt"]))] == ["a"]
    (problem,) = fb.webdataset(path, [extension]).check()
    assert "pickle" in problem.message


@pytest.mark.parametrize("name", ["../up.txt", "/etc/root.txt", "a/../../b.txt"])
def test_paths_that_leave_their_folder_are_refused(tmp_path, name):
    path = write_tar(tmp_path / "a.tar", [("0.txt", b"a"), (name, b"b")])
    refused(fb.Corrupt, fb.webdataset(path), str(path), name, "leaves its folder")


def test_compressed_shards_are_refused_with_the_way_out(shared, tmp_path):
    refused(fb.Unsupported, fb.webdataset(shared / "webdataset" / "sample.tgz"), "compressed", "gunzip")


def test_names_with_a_number_behind_a_dot_are_explained(tmp_path):
    path = write_tar(tmp_path / "a.tar", [(f"frame.{i:04}.jpg", b"x") for i in range(300)])
    refused(fb.Unsupported, fb.webdataset(path), "first dot", 'split="last"')
    assert len(rows(fb.webdataset(path, split="last"))) == 300


def test_misuse_is_found_without_touching_storage():
    def problems(*args, **options):
        return " ".join(problem.message + problem.remedy for problem in fb.webdataset(*args, **options).check())

    assert "empty" in problems("")
    assert "two types" in problems("a.tar", {"x": "jpg;cls"})
    assert "two fields 'key'" in problems("a.tar", {"key": "txt"})
    assert "not among fields" in problems("a.tar", ["jpg"], optional="cls")
    assert "chunk" in problems("a.tar", chunk="much")
    assert "split" in problems("a.tar", split="middle")
    for wrong in ({"chunk": "much"}, {"optional": 3}, {"fields": 3}, {}):
        text = json.dumps({"forebay_pipeline": 1, "steps": [{"op": "webdataset", "pattern": "a.tar"} | wrong if wrong else {"op": "webdataset"}]})
        assert len(fb.Pipeline.from_json(text).check()) == 1, wrong
    assert "chunk" in problems("a.tar", chunk=0)
    assert "'imag'" in " ".join(one.message for one in fb.webdataset("a.tar", {"image": "jpg"}).decode_image(field="imag").check())


def opened(path, **options):
    """The samples, or the error of opening them, which says something about the data."""
    try:
        return rows(fb.webdataset(path, **options))
    except (fb.Corrupt, fb.Unsupported, fb.NotFound) as error:
        return error


def as_stored(value):
    """What a file held that became this value."""
    return value.encode() if isinstance(value, str) else bytes(value) if isinstance(value, bytes) else str(value).encode()


@pytest.mark.parametrize("folder", ["tar", "tar-rs"])
def test_hostile_and_damaged_tars_are_told_or_read_as_tarfile_reads_them(shared, folder):
    refused, read = 0, 0
    for path in sorted((shared / "malformed" / folder).iterdir()):
        found = opened(path)
        if isinstance(found, fb.NotFound):
            assert "no sample" in str(found) and by_tarfile(path) == []
            read += 1
        elif isinstance(found, fb.Error):
            assert path.name in str(found) and any(part in str(found) for part in ("at byte", "has no", "no sample", "expected a tar")), found
            refused += 1
        else:
            assert [{name: value if name == "key" else as_stored(value) for name, value in row.items()} for row in found] == by_tarfile(path)
            read += 1
    assert refused > 0 and read > 0


def test_a_shard_that_was_cut_off_anywhere_is_told(tmp_path):
    whole = write_tar(tmp_path / "whole.tar", sum(map(sample, range(3)), []), tarfile.PAX_FORMAT).read_bytes()
    end = len(whole.rstrip(b"\0")) + 511 & ~511
    for length in sorted(random.Random(5).sample(range(end), 60)) + [0, 511, 512, end]:
        (tmp_path / "cut.tar").write_bytes(whole[:length])
        error = opened(tmp_path / "cut.tar")
        assert isinstance(error, fb.Corrupt) and "cut.tar" in str(error) and "at byte" in str(error), length


def test_flipped_bits_of_headers_are_told_or_change_nothing(tmp_path):
    whole = write_tar(tmp_path / "whole.tar", sum(map(sample, range(2)), []), tarfile.USTAR_FORMAT).read_bytes()
    good = [row["key"] for row in rows(fb.webdataset(tmp_path / "whole.tar"))]
    for bit in random.Random(6).sample(range(8 * 512), 60):
        bad = bytearray(whole)
        bad[bit // 8] ^= 1 << bit % 8
        (tmp_path / "bad.tar").write_bytes(bad)
        found = opened(tmp_path / "bad.tar")
        assert isinstance(found, fb.Corrupt) or [row["key"] for row in found] == good, bit


def test_a_shard_that_changes_under_a_run_is_told(tmp_path):
    path = write_tar(tmp_path / "a.tar", sum(map(sample, range(30)), []))
    with fb.Loader(fb.webdataset(path).batch(4)) as loader:
        path.write_bytes(bytes(path.stat().st_size))
        with pytest.raises((fb.Corrupt, fb.Unavailable)):
            list(loader)
