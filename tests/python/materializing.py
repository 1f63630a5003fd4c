"""Pipelines that tests of materialize() take apart, and how their results are compared."""
import hashlib
import os
import pathlib
import signal
import subprocess
import sys
import tarfile
import time

import numpy as np

import forebay as fb

SEED = 11


def tripled(sample):
    return {**sample, "x": sample["x"] * 3}


def bright(sample):
    return {**sample, "mean": float(sample["image"].mean())}


def numbers(rows=157, wide=9):
    draw = np.random.default_rng(2)
    return (fb.arrays(x=draw.standard_normal((rows, wide)).astype(np.float32), big=draw.integers(0, 255, (rows, 40, 5), dtype=np.uint8),
                      y=np.arange(rows)).shuffle().cast("float64", field="x").map(tripled, version="1").batch(7))


def photographs(root):
    return (fb.images(root).shuffle().decode_image().resize((48, 40)).map(bright, version="1").random_flip().batch(4))


def uneven_photographs(root):
    """Each of another size until they are cropped."""
    return fb.images(root).shuffle().decode_image().random_crop((32, 32)).batch(4)


def write_tables(folder, files=3, rows=70, first=0, group=16, seed=3):
    """Parquet files with every kind of column, nulls among them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(first, first + files):
        draw = np.random.default_rng(seed * 1000 + number)
        some = lambda i, value: None if i % 7 == 3 else value  # noqa: E731
        table = pa.table({
            "n": pa.array([some(i, i) for i in range(rows)], pa.int32()),
            "f": draw.standard_normal(rows),
            "half": draw.standard_normal(rows).astype(np.float16),
            "flag": pa.array([i % 3 == 0 for i in range(rows)]),
            "text": pa.array([some(i, f"row {number} {i} é" * (i % 4)) for i in range(rows)]),
            "raw": pa.array([bytes([i % 256]) * (i % 5) for i in range(rows)], pa.binary()),
            "list": pa.array([list(range(i % 6)) for i in range(rows)], pa.list_(pa.int16())),
            "names": pa.array([[f"a{j}" for j in range(i % 3)] for i in range(rows)], pa.list_(pa.string())),
            "vector": pa.array([[float(i), 1.0, 2.0] for i in range(rows)], pa.list_(pa.float32(), 3)),
            "user": pa.array([{"age": i, "name": f"u{i}"} for i in range(rows)]),
        })
        pq.write_table(table, folder / f"part-{number:03}.parquet", row_group_size=group)
    return folder


def table(folder):
    return fb.parquet(folder, null=fb.NULL_MASK).shuffle().cast("float32", field="f").batch(8)


def digests(pipeline, epochs=2, **options):
    """Of some epochs, and the fingerprint."""
    with fb.Loader(pipeline, seed=SEED, epochs=epochs, **options) as loader:
        return [fb.digest(loader) for _ in range(epochs)], loader.fingerprint


def joined_digest(pipeline, world_size, **options):
    """Of one epoch over so many ranks."""
    loaders = [fb.Loader(pipeline, seed=SEED, epochs=1, rank=rank, world_size=world_size, **options) for rank in range(world_size)]
    try:
        return fb.digest(*loaders)
    finally:
        for loader in loaders:
            loader.close()


def files_in(folder):
    """Every file and folder below it, by name; files by their content."""
    folder = pathlib.Path(folder)
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
            for path in sorted(folder.rglob("*"))}


def cuts_of(pipeline, folder):
    """The names of all steps that can be cut behind, from the refusal of another name."""
    import pytest

    with pytest.raises(fb.InvalidArgument, match="there are: ") as refused:
        fb.materialize(pipeline, folder, cut="no such step")
    return str(refused.value).split("there are: ")[1].split("\n")[0].strip().split(", ")


def made(pipeline, folder, **options):
    """All of it, behind the last cut."""
    result = fb.materialize(pipeline, folder, **{"cut": "last", **options})
    assert result.complete
    return result


def members(folder):
    """Of all tar shards: the members of each sample by ending, and the order of names."""
    found = {}
    for path in sorted(folder.glob("part-*.tar")):
        with tarfile.open(path) as archive:
            for member in archive:
                assert member.isreg() and member.mtime == member.uid == member.gid == 0 and member.mode == 0o644
                key, _, ending = member.name.partition(".")
                found.setdefault(key, {})[ending] = archive.extractfile(member).read()
    return found


def written(what, folder, shards=9, format="arrow", **options):
    """What `writer` writes, by this process."""
    return made(numbers() if what == "numbers" else table(what), folder, shards=shards, format=format, **options)


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


class Killer:
    """Kills writers at random moments of the time that one needs, which is measured by those that end before."""

    def __init__(self, draw):
        self._draw, self._longest_s = draw, 0.4
        self.killed = 0

    def kills(self, process):
        """Kills a writer once it has begun; whether it had not ended before."""
        assert process.stdout.readline() == "ready\n", process.communicate()
        began = time.monotonic()
        try:
            process.wait(timeout=self._draw.uniform(0, self._longest_s))
            self._longest_s = time.monotonic() - began
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        _, err = process.communicate()
        assert process.returncode in (0, -signal.SIGKILL), err
        self.killed += process.returncode != 0
        return process.returncode != 0
