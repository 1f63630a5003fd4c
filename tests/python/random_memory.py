"""Random pipelines that are run with exactly the memory that OutOfBudget advises.

    python tests/python/random_memory.py 1000 2000      # seeds 1000 to 1999, one after the other

Prints each seed before its run; one that takes too long ends the program with all threads' stacks.
"""
import faulthandler
import io
import random
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

import forebay as fb

LIMIT_S = 200
EPOCHS = 2
TRIES = 40  # figures, where pictures tell their size only while they are decoded


def cached(chance, pipeline, folder):
    if chance.random() < 0.7:
        return pipeline
    ram, disk = chance.choice([(0, "10MB"), ("50KB", 0), ("50KB", "10MB"), ("10MB", "10MB")])
    return pipeline.cache(ram=ram, disk=disk, dir=str(folder / "cache"))


def row_counts(chance):
    shape = chance.choice(["one", "few", "mixed"])
    groups = chance.randrange(1, 40)
    if shape == "one":
        return [1] * groups
    return [chance.randrange(1, 8 if shape == "few" else 120) for _ in range(groups)]


def lengths(chance, rng, rows):
    """Of lists or texts: all alike, or with a few that are far longer than the others."""
    found = rng.integers(0, chance.choice([1, 4, 30]) + 1, rows)
    for _ in range(chance.choice([0, 0, 1, 3])):
        found[rng.integers(rows)] = chance.choice([1_000, 40_000])
    return found


def table_of(chance, rng):
    import pyarrow as pa

    counts = row_counts(chance)
    rows = sum(counts)
    columns = {"id": pa.array(np.arange(rows))}
    for name in "abcd"[: chance.randrange(4)]:
        kind = chance.choice(["i1", "i8", "f4", "f8", "list", "text", "bytes", "texts"])
        if kind == "list":
            columns[name] = pa.array([rng.integers(-5, 5, n).astype("i2") for n in lengths(chance, rng, rows)], pa.list_(pa.int16()))
        elif kind == "texts":  # of which many are empty: then their offsets are most of what there is
            each = chance.choice([1, 20])
            columns[name] = pa.array([["x" * int(size) for size in rng.integers(0, each, n)] for n in lengths(chance, rng, rows)],
                                     pa.list_(pa.string()))
        elif kind == "text":
            columns[name] = pa.array(["x" * int(n) for n in lengths(chance, rng, rows)])
        elif kind == "bytes":
            columns[name] = pa.array([rng.bytes(int(n)) for n in lengths(chance, rng, rows)], pa.binary())
        else:
            columns[name] = pa.array(rng.integers(0, 100, rows).astype(kind))
    return pa.table(columns), counts


def parts_of(table, counts):
    begin = 0
    for count in counts:
        yield table.slice(begin, count)
        begin += count


def parquet(chance, rng, folder):
    import pyarrow.parquet as pq

    table, counts = table_of(chance, rng)
    with pq.ParquetWriter(folder / "t.parquet", table.schema, compression=chance.choice(["none", "zstd"]),
                          use_dictionary=chance.random() < 0.5) as writer:
        for part in parts_of(table, counts):
            writer.write_table(part)
    return table_steps(chance, fb.parquet(str(folder / "t.parquet")), table, folder)


