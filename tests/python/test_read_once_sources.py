"""What is kept is read once, whatever source it is of: requests and bytes counted by the server. Lists and buckets of files: test_read_once.py."""
import io
import json
import tarfile

import numpy as np
import pytest
from counting import EPOCHS, Objects, ids_of, opened, run_job

MOST = 1.01
IN_MEMORY = {"ram": "256MiB", "disk": 0}


def pictures(count):
    from PIL import Image

    def picture(number):
        out = io.BytesIO()
        Image.fromarray(np.random.default_rng(number).integers(0, 255, (24, 24, 3), dtype=np.uint8)).save(out, "JPEG")
        return out.getvalue()

    return {f"class{number % 3}/{number:04}.jpg": picture(number) for number in range(count)}


def shards(count, samples=20):
    def shard(number):
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as archive:
            for sample in range(samples):
                for ending, content in (("bin", bytes([sample]) * 30_000), ("cls", str(sample % 3).encode())):
                    member = tarfile.TarInfo(f"{number:03}{sample:03}.{ending}")
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
        return out.getvalue()

    return {f"{number:03}.tar": shard(number) for number in range(count)}


def tables(count, rows=4000):
    import pyarrow as pa
    import pyarrow.parquet as pq

    def table(number):
        out = io.BytesIO()
        draw = np.random.default_rng(number)
        pq.write_table(pa.table({"x": draw.standard_normal(rows), "y": draw.integers(0, 1 << 40, rows)}), out, row_group_size=rows // 4)
        return out.getvalue()

    return {f"{number:03}.parquet": table(number) for number in range(count)}


def lines(count, rows=200):
    return {f"{number:03}.jsonl": b"".join(json.dumps({"x": list(range(50)), "y": row}).encode() + b"\n" for row in range(rows)) for number in range(count)}


# kind: (contents, samples, whether objects are read whole)
SETS = {
    "manifest": (lambda: Objects(60).contents, 60, True),
    "images": (lambda: pictures(60), 60, True),
    "shards": (lambda: shards(6), 120, False),
    "tables": (lambda: tables(5), 20_000, False),
    "lines": (lambda: lines(5), 1000, False),
}


def is_read_once(kind, server):
    """By requests where objects are read whole, and else by bytes: what is around rows (footers, headers of members) is not read again."""
    if SETS[kind][2]:
        assert len(server.keys) <= server.reads() <= MOST * len(server.keys)
    else:
        assert 0.9 < server.data_sets() <= MOST


@pytest.mark.parametrize("versions", [True, False], ids=["versions", "no versions"])
@pytest.mark.parametrize("kind", SETS)
def test_one_rank_reads_every_object_once(kind, versions):
    contents, samples, _ = SETS[kind]
    with Objects(contents(), versions=versions) as server, opened(server.source(kind), IN_MEMORY, batch=20, epochs=EPOCHS) as loader:
        assert len(loader) > 0
        server.data_sets()  # what opening reads to know the samples is not asked about here
        assert ids_of(loader, EPOCHS) == [list(range(samples))] * EPOCHS
        is_read_once(kind, server)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_with_peers_read_every_object_once_between_them(kind, ranks):
    contents, samples, _ = SETS[kind]
    with Objects(contents()) as server:
        took = run_job(ranks, source=server.source(kind), cache=IN_MEMORY, batch=5, threads=1, when_open=server.data_sets)
        assert [sorted(set(epoch)) for epoch in took] == [list(range(samples))] * EPOCHS
        is_read_once(kind, server)


def test_objects_much_larger_than_lists_make_one_expect_are_read_once():
    with Objects(50, bytes_each=3_000_000) as server, opened(server.source("list"), IN_MEMORY, batch=8, epochs=EPOCHS) as loader:
        assert ids_of(loader, EPOCHS) == [list(range(50))] * EPOCHS
        assert server.reads() <= MOST * 50
