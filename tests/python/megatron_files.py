"""Writes indexed data sets as Megatron-LM does, with NumPy alone."""
import struct

import numpy as np

CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "float64": 6, "float32": 7, "uint16": 8}


def index_bytes(dtype, lengths, documents, modes=None, pointers=None):
    """The .idx file: `documents` has the first sequence of each document, and last their number."""
    item = np.dtype(dtype).itemsize
    if pointers is None:
        pointers = np.cumsum([0, *lengths])[:-1] * item
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, CODES[np.dtype(dtype).name], len(lengths), len(documents))
    arrays = np.array(lengths, "<i4"), np.array(pointers, "<i8"), np.array(documents, "<i8")
    return head + b"".join(array.tobytes() for array in arrays) + (b"" if modes is None else np.array(modes, "i1").tobytes())


def write(prefix, documents, dtype="uint16", modes=None):
    """`documents`: a list of sequences for each. Returns the prefix as text."""
    sequences = [np.asarray(sequence, dtype) for document in documents for sequence in document]
    ends = np.cumsum([0, *map(len, documents)])
    prefix.with_name(prefix.name + ".bin").write_bytes(b"".join(sequence.tobytes() for sequence in sequences))
    prefix.with_name(prefix.name + ".idx").write_bytes(index_bytes(dtype, [len(one) for one in sequences], ends, modes))
    return str(prefix)


def drawn(count, seed=0, longest=40, vocabulary=50_000):
    """Documents of one to three sequences, some of which are empty."""
    draw = np.random.default_rng(seed)
    return [[draw.integers(0, vocabulary, int(draw.integers(0, longest))) for _ in range(int(draw.integers(1, 4)))] for _ in range(count)]
