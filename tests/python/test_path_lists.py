"""Manifests whose path is a list: each sample has any number of objects."""
import io
import json

import numpy as np
import pytest
from loading import one_epoch
from PIL import Image

import forebay as fb
from servers.s3 import Client

COUNTS = [2, 0, 3, 1, 0, 4, 1]


def pixels(i, k):
    return np.random.default_rng([i, k]).integers(0, 256, (20 + 3 * i + k, 30 + 5 * k, 3), np.uint8)


def png(array):
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


def names(i):
    return [f"p/{i}_{k}.png" for k in range(COUNTS[i])]


def objects():
    return {name: png(pixels(i, k)) for i in range(len(COUNTS)) for k, name in enumerate(names(i))}


def lines(of=names):
    return "".join(json.dumps({"images": of(i), "row": i, "text": f"row {i}", "boxes": [[i, 2]]}) + "\n" for i in range(len(COUNTS)))


@pytest.fixture
def listed(tmp_path):
    (tmp_path / "p").mkdir()
    for name, data in objects().items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "list.jsonl").write_text(lines())
    return str(tmp_path / "list.jsonl")


def pieces(value):
    values, offsets = (np.asarray(one) for one in value)
    return [values[a:b] for a, b in zip(offsets, offsets[1:])]


def resized(source):
    return source.decode_image().resize((16, 24))


def by_table():
    pa = pytest.importorskip("pyarrow")
    stored = objects()
    return fb.arrow(pa.table({"image": pa.array([[stored[name] for name in names(i)] for i in range(len(COUNTS))], pa.list_(pa.binary())), "row": np.arange(len(COUNTS))}))


def epoch(pipeline, **options):
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            found.update(zip(batch["row"].tolist(), pieces(batch["image"]), strict=True))
    return found


def test_the_pictures_are_those_of_a_table_with_lists(listed):
    found, wanted = epoch(resized(fb.manifest(listed, path="images")).batch(3)), epoch(resized(by_table()).batch(3))
    for i, count in enumerate(COUNTS):
        assert found[i].shape == (count, 16, 24, 3)
        np.testing.assert_array_equal(found[i], wanted[i])


def test_other_columns_and_keys_are_those_of_the_list(listed):
    with fb.Loader(resized(fb.manifest(listed, path="images")).batch(len(COUNTS)), epochs=1) as loader:
        [batch] = loader
    assert batch["text"] == [f"row {i}" for i in range(len(COUNTS))]
    assert [json.loads(boxes) for boxes in batch["boxes"]] == [[[i, 2]] for i in range(len(COUNTS))]
    assert [json.loads(key) for key in batch["key"]] == [names(i) for i in range(len(COUNTS))]
    [texts] = fb.Loader(fb.manifest(listed, path="images").select("text", "row").batch(len(COUNTS)), epochs=1)
    assert texts["text"] == batch["text"]


def test_bytes_are_lists(listed):
    stored = objects()
    with fb.Loader(fb.manifest(listed, path="images").batch(2), epochs=1) as loader:
        found = [row for batch in loader for row in batch["bytes"]]
    assert [[bytes(one) for one in row] for row in found] == [[stored[name] for name in names(i)] for i in range(len(COUNTS))]


@pytest.mark.parametrize("step", ["ram", "disk", "patches"])
def test_digests_are_the_same_for_any_threads_caches_and_ranks(listed, tmp_path, step):
    source = fb.manifest(listed, path="images").shuffle()
    made = source.decode_image().patchify(4, min_pixels=64, max_pixels=2000) if step == "patches" else resized(source)
    wanted = one_epoch(made.batch(2), threads=1)
    assert one_epoch(made.batch(3), threads=4) == wanted
    cached = made.cache(ram="64MiB", disk=0) if step == "ram" else made.cache(ram=0, disk="64MiB", dir=str(tmp_path / "kept"))
    assert one_epoch(cached.batch(3)) == wanted == one_epoch(cached.batch(2))
    ranks = [fb.Loader(made.batch(1, last="pad"), epochs=1, seed=0, rank=rank, world_size=2) for rank in range(2)]
    assert sum(len(batch) - batch.padding for loader in ranks for batch in loader) == len(COUNTS)


