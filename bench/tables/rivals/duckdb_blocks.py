"""DuckDB reads four files as one query; the rows are mixed in NumPy, which is faster than ORDER BY random()."""

import duckdb
import numpy as np

from arrow_columns import columns_of, files
from mixing import Mixer

FILES = 4


def epochs(job):
    random = np.random.default_rng(job.seed)
    connection = duckdb.connect(config={"threads": job.threads, "preserve_insertion_order": False})
    while True:
        yield one_epoch(job, connection, random.permutation(files(job)).tolist(), random)


def one_epoch(job, connection, paths, random):
    mixer = Mixer(job.batch, random)
    names = ", ".join(f'"{name}"' for name in job.columns)
    for begin in range(0, len(paths), FILES):
        result = connection.execute(f"SELECT {names} FROM read_parquet(?)", [paths[begin:begin + FILES]])
        table = result.to_arrow_table() if hasattr(result, "to_arrow_table") else result.fetch_arrow_table()
        yield from mixer.batches(columns_of(table), last=begin + FILES >= len(paths))


def claims(job):
    return {"order": "rows", "partial": 1}


def name(job):
    return "DuckDB"


def version():
    return f"duckdb {duckdb.__version__}"


def settings(job):
    return {"threads": job.threads, "mixed": f"{FILES} files, in NumPy", "gives": "NumPy"}
