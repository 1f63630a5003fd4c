"""Petastorm's reader of plain Parquet, for both of its faces."""

import os
from importlib import metadata

from petastorm import make_batch_reader

from slow_files import file_system


def make_reader(job):
    options = {}
    if job.cache:
        options |= {"cache_type": "local-disk", "cache_location": os.path.join(job.work, "petastorm-cache"),
                    "cache_size_limit": 2**35, "cache_row_size_estimate": 600}
    if job.latency_ms:
        options["filesystem"] = file_system(job.latency_ms)
    return make_batch_reader(f"file://{job.folder}", schema_fields=job.columns, workers_count=job.threads,
                             seed=job.seed, shuffle_row_groups=True, num_epochs=1, convert_early_to_numpy=job.early,
                             **options)


def version():
    return f"petastorm {metadata.version('petastorm')}, pyarrow {metadata.version('pyarrow')}"
