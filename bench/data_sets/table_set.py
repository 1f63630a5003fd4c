"""Writes the tables: python -m data_sets.table_set FOLDER TABLE ROWS, in bench/ (a Python with PyArrow and NumPy).

It prints what a reader needs to know, as JSON. What is in the tables is in table_values.py. FOLDER/FILES-ROWS/part-00.parquet … part-19.parquet, zstd, two row groups a file;
_sums.json beside them has each column's checksum.
"""

import json
import os
import shutil
import sys

import numpy as np

from data_sets import table_values

FILES, GROUPS = 20, 2


def folder_of(work, table, rows):
    return os.path.join(work, f"{table_values.TABLES[table].files}-{rows}")


def group_rows(rows):
    return -(-rows // (FILES * GROUPS))


def arrow_of(column, rows):
    """(Arrow array, values as they are delivered)."""
    import pyarrow as pa
    found = table_values.values(column, rows)
    if isinstance(found, tuple):
        return pa.ListArray.from_arrays(pa.array(found[1].astype(np.int32)), pa.array(found[0])), found
    if column.kind == "hex":
        offsets = np.arange(len(rows) + 1, dtype=np.int32) * 8
        return pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets),
                                           pa.py_buffer(np.ascontiguousarray(found))), found
    return pa.array(found, mask=table_values.null_mask(column, rows) if column.nulls else None), found


def write_file(path, table, begin, end, group, sums):
    import pyarrow as pa
    import pyarrow.parquet as pq
    rows = np.arange(begin, end)
    arrays = {}
    for column in table.columns:
        arrays[column.name], found = arrow_of(column, rows)
        sums[column.name] = (sums[column.name] + table_values.weighted_sum(found, table_values.keys_of(rows))) % 2**64
    pq.write_table(pa.table(arrays), path, compression="zstd", row_group_size=group)


def write(work, name, rows):
    """The table's folder, made if it is not there."""
    table, folder = table_values.TABLES[name], folder_of(work, name, rows)
    if os.path.exists(folder):
        return folder
    unfinished, group = folder + ".unfinished", group_rows(rows)
    shutil.rmtree(unfinished, ignore_errors=True)
    os.makedirs(unfinished)
    sums = dict.fromkeys((column.name for column in table.columns), 0)
    for number in range(FILES):
        begin, end = (min(rows, (number + step) * group * GROUPS) for step in (0, 1))
        if begin < end:
            write_file(os.path.join(unfinished, f"part-{number:02}.parquet"), table, begin, end, group, sums)
    with open(os.path.join(unfinished, "_sums.json"), "w") as file:
        json.dump(sums, file)
    os.rename(unfinished, folder)
    return folder


def facts(work, name, rows):
    """What a reader needs to know of the table, which is made if it is not there."""
    table, folder = table_values.TABLES[name], write(work, name, rows)
    with open(os.path.join(folder, "_sums.json")) as file:
        sums = json.load(file)
    return {"table": name, "rows": rows, "folder": folder, "columns": [column.name for column in table.read],
            "key": table.key, "group_rows": group_rows(rows), "sums": sums}


if __name__ == "__main__":
    print(json.dumps(facts(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
