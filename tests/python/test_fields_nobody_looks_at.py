"""A step that works on each of several fields alone leaves out those that nobody looks at behind it."""
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forebay as fb


def test_a_field_of_a_cast_is_not_made():
    pictures = fb.arrays(x=np.arange(3, dtype="uint32"), image=np.zeros((3, 1, 5), "uint8")).random_crop(4)
    with fb.Loader(pictures.cast("int8", field=["image", "x"]).select("x").batch(3), epochs=1) as loader:
        assert [sorted(batch["x"].tolist()) for batch in loader] == [[0, 1, 2]]
        assert not loader.errors()
    with pytest.raises(fb.Unsupported, match="does not fit"), fb.Loader(pictures.cast("int8", field=["image", "x"]).batch(3)) as loader:
        next(iter(loader))


@pytest.mark.parametrize("step", [
    lambda p: p.cast("float32", field=["a", "b"]), lambda p: p.clip(min=0, field=["a", "b"]),
    lambda p: p.log1p(field=["a", "b"]), lambda p: p.hash_bucket(1000, field=["a", "b"]),
], ids=["cast", "clip", "log1p", "hash_bucket"])
def test_a_column_is_not_read(tmp_path, step):
    rows = 50_000
    pq.write_table(pa.table({"a": pa.array(np.arange(rows)), "b": pa.array(np.random.default_rng(0).integers(0, 2**60, rows))}),
                   tmp_path / "t.parquet", compression=None, use_dictionary=False, row_group_size=5000)

    def read(pipeline):
        with fb.Loader(pipeline.batch(1000), epochs=1) as loader:
            values = np.concatenate([batch["a"] for batch in loader])
            return values.tolist(), sum(store["bytes"] for store in loader.stats()["stores"])

    both = step(fb.parquet(tmp_path / "t.parquet"))
    all_values, all_bytes = read(both)
    values, some_bytes = read(both.select("a"))
    assert values == all_values
    assert some_bytes < 0.6 * all_bytes
