"""Rows of a mix, or the opening of one (see harness/measured.py; cost.py starts it)."""

import os
import sys

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from harness import measured  # noqa: E402  (first: it notes the time)

import numpy as np  # noqa: E402

import forebay as fb  # noqa: E402

WIDTH = 16  # float32 values of a row
FILE_ROWS = 100  # of each file that is opened
PICTURES = 32  # of a batch


def pipeline_of(job):
    values = np.zeros((job.rows, WIDTH), np.float32)
    values[:, 0] = np.arange(job.rows)  # whole numbers below 2^24 are exact
    if job.how == "alone":
        return fb.arrays(x=values).shuffle()
    parts = {str(number): fb.arrays(x=part).shuffle() for number, part in enumerate(np.split(values, job.parts))}
    if job.how == "each once":
        return fb.mix(parts)
    return fb.mix(parts, weights=dict.fromkeys(parts, 1), samples=job.rows)


def rows(job, result):
    """The first epoch says which rows came; the next ones are timed."""
    with fb.Loader(pipeline_of(job).batch(job.batch), seed=job.seed, threads=job.threads) as loader:
        came = np.concatenate([batch["x"][:len(batch) - batch.padding, 0] for batch in loader])
        part, count = measured.TimedPart(result), 0
        part.begin()
        for _ in range(job.epochs):
            for batch in loader:
                count += len(batch["x"]) - batch.padding
        found = part.end()
    return found | {"samples": count, "distinct": len(np.unique(came))}


def opening(job, result):
    """A loader of all files, a loader for each file, or NumPy alone; each loader is closed again."""
    paths = [os.path.join(job.work, f"{number:06}.npy") for number in range(job.files)]
    for number, path in enumerate(paths):
        np.save(path, np.full((FILE_ROWS, WIDTH), number, np.float32))
    sources = [fb.arrays(x=path).shuffle() for path in paths]
    mixed = fb.mix({str(number): source for number, source in enumerate(sources)}, weights={str(number): 1 for number in range(job.files)})
    part, steps = measured.TimedPart(result), 0
    part.begin()
    if job.opening == "numpy":
        steps = sum(len(np.load(path, mmap_mode="r")) for path in paths)
    for pipeline in {"mix": [mixed], "sources": sources, "numpy": []}[job.opening]:
        with fb.Loader(pipeline.batch(job.batch), seed=job.seed, threads=job.threads) as loader:
            steps += len(loader)
    found = part.end()
    return found | {"samples": job.files, "steps": steps}


def table_of(job):
    """The photographs as a column of a Parquet file, 32 in a row group."""
    import pyarrow as pa
    from pyarrow import parquet

    path = os.path.join(job.work, f"photographs-{len(job.paths)}.parquet")
    if not os.path.exists(path):
        pictures = [open(name, "rb").read() for name in job.paths]
        parquet.write_table(pa.table({"image": pictures}), path, row_group_size=32, compression="none")
    return path


def pictures_of(source):
    return source.select("image").shuffle().decode_image().random_resized_crop(224).random_flip()


def kinds(job, result):
    """The first epoch warms up, the next ones are timed. Of both, three of four samples are photographs."""
    photographs, table = pictures_of(fb.images(os.path.dirname(os.path.dirname(job.paths[0])))), pictures_of(fb.parquet(table_of(job)))
    both = fb.mix({"photographs": photographs, "table": table}, weights={"photographs": 3, "table": 1}, samples=len(job.paths))
    pipeline = {"photographs": photographs, "table": table, "both": both}[job.kind]
    came = {name: 0 for name in ("photographs", "table")}
    with fb.Loader(pipeline.batch(PICTURES), seed=job.seed, threads=job.threads) as loader:
        for _ in loader:
            pass
        part = measured.TimedPart(result)
        part.begin()
        for _ in range(job.epochs):
            for batch in loader:
                kept = len(batch) - batch.padding
                if job.kind != "both":
                    came[job.kind] += kept
                    continue
                for number, name in enumerate(batch.part_names):
                    came[name] += int(np.count_nonzero(batch.parts[:kept] == number))
        found = part.end()
    return found | {"samples": sum(came.values()), "came": came}


def measure(job, result):
    return (kinds if job.kind else opening if job.opening else rows)(job, result) | {"name": "Forebay", "version": f"forebay {fb.__version__}", "settings": {}}


if __name__ == "__main__":
    measured.main(measure)
