"""What has changed since is made anew, and nothing else."""
import os
import random
import shutil

import pytest
from materializing import Killer, digests, files_in, made, numbers, photographs, table, write_tables, writer, written

import forebay as fb


@pytest.mark.parametrize("format", ["arrow", "wds", "jpeg"])
def test_update_makes_only_what_is_new_and_the_same_as_from_scratch(format, photos, tmp_path):
    root = shutil.copytree(photos, tmp_path / "photos")
    pipeline = lambda: fb.images(root).shuffle().decode_image().resize((20, 20)).random_flip().batch(4)  # noqa: E731
    made(pipeline(), tmp_path / "made", shards=4, format=format)
    shutil.copy(root / "cats" / "cats_1.jpg", root / "cats" / "a_new_one.jpg")
    (root / "fish" / "fish_6.jpg").unlink()
    with pytest.raises(fb.InvalidArgument, match="update=True"):
        fb.materialize(pipeline(), tmp_path / "made", cut="last", shards=4, format=format)
    with pytest.raises(fb.StateMismatch, match="update=True"):
        fb.Loader(fb.materialized(tmp_path / "made").batch(4))
    result = made(pipeline(), tmp_path / "made", shards=4, format=format, update=True)
    assert result.written == result.samples == 21 and result.reused == 20
    scratch = made(pipeline(), tmp_path / "scratch", shards=4, format=format)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "scratch")
    assert digests(result.pipeline) == digests(scratch.pipeline)
    if format != "jpeg":
        assert digests(result.pipeline) == digests(pipeline())


@pytest.mark.parametrize("format", ["arrow", "parquet"])
def test_update_of_a_table_decodes_new_row_groups_alone(format, tables, tmp_path):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    made(table(folder), tmp_path / "made", format=format, shards=3)
    write_tables(folder, files=2, first=-1)  # before all others, and in the place of the first
    result = made(table(folder), tmp_path / "made", format=format, shards=3, update=True)
    assert result.samples == 280 and result.reused == 140
    made(table(folder), tmp_path / "scratch", format=format, shards=3)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "scratch")
    assert digests(result.pipeline) == digests(table(folder))


def test_an_update_killed_at_any_moment_ends_as_one_that_was_not(tables, tmp_path):
    folder = tmp_path / "tables"
    shutil.copytree(tables, folder)
    written(folder, tmp_path / "old")
    write_tables(folder, files=1, first=7)
    written(folder, tmp_path / "scratch")
    expected = files_in(tmp_path / "scratch")
    killer = Killer(random.Random(1))
    for _ in range(int(os.environ.get("FOREBAY_KILLS", 20)) // 4):
        shutil.rmtree(tmp_path / "new", ignore_errors=True)
        shutil.copytree(tmp_path / "old", tmp_path / "new")
        killer.kills(writer(folder, tmp_path / "new", 9, "arrow", "update"))
        written(folder, tmp_path / "new", update=True)
        assert files_in(tmp_path / "new") == expected


def test_update_of_what_is_up_to_date_does_nothing(tmp_path):
    made(numbers(), tmp_path / "made")
    before = files_in(tmp_path / "made")
    assert made(numbers(), tmp_path / "made", update=True).written == 0
    assert files_in(tmp_path / "made") == before


def test_another_pipeline_is_no_update(photos, tmp_path):
    made(photographs(photos), tmp_path / "made")
    before = files_in(tmp_path / "made")
    for update in (False, True):
        with pytest.raises(fb.InvalidArgument, match="something else"):
            fb.materialize(fb.images(photos).decode_image().resize((9, 9)).batch(2), tmp_path / "made", cut="last", update=update)
    assert files_in(tmp_path / "made") == before
