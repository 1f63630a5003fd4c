"""Polars: four files are read, their rows shuffled by Polars, and cut into batches."""

import os

import numpy as np

FILES = 4  # of two row groups: as many as the others mix


def array(batch, name):
    """A batch is a slice of a data frame; a column becomes an array when it is asked for."""
    import polars as pl
    series = batch[name]
    if series.null_count():
        series = series.fill_null(0)
    if series.dtype == pl.String:
        return series
    if isinstance(series.dtype, pl.List):
        found = series.to_arrow()
        offsets = found.offsets.to_numpy().astype(np.int64)
        return found.flatten().to_numpy(zero_copy_only=False), offsets - offsets[0]
    return series.to_numpy()


def epochs(job):
    os.environ["POLARS_MAX_THREADS"] = str(job.threads)
    from arrow_columns import files
    random = np.random.default_rng(job.seed)
    while True:
        yield one_epoch(job, random.permutation(files(job)).tolist(), random)


def one_epoch(job, paths, random):
    import polars as pl
    left = None
    for begin in range(0, len(paths), FILES):
        block = pl.read_parquet(paths[begin:begin + FILES], columns=job.columns)
        if left is not None:
            block = pl.concat([left, block])
        block = block.sample(fraction=1.0, shuffle=True, seed=int(random.integers(2**32)))
        last = begin + FILES >= len(paths)
        whole = len(block) if last else len(block) - len(block) % job.batch
        yield from block[:whole].iter_slices(job.batch)
        left = block[whole:]


def claims(job):
    return {"order": "rows", "partial": 1}


def name(job):
    return "Polars"


def version():
    import polars as pl
    return f"polars {pl.__version__}"


def settings(job):
    return {"threads": job.threads, "mixed": f"{FILES} files", "gives": "NumPy"}