def arrow(chance, rng, folder):
    import pyarrow as pa

    table, counts = table_of(chance, rng)
    if chance.random() < 0.5:
        return table_steps(chance, fb.arrow(table), table, folder)
    with pa.OSFile(str(folder / "t.arrow"), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        for part in parts_of(table, counts):
            for batch in part.combine_chunks().to_batches():
                writer.write_batch(batch)
    return table_steps(chance, fb.arrow(str(folder / "t.arrow")), table, folder)


def table_steps(chance, pipeline, table, folder):
    import pyarrow as pa

    numbers = [f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    lists = [f.name for f in table.schema if pa.types.is_list(f.type) and not pa.types.is_string(f.type.value_type)]
    for name in numbers + lists:
        if chance.random() < 0.3:
            pipeline = pipeline.cast(chance.choice(["float64", "float32", "int64"]), field=name)
    for name in lists:
        if chance.random() < 0.3:
            pipeline = pipeline.pad(name, 7, length=chance.choice([None, 40_000]))
    pipeline = cached(chance, pipeline, folder)
    if chance.random() < 0.6:
        pipeline = pipeline.shuffle(block=chance.choice([1, 1, 2, 5]), lanes=chance.choice([1, 1, 2, 3]))
    return pipeline


def arrays(chance, rng, folder):
    rows = chance.randrange(1, 60)
    pictures = chance.random() < 0.6
    shape = (chance.randrange(1, 40), chance.randrange(1, 40), 3) if pictures else (chance.randrange(1, 2_000),)
    pipeline = fb.arrays(x=rng.integers(0, 255, (rows, *shape), dtype="u1"), y=np.arange(rows))
    return picture_steps(chance, pipeline, "x") if pictures else pipeline.shuffle() if chance.random() < 0.5 else pipeline


def picture_steps(chance, pipeline, field):
    if chance.random() < 0.5:
        pipeline = pipeline.shuffle()
    size = chance.randrange(1, 60)
    pipeline = chance.choice([
        lambda: pipeline.resize(size, field=field),
        lambda: pipeline.random_resized_crop(size, field=field),
        lambda: pipeline.resize((size, 7), field=field).resize(5, field=field),
        lambda: pipeline.resize(size, field=field).color_jitter(0.3, 0.3, 0.3, 0.1, field=field),
    ])()
    if chance.random() < 0.5:
        pipeline = pipeline.random_flip(field=field)
    return pipeline.normalize(fb.IMAGENET, field=field) if chance.random() < 0.5 else pipeline


def files(chance, rng, folder):
    for number in range(chance.randrange(1, 40)):
        size = chance.choice([0, 1, 100, 5_000, 5_000, 300_000])
        (folder / f"{number:03}.bin").write_bytes(rng.bytes(size))
    pipeline = cached(chance, fb.files(str(folder / "*.bin")), folder)
    return pipeline.shuffle() if chance.random() < 0.5 else pipeline


def images(chance, rng, folder):
    from PIL import Image

    for number in range(chance.randrange(1, 25)):
        where = folder / "photos" / f"class{number % 2}"
        where.mkdir(parents=True, exist_ok=True)
        side = chance.choice([1, 17, 64, 301])
        pixels = rng.integers(0, 255, (side, chance.randrange(1, 200), 3), dtype="u1")
        if chance.random() < 0.3:
            pixels[:] = 9  # packs to next to nothing
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, chance.choice(["PNG", "JPEG"]))
        (where / f"{number:03}.img.{'png' if out.getvalue()[1:4] == b'PNG' else 'jpg'}").write_bytes(out.getvalue())
    return picture_steps(chance, cached(chance, fb.images(str(folder / "photos")).decode_image(), folder), "image")


SOURCES = {"parquet": parquet, "arrow": arrow, "arrays": arrays, "files": files, "images": images}


def contents(batch):
    """Everything that a batch gives, as bytes."""
    out = [batch.ids.tobytes()]
    for name in sorted(batch.keys()):
        value = batch[name]
        for part in value if isinstance(value, tuple) else (value,):
            out.append(repr(list(part)).encode() if isinstance(part, list) else f"{part.dtype}{part.shape}".encode() + part.tobytes())
    return b"".join(out)


def run(pipeline, **options):
    with fb.Loader(pipeline, seed=3, epochs=EPOCHS, **options) as loader:
        return [contents(batch) for _ in range(EPOCHS) for batch in loader]


def advised(pipeline, memory, **options):
    """What it gives with so much memory, or what OutOfBudget advises."""
    try:
        return run(pipeline, memory=memory, **options), None
    except fb.OutOfBudget as error:
        assert error.bytes_needed > memory, f"given {memory}, {error.bytes_needed} advised: {error}"
        return None, error.bytes_needed


def check(seed):
    chance, rng = random.Random(seed), np.random.default_rng(seed)
    kind = chance.choice(list(SOURCES))
    with tempfile.TemporaryDirectory() as folder:
        made = SOURCES[kind](chance, rng, Path(folder))
        pipeline = made.batch(chance.choice([1, 2, 3, 7, 32, 100]), last=chance.choice(["partial", "drop", "pad"]))
        world_size = chance.choice([1, 1, 1, 2, 3])
        options = {"threads": chance.choice([1, 2, 4]), "requests": chance.choice([1, 4, 16]), "world_size": world_size,
                   "rank": chance.randrange(world_size)}
        expected = run(pipeline, **options)
        got, needed = advised(pipeline, 1, **options)
        figures = [needed]
        assert got is None, "one byte was enough"
        while got is None:
            got, needed = advised(pipeline, figures[-1], **options)
            if got is None:
                assert kind == "images", f"{figures[-1]} was advised, then {needed}"
                assert len(figures) < TRIES, f"no figure is enough: {figures}"
                figures.append(needed)
        assert got == expected, "the bytes differ from those with plenty of memory"
        for memory in {figures[-1] // 2, figures[-1] - 1, 2 * figures[-1]} - {0}:  # less may do, and advises nothing more
            got, needed = advised(pipeline, memory, **options)
            assert got == expected or needed <= figures[-1] or kind == "images", f"{figures[-1]} was advised, now {needed}"
    return kind, figures


def main(begin, end):
    bad = []
    for seed in range(begin, end):
        print(f"seed {seed}", end=" ", flush=True)
        faulthandler.dump_traceback_later(LIMIT_S, exit=True)
        try:
            print(*check(seed), flush=True)
        except Exception:  # the others are worth knowing, too
            print(traceback.format_exc(), flush=True)
            bad.append(seed)
        faulthandler.cancel_dump_traceback_later()
    sys.exit(f"seeds that failed: {bad}" if bad else 0)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
