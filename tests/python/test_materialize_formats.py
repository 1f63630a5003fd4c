"""What materialize() writes is read by others, too."""
import numpy as np
import pytest
from materializing import made, members, numbers

import forebay as fb


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