def test_a_bucket_goes_by_their_patches(listed):
    pipeline = fb.manifest(listed, path="images").decode_image().patchify(4, min_pixels=64, max_pixels=2000).bucket(by="patches", tokens=400)
    with fb.Loader(pipeline, epochs=1) as loader:
        assert sorted(i for batch in loader for i in batch.ids.tolist()) == list(range(len(COUNTS)))


def test_a_list_in_a_bucket_gives_the_same(servers, listed, nothing_from_outside, capfd):
    found = servers("ceph")
    client = Client(found["FOREBAY_TEST_S3"], found["FOREBAY_TEST_S3_KEY"], found["FOREBAY_TEST_S3_SECRET"])
    client.make_bucket("pathlists")
    client.put_all("pathlists", objects() | {"list.jsonl": lines().encode()})
    options = {"endpoint": found["FOREBAY_TEST_S3"], "access_key_id": found["FOREBAY_TEST_S3_KEY"], "secret_access_key": found["FOREBAY_TEST_S3_SECRET"]}
    over_s3 = one_epoch(resized(fb.manifest("s3://pathlists/list.jsonl", path="images")).batch(3), storage_options=options)
    assert over_s3 == one_epoch(resized(fb.manifest(listed, path="images")).batch(3))
    cached = resized(fb.manifest("s3://pathlists/list.jsonl", path="images")).cache(ram="64MiB", disk=0).batch(3)
    with fb.Loader(cached, epochs=2, storage_options=options) as loader:
        assert fb.digest(loader) == over_s3
    assert "has no version by which it could be told from other data" in capfd.readouterr().err


def test_a_missing_or_damaged_picture_is_named(listed, tmp_path):
    (tmp_path / "p" / "2_1.png").unlink()
    (tmp_path / "p" / "5_0.png").write_bytes(b"no picture")
    pipeline = resized(fb.manifest(listed, path="images")).batch(2)
    with pytest.raises(fb.NotFound, match=r"2_1\.png"):
        list(fb.Loader(pipeline, epochs=1))
    with fb.Loader(pipeline, epochs=1, on_error="skip") as loader:
        assert sorted(row for batch in loader for row in batch["row"].tolist()) == [0, 1, 3, 4, 6]
        errors = {error["sample"]: error for error in loader.errors()}
    assert sorted(errors) == [2, 5] and "picture 0 of the list" in errors[5]["message"]


@pytest.mark.parametrize(("rows", "message"), [
    ([{"images": ["a.png"]}, {"images": "b.png"}], "line 2: 'images' is one path here and a list before; write lists in all rows"),
    ([{"images": "a.png"}, {"images": ["b.png"]}], "line 2: 'images' is a list here and one path before"),
    ([{"images": ["a.png", 3]}], "line 1: 'images' is neither a path nor a list of paths"),
    ([{"images": ["a.png", ""]}], "line 1: 'images' is neither a path nor a list of paths"),
    ([{"images": {"a": "b.png"}}], "line 1: 'images' is neither a path nor a list of paths"),
    ([{"images": []}, {"images": []}], "all lists 'images' are empty"),
    ([{"images": ["a.png"]}, {"images": ["../b.png", "/c.png"]}], "row 2: '../b.png' leads out of root="),
    ([{"images": ["a.png"]}], "none of the 1 objects exists"),
    ([{"images": ["a.png"] * 65536}], "none of the 65536 objects exists"),
    ([{"images": ["a.png"] * 65537}], "line 1: 'images' lists 65537 objects, and 65536 are the most of a sample; write several lines of fewer"),
])  # fmt: skip
def test_wrong_lists_are_told(tmp_path, rows, message):
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(fb.Error) as caught:
        fb.Loader(resized(fb.manifest(str(tmp_path / "list.jsonl"), path="images", root=str(tmp_path))).batch(1))
    assert message in str(caught.value)
