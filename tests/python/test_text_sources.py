"""fb.text and fb.jsonl: what Python reads from the same files, whatever the machinery; damage is told with file and line."""
import gzip
import json
import os

import numpy as np
import pytest

import forebay as fb


def lines_of(path):
    """As Python reads them: ends at newlines only, without "\\r\\n"."""
    with open(path, encoding="utf-8-sig", newline="\n") as file:
        return [line[:-2] if line.endswith("\r\n") else line.removesuffix("\n") for line in file]


def rows(pipeline, *names, **options):
    """In order, a tuple a sample (of one field: the value)."""
    found = []
    with fb.Loader(pipeline.batch(64), **options) as loader:
        for batch in loader:
            columns = [list(batch[name]) for name in names]
            found += columns[0] if len(names) == 1 else list(zip(*columns))
    return found


def digests(pipeline, epochs=2, **options):
    with fb.Loader(pipeline.batch(50), seed=3, **options) as loader:
        return [fb.digest(loader) for _ in range(epochs)]


@pytest.fixture(scope="module")
def novels(shared):
    folder = shared / "text" / "novels"
    return folder, sorted(str(path.relative_to(folder)) for path in folder.rglob("*.txt"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files with every kind of line end, in their order, and what is in them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    files = {
        "a.txt": b"one\ntwo\r\n\nfour\rstill four\n", "b.txt": b"", "c.txt": b"\xef\xbb\xbfmarked\nlast without end",
        "d.txt": "grün\n€uro\n𝄞\n".encode(), "e.txt": b"\n", "f.txt": b"\xef\xbb\xbf",
        "sub/g.txt": b"".join(b"line %d\n" % i for i in range(1000)),
    }
    for name, content in files.items():
        (tmp_path / "text" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "text" / name).write_bytes(content)
    return tmp_path / "text"


# Lines


def test_lines_of_novels_are_those_that_python_reads(novels):
    root, names = novels
    expected = [(line, f"{name}:{number}") for name in names for number, line in enumerate(lines_of(root / name), 1)]
    assert rows(fb.text(str(root)), "text", "key") == expected
    assert len(expected) > 10_000


def test_every_kind_of_line_end_is_as_python_has_it(folder):
    names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt", "f.txt", "sub/g.txt"]
    expected = [(line, f"{name}:{number}") for name in names for number, line in enumerate(lines_of(folder / name) or ([""] if name == "f.txt" else []), 1)]
    assert rows(fb.text(str(folder)), "text", "key") == expected


def test_a_single_file_and_a_list_of_files_are_read_too(folder):
    assert rows(fb.text(str(folder / "a.txt")), "text") == ["one", "two", "", "four\rstill four"]
    assert rows(fb.text([str(folder / "d.txt"), str(folder / "a.txt")]), "text")[:1] == ["one"]  # byte order of keys


def test_a_length_is_known_and_each_line_comes_once_in_any_order(folder):
    pipeline = fb.text(str(folder)).shuffle()
    with fb.Loader(pipeline.batch(7), seed=1) as loader:
        seen = [i for batch in loader for i in batch.ids.tolist()]
        assert len(loader) == -(-len(seen) // 7)
    assert sorted(seen) == list(range(len(seen))) and seen != sorted(seen)


def test_lines_are_the_same_for_any_threads_and_ranks(novels):
    pipeline = fb.text(str(novels[0])).shuffle(lanes=2)
    expected = digests(pipeline, threads=1)
    assert digests(pipeline, threads=4) == expected
    merged = {}
    for rank in range(2):
        with fb.Loader(pipeline.batch(50), seed=3, rank=rank, world_size=2) as loader:
            for batch in loader:
                merged.update(zip(batch.ids.tolist(), batch["text"]))
    with fb.Loader(pipeline.batch(50), seed=3) as loader:
        assert merged == {i: text for batch in loader for i, text in zip(batch.ids.tolist(), batch["text"])}


def test_lines_resume_in_the_middle_with_another_number_of_threads(novels):
    pipeline = fb.text(str(novels[0])).shuffle().batch(50)
    with fb.Loader(pipeline, seed=3) as loader:
        batches = [(batch.ids.tolist(), list(batch["text"])) for batch in loader]
    with fb.Loader(pipeline, seed=3, threads=1) as loader:
        for _ in zip(range(17), loader):
            pass
        state = loader.state_dict()
    with fb.Loader(pipeline, seed=3, threads=3) as loader:
        loader.load_state_dict(state)
        assert [(batch.ids.tolist(), list(batch["text"])) for batch in loader] == batches[17:]


def test_lines_behind_a_cache_are_the_same(folder, tmp_path):
    pipeline = fb.text(str(folder))
    expected = digests(pipeline.shuffle())
    for _ in range(2):
        assert digests(pipeline.cache(ram="64MiB", disk="64MiB", dir=str(tmp_path / "kept")).shuffle()) == expected


def test_a_line_that_is_not_utf8_is_told_with_file_and_line_or_skipped(folder):
    (folder / "h.txt").write_bytes(b"good\nb\xff\xfead\nalso good\n")
    bad = fb.text(str(folder / "h.txt"))
    with pytest.raises(fb.Corrupt, match=r"h\.txt.*2.*no UTF-8"):
        rows(bad, "text")
    assert rows(bad, "text", on_error="skip") == ["good", "also good"]


def test_a_line_that_is_too_long_is_told_and_the_others_are_read(folder):
    with open(folder / "long.txt", "wb") as file:
        file.write(b"short\n" + b"x" * (19 << 20) + b"\nlast\n")
    long = fb.text(str(folder / "long.txt"))
    with pytest.raises(fb.Corrupt, match="longer than"):
        rows(long, "text")
    assert rows(long, "text", on_error="skip") == ["short", "last"]


def test_where_lines_begin_is_kept_for_large_files_until_they_change(folder, tmp_path):
    path = folder / "big.txt"
    path.write_bytes(b"".join(b"%d and some words more\n" % i for i in range(400_000)))
    assert len(rows(fb.text(str(path)), "text")) == 400_000
    kept = list((tmp_path / "cache" / "forebay" / "lines").glob("*.lines"))
    assert len(kept) == 1 and kept[0].stat().st_size < 2000
    with open(path, "ab") as file:
        file.write(b"one more\n")
    assert rows(fb.text(str(path)), "text")[-1] == "one more"
    for one in (tmp_path / "cache" / "forebay" / "lines").glob("*.lines"):
        one.write_bytes(one.read_bytes()[:-3] + b"xyz")  # damaged: as if it were not there
    assert len(rows(fb.text(str(path)), "text")) == 400_001


def test_compressed_and_missing_files_are_told(folder, tmp_path):
    (folder / "a.txt.gz").write_bytes(gzip.compress((folder / "a.txt").read_bytes()))
    with pytest.raises(fb.Unsupported, match="gzip-compressed data; unpack it first"):
        fb.Loader(fb.text(str(folder / "*.gz")))
    with pytest.raises(fb.NotFound):
        fb.Loader(fb.text(str(tmp_path / "nothing" / "*.txt")))
    problems = [problem.message for problem in fb.text("x", by="word").check() + fb.text([]).check()]
    assert len(problems) == 2 and "by is" in problems[0] and "pattern" in problems[1]


def test_files_as_they_are(novels, folder):
    root, names = novels
    texts = rows(fb.text(f"{root}/**/*.txt", by="file"), "text", "key")
    assert [key for _, key in texts] == names
    assert [text for text, _ in texts] == [(root / name).read_bytes().decode("utf-8-sig") for name in names]
    (folder / "h.txt").write_bytes(b"\xef\xbb\xbfab\xff")
    with pytest.raises(fb.Corrupt, match=r"h\.txt.*byte 5"):
        rows(fb.text(str(folder / "h.txt"), by="file"), "text")


def test_a_pipeline_of_lines_goes_through_json(folder):
    pipeline = fb.text(str(folder), by="line")
    assert str(fb.Pipeline.from_json(pipeline.to_json())) == str(pipeline)
    assert digests(fb.Pipeline.from_json(pipeline.to_json())) == digests(pipeline)


# Records


def write_records(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def test_records_of_gsm8k_and_dolma_are_those_that_python_reads(shared, tmp_path):
    compared = 0
    for path in sorted((shared / "jsonl").rglob("*")):
        if not path.is_file() or path.suffix not in (".jsonl", ".gz"):
            continue
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        here = tmp_path / path.name.removesuffix(".gz")
        here.write_bytes(content)
        expected = [json.loads(line) for line in content.decode().split("\n") if line.strip()]
        names = [name for name, value in expected[0].items() if isinstance(value, (str, int, float)) and
                 all(type(one.get(name)) is type(value) for one in expected)]
        for name in names:
            assert rows(fb.jsonl([str(here)]), name) == [one[name] for one in expected], path.name
            compared += len(expected)
    assert compared > 10_000


def test_types_are_found_over_the_first_records(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [
        {"i": i, "f": i if i % 2 else i / 4, "s": f"text {i}", "b": i % 3 == 0, "u": 2**63 + i, "user": {"age": i, "name": {"first": "x" * i}},
         "list": list(range(i % 4)), "floats": [0.5] * (i % 3), "tags": ["a", "ü"][: i % 3], "mixed": [1, "a"] if i % 2 else {"k": None}}
        for i in range(200)])
    pipeline = fb.jsonl(path)
    with fb.Loader(pipeline.batch(200)) as loader:
        batch = next(iter(loader))
    assert batch["i"].dtype == np.int64 and batch["f"].dtype == np.float64 and batch["u"].dtype == np.uint64 and batch["b"].dtype == bool
    assert batch["u"].tolist() == [2**63 + i for i in range(200)]
    assert batch["user.age"].tolist() == list(range(200)) and batch["user.name.first"][5] == "xxxxx"
    values, offsets = batch["list"]
    assert np.diff(offsets).tolist() == [i % 4 for i in range(200)] and values.dtype == np.int64
    assert batch["floats"][0].dtype == np.float64
    assert [list(one) for one in batch["tags"]][:4] == [[], ["a"], ["a", "ü"], []]
    assert [json.loads(text) for text in batch["mixed"]][:2] == [{"k": None}, [1, "a"]]


def test_given_fields_choose_members_and_null_says_what_stands_for_nothing(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [{"a": 1, "b": "x", "c": [1]}, {"a": None, "c": [2.5, None]}, {"b": None, "a": 3, "c": []}])
    fields = {"a": "int64", "b": "text", "c": "json"}
    assert rows(fb.jsonl(path, fields=fields, null={"a": -1, "b": "none"}), "a", "b", "c") == [
        (1, "x", "[1]"), (-1, "none", "[2.5,null]"), (3, "none", "[]")]
    assert rows(fb.jsonl(path, fields={"a": "int64"}, null=7), "a") == [1, 7, 3]
    with pytest.raises(fb.Corrupt, match=r"line 2.*'a' is null or missing"):
        rows(fb.jsonl(path, fields={"a": "int64"}), "a")
    assert [p.message for p in fb.jsonl(path, fields={"a": "int128"}).check()]
    assert [p.message for p in fb.jsonl(path, fields={"a": "int64"}, null=fb.NULL_MASK).check()]


CONVERSATIONS = [
    {"id": 0, "messages": [{"role": "user", "content": "Hi\nthere"}, {"role": "assistant", "content": "Hello ü", "weight": 0.5}]},
    {"id": 1, "messages": []},
    {"id": 2, "messages": [{"role": "system", "content": ""}, {"content": "a", "role": "user"}, {"role": "assistant", "content": None,
                                                                                          "call": {"name": "f", "args": [1, {"x": None}]}}]},
    {"id": 3},
]
NESTED = {"id": "int64", "messages.role": "text[]", "messages.content": "text[]"}
EMPTY = {"messages": "", "messages.role": "", "messages.content": "", "messages.weight": 1, "messages.call": ""}


def nulls_of(fields):
    return {name: value for name, value in EMPTY.items() if name in fields}


def test_objects_in_lists_are_text_or_lists_of_their_members_by_choice(tmp_path):
    path = write_records(tmp_path / "a.jsonl", CONVERSATIONS)
    texts = [text for _, text in rows(fb.jsonl(path, null={"messages": ""}), "id", "messages")]
    assert [json.loads(text) for text in texts[:3]] == [one["messages"] for one in CONVERSATIONS[:3]] and texts[3] == ""
    found = rows(fb.jsonl(path, fields=NESTED, null=nulls_of(NESTED)), "id", "messages.role", "messages.content")
    assert found == [(one["id"], [m["role"] for m in one.get("messages", [])], [m["content"] or "" for m in one.get("messages", [])])
                     for one in CONVERSATIONS]


def test_members_of_objects_in_lists_have_any_type_of_lists(tmp_path):
    path = write_records(tmp_path / "a.jsonl", CONVERSATIONS)
    fields = {"messages.weight": "float64[]", "messages.call": "json[]"}
    [batch] = fb.Loader(fb.jsonl(path, fields=fields, null=nulls_of(fields)).batch(4), epochs=1)
    values, offsets = batch["messages.weight"]
    assert values.tolist() == [1, 0.5, 1, 1, 1] and offsets.tolist() == [0, 2, 2, 5, 5]
    assert batch["messages.call"] == [["", ""], [], ["", "", '{"name":"f","args":[1,{"x":null}]}'], []]
    lists = write_records(tmp_path / "b.jsonl", [{"x": [1, "a", {"k": [2.50]}, None, True]}, {"x": []}])
    assert rows(fb.jsonl(lists, fields={"x": "json[]"}), "x") == [['1', '"a"', '{"k":[2.5]}', "null", "true"], []]


@pytest.mark.parametrize(("record", "message"), [
    ({"m": [{"a": "x"}, {"b": "y"}]}, "'m.a' is null or missing in element 1 of its list; null="),
    ({"m": [{"a": None}]}, "'m.a' is null or missing in element 0"),
    ({}, "'m.a' is null or missing; null="),
    ({"m": None}, "'m.a' is null or missing; null="),
    ({"m": [{"a": 1}]}, "'m.a' is a whole number here and text.. by the fields; .*json.."),
    ({"m": [{"a": ["x"]}]}, "'m.a' is a list inside of a list here .*json.."),
    ({"m": [["x"]]}, "a member is a list inside of a list here"),
    ({"m": ["x"]}, "a member is a string here and an object by the fields"),
    ({"m": [None]}, "a member is null in a list here"),
    ({"m": {"a": "x"}}, "'m.a' is a string here and text"),
    ({"m": "x"}, "a member is a string here and an object"),
])
def test_what_is_no_list_of_such_objects_is_told(tmp_path, record, message):
    path = write_records(tmp_path / "a.jsonl", [{"m": [{"a": "good"}]}, record])
    pipeline = fb.jsonl(path, fields={"m.a": "text[]"})
    with pytest.raises(fb.Corrupt, match=message):
        rows(pipeline, "m.a")
    with fb.Loader(pipeline.batch(2), on_error="skip") as loader:
        assert [list(one) for batch in loader for one in batch["m.a"]] == [["good"]]


def test_a_single_value_for_members_of_objects_in_lists_is_told(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [{"m": [{"a": "x", "b": {}}]}])
    for name, kind in (("m.a", "text"), ("m.b", "json")):
        with pytest.raises(fb.Corrupt, match=f"'{name}' is a member of objects in a list here and {kind} by the fields.*json.."):
            rows(fb.jsonl(path, fields={name: kind}), name)


def test_the_last_of_two_members_counts_in_objects_of_lists(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"m": [{"a": "0"}], "m": [{"a": "1", "a": "2"}, {"a": "3", "a": null}]}\n')
    assert rows(fb.jsonl(str(path), fields={"m.a": "text[]"}, null="-"), "m.a") == [["2", "-"]]


def test_nulls_in_lists_become_the_value_and_lists_that_are_null_are_empty(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [{"x": [1, None, 3]}, {"x": None}, {}])
    [batch] = fb.Loader(fb.jsonl(path, fields={"x": "int64[]"}, null=-1).batch(3), epochs=1)
    assert batch["x"][0].tolist() == [1, -1, 3] and batch["x"][1].tolist() == [0, 3, 3, 3]
    with pytest.raises(fb.Corrupt, match="'x' is null in a list"):
        rows(fb.jsonl(path, fields={"x": "int64[]"}), "x")


def test_conversations_stay_through_caches_threads_and_ranks(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [{"id": i, "messages": [{"role": "user", "content": f"{i} {k}" * k} for k in range(i % 5)]} for i in range(300)])
    pipeline = fb.jsonl(path, fields=NESTED).shuffle()
    wanted = digests(pipeline, threads=1)
    assert digests(pipeline, threads=4) == wanted
    assert digests(pipeline.cache(ram=0, disk="64MiB", dir=str(tmp_path / "cache"))) == wanted
    assert digests(fb.Pipeline.from_json(pipeline.to_json())) == wanted


def test_bad_records_are_told_with_file_and_line_or_skipped(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2\n{"a": "text"}\n{"a": 99999999999999999999}\n  \n{"a": 5}')
    pipeline = fb.jsonl(str(path), fields={"a": "int64"})
    with pytest.raises(fb.Corrupt, match=r"a\.jsonl.*line 3"):
        rows(pipeline, "a")
    with fb.Loader(pipeline.batch(10), on_error="skip") as loader:
        assert [x for batch in loader for x in batch["a"].tolist()] == [1, 5]
        assert len(loader) == 1 and [error["code"] for error in loader.errors()] == ["Corrupt"] * 3


def parses(path, tmp_path):
    """Whether the file, as the one record behind a good one, is taken."""
    work = tmp_path / "one.jsonl"
    work.write_bytes(b'{"value": "good"}\n' + path.read_bytes().replace(b"\n", b" ").replace(b"\r", b" ") + b"\n")
    with fb.Loader(fb.jsonl(str(work), fields={"value": "json"}, null="").batch(2), on_error="skip") as loader:
        return sum(len(batch["value"]) for batch in loader) == 2


def test_json_is_what_the_test_suite_says(shared, tmp_path):
    wrong = []
    suite = sorted((shared / "malformed" / "json-suite").glob("*.json"))
    assert len(suite) > 100
    for path in suite:
        blank = not path.read_bytes().strip()
        newline_in_text = b"\n" in path.read_bytes().strip() or b"\x0c" in path.read_bytes()
        taken = parses(path, tmp_path)
        if path.name.startswith("y_") and not taken:
            wrong.append(path.name)
        if path.name.startswith("n_") and taken and not blank and not newline_in_text:
            wrong.append(path.name)
    assert wrong == []


def test_malformed_records_end_in_an_answer(shared, tmp_path):
    for path in sorted((shared / "malformed" / "json").iterdir()):
        for pipeline in (fb.jsonl([str(path)]), fb.jsonl([str(path)], fields={"a": "json"}, null=""), fb.text([str(path)])):
            try:
                with fb.Loader(pipeline.batch(8), on_error="skip") as loader:
                    for _ in loader:
                        pass
            except fb.Error:
                pass


def test_a_record_nested_without_end_is_an_answer(tmp_path):
    path = tmp_path / "deep.jsonl"
    path.write_text('{"a": 1}\n{"a": ' + "[" * 500_000 + "]" * 500_000 + '}\n{"a": ' + "[" * 500_000 + "\n")
    assert rows(fb.jsonl(str(path), fields={"a": "int64"}), "a", on_error="skip") == [1]
    kept = rows(fb.jsonl(str(path), fields={"a": "json"}), "a", on_error="skip")
    assert [len(text) for text in kept] == [1, 1_000_000]


def test_a_change_under_a_loader_is_told(tmp_path):
    path = write_records(tmp_path / "a.jsonl", [{"a": i} for i in range(1000)])
    with fb.Loader(fb.jsonl(path).batch(10)) as loader:
        os.truncate(path, 100)
        with pytest.raises(fb.Error):
            for _ in loader:
                pass
