"""Texts and lists of mixed tables. If all parts are tables, rows refer to the chunks of their part until a batch is put together."""
import json

import numpy as np
import pytest

import forebay as fb

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402


def record(part, row):
    return {"x": row, "text": f"{part} " + "é" * (row % 50), "words": [f"{part}{row}", "and"] * (row % 4), "values": [row / 2] * (row % 7)}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two tables and lines: by part, a pipeline and its records."""
    folder = tmp_path_factory.mktemp("texts")
    records = {part: [record(part, row) for row in range(count)] for part, count in {"a": 3000, "b": 700, "c": 41}.items()}
    for part in "ab":
        pq.write_table(pa.Table.from_pylist(records[part]), folder / f"{part}.parquet", row_group_size=100)
    with open(folder / "c.jsonl", "w") as lines:
        for one in records["c"]:
            lines.write(json.dumps({name: one[name] for name in ("x", "text")}) + "\n")
    return folder, records


def parts_of(folder, columns, lanes=1):
    parts = {part: fb.parquet(str(folder / f"{part}.parquet"), columns=columns).shuffle(block=3, lanes=lanes) for part in "ab"}
    if columns == ["x", "text"]:
        parts["c"] = fb.jsonl(str(folder / "c.jsonl")).shuffle()
    return parts


def values_of(field):
    """The values of a field by row: of lists of numbers, a batch has all values and where each row begins."""
    if isinstance(field, tuple):
        return [row.tolist() for row in np.split(field[0], field[1][1:-1])]
    return field.tolist() if isinstance(field, np.ndarray) else field


def rows_of(pipeline, **options):
    """(part, sample) of each row of two epochs, in their order."""
    rows = []
    with fb.Loader(pipeline, epochs=2, **options) as loader:
        for _ in range(2):
            for batch in loader:
                fields = {name: values_of(batch[name]) for name in batch.keys()}
                rows += [(part, {name: fields[name][i] for name in fields}) for i, part in enumerate(batch.parts.tolist())]
    return rows


@pytest.mark.parametrize("columns", [["x", "text"], ["x", "text", "words", "values"]])
@pytest.mark.parametrize("lanes", [1, 3])
def test_each_row_has_the_texts_and_lists_of_its_sample(files, columns, lanes):
    folder, records = files
    mix = fb.mix(parts_of(folder, columns, lanes), weights={"a": 5, "b": 3, "c": 1} if "words" not in columns else {"a": 5, "b": 3}, samples=2500)
    by_batch = {}
    for size, options in ((64, {}), (7, {"threads": 1}), (500, {"memory": "24MiB"})):
        rows = by_batch[size] = rows_of(mix.batch(size), **options)
        assert len(rows) == 5000
        for part, sample in rows:
            want = records["abc"[part]][sample["x"]]
            assert sample == {name: want[name] for name in columns}
    assert by_batch[64] == by_batch[7] == by_batch[500]


def test_a_part_that_is_no_table_changes_nothing(files):
    folder, _ = files
    tables = parts_of(folder, ["x", "text"])
    # A function gives values, and then the rows of all parts are values.
    values = {**tables, "c": tables["c"].map(lambda sample: sample)}
    mixed, compared = (rows_of(fb.concat(**parts).batch(50)) for parts in (tables, values))
    assert mixed == compared


def test_rows_that_are_damaged_are_replaced_by_others_of_their_part(tmp_path):
    for part in "ab":
        with open(tmp_path / f"{part}.jsonl", "w") as lines:
            for row in range(200):
                lines.write('{"text": 3}\n' if row % 20 == 7 else json.dumps({"text": f"{part}{row}"}) + "\n")
    mix = fb.concat(**{part: fb.jsonl(str(tmp_path / f"{part}.jsonl"), fields={"text": "text"}).shuffle() for part in "ab"}).batch(30)
    with fb.Loader(mix, epochs=1, on_error="replace") as loader:
        rows = [(part, text) for batch in loader for part, text in zip(batch.parts.tolist(), batch["text"], strict=True)]
        assert len(loader.errors()) == 20
    assert len(rows) == 400
    for part, text in rows:
        assert text[0] == "ab"[part] and int(text[1:]) % 20 != 7
