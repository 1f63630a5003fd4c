"""Three parts to be mixed, as arrays and as JSON lines. Part and row are in every sample, and all else follows from them.

Standard library and NumPy only: rivals' Pythons check samples with it.
"""

import hashlib
import json
import os

import numpy as np

WEIGHTS = (0.7, 0.2, 0.1)
ROWS = {"arrays": (2_000_000, 500_000, 100_000), "json": (100_000, 50_000, 10_000)}
WIDTH = 16  # float32 values of a sample
WORDS = [*"""about after again along among another asked because before began being better between called carried cannot country
    daughter during enough evening every father friend general given gone good hand having heard himself house indeed kind knew leave
    letter little looked manner matter might moment morning mother naïve never nothing often other own part perhaps place point present
    room rather round""".split(), 'the "word"', "café"]


def files(work, kind, rows):
    """Writes what is not there yet: the file of each part. A row number is its place in its file."""
    folder = os.path.join(work, f"{kind}-{'-'.join(map(str, rows))}")
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, f"part{part}.{'npy' if kind == 'arrays' else 'jsonl'}") for part in range(len(rows))]
    for part, path in enumerate(paths):
        if not os.path.exists(path):
            (_write_array if kind == "arrays" else _write_lines)(part, rows[part], path + ".new")
            os.replace(path + ".new", path)
    return paths


def _write_array(part, rows, path):
    values = np.random.default_rng(part).standard_normal((rows, WIDTH), np.float32)
    values[:, 0], values[:, 1] = part, np.arange(rows)  # whole numbers below 2^24 are exact
    with open(path, "wb") as file:
        np.save(file, values)


def _write_lines(part, rows, path):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(record(part, row), ensure_ascii=False) + "\n" for row in range(rows))


def record(part, row):
    """A sample of JSON lines, about 500 bytes."""
    draws = hashlib.blake2b(f"{part} {row}".encode(), digest_size=64).digest()
    return {"part": part, "row": row, "score": row / 7, "text": " ".join(WORDS[draw % len(WORDS)] for draw in draws)}


def checked(kind, batch, sources):
    """(parts, rows) of a batch; an AssertionError unless each sample is that of its source. `sources` are the mapped arrays."""
    if kind == "arrays":
        values = np.asarray(batch["x"])
        assert values.dtype == np.float32 and values.shape[1:] == (WIDTH,), (values.dtype, values.shape)
        parts, rows = values[:, 0].astype(np.int64), values[:, 1].astype(np.int64)
        for part in np.unique(parts):
            mine = parts == part
            assert np.array_equal(values[mine], sources[part][rows[mine]]), f"values of part {part} are not those of its array"
        return parts, rows
    parts, rows, scores = (np.asarray(batch[name]) for name in ("part", "row", "score"))
    assert len(batch["text"]) == len(parts) == len(rows) == len(scores)
    for part, row, score, text in zip(parts.tolist(), rows.tolist(), scores.tolist(), batch["text"], strict=True):
        said = {"part": part, "row": row, "score": score, "text": text.decode() if isinstance(text, bytes) else str(text)}
        assert said == record(part, row), f"record {row} of part {part} is {said}"
    return parts.astype(np.int64), rows.astype(np.int64)
