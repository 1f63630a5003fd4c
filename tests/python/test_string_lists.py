"""Columns of lists of strings: a list of lists of str (of bytes), wherever they come from and whatever they go through."""
import json
import subprocess

import numpy as np
import pytest
from loading import one_epoch

import forebay as fb

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

TAGS = [["a", "bc"], [], [""], ["straße", "日本", ""], ["x" * 300], [], ["\N{GRINNING FACE}"] * 5, ["q"]]
ROWS = 40


def tags_of(i):
    return TAGS[i % len(TAGS)] + ([f"row {i}"] if i % 3 else [])


EXPECTED = [tags_of(i) for i in range(ROWS)]
TYPES = [pa.list_(pa.string()), pa.large_list(pa.string()), pa.list_(pa.large_string()), pa.list_(pa.binary()),
         pa.large_list(pa.large_binary()), pa.list_(pa.dictionary(pa.int16(), pa.string()))]


def as_type(rows, kind):
    """Lists of str as a type's values: of bytes, where it is binary."""
    binary = kind.value_type in (pa.binary(), pa.large_binary())
    return [None if row is None else [text.encode() if binary and text is not None else text for text in row] for row in rows]


def table(kind=TYPES[0], rows=EXPECTED):
    return pa.table({"tags": pa.array(as_type(rows, kind), kind), "id": np.arange(len(rows))})


def written(folder, kind=TYPES[0], rows=EXPECTED, group=7, files=1):
    folder.mkdir(exist_ok=True)
    for number in range(files):
        begin, end = len(rows) * number // files, len(rows) * (number + 1) // files
        part = table(kind, rows).slice(begin, end - begin)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=group)
    return str(folder)


def rows_of(pipeline, field="tags", **options):
    """Row by id over an epoch, repeats left out."""
    found = {}
    with fb.Loader(pipeline, epochs=1, **options) as loader:
        for batch in loader:
            kept = len(batch) - batch.padding
            found |= zip(batch.ids[:kept].tolist(), batch[field][:kept])
    return [found[i] for i in sorted(found)]


@pytest.mark.parametrize("kind", TYPES, ids=str)
@pytest.mark.parametrize("size", [1, 3, 100])
def test_parquet_gives_lists_of_lists(tmp_path, kind, size):
    assert rows_of(fb.parquet(written(tmp_path / "t", kind)).batch(size)) == as_type(EXPECTED, kind)


@pytest.mark.parametrize("kind", [*TYPES, pa.list_(pa.string_view()), pa.list_view(pa.string())], ids=str)
def test_tables_in_memory_and_arrow_files_give_the_same(tmp_path, kind):
    whole, expected = table(kind), as_type(EXPECTED, kind)
    for source, rows in ((whole, expected), (whole.slice(5, 21), expected[5:26]),
                         (pa.concat_tables([whole, whole.slice(3, 4)]), expected + expected[3:7])):
        assert rows_of(fb.arrow(source).batch(6)) == rows
    path = tmp_path / "t.arrow"
    with pa.ipc.new_file(path, whole.schema) as out:
        out.write_table(whole, max_chunksize=9)
    assert rows_of(fb.arrow(str(path)).batch(6)) == expected


def test_lists_of_a_fixed_size_are_lists_too(tmp_path):
    rows = [[f"a{i}", "é" * (i % 3)] for i in range(9)]
    kind = pa.list_(pa.string(), 2)
    assert rows_of(fb.parquet(written(tmp_path / "t", kind, rows)).batch(4)) == rows
    assert rows_of(fb.arrow(table(kind, rows)).batch(4)) == rows


def test_lists_in_lists_and_maps_give_the_strings_of_a_row(tmp_path):
    pq.write_table(pa.table({"deep": [[["a", "b"], []], [], [["c"], ["", "d"]]],
                             "map": pa.array([[("k", "v")], [], [("l", "w"), ("m", "")]], pa.map_(pa.string(), pa.string())),
                             "points": [[{"name": "p"}], [], [{"name": "q"}, {"name": ""}]]}), tmp_path / "t.parquet")
    with fb.Loader(fb.parquet(str(tmp_path)).batch(3), epochs=1) as loader:
        batch = next(iter(loader))
    assert batch["deep"] == [["a", "b"], [], ["c", "", "d"]]
    values, offsets = batch["deep.lengths"]
    assert (values.tolist(), offsets.tolist()) == ([2, 0, 1, 2], [0, 2, 2, 4])
    assert batch["map.key"] == [["k"], [], ["l", "m"]] and batch["map.value"] == [["v"], [], ["w", ""]]
    assert batch["points.name"] == [["p"], [], ["q", ""]]
    assert sorted(batch.keys()) == ["deep", "deep.lengths", "map.key", "map.value", "points.name"]


