"""Arrow tables to NumPy, and where the row groups are."""

import glob
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slow_files import opened


def files(job):
    return sorted(glob.glob(os.path.join(job.folder, "*.parquet")))


class Groups:
    """All row groups of a folder. Files are opened when first needed, and stay open."""

    def __init__(self, job, threads):
        self.job, self.threads, self.open = job, threads, {}
        self.places = [(path, group) for path in files(job) for group in range(self._file(path).num_row_groups)]

    def _file(self, path):
        if path not in self.open:
            self.open[path] = pq.ParquetFile(opened(path, self.job.latency_ms), pre_buffer=self.job.latency_ms > 0)
        return self.open[path]

    def table(self, place):
        path, group = self.places[place]
        return self._file(path).read_row_group(group, columns=self.job.columns, use_threads=self.threads > 1)


def columns_of(table):
    """{name: array, or (values, offsets) of lists and strings}; nulls are 0."""
    return {name: values_of(table[name]) for name in table.column_names}


def values_of(column):
    if column.null_count:
        column = column.fill_null(0)
    kind = column.type
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_string(kind)
            or pa.types.is_large_string(kind)):
        return column.to_numpy()
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks == 1 else pa.concat_arrays(array.chunks)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return array.values.to_numpy(zero_copy_only=False), array.offsets.to_numpy().astype(np.int64)
    width = np.int64 if pa.types.is_large_string(kind) else np.int32
    _, offsets, text = array.buffers()
    offsets = np.frombuffer(offsets, width)[array.offset:array.offset + len(array) + 1].astype(np.int64)
    return np.frombuffer(text, np.uint8), offsets
