"""Folders of Delta, Iceberg and Hudi tables are refused: their files hold deleted and replaced rows, too."""
import json

import pytest
from plain_bucket import Bucket, serving

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


def parquet(path, values=(1, 2)):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": list(values)}), path)


def text(path, content="{}"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def delta(root):
    for part in ("a.parquet", "day=1/b.parquet"):
        parquet(root / part)
    text(root / "_delta_log" / "00000000000000000000.json")
    return ["", "/", "/**/*.parquet", "/day=1", "/day=1/*.parquet", "/*/*.parquet"]


def iceberg(root):
    for part in ("00000-0-aaaa.parquet", "day=1/00000-0-bbbb.parquet"):
        parquet(root / "data" / part)
    text(root / "metadata" / "00002-cccc.metadata.json", json.dumps({"format-version": 2}))
    text(root / "metadata" / "snap-1.avro")
    return ["", "/", "/data", "/data/", "/data/day=1", "/data/*.parquet", "/**/*.parquet", "/*/*.parquet", "/data/**/*.parquet", "/data/day=*/*.parquet"]


def hadoop_iceberg(root):
    parquet(root / "data" / "x.parquet")
    text(root / "metadata" / "version-hint.text", "2")
    text(root / "metadata" / "v2.metadata.json")
    return ["", "/data", "/data/*.parquet"]


def hudi(root):
    for part in ("f1_0-1-0_1.parquet", "f1_0-2-0_2.parquet", "day=1/5e9a-0_0-21-20_20260101120000123.parquet"):
        parquet(root / part)
    text(root / ".hoodie" / "hoodie.properties", "hoodie.table.type=COPY_ON_WRITE\n")
    return ["", "/", "/*.parquet", "/**/*.parquet", "/day=1", "/day=1/*.parquet"]


KINDS = {"Delta": delta, "Iceberg": iceberg, "an Iceberg": hadoop_iceberg, "Hudi": hudi}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("above", ["", "warehouse/"])
def test_its_folder_and_what_leads_into_it_is_refused_with_the_way_out(tmp_path, kind, above):
    ways = KINDS[kind](tmp_path / f"{above}table")
    for pattern in [f"/{above}table{way}" for way in ways] + ([f"/{above}", f"/{above}*/**/*.parquet"] if above else []):
        with pytest.raises(fb.Unsupported, match=f"{kind}.*deleted.*[Ll]ist of its live files"):
            fb.Loader(fb.parquet(f"{tmp_path}{pattern}", columns=["x"]).batch(1))


@pytest.mark.parametrize("kind", KINDS)
def test_files_that_are_listed_or_named_are_read(tmp_path, kind):
    KINDS[kind](tmp_path / "table")
    files = sorted(str(path) for path in tmp_path.rglob("*.parquet") if "day=" not in str(path))
    with fb.Loader(fb.parquet(files, columns=["x"]).batch(100), epochs=1) as loader:
        assert sum(len(batch.ids) for batch in loader) == 2 * len(files)
    with fb.Loader(fb.parquet(files[0], columns=["x"]).batch(100), epochs=1) as loader:
        assert sum(len(batch.ids) for batch in loader) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_bucket_too(tmp_path, kind):
    ways = KINDS[kind](tmp_path / "table")
    objects = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with serving(Bucket(objects)) as options:
        for way in ways:
            with pytest.raises(fb.Unsupported, match=kind):
                fb.Loader(fb.parquet(f"s3://data/table{way}", columns=["x"]).batch(1), storage_options=options)


def test_folders_that_only_look_like_it_are_read(tmp_path):
    parquet(tmp_path / "plain" / "data" / "a.parquet")
    text(tmp_path / "plain" / "metadata" / "labels.json")
    parquet(tmp_path / "named" / "f1_0-1-0_1.parquet")
    for pattern in ("plain", "plain/data", "plain/data/*.parquet", "named", "named/*.parquet"):
        with fb.Loader(fb.parquet(f"{tmp_path}/{pattern}").batch(100), epochs=1) as loader:
            assert sum(len(batch.ids) for batch in loader) == 2