@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_bytes_and_both_offsets_are_within_reach(tmp_path, output):
    if output == "torch":
        pytest.importorskip("torch")
    with fb.Loader(fb.parquet(written(tmp_path / "t")).batch(ROWS), epochs=1, output=output) as loader:
        batch = next(iter(loader))
    assert batch["tags"] == EXPECTED and all(type(row) is list for row in batch["tags"])
    values, offsets, string_offsets = (np.from_dlpack(part) for part in batch.buffers("tags"))
    assert [values.dtype, offsets.dtype, string_offsets.dtype] == [np.uint8, np.int64, np.int64]
    assert bytes(values).decode() == "".join(map("".join, EXPECTED))
    rows = [[bytes(values[a:b]).decode() for a, b in zip(string_offsets[i:j], string_offsets[i + 1 : j + 1])]
            for i, j in zip(offsets, offsets[1:])]
    assert rows == EXPECTED
    assert "tags: list[str]" in repr(batch)
    assert [len(part) for part in batch.buffers("id")] == [ROWS]
    with pytest.raises(KeyError, match="no field 'x'"):
        batch.buffers("x")


def test_texts_have_buffers_too():
    with fb.Loader(fb.arrow(pa.table({"t": ["ab", "", "c"]})).batch(3), epochs=1) as loader:
        values, offsets = next(iter(loader)).buffers("t")
    assert (bytes(values), offsets.tolist()) == (b"abc", [0, 2, 2, 3])


# Nulls and bad text

HOLES = [["a", None], None, [], [None], ["b", "c"]]


def test_nulls_are_errors_that_name_the_row(tmp_path):
    pipeline = fb.parquet(written(tmp_path / "t", rows=HOLES)).batch(5)
    with fb.Loader(pipeline, epochs=1) as loader, pytest.raises(fb.Corrupt, match="'tags' has a null inside its list.*null=") as raised:
        next(iter(loader))
    assert raised.value.sample == 0 and "row 0" in raised.value.key
    assert rows_of(pipeline, on_error="skip") == [[], ["b", "c"]]


def test_a_value_stands_for_nulls_inside_and_null_lists_are_empty(tmp_path):
    where = written(tmp_path / "t", rows=HOLES)
    for null in ("none", {"tags": "none"}):
        assert rows_of(fb.parquet(where, null=null).batch(2)) == [["a", "none"], [], [], ["none"], ["b", "c"]]
    with pytest.raises(fb.InvalidArgument, match="'tags' is of another kind than the column, which is text"):
        rows_of(fb.parquet(where, null={"tags": 3}).batch(2))


def test_masks_say_which_lists_and_which_strings_are_there(tmp_path):
    with fb.Loader(fb.parquet(written(tmp_path / "t", rows=HOLES), null=fb.NULL_MASK).batch(5), epochs=1) as loader:
        batch = next(iter(loader))
    assert batch["tags"] == [["a", ""], [], [], [""], ["b", "c"]]
    assert batch["tags_valid"].tolist() == [True, False, True, True, True]
    values, offsets = batch["tags_items_valid"]
    assert values.tolist() == [True, False, False, True, True] and offsets.tolist() == [0, 2, 2, 2, 3, 5]
    assert sorted(batch.keys()) == ["id", "id_valid", "tags", "tags_items_valid", "tags_valid"]


@pytest.mark.parametrize("in_memory", [False, True])
def test_text_in_a_list_that_is_not_utf8_makes_its_row_bad(tmp_path, in_memory):
    lists = pa.array([["ok"], ["fine", "b\N{LATIN SMALL LETTER A WITH DIAERESIS}d"], []], pa.list_(pa.string()))
    broken = lists.values.buffers()[2].to_pybytes().replace("ä".encode(), b"\xff\xfe")
    values = pa.StringArray.from_buffers(3, lists.values.buffers()[1], pa.py_buffer(broken))
    made = pa.table({"tags": pa.ListArray.from_arrays(lists.offsets, values), "id": [0, 1, 2]})
    pq.write_table(made, tmp_path / "t.parquet")
    pipeline = (fb.arrow(made) if in_memory else fb.parquet(str(tmp_path))).batch(3)
    with fb.Loader(pipeline, epochs=1) as loader, pytest.raises(fb.Corrupt, match="'tags' holds text that is not UTF-8") as raised:
        next(iter(loader))
    assert raised.value.sample == 1
    assert in_memory or "t.parquet row 1" in raised.value.key
    assert rows_of(pipeline, on_error="skip") == [["ok"], []]


# What steps do with them


@pytest.fixture
def store(tmp_path):
    return written(tmp_path / "store", files=2)


