"""A path that exists is that path, whatever characters are in it; what does not exist is a pattern, and messages say so."""
import json
import tarfile

import numpy as np
import pytest
from plain_bucket import Bucket, serving

import forebay as fb

ODD = ["run[1]", "{a,b}", "{1..2}", "what?", "all*", "[", "[]", "a[!b]c", "{x}", "x{y", "[*]", "[[]1]"]


def delivered(pipeline, field, **options):
    with fb.Loader(pipeline.batch(100), epochs=1, **options) as loader:
        return [value for batch in loader for value in batch[field]]


def escaped(name):
    return "".join(f"[{c}]" if c in "*?[]{}" else c for c in name)


# What each source reads, by how a file of it with the value `number` is written.


def write_text(path, number):
    path.write_text(f"{number}\n")


def write_parquet(path, number):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"v": [number]}), path)


def write_arrow(path, number):
    pa = pytest.importorskip("pyarrow")
    with pa.ipc.new_file(str(path), pa.schema([("v", pa.int64())])) as file:
        file.write_table(pa.table({"v": [number]}))


def write_hdf5(path, number):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file["v"] = np.array([number])


def write_tar(path, number):
    text = path.with_name("scratch.txt")
    text.write_text(str(number))
    with tarfile.open(path, "w") as tar:
        tar.add(text, "a.txt")
    text.unlink()


SOURCES = {
    "files": ("txt", write_text, fb.files, "bytes", int),
    "text": ("txt", write_text, fb.text, "text", int),
    "text by file": ("txt", write_text, lambda where: fb.text(where, by="file"), "text", int),
    "jsonl": ("jsonl", lambda path, number: path.write_text(json.dumps({"v": number}) + "\n"), fb.jsonl, "v", int),
    "parquet": ("parquet", write_parquet, fb.parquet, "v", int),
    "arrow": ("arrow", write_arrow, fb.arrow, "v", int),
    "hdf5": ("h5", write_hdf5, lambda where: fb.hdf5(where, {"v": "/v"}), "v", int),
    "webdataset": ("tar", write_tar, lambda where: fb.webdataset(where, fields={"v": "txt"}), "v", int),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_folder_and_a_file_of_any_name_are_found_by_it_and_by_its_escape(tmp_path, name):
    extension, write, source, field, plain = SOURCES[name]
    for number, folder in enumerate(ODD):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / f"{folder}.{extension}", number)
    # Names that the odd ones would match as patterns.
    for decoy in ("run1", "a", "b", "1", "2", "whatx", "allx", "adc", "x"):
        (tmp_path / decoy).mkdir()
        write(tmp_path / decoy / f"{decoy}.{extension}", 1000)
    for number, folder in enumerate(ODD):
        ways = [f"{folder}/{folder}.{extension}", f"{escaped(folder)}/{escaped(folder)}.{extension}", f"{folder}/*.{extension}",
                f"{folder}/{escaped(folder)}.{extension}", f"{escaped(folder)}/*.{extension}"]
        if name not in ("files", "text by file"):
            ways += [folder, f"{folder}/", escaped(folder), f"{escaped(folder)}/"]
        for way in ways:
            assert [plain(value) for value in delivered(source(f"{tmp_path}/{way}"), field)] == [number], way


@pytest.mark.parametrize("name", SOURCES)
def test_patterns_are_patterns_where_nothing_has_their_name(tmp_path, name):
    extension, write, source, field, plain = SOURCES[name]
    for number, folder in enumerate(("run1", "run2", "run[1]x")):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder / f"t.{extension}", number)
    for pattern, expected in (("run[12]", [0, 1]), ("run{1,2}", [0, 1]), ("run?", [0, 1]), ("run*", [0, 1, 2]), ("run[1]", [0]), ("run[[]1]*", [2])):
        assert sorted(plain(value) for value in delivered(source(f"{tmp_path}/{pattern}/t.{extension}"), field)) == expected, pattern
    with pytest.raises(fb.NotFound, match=r"taken as a pattern.*\[\[\] or \[\{\]"):
        fb.Loader(source(f"{tmp_path}/none[1]/t.{extension}").batch(1))
    with pytest.raises(fb.NotFound) as caught:
        fb.Loader(source(f"{tmp_path}/none/t.{extension}").batch(1))
    assert "taken as" not in str(caught.value)


def test_in_a_bucket_too():
    objects = {f"d/{folder}/t.txt": f"{number}\n".encode() for number, folder in enumerate(ODD)}
    objects |= {f"d/{decoy}/t.txt": b"1000\n" for decoy in ("run1", "a", "b", "1", "2", "whatx", "allx", "adc", "x")}
    with serving(Bucket(objects)) as options:
        for number, folder in enumerate(ODD):
            for way in (f"{folder}/t.txt", f"{folder}/*.txt", f"{escaped(folder)}/t.txt", folder, escaped(folder)):
                url = f"s3://data/d/{way}"
                assert delivered(fb.text(url), "text", storage_options=options) == [str(number)], way
                if way.endswith("txt"):
                    assert delivered(fb.files(url), "bytes", storage_options=options) == [f"{number}\n".encode()], way


def test_followed_files_too(tmp_path):
    for folder in ("run[1]", "run1"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.txt").write_text(f"{folder}\n")
    for source, field in ((fb.text, "text"), (fb.files, "bytes")):
        with fb.Loader(source(f"{tmp_path}/run[1]/*.txt", follow=True).batch(1), steps_per_epoch=1, epochs=1) as loader:
            value = next(iter(loader))[field][0]
        assert (value if isinstance(value, str) else value.decode()).strip() == "run[1]"


def test_images_and_manifests_below_any_folder(tmp_path):
    for name in ODD:
        root = tmp_path / name
        (root / name).mkdir(parents=True)
        (root / name / "1.jpg").write_bytes(b"x")
        assert delivered(fb.images(root), "key") == [f"{name}/1.jpg"]
        (tmp_path / "list.csv").write_text(f'path,n\n"{name}/1.jpg",1\n')
        assert delivered(fb.manifest(tmp_path / "list.csv", root=root), "bytes") == [b"x"]


def test_what_is_asked_of_the_store_does_not_grow_with_the_pattern():
    objects = {f"d/{i}.txt": b"x\n" for i in range(3)}
    bucket = Bucket(objects)
    with serving(bucket) as options:
        for pattern in ("s3://data/d/*.txt", "s3://data/d/{0..2}.txt", "s3://data/d/[0-2].txt"):
            bucket.asked.clear()
            delivered(fb.text(pattern), "text", storage_options=options)
            about = [path for method, path, _ in bucket.asked if method == "HEAD" or "list-type" in path]
            assert len(about) <= 2 + 1 + 3, (pattern, about)
