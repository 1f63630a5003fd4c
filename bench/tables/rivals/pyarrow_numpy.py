"""Plain PyArrow into NumPy: row groups whole, in the order of the files."""

import pyarrow as pa

from arrow_columns import Groups, columns_of


def epochs(job):
    pa.set_cpu_count(job.read_threads)
    groups = Groups(job, job.read_threads)
    while True:
        yield (columns_of(groups.table(place)) for place in range(len(groups.places)))


def claims(job):
    return {"order": "files", "partial": None}


def name(job):
    return f"PyArrow to NumPy, {job.read_threads} thread{'s' * (job.read_threads > 1)}"


def version():
    return f"pyarrow {pa.__version__}"


def settings(job):
    return {"gives": "whole row groups, file order", "threads": job.read_threads}