def test_names_of_fields(store):
    source = fb.parquet(store)
    assert rows_of(source.select("tags").batch(4)) == EXPECTED
    assert rows_of(source.rename(tags="words").batch(4), "words") == EXPECTED
    with fb.Loader(source.select("id").batch(4), epochs=1) as loader:
        assert list(next(iter(loader))) == ["id"]
    assert rows_of(fb.parquet(store, columns=["tags"]).take(9).batch(4)) == EXPECTED[:9]


@pytest.mark.parametrize("tier", [{"ram": "1MB", "disk": 0}, {"ram": 0, "disk": "10MB"}])
@pytest.mark.parametrize("before", [lambda p: p, lambda p: p.map(lambda s: {"n": len(s["tags"])}, fields="tags", version="1"),
                                    lambda p: p.map(lambda s: s, version="2")], ids=["table", "map of a field", "map of all"])
def test_caches_keep_them(store, tmp_path, tier, before):
    plain = before(fb.parquet(store))
    cached = plain.cache(dir=str(tmp_path / "cache"), **tier).shuffle(block=2).batch(5)
    expected = one_epoch(plain.shuffle(block=2).batch(5), seed=3)
    with fb.Loader(cached, seed=3) as loader:
        assert fb.digest(loader) == expected, "cold"
        assert sum((batch["tags"] for batch in loader), []) != []
    assert one_epoch(cached, seed=3) == expected
    assert rows_of(cached) == EXPECTED, "warm"


def test_a_damaged_entry_on_disk_is_made_anew(store, tmp_path):
    cached = fb.parquet(store).cache(ram=0, disk="10MB", dir=str(tmp_path / "cache")).batch(5)
    assert rows_of(cached) == EXPECTED
    damaged = 0
    for path in (tmp_path / "cache").rglob("*"):
        content = path.read_bytes() if path.is_file() else b""
        if "straße".encode() in content:
            path.write_bytes(content.replace("straße".encode(), b"\0" * 7))
            damaged += 1
    assert damaged > 0
    assert rows_of(cached) == EXPECTED


def test_the_digest_is_that_of_any_ranks_threads_batch_and_resume(store):
    pipeline = fb.parquet(store).shuffle(block=2, lanes=2)
    expected = one_epoch(pipeline.batch(5), seed=1)
    for size, threads in ((1, 1), (7, 3), (100, 2)):
        assert one_epoch(pipeline.batch(size), seed=1, threads=threads) == expected
    with fb.Loader(pipeline.batch(5), seed=1, rank=0, world_size=2) as one, fb.Loader(pipeline.batch(5), seed=1, rank=1, world_size=2) as other:
        assert fb.digest(one, other) == expected
    with fb.Loader(pipeline.batch(4), seed=1, epochs=1) as loader:
        whole = [(batch.ids.tolist(), batch["tags"]) for batch in loader]
    for steps in (1, 6):
        with fb.Loader(pipeline.batch(4), seed=1, epochs=1) as loader:
            iterator = iter(loader)
            for _ in range(steps):
                next(iterator)
            state = json.loads(json.dumps(loader.state_dict()))
        with fb.Loader(pipeline.batch(4), seed=1, epochs=1) as loader:
            loader.load_state_dict(state)
            assert [(batch.ids.tolist(), batch["tags"]) for batch in loader] == whole[steps:]


def test_the_digest_knows_where_strings_end():
    lists = [[["ab", "c"]], [["a", "bc"]], [["abc"]], [["abc", ""]]]
    assert len({one_epoch(fb.arrow(pa.table({"t": rows})).batch(1)) for rows in lists}) == len(lists)


@pytest.mark.parametrize("workers", ["threads", "processes"])
def test_functions_get_and_give_lists_of_str(store, workers):
    pipeline = fb.parquet(store).map(longer, fields="tags", workers=workers)
    assert rows_of(pipeline.batch(4)) == [sorted(tags) for tags in EXPECTED]
    assert rows_of(pipeline.batch(1)) == [sorted(tags) for tags in EXPECTED]
    assert rows_of(pipeline.batch(4), "bytes of each") == [[tag.encode() for tag in tags] for tags in EXPECTED]
    assert rows_of(fb.parquet(store).map(longer, workers=workers).batch(3)) == [sorted(tags) for tags in EXPECTED]


def longer(sample):
    assert type(sample["tags"]) is list and all(type(tag) is str for tag in sample["tags"])
    return {"tags": sorted(sample["tags"]), "bytes of each": tuple(tag.encode() for tag in sample["tags"])}


