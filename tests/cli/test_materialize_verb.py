"""`forebay materialize`: what it writes runs to the same digest, goes on after an interruption, and is brought up to date."""
import hashlib
import shutil
import signal

import pytest
from test_cli import DONE, FAILED, INTERRUPTED, MISUSE, as_json, digests, forebay, photos, pipeline, start, write_pipeline  # noqa: F401
from test_cli import broken_photos  # noqa: F401


def files_in(folder):
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("format", ["arrow", "wds"])
def test_what_it_writes_runs_to_the_same_digest(format, tmp_path, pipeline):  # noqa: F811
    out = tmp_path / "out.json"
    told = as_json("materialize", pipeline, tmp_path / "made", "--cut", "decode_image", "--format", format, "--shards", 4, "--apply", out)
    assert told["complete"] and told["samples"] == told["written"] == 21 and told["cut"] == "decode_image" and told["shards"] == 4
    assert digests(as_json("run", out)) == digests(as_json("run", pipeline))
    again = as_json("materialize", pipeline, tmp_path / "made", "--cut", "decode_image", "--format", format)
    assert again["written"] == 0 and again["bytes"] == told["bytes"]


def test_text_says_what_was_written_and_how_it_is_read(tmp_path, pipeline):  # noqa: F811
    out, err = forebay("materialize", pipeline, tmp_path / "made", "--cut", "last", "--shards", 2)
    assert "21 samples behind decode_image in 2 files" in out and 'materialized("' in out
    assert "writing" in err and "21 of 21" in err, "a plain line for each quarter where there is no terminal"


def test_ranks_of_different_runs_write_together(tmp_path, pipeline):  # noqa: F811
    whole = ["materialize", pipeline, tmp_path / "one", "--cut", "last", "--shards", 5]
    forebay(*whole)
    parts = ["materialize", pipeline, tmp_path / "two", "--cut", "last", "--shards", 5, "--world", 2]
    out, _ = forebay(*parts, "--rank", 1)
    assert "not complete" in out
    forebay(*parts, "--rank", 0)
    assert files_in(tmp_path / "one") == files_in(tmp_path / "two")


def test_what_was_interrupted_goes_on(tmp_path, pipeline):  # noqa: F811
    command = ["materialize", pipeline, tmp_path / "made", "--cut", "last", "--shards", 21]
    process = start(*command)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode in (DONE, INTERRUPTED, -signal.SIGINT)
    forebay(*command)
    forebay("materialize", pipeline, tmp_path / "whole", "--cut", "last", "--shards", 21)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "whole")


def test_a_changed_original_is_refused_until_it_is_brought_up_to_date(tmp_path, photos):  # noqa: F811
    root = shutil.copytree(photos, tmp_path / "photos")
    given, out = write_pipeline(tmp_path / "pipeline.json", root), tmp_path / "out.json"
    command = ["materialize", given, tmp_path / "made", "--cut", "last"]
    forebay(*command, "--apply", out)
    shutil.copy(root / "cats" / "cats_0.jpg", root / "cats" / "cats_00.jpg")
    _, err = forebay("run", out, code=FAILED)
    assert "--update" in err
    _, err = forebay(*command, code=FAILED)
    assert "--update" in err
    told = as_json(*command, "--update")
    assert told["reused"] == 21 and told["samples"] == 22
    assert digests(as_json("run", out)) == digests(as_json("run", given))
    assert "taken from what was there" not in forebay(*command, "--update")[0]


def test_a_bad_picture_is_named_and_the_rest_is_kept(tmp_path, broken_photos):  # noqa: F811
    given = write_pipeline(tmp_path / "pipeline.json", broken_photos)
    _, err = forebay("materialize", given, tmp_path / "made", "--cut", "last", code=FAILED)
    assert "cats_0.jpg" in err or "fake.png" in err
    assert not (tmp_path / "made" / "_manifest.json").exists()


def test_what_is_mistyped_is_told_before_anything_is_written(tmp_path, pipeline):  # noqa: F811
    for arguments in (["--format", "csv"], ["--shards", 0], ["--quality", 0], ["--limit", "x"], ["--compression", "gzip"]):
        _, err = forebay("materialize", pipeline, tmp_path / "made", *arguments, code=MISUSE)
        assert arguments[0] in err
    _, err = forebay("materialize", pipeline, tmp_path / "made", "--cut", "nothing", code=FAILED)
    assert "decode_image" in err
    _, err = forebay("materialize", pipeline, tmp_path / "made", "--cut", "last", "--quality", 50, code=FAILED)
    assert "jpeg" in err
    assert not (tmp_path / "made").exists()
