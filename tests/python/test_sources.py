"""arrays, files and manifest: what is in them is what comes out."""
import gc
import json
import weakref

import numpy as np
import pytest
from loading import epoch_ids, one_epoch

import forebay as fb


def rows(pipeline, batch=4, **options):
    with fb.Loader(pipeline.batch(batch), epochs=1, **options) as loader:
        return list(loader)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16",
                                   "float32", "float64"])
def test_every_element_type_of_arrays(dtype):
    data = np.arange(60).reshape(10, 3, 2).astype(dtype)
    joined = np.concatenate([batch["x"] for batch in rows(fb.arrays(x=data))])
    assert joined.dtype == dtype
    assert np.array_equal(joined, data)


def test_arrays_of_other_layouts_and_byte_orders():
    data = np.arange(60, dtype=np.int32).reshape(10, 6)
    for other in (np.asfortranarray(data), data[::1, ::-1], data.astype(">i4"), data.T.copy().T):
        assert np.array_equal(np.concatenate([b["x"] for b in rows(fb.arrays(x=other))]), other)


def test_scalars_and_several_fields():
    batches = rows(fb.arrays(x=np.arange(10.0), y=np.arange(20).reshape(10, 2)).shuffle(), seed=1)
    for batch in batches:
        assert batch["x"].shape == (len(batch),)
        assert np.array_equal(batch["x"], batch.ids)
        assert np.array_equal(batch["y"][:, 0], batch.ids * 2)
        assert batch.keys() == ["x", "y"]


def test_npy_files_are_read_where_they_are(tmp_path):
    data = np.random.default_rng(0).random((50, 7)).astype(np.float32)
    np.save(tmp_path / "x.npy", data)
    from_memory = one_epoch(fb.arrays(x=data).shuffle().batch(8), seed=3)
    assert one_epoch(fb.arrays(x=tmp_path / "x.npy").shuffle().batch(8), seed=3) == from_memory
    assert one_epoch(fb.arrays(x=np.load(tmp_path / "x.npy", mmap_mode="r")).shuffle().batch(8), seed=3) == from_memory


@pytest.mark.parametrize("data, word", [
    ({"x": np.arange(3), "y": np.arange(4)}, "y"), ({"x": np.float64(3)}, "x"), ({"x": np.array([["a"]])}, "x"),
    ({"x": np.array([None])}, "x"), ({"x": np.zeros(3, complex)}, "x"), ({}, "arrays")])
def test_arrays_that_make_no_sense(data, word):
    with pytest.raises(fb.Error, match=word):
        fb.Loader(fb.arrays(**data).batch(2))