def test_functions_may_make_numbers_of_them(store):
    numbers = fb.parquet(store).map(lambda s: {"tags": np.array([len(tag) for tag in s["tags"]], np.int64)}, fields="tags")
    with fb.Loader(numbers.batch(ROWS), epochs=1) as loader:
        values, offsets = next(iter(loader))["tags"]
    assert values.tolist() == [len(tag) for tags in EXPECTED for tag in tags]
    padded = numbers.pad("tags", -1, length=8)
    assert rows_of(padded.batch(7))[3].tolist() == [len(tag) for tag in EXPECTED[3]] + [-1] * (8 - len(EXPECTED[3]))


def test_filters_get_them(store):
    kept = fb.parquet(store).filter(lambda s: "q" in s["tags"], fields="tags")
    assert rows_of(kept.batch(3)) == [tags for tags in EXPECTED if "q" in tags]


@pytest.mark.parametrize("size", [1, 2, 40])
def test_data_sets_give_them(size):
    samples = [{"tags": tags, "id": i} for i, tags in enumerate(EXPECTED)]
    samples[0]["tags"] = np.array(["a", "bc"])  # an array of text is a list of it
    found = rows_of(fb.Dataset(samples).batch(size))
    assert found == EXPECTED and [] in found, "a batch of nothing but empty lists is of lists, too"
    assert all(type(tag) is str for tags in found for tag in tags)


def test_a_list_of_str_and_bytes_is_refused_by_name():
    for bad in (["a", b"b"], [b"a", "b"], ["a", 1], ["a", None]):
        with fb.Loader(fb.Dataset([{"tags": bad}]).batch(1)) as loader, pytest.raises(TypeError, match="'tags' is a list of .* with an element of type"):
            next(iter(loader))


def test_batches_that_were_skipped_have_the_field(store):
    def fails(sample):
        if sample["id"] in (4, 5):
            raise ValueError("bad")
        return sample

    with fb.Loader(fb.parquet(store).map(fails).batch(2), epochs=1, on_error="skip") as loader:
        assert [batch["tags"] for batch in loader][1:4] == [EXPECTED[2:4], [], EXPECTED[6:8]]


# What does not work on them says so before anything runs

REFUSED = {
    "pad": lambda p: p.pad("tags", 0),
    "cast": lambda p: p.cast("int32", field="tags"),
    "clip": lambda p: p.clip(min=0, field="tags"),
    "log1p": lambda p: p.log1p("tags"),
    "hash_bucket": lambda p: p.hash_bucket(10, "tags"),
    "stack": lambda p: p.stack(["tags", "tags2"], name="x"),
    "fill_null": lambda p: p.fill_null("", "tags"),
    "normalize": lambda p: p.normalize(0, 1, field=["tags"]),
    "decode_image": lambda p: p.decode_image(field="tags"),
    "resize": lambda p: p.resize(4, field="tags"),
}


@pytest.mark.parametrize("op", REFUSED)
def test_operators_that_take_no_lists_of_strings_say_so_before_anything_runs(store, op):
    with pytest.raises(fb.InvalidArgument, match="tags.*lists of text") as refused:
        fb.Loader(REFUSED[op](fb.parquet(store, null=fb.NULL_MASK)).batch(1))
    way_out = {"decode_image": "name a field of encoded pictures", "resize": "name a field that holds a picture",
               "normalize": "name a field that holds a picture",
               "fill_null": "null= the text"}.get(op, f'in .map(function, fields=["tags"]) before .{op}')
    assert way_out in str(refused.value)


@pytest.mark.parametrize("op", ["pad", "cast", "clip", "log1p", "hash_bucket"])
def test_operators_behind_a_function_say_so_when_they_meet_them(store, op):
    behind = REFUSED[op](fb.parquet(store).map(lambda sample: sample))
    with fb.Loader(behind.batch(1)) as loader, pytest.raises(fb.Unsupported, match="the field 'tags'"):
        next(iter(loader))


def test_conditions_compare_no_lists(store):
    with pytest.raises(fb.InvalidArgument, match="tags: lists of text holds several values a row"):
        fb.Loader(fb.parquet(store, filter=[("tags", "==", "a")]).batch(2))


def test_the_program_runs_them_with_the_same_digest(store, tmp_path):
    pipeline = fb.parquet(store).shuffle(block=3).batch(4)
    path = tmp_path / "p.json"
    path.write_text(pipeline.to_json())
    done = subprocess.run(["forebay", "run", str(path), "--json", "--seed", "5"], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["epochs"][0]["digest"] == one_epoch(pipeline, seed=5)


def test_little_memory_is_enough(store):
    pipeline = fb.parquet(store).shuffle(block=2).batch(20)
    with pytest.raises(fb.OutOfBudget) as refused:
        rows_of(pipeline, memory=1)
    assert sorted(map(tuple, rows_of(pipeline, memory=refused.value.bytes_needed))) == sorted(map(tuple, EXPECTED))
