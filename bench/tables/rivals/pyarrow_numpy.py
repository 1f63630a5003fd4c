"""Plain PyArrow into NumPy, in the order of the files: a file at a time into contiguous arrays, or row groups as views.

The second gives views of Arrow's memory and copies nothing: it is decoding alone, and no batches.
"""

import pyarrow as pa
import pyarrow.parquet as pq

from arrow_columns import Groups, columns_of, files


def epochs(job):
    pa.set_cpu_count(job.read_threads)
    groups = Groups(job, job.read_threads)
    while True:
        yield views(groups) if job.views else whole_files(job)


def views(groups):
    return (columns_of(groups.table(place)) for place in range(len(groups.places)))


def whole_files(job):
    return (columns_of(pq.read_table(path, columns=job.columns, use_threads=job.read_threads > 1))
            for path in files(job))


def claims(job):
    return {"order": "files", "partial": None}


def name(job):
    what = "views of row groups" if job.views else "files to NumPy"
    return f"PyArrow, {what}, {job.read_threads} thread{'s' * (job.read_threads > 1)}"


def version():
    return f"pyarrow {pa.__version__}"


def settings(job):
    return {"gives": "row groups, zero-copy views" if job.views else "whole files, contiguous arrays",
            "threads": job.read_threads}
