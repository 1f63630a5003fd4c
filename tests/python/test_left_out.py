"""Nothing vanishes: what is listed and what is told are together what is there, in folders, tables and buckets."""
import collections
import io
import json
import os
import random
import socket
import tarfile
import warnings

import numpy as np
import pytest
from plain_bucket import Bucket, serving

import forebay as fb

Image = pytest.importorskip("PIL.Image")
UNREAD = ("tif", "TIFF", "gif", "ppm", "avif", "heic", "jxl", "npy", "zip", "jpg.gz", "")
BESIDE = ("README.md", "labels.csv", "notes.txt", "meta.json", "a.xml", ".DS_Store", ".hidden.jpg", "Thumbs.db", "LICENSE", "x.jpg~")


def picture(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(path)


def opened(pipeline, **options):
    """Batches of one epoch, errors that were skipped by key, and what the opening told by kind."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with fb.Loader(pipeline.batch(7), epochs=1, on_error="skip", **options) as loader:
            batches = list(loader)
            listed = loader.warnings()
            failed = {error["key"]: error["code"] for error in loader.errors()}
    assert [str(one.message) for one in told if one.category is fb.DataWarning] == [one["message"] for one in listed]
    return batches, failed, {one["kind"]: (one["count"], one["first"]) for one in listed}


def keys_of(batches):
    return [key for batch in batches for key in batch["key"]]


@pytest.fixture
def root(tmp_path):
    for name in ("ant/1.png", "cat/1.png"):
        picture(tmp_path / "photos" / name)
    return tmp_path / "photos"


def test_a_dead_link_to_a_picture_is_a_sample_that_is_not_found(root):
    (root / "ant" / "2.png").symlink_to("/not/fetched/2.png")
    (root / "cat" / "ring.png").symlink_to("ring.png")
    batches, failed, told = opened(fb.images(root))
    assert keys_of(batches) == ["ant/1.png", "cat/1.png"]
    assert failed == {f"{root}/ant/2.png": "NotFound", f"{root}/cat/ring.png": "NotFound"} and told == {}
    with pytest.raises(fb.NotFound, match="2.png"), fb.Loader(fb.images(root).batch(9), epochs=1) as loader:
        list(loader)
    batches, failed, told = opened(fb.files(f"{root}/**/*.png"))
    assert len(failed) == 2 and len(keys_of(batches)) == 2


def test_a_dead_link_that_may_be_a_class_is_an_error_unless_the_classes_are_given(root):
    (root / "bee").symlink_to("/not/mounted/bee")
    with pytest.raises(fb.NotFound, match=r"'bee'.*labels.*classes="):
        fb.Loader(fb.images(root).batch(2))
    batches, _, told = opened(fb.images(root, classes=["ant", "bee", "cat"]))
    assert [label for batch in batches for label in batch["label"].tolist()] == [0, 2] and told == {"dead_links": (1, "bee")}
    batches, _, told = opened(fb.files(f"{root}/**/*.png"))
    assert len(keys_of(batches)) == 2 and told == {"dead_links": (1, "bee")}
    (root / "bee").unlink()
    (root / "notes.txt").symlink_to("/not/there.txt")
    assert opened(fb.images(root))[2] == {"dead_links": (1, "notes.txt")}


def test_pictures_in_formats_that_are_not_read_are_told_with_their_number_and_the_first(root):
    for name in ("ant/2.gif", "ant/1.tif", "cat/3.avif", "scan.tiff"):
        (root / name).write_bytes(b"II*\0")
    batches, failed, told = opened(fb.images(root))
    assert keys_of(batches) == ["ant/1.png", "cat/1.png"] and not failed
    assert told == {"unread_files": (4, "ant/1.tif")}


def test_a_class_that_would_be_empty_by_it_is_an_error(root):
    (root / "bee").mkdir()
    assert opened(fb.images(root))[2] == {}, "an empty folder is a class without pictures"
    (root / "bee" / "1.tif").write_bytes(b"II*\0")
    with pytest.raises(fb.Unsupported, match=r"class 'bee'.*bee/1.tif.*convert"):
        fb.Loader(fb.images(root).batch(2))
    assert opened(fb.images(root, classes=["ant", "cat"]))[2] == {"other_folders": (1, "bee")}


def test_the_current_folder_may_lie_in_the_data(root, monkeypatch):
    monkeypatch.chdir(root / "cat")
    for pipeline in (fb.images(root), fb.files(f"{root}/**/*.png")):
        batches, _, told = opened(pipeline)
        assert keys_of(batches) == ["ant/1.png", "cat/1.png"] and told == {}


def test_warnings_can_be_made_errors(root):
    (root / "ant" / "1.tif").write_bytes(b"II*\0")
    with warnings.catch_warnings():
        warnings.simplefilter("error", fb.DataWarning)
        with pytest.raises(fb.DataWarning, match="1 file"):
            fb.Loader(fb.images(root).batch(2))


def test_a_folder_without_permission_is_an_error(root):
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    (root / "cat").chmod(0)
    try:
        with pytest.raises(fb.InvalidArgument, match="permission"):
            fb.Loader(fb.images(root).batch(2))
    finally:
        (root / "cat").chmod(0o755)


# Classes


def test_a_mapping_of_training_gives_evaluation_the_same_labels(tmp_path):
    for split, classes in (("train", ("ant", "bee", "cat")), ("val", ("ant", "cat", "dog"))):
        for name in classes:
            picture(tmp_path / split / name / "1.png")
    train = fb.images(tmp_path / "train")
    with fb.Loader(train.batch(3)) as loader:
        classes = loader.classes
    assert classes == train.classes == ["ant", "bee", "cat"]
    for given in (classes, tuple(classes), {"cat": 2, "ant": 0, "bee": 1}):
        val = fb.images(tmp_path / "val", classes=given)
        batches, _, told = opened(val)
        assert dict(zip(keys_of(batches), np.concatenate([batch["label"] for batch in batches]).tolist())) == {"ant/1.png": 0, "cat/1.png": 2}
        assert told == {"other_folders": (1, "dog")} and val.classes == classes
        assert fb.Pipeline.from_json(val.to_json()).classes == classes
    reversed_labels = opened(fb.images(tmp_path / "train", classes=classes[::-1]))[0]
    assert np.concatenate([batch["label"] for batch in reversed_labels]).tolist() == [2, 1, 0]


@pytest.mark.parametrize("classes, says", [
    ([], "classes"), (["a", "a"], "twice"), (["a/b"], "a/b"), ([""], "name"), ("ant", "one text"), ({"a": 1, "b": 2}, "0 to 1"), ({"a": 0, "b": 0}, "0 to 1"),
])
def test_classes_that_are_none_are_refused(root, classes, says):
    with pytest.raises(fb.InvalidArgument, match=says):
        fb.Loader(fb.images(root, classes=classes).batch(2))


def test_classes_of_a_source_without_them(tmp_path):
    (tmp_path / "a.txt").write_text("x\n")
    with fb.Loader(fb.text(tmp_path / "a.txt").batch(1)) as loader, pytest.raises(fb.InvalidArgument, match="only images"):
        loader.classes


# Tables, lines, shards


@pytest.fixture
def parquet():
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    def write(path, values=(1,)):
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"a": list(values)}), path)

    return write


@pytest.mark.parametrize("pattern", ["t", "t/**/*.parquet"])
@pytest.mark.parametrize("link", ["t/1.parquet", "t/year=2024", "t/more"])
def test_a_dead_link_does_not_lose_half_a_table(tmp_path, parquet, pattern, link):
    parquet(tmp_path / "t" / "0.parquet")
    (tmp_path / link).symlink_to("/not/fetched")
    with pytest.raises(fb.NotFound, match=os.path.basename(link)):
        fb.Loader(fb.parquet(f"{tmp_path}/{pattern}").batch(1))


def test_files_beside_a_table_that_look_like_data_are_told(tmp_path, parquet):
    parquet(tmp_path / "t" / "0.parquet")
    for name in ("1.parquet.gz", "2.orc", "README.md", "_SUCCESS", ".x.crc", "_metadata"):
        (tmp_path / "t" / name).write_bytes(b"x")
    batches, _, told = opened(fb.parquet(tmp_path / "t"))
    assert sum(len(batch.ids) for batch in batches) == 1 and told == {"unread_files": (2, "1.parquet.gz")}


@pytest.mark.parametrize("source, name", [(fb.text, "a.txt"), (fb.jsonl, "a.jsonl")])
def test_lines_fail_on_dead_links_and_tell_other_files(tmp_path, source, name):
    (tmp_path / name).write_text('{"a": 1}\n')
    (tmp_path / f"{name}.zst").write_bytes(b"x")
    batches, _, told = opened(source(tmp_path))
    assert len(batches[0].ids) == 1 and told == {"unread_files": (1, f"{name}.zst")}
    (tmp_path / f"b{name}").symlink_to("/not/fetched")
    with pytest.raises(fb.NotFound, match=f"b{name}"):
        fb.Loader(source(tmp_path).batch(1))


# What is listed and what is told is what is there


def fill(folder, rng, classes):
    """Files of every kind in class folders: the pictures, what cannot be read by code, and what must be told by kind."""
    pictures, broken, told = set(), {}, collections.defaultdict(set)
    for name in classes:
        picture(folder / name / "0.png")
        pictures.add(f"{name}/0.png")
        for i in range(rng.randrange(12)):
            odd = rng.choice(["x", "ü", "a b", "new\nline", "-", "%41", "[1]", "{a,b}", "*"])
            deep = rng.choice(["", "", "deep/", "v1.0/"])
            stem = f"{name}/{deep}{odd}{i}"
            path = folder / stem
            path.parent.mkdir(exist_ok=True)
            kind = rng.choice(["picture", "unread", "dead picture", "dead", "beside", "link", "circle", "fifo", "folder link"])
            if kind == "picture":
                picture(path.with_name(path.name + ".png"))
                pictures.add(stem + ".png")
            elif kind == "unread":
                extension = rng.choice(UNREAD)
                stem += f".{extension}" if extension else ""
                (folder / stem).write_bytes(b"?")
                told["unread_files"].add(stem)
            elif kind == "dead picture":
                (folder / f"{stem}.jpg").symlink_to("/not/fetched")
                broken[f"{stem}.jpg"] = "NotFound"
            elif kind == "dead":
                path.symlink_to(f"/not/mounted/{i}")
                told["dead_links"].add(stem)
            elif kind == "beside":
                (path.parent / rng.choice(BESIDE)).write_bytes(b"")
            elif kind == "link":
                path.with_name(path.name + ".PNG").symlink_to((folder / name / "0.png").resolve())
                pictures.add(stem + ".PNG")
            elif kind == "circle":
                path.symlink_to(rng.choice([".", (folder / name).resolve()]))
                told["circular_links"].add(stem)
            elif kind == "fifo":
                os.mkfifo(f"{path}.png")
                broken[f"{stem}.png"] = "Unsupported"
            else:
                picture(folder.parent / "elsewhere" / "e.png")
                path.symlink_to((folder.parent / "elsewhere").resolve())
                pictures.add(f"{stem}/e.png")
    return pictures, broken, {kind: (len(names), min(names, key=os.fsencode)) for kind, names in told.items()}


@pytest.mark.parametrize("seed", range(40))
def test_what_is_listed_and_what_is_told_is_what_is_there(tmp_path, seed):
    rng = random.Random(seed)
    folder = tmp_path / "photos"
    pictures, broken, expected = fill(folder, rng, ["ant", "bee", "cat"][: rng.randrange(1, 4)])
    for pipeline in (fb.images(folder), fb.images(folder, split_by="none")):
        batches, failed, told = opened(pipeline.decode_image().resize(4))
        assert set(keys_of(batches)) == pictures and len(keys_of(batches)) == len(pictures)
        assert {key.removeprefix(f"{folder}/"): code for key, code in failed.items()} == broken
        assert told == expected


@pytest.mark.parametrize("seed", range(20))
def test_in_a_bucket_too(seed):
    rng = random.Random(seed)
    objects, pictures, unread = {}, set(), set()
    for name in ("ant", "bee"):
        objects[f"p/{name}/"] = b""  # as consoles leave it
        if rng.random() < 0.5:
            objects[f"p/{name}_$folder$"] = objects[f"p/{name}/deep_$folder$"] = b""
        for i in range(1 + rng.randrange(9)):
            stem = f"{name}/{rng.choice(['x', 'ü', 'a b', '[1]', '{a,b}', '*', '%41'])}{i}"
            if i == 0 or rng.random() < 0.5:
                objects[f"p/{stem}.jpg"] = b"jpeg"
                pictures.add(f"{stem}.jpg")
            else:
                extension = rng.choice(UNREAD)
                stem += f".{extension}" if extension else ""
                objects[f"p/{stem}"] = b"?"
                unread.add(stem)
    with serving(Bucket(objects)) as options:
        batches, failed, told = opened(fb.images("s3://data/p"), storage_options=options)
        assert set(keys_of(batches)) == pictures and not failed
        assert told == ({"unread_files": (len(unread), min(unread, key=os.fsencode))} if unread else {})
        batches, failed, told = opened(fb.files("s3://data/p/**"), storage_options=options)
        assert set(keys_of(batches)) == pictures | unread and not failed and not told


def write_lines(path, rows):
    path.write_text("".join(json.dumps({"a": row}) + "\n" for row in rows))


def write_shard(path, rows):
    with tarfile.open(path, "w") as shard:
        for row in rows:
            member = tarfile.TarInfo(f"{path.stem}-{row}.a")
            member.size = 3
            shard.addfile(member, io.BytesIO(b"abc"))


# ending: (source, writer; None: the fixture's)
MANY_ROWS = {
    "parquet": (lambda folder: fb.parquet(folder, columns=["a"]), None),
    "txt": (fb.text, write_lines),
    "jsonl": (fb.jsonl, write_lines),
    "tar": (fb.webdataset, write_shard),
}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ending", MANY_ROWS)
def test_of_files_with_many_samples_every_one_is_read_told_or_an_error(tmp_path, parquet, monkeypatch, ending, seed):
    rng = random.Random(seed)
    source, write = MANY_ROWS[ending]
    rows, unread, must_fail = 0, set(), False
    for i in range(1, 2 + rng.randrange(8)):
        folder = tmp_path / "t" / rng.choice(["", "deep", "n[1]", "n{a,b}"])
        kind = rng.choice(["table", "table", "unread", "dead", "dead folder", "beside", "socket"])
        folder.mkdir(parents=True, exist_ok=True)
        if kind == "table" or i == 1:
            (write or parquet)(folder / f"{i}.{ending}", range(i))
            rows += i
        elif kind == "unread":
            (folder / f"{i}.{ending}.zst").write_bytes(b"?")
            unread.add(str((folder / f"{i}.{ending}.zst").relative_to(tmp_path / "t")))
        elif kind == "dead":
            (folder / f"{i}.{ending}").symlink_to("/not/fetched")
            must_fail = True
        elif kind == "dead folder":
            (folder / f"part{i}").symlink_to("/not/mounted")
            must_fail = True
        elif kind == "socket":
            monkeypatch.chdir(folder)  # paths of sockets are short
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(f"{i}.{ending}")
            must_fail = True
        else:
            (folder / "_SUCCESS").touch()
    try:
        batches, failed, told = opened(source(tmp_path / "t"))
    except fb.Error as error:
        assert must_fail and type(error) in (fb.NotFound, fb.Unsupported) and (f".{ending}" in str(error) or "part" in str(error)), error
        return
    assert bool(failed) == must_fail and sum(len(batch.ids) for batch in batches) == rows
    assert told == ({"unread_files": (len(unread), min(unread))} if unread else {})
