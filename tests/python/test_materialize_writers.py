"""Data is written once, whoever writes it and whatever ends a writer."""
import os
import random
import resource
import shutil

import pytest
from materializing import Killer, files_in, made, numbers, table, writer, written

import forebay as fb


@pytest.mark.parametrize("kind", ["numbers", "table"])
def test_a_writer_killed_at_any_moment_leaves_nothing_wrong(kind, tables, tmp_path):
    """FOREBAY_KILLS says how many moments; 200 is what the release is judged by."""
    what = tables if kind == "table" else "numbers"
    written(what, tmp_path / "whole")
    expected = files_in(tmp_path / "whole")
    kills = int(os.environ.get("FOREBAY_KILLS", 20)) // 2
    killer, folder = Killer(random.Random(kills)), tmp_path / "killed"
    for _ in range(kills):
        if not killer.kills(writer(what, folder)):
            assert files_in(folder) == expected
            shutil.rmtree(folder)
    written(what, folder)
    assert files_in(folder) == expected
    assert killer.killed > 0, "no writer was killed while it ran"


def test_two_writers_at_once_write_what_one_writes(tmp_path):
    written("numbers", tmp_path / "one")
    writers = [writer("numbers", tmp_path / "two") for _ in range(2)]
    for process in writers:
        _, err = process.communicate()
        assert process.returncode == 0, err
    assert files_in(tmp_path / "two") == files_in(tmp_path / "one")


def test_a_full_disk_tells_how_to_go_on_and_going_on_works(tmp_path):
    """The largest file that may be written is smaller than a shard: as where there is no room left."""
    folder = tmp_path / "made"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # noqa: E731
    process = writer("numbers", folder, 2, preexec_fn=limit)
    _, err = process.communicate()
    assert process.returncode != 0
    assert "Unavailable" in err and "part-00000.arrow" in err and "run the same command again to continue" in err
    assert not list(folder.rglob("*.writing"))
    written("numbers", folder, 2)
    written("numbers", tmp_path / "whole", 2)
    assert files_in(folder) == files_in(tmp_path / "whole")


def test_ranks_together_write_what_one_writes(tables, tmp_path):
    made(table(tables), tmp_path / "one", shards=5)
    for rank in (2, 0, 1):
        result = fb.materialize(table(tables), tmp_path / "three", cut="last", shards=5, rank=rank, world_size=3)
        assert result.complete == (rank == 1)
    assert files_in(tmp_path / "three") == files_in(tmp_path / "one")


def test_an_interrupted_call_goes_on(tmp_path):
    seen = []

    def stop(now):
        seen.append(now)
        if now["shards_done"] == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fb.materialize(numbers(), tmp_path / "made", cut="last", shards=5, progress=stop)
    assert seen[-1]["shards"] == 5 and seen[-1]["samples"] == 157
    result = made(numbers(), tmp_path / "made", shards=5)
    assert result.written < result.samples
    made(numbers(), tmp_path / "whole", shards=5)
    assert files_in(tmp_path / "made") == files_in(tmp_path / "whole")