def test_npy_files_that_are_damaged_are_told(tmp_path):
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f4'")
    with pytest.raises(fb.Error, match="bad.npy"):
        fb.Loader(fb.arrays(x=tmp_path / "bad.npy").batch(2))
    np.save(tmp_path / "object.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(fb.Error, match="object.npy"):
        fb.Loader(fb.arrays(x=tmp_path / "object.npy").batch(2))


def test_arrays_live_as_long_as_they_are_read_and_no_longer():
    data = np.arange(1000)
    alive = weakref.ref(data)
    loader = fb.Loader(fb.arrays(x=data).shuffle().batch(10), epochs=1)
    del data
    gc.collect()
    assert alive() is not None
    assert sorted(np.concatenate([batch["x"] for batch in loader]).tolist()) == list(range(1000))
    loader.close()
    del loader
    gc.collect()
    assert alive() is None


def test_select_rename_take():
    pipeline = fb.arrays(a=np.arange(10), b=np.arange(10) * 2, c=np.arange(10) * 3).take(6).select("b", "a").rename(b="twice")
    batches = rows(pipeline)
    assert sorted(batches[0].keys()) == ["a", "twice"]
    assert np.concatenate([batch.ids for batch in batches]).tolist() == list(range(6))
    assert np.array_equal(batches[0]["twice"], batches[0]["a"] * 2)


def test_take_then_shuffle_permutes_only_those():
    with fb.Loader(fb.arrays(x=np.arange(100)).take(10).shuffle().batch(3), seed=1) as loader:
        assert sorted(epoch_ids(loader)) == list(range(10))


def test_cast_of_a_named_field():
    (batch,) = rows(fb.arrays(x=np.arange(4)).cast("float32", field="x"))
    assert batch["x"].dtype == np.float32 and batch["x"].tolist() == [0, 1, 2, 3]


# ragged


def ragged():
    return fb.Dataset([{"t": np.arange(n, dtype=np.int32), "n": n} for n in (3, 0, 5, 1)])


def test_ragged_fields_arrive_as_values_and_offsets():
    (batch,) = rows(ragged())
    values, offsets = batch["t"]
    assert offsets.dtype == np.int64 and offsets.tolist() == [0, 3, 3, 8, 9]
    assert values.dtype == np.int32 and values.tolist() == [0, 1, 2, 0, 1, 2, 3, 4, 0]


def test_pad_fills_up_to_the_longest_or_to_a_length():
    (batch,) = rows(ragged().pad("t", value=-1))
    assert batch["t"].tolist() == [[0, 1, 2, -1, -1], [-1] * 5, [0, 1, 2, 3, 4], [0, -1, -1, -1, -1]]
    (batch,) = rows(ragged().pad("t", value=-1, length=6))
    assert batch["t"].shape == (4, 6)
    with pytest.raises(fb.Error, match="t"):
        rows(ragged().pad("t", length=4))


# files and manifest


def bins(tmp_path, n=12):
    for i in range(n):
        (tmp_path / f"part_{i:03}.bin").write_bytes(bytes([i]) * i)
    return tmp_path


def test_files_by_pattern_braces_and_list(tmp_path):
    folder = bins(tmp_path)
    by_pattern = rows(fb.files(f"{folder}/*.bin"), batch=12)[0]
    assert by_pattern["bytes"] == [bytes([i]) * i for i in range(12)]
    assert [key.rsplit("/")[-1] for key in by_pattern["key"]] == [f"part_{i:03}.bin" for i in range(12)]
    by_braces = rows(fb.files(f"{folder}/part_{{000..011}}.bin"), batch=12)[0]
    assert by_braces["bytes"] == by_pattern["bytes"]
    by_list = rows(fb.files([folder / "part_002.bin", folder / "part_001.bin"]), batch=2)[0]
    assert by_list["bytes"] == [b"\2\2", b"\1"]


def test_names_that_are_not_utf8(tmp_path):
    import os

    name = b"odd_\xff\xfe.bin"
    try:
        with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
            file.write(b"content")
    except OSError:
        pytest.skip("this file system refuses such names")
    (batch,) = rows(fb.files(f"{tmp_path}/*.bin"))
    assert batch["bytes"] == [b"content"]
    assert os.fsencode(batch["key"][0]).endswith(name)


def test_manifest_of_csv_and_jsonl(tmp_path):
    folder = bins(tmp_path)
    lines = [{"path": f"part_{i:03}.bin", "label": i % 3, "weight": i / 2, "name": f"näme {i}"} for i in (5, 2, 9)]
    (folder / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "list.csv").write_text("path,label,weight,name\n" + "".join(
        f"{line['path']},{line['label']},{line['weight']},\"{line['name']}\"\n" for line in lines))
    for name in ("list.csv", "list.jsonl"):
        (batch,) = rows(fb.manifest(folder / name))
        assert batch["bytes"] == [b"\5" * 5, b"\2" * 2, b"\t" * 9]
        assert batch["key"] == [line["path"] for line in lines]
        assert batch["label"].dtype == np.int64 and batch["label"].tolist() == [2, 2, 0]
        assert batch["weight"].dtype == np.float64 and batch["weight"].tolist() == [2.5, 1.0, 4.5]
        assert batch["name"] == [line["name"] for line in lines]


def test_manifest_with_a_root_and_another_column(tmp_path):
    (tmp_path / "data").mkdir()
    bins(tmp_path / "data", 3)
    (tmp_path / "list.csv").write_text("file\npart_002.bin\npart_001.bin\n")
    (batch,) = rows(fb.manifest(tmp_path / "list.csv", root=tmp_path / "data", path="file"))
    assert batch["bytes"] == [b"\2\2", b"\1"]


def test_lists_and_objects_of_a_manifest_in_jsonl_are_text(tmp_path):
    lines = [{"image": f"{i}.bin", "id": i, "conversations": [{"from": "human", "value": f"<image>\n{i} ü"}, {"from": "gpt", "value": "x" * i}],
              "size": {"w": i, "h": [1.5, None, True]}} for i in range(4)]
    for i in range(4):
        (tmp_path / f"{i}.bin").write_bytes(bytes([i]))
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with fb.Loader(fb.manifest(tmp_path / "list.jsonl", path="image").batch(4), epochs=1) as loader:
        [batch] = loader
    assert [json.loads(text) for text in batch["conversations"]] == [line["conversations"] for line in lines]
    assert [json.loads(text) for text in batch["size"]] == [line["size"] for line in lines] and '" ' not in batch["size"][0]
    (tmp_path / "mixed.jsonl").write_text('{"path": "0.bin", "x": 1}\n{"path": "1.bin", "x": [1]}\n')
    with pytest.raises(fb.Error, match="line 2: 'x' is text here and a number before"):
        fb.Loader(fb.manifest(tmp_path / "mixed.jsonl").batch(1))
