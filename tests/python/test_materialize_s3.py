"""Materialising to buckets: the objects are the files that a folder has, whoever is killed, and nothing else is left there."""
import json
import os
import random
import re
import shutil
import signal
import threading
import time

import pytest
from loading import interrupted_script, one_epoch
from materializing_far import digest, files_in, numbers, small, started
from project import ROOT, run

import forebay as fb
from servers.s3 import Client

BUCKET = "made"
SERVERS = {"ceph": "FOREBAY_TEST_S3", "swift": "FOREBAY_TEST_SWIFT"}
pytestmark = pytest.mark.usefixtures("nothing_from_outside")


class Bucket:
    """A bucket of its own at a server."""

    def __init__(self, found, name, bucket):
        variable = SERVERS[name]
        self.options = {"endpoint": found[variable], "access_key_id": found[variable + "_KEY"],
                        "secret_access_key": found[variable + "_SECRET"]}
        self.client = Client(*self.options.values())
        self.client.make_bucket(bucket)
        self.name = bucket

    def url(self, prefix):
        return f"s3://{self.name}/{prefix}"

    def objects(self, prefix):
        return {key.removeprefix(prefix + "/"): self.client.get(self.name, key) for key in self.client.keys(self.name, prefix + "/")}

    def uploads(self):
        return self.client.request("GET", f"/{self.name}", {"uploads": ""})[2].count(b"<UploadId>")


@pytest.fixture(scope="session")
def ceph(servers):
    return Bucket(servers("ceph"), "ceph", BUCKET)


@pytest.fixture
def aws_environment(ceph, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", ceph.options["endpoint"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ceph.options["access_key_id"])
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", ceph.options["secret_access_key"])


@pytest.mark.parametrize("server", list(SERVERS))
def test_objects_are_the_files_of_a_folder_and_read_the_same(servers, server, tmp_path):
    bucket = Bucket(servers(server), server, BUCKET + "-" + server)
    pipeline = numbers(tmp_path)
    here = fb.materialize(pipeline, tmp_path / "made", cut="last", shards=5)
    there = fb.materialize(pipeline, bucket.url("a/b"), cut="last", shards=5, url_options=bucket.options)
    assert there.complete and (there.samples, there.shards, there.bytes) == (here.samples, 5, here.bytes)
    assert bucket.objects("a/b") == files_in(tmp_path / "made")
    assert bucket.uploads() == 0
    assert digest(there.pipeline, storage_options=bucket.options) == digest(here.pipeline) == digest(pipeline)
    again = fb.materialize(pipeline, bucket.url("a/b/"), cut="last", shards=5, url_options=bucket.options)
    assert again.complete and again.written == 0


@pytest.mark.parametrize("format, cut", [("wds", "resize"), ("jpeg", "images")])
def test_tars_in_a_bucket_are_those_of_a_folder(format, cut, photos, ceph, aws_environment, tmp_path):
    pipeline = fb.images(photos).shuffle().decode_image().resize(24).batch(4)
    here = fb.materialize(pipeline, tmp_path / "made", cut=cut, format=format, shards=3)
    there = fb.materialize(pipeline, ceph.url("tar-" + format), cut=cut, format=format, shards=3)
    assert there.complete and ceph.objects("tar-" + format) == files_in(tmp_path / "made")
    assert digest(there.pipeline) == digest(here.pipeline)
    assert fb.materialize(pipeline, ceph.url("tar-" + format), cut=cut, format=format).written == 0


def test_another_version_in_a_bucket_is_refused(photos, ceph, aws_environment, tmp_path):
    root = shutil.copytree(photos, tmp_path / "photos")
    fb.materialize(fb.images(root).batch(4), ceph.url("version"), cut="last")
    before = ceph.objects("version")
    shutil.copy(root / "cats" / "cats_0.jpg", root / "cats" / "cats_00.jpg")
    with pytest.raises(fb.InvalidArgument, match="update=True"):
        fb.materialize(fb.images(root).batch(4), ceph.url("version"), cut="last")
    with pytest.raises(fb.InvalidArgument, match="something else"):
        fb.materialize(fb.images(root).decode_image().resize(8).batch(4), ceph.url("version"), cut="last", update=True)
    assert ceph.objects("version") == before


def parts_of(objects):
    """What is read, by the names that a folder would have; and that nothing else is there."""
    manifest = json.loads(objects["_manifest.json"])
    below = manifest.get("below", "")
    assert all(name.startswith(below) or name == "_manifest.json" for name in objects), sorted(objects)
    if below:
        assert json.loads(objects[below + "_manifest.json"]) == {name: value for name, value in manifest.items() if name != "below"}
    # Identities say something of times and inodes.
    return {name.removeprefix(below): data for name, data in objects.items() if name.startswith(below) and "_identities/" not in name and not (below and name == "_manifest.json")}


@pytest.mark.parametrize("server", list(SERVERS))
@pytest.mark.parametrize("format", ["arrow", "wds"])
def test_an_update_makes_only_what_is_new_and_what_a_new_place_would_have(servers, server, format, photos, tmp_path):
    bucket = Bucket(servers(server), server, f"{BUCKET}-{server}-{format}")
    how = {"cut": "resize", "shards": 4, "format": format, "url_options": bucket.options}
    root = shutil.copytree(photos, tmp_path / "photos")
    fb.materialize(small(root), bucket.url("up/here"), **how)
    for step in range(3):
        shutil.copy(root / "cats" / "cats_1.jpg", root / "cats" / f"new_{step}.jpg")
        (root / "fish" / f"fish_{step}.jpg").unlink()
        made = fb.materialize(small(root), bucket.url("up/here"), update=True, **how)
        assert made.complete and made.written == made.samples == 21 and made.reused == 20
        fb.materialize(small(root), tmp_path / f"scratch{step}", cut="resize", shards=4, format=format)
        wanted = {name: data for name, data in files_in(tmp_path / f"scratch{step}").items() if "_identities/" not in name}
        assert parts_of(bucket.objects("up/here")) == wanted
        assert bucket.uploads() == 0
        assert digest(made.pipeline, storage_options=bucket.options) == digest(small(root))
        again = fb.materialize(small(root), bucket.url("up/here/"), update=True, **how)
        assert again.complete and again.written == 0 and again.bytes == made.bytes
    assert json.loads(bucket.objects("up/here")["_manifest.json"])["below"].startswith("update-")


def test_an_update_of_a_table_in_a_bucket(ceph, aws_environment, tmp_path):
    from materializing import table, write_tables

    folder = tmp_path / "tables"
    folder.mkdir()
    write_tables(folder)
    fb.materialize(table(folder), ceph.url("table-up"), cut="last", shards=3)
    write_tables(folder, files=2, first=-1)
    made = fb.materialize(table(folder), ceph.url("table-up"), cut="last", shards=3, update=True)
    assert made.complete and 0 < made.reused < made.written
    assert digest(made.pipeline) == digest(table(folder))
    parts_of(ceph.objects("table-up"))


def killed_at(moment, faults, found, program, *arguments):
    """Runs a program behind a link of 5 ms, and kills it when it has sent so many requests."""
    faults.reset()
    faults.set(latency_ms=5)
    process = started(program, *arguments, AWS_ENDPOINT_URL=found["FOREBAY_TEST_FAULTS"])
    while process.poll() is None and faults.status()["counts"]["requests"] < moment:
        time.sleep(0.001)  # of two cores one would be busy with asking
    process.send_signal(signal.SIGKILL)
    process.communicate()


UPDATER = """
import sys
from materializing_far import small
import forebay as fb
made = fb.materialize(small(sys.argv[1]), sys.argv[2], cut="resize", shards=5, update=True)
print(made.complete)
"""


def test_an_update_killed_at_any_moment_leaves_the_old_one_or_the_new_one(photos, ceph, faults, servers, aws_environment, tmp_path, monkeypatch):
    found = servers("ceph", "faults")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    root = shutil.copytree(photos, tmp_path / "photos")
    new = root / "cats" / "new.jpg"
    before = digest(small(root))
    shutil.copy(root / "cats" / "cats_1.jpg", new)
    after = digest(small(root))
    fb.materialize(small(root), tmp_path / "scratch", cut="resize", shards=5)
    wanted = {name: data for name, data in files_in(tmp_path / "scratch").items() if "_identities/" not in name}
    draws, seen = random.Random(3), set()
    for number, moment in enumerate(sorted(draws.sample(range(1, 90), int(os.environ.get("FOREBAY_KILLS", 16))))):
        url = ceph.url(f"update-killed/{number}")
        new.unlink(missing_ok=True)
        fb.materialize(small(root), url, cut="resize", shards=5)
        shutil.copy(root / "cats" / "cats_1.jpg", new)
        killed_at(moment, faults, found, UPDATER, root, url)
        now = digest(fb.materialized(url, original="trust").shuffle().random_flip().batch(4))
        assert now in (before, after), moment
        seen.add(now)
        assert fb.materialize(small(root), url, cut="resize", shards=5, update=True).complete
        assert parts_of(ceph.objects(f"update-killed/{number}")) == wanted, moment
        assert ceph.uploads() == 0
        assert digest(fb.materialized(url).shuffle().random_flip().batch(4)) == after
    assert before in seen


def test_ranks_bring_a_bucket_up_to_date_together(photos, ceph, aws_environment, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    root = shutil.copytree(photos, tmp_path / "photos")
    fb.materialize(small(root), ceph.url("ranks-up"), cut="resize", shards=5)
    shutil.copy(root / "cats" / "cats_1.jpg", root / "cats" / "new.jpg")
    ranks = [started(UPDATER, root, ceph.url("ranks-up"), RANK=str(i), WORLD_SIZE="3") for i in range(3)]
    told = [process.communicate(timeout=300) for process in ranks]
    assert "True" in [out.strip() for out, _ in told], told
    fb.materialize(small(root), tmp_path / "scratch", cut="resize", shards=5)
    wanted = {name: data for name, data in files_in(tmp_path / "scratch").items() if "_identities/" not in name}
    assert parts_of(ceph.objects("ranks-up")) == wanted
    assert digest(fb.materialized(ceph.url("ranks-up")).shuffle().random_flip().batch(4)) == digest(small(root))


def test_photographs_and_tables_and_large_shards_read_the_same(photos, ceph, aws_environment, tmp_path):
    pipeline = fb.images(photos).shuffle().decode_image().resize(24).random_flip().batch(4)
    made = fb.materialize(pipeline, ceph.url("photos"), cut="resize", shards=3)
    assert one_epoch(made.pipeline, seed=3) == one_epoch(pipeline, seed=3)
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table({"x": range(10_000), "y": [str(i) for i in range(10_000)]})
    pyarrow.parquet.write_table(table, tmp_path / "t.parquet", row_group_size=500)
    pipeline = fb.parquet(str(tmp_path / "t.parquet")).cast("float32", field="x").shuffle().batch(64)
    made = fb.materialize(pipeline, ceph.url("table"), cut="last", shards=4, compression="zstd")
    assert one_epoch(made.pipeline, seed=3) == one_epoch(pipeline, seed=3)
    (tmp_path / "big").mkdir()
    big = numbers(tmp_path / "big", rows=2000, width=2500)  # 20 MB in one shard: parts
    made = fb.materialize(big, ceph.url("big"), cut="last", shards=1)
    assert digest(made.pipeline) == digest(big)
    assert ceph.uploads() == 0


def test_the_original_is_looked_at_beside_a_bucket(ceph, tmp_path):
    pipeline = numbers(tmp_path)
    fb.materialize(pipeline, ceph.url("looked"), cut="last", url_options=ceph.options)
    (tmp_path / "x.npy").unlink()
    numbers(tmp_path, rows=401)
    with pytest.raises(fb.StateMismatch, match="has changed since"):
        one_epoch(fb.materialized(ceph.url("looked")).batch(4), storage_options=ceph.options)
    with pytest.raises(fb.InvalidArgument, match="made of another version of the data"):
        fb.materialize(numbers(tmp_path), ceph.url("looked"), cut="last", url_options=ceph.options)


def refused(kind, url, tmp_path, options):
    with pytest.raises(kind) as caught:
        fb.materialize(numbers(tmp_path), url, cut="last", url_options=options)
    assert "wrong-secret" not in str(caught.value)
    return str(caught.value)


def test_mistakes_of_a_new_user(ceph, tmp_path):
    assert "there is no bucket 'no-such-bucket'" in refused(fb.NotFound, "s3://no-such-bucket/x", tmp_path, ceph.options)
    wrong = ceph.options | {"secret_access_key": "wrong-secret"}
    assert "secret access key" in refused(fb.InvalidArgument, ceph.url("w"), tmp_path, wrong)
    assert "not public" in refused(fb.InvalidArgument, ceph.url("w"), tmp_path, {"endpoint": ceph.options["endpoint"], "anonymous": True})
    assert "local folders and to s3" in refused(fb.Unsupported, "https://host/x", tmp_path, {})
    assert "no such" in refused(fb.InvalidArgument, ceph.url("w"), tmp_path, ceph.options | {"regoin": "x"})
    assert ceph.objects("w") == {}


WRITER = """
import sys
import forebay as fb
from materializing_far import numbers
fb.materialize(numbers(sys.argv[1], rows=4000), sys.argv[2], cut="last", shards=8)
"""


def test_killed_at_any_moment_the_next_run_ends_with_the_same_objects(ceph, faults, servers, aws_environment, tmp_path, monkeypatch):
    found = servers("ceph", "faults")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    pipeline = numbers(tmp_path, rows=4000)
    fb.materialize(pipeline, tmp_path / "made", cut="last", shards=8)
    wanted = files_in(tmp_path / "made")
    draws = random.Random(7)
    for number, moment in enumerate(sorted(draws.sample(range(1, 60), 12))):
        url = ceph.url(f"killed/{number}")
        killed_at(moment, faults, found, WRITER, tmp_path, url)
        made = fb.materialize(pipeline, url, cut="last", shards=8)
        assert made.complete
        assert ceph.objects(f"killed/{number}") == wanted, moment
        assert ceph.uploads() == 0
    assert digest(made.pipeline) == digest(pipeline)


def test_killed_in_mid_part_nothing_is_left_of_the_upload(ceph, faults, servers, aws_environment, tmp_path, monkeypatch):
    found = servers("ceph", "faults")
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    pipeline = numbers(tmp_path, rows=4000, width=2500)  # 40 MB: five parts
    program = WRITER.replace("rows=4000", "rows=4000, width=2500").replace("shards=8", "shards=1")
    faults.set(latency_ms=300)
    process = started(program, tmp_path, ceph.url("mid"), AWS_ENDPOINT_URL=found["FOREBAY_TEST_FAULTS"])
    while process.poll() is None and ceph.uploads() == 0:
        pass
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert ceph.uploads() == 1
    assert fb.materialize(pipeline, ceph.url("mid"), cut="last", shards=1).complete
    assert ceph.uploads() == 0
    assert set(ceph.objects("mid")) == {"_manifest.json", "_identities/part-00000.arrow", "_index/part-00000.arrow", "part-00000.arrow"}


def test_uploads_of_others_below_the_prefix_are_left_alone(ceph, aws_environment, tmp_path):
    for key in ("part-1.bin", "part-00001", "sub/part-00001.arrow", "notes", "_index/part-00000.arrow", "part-00000.arrow"):
        ceph.client.request("POST", f"/{BUCKET}/others/{key}", {"uploads": ""})
    ceph.client.put(BUCKET, "others/notes", b"mine")
    assert fb.materialize(numbers(tmp_path), ceph.url("others"), cut="last", shards=2).complete
    listed = ceph.client.request("GET", f"/{BUCKET}", {"uploads": "", "prefix": "others/"})[2].decode()
    left = sorted(re.findall("<Key>others/([^<]*)</Key>", listed))
    assert left == ["notes", "part-00001", "part-1.bin", "sub/part-00001.arrow"]
    assert ceph.objects("others")["notes"] == b"mine"
    for key, upload in re.findall("<Key>([^<]*)</Key><UploadId>([^<]*)</UploadId>", listed):
        ceph.client.request("DELETE", f"/{BUCKET}/{key}", {"uploadId": upload})
    assert ceph.uploads() == 0


def test_doubled_writers_write_the_same(ceph, aws_environment, tmp_path):
    pipeline = numbers(tmp_path, rows=4000, width=2500)
    fb.materialize(pipeline, tmp_path / "made", cut="last", shards=2)
    errors = []

    def write():
        try:
            fb.materialize(pipeline, ceph.url("doubled"), cut="last", shards=2)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert fb.materialize(pipeline, ceph.url("doubled"), cut="last", shards=2).complete
    assert ceph.objects("doubled") == files_in(tmp_path / "made")
    assert ceph.uploads() == 0


@pytest.mark.parametrize("knobs", [{"share_503": 0.2}, {"share_closed": 0.2}, {"share_503_retry": 0.1, "retry_after_s": 1}])
def test_a_link_that_fails_gives_the_same(ceph, faults, servers, tmp_path, knobs):
    options = ceph.options | {"endpoint": servers("ceph", "faults")["FOREBAY_TEST_FAULTS"]}
    pipeline = numbers(tmp_path, rows=2000, width=2500)
    fb.materialize(pipeline, tmp_path / "made", cut="last", shards=2)
    faults.set(seed=3, **knobs)
    prefix = "failing/" + "-".join(knobs)
    made = fb.materialize(pipeline, ceph.url(prefix), cut="last", shards=2, url_options=options)
    faults.reset()
    assert made.complete and ceph.objects(prefix) == files_in(tmp_path / "made")
    assert ceph.uploads() == 0


def test_a_dead_store_tells_how_to_go_on_and_the_same_call_does(ceph, faults, servers, tmp_path):
    options = ceph.options | {"endpoint": servers("ceph", "faults")["FOREBAY_TEST_FAULTS"], "retries": 0}
    pipeline = numbers(tmp_path)
    done = []

    def progress(now):
        done.append(now["shards_done"])
        if now["shards_done"] == 2:
            faults.outage(600, "503")

    with pytest.raises(fb.Unavailable, match="finished files stay; run the same command again to continue") as caught:
        fb.materialize(pipeline, ceph.url("dead"), cut="last", shards=5, url_options=options, progress=progress)
    assert caught.value.key.startswith(ceph.url("dead"))
    faults.reset()
    made = fb.materialize(pipeline, ceph.url("dead"), cut="last", shards=5, url_options=options)
    assert made.complete and made.written < made.samples
    fb.materialize(pipeline, tmp_path / "made", cut="last", shards=5)
    assert ceph.objects("dead") == files_in(tmp_path / "made")


RANK = """
import sys
import forebay as fb
from materializing_far import numbers
print(fb.materialize(numbers(sys.argv[1]), sys.argv[2], cut="last", shards=11).complete)
"""


def test_four_ranks_write_to_a_bucket_what_one_writes(ceph, aws_environment, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__))
    pipeline = numbers(tmp_path)
    fb.materialize(pipeline, tmp_path / "made", cut="last", shards=11)
    ranks = [started(RANK, tmp_path, ceph.url("ranks"), RANK=str(i), WORLD_SIZE="4") for i in range(4)]
    told = [process.communicate(timeout=300)[0].strip() for process in ranks]
    assert "True" in told and set(told) <= {"True", "False"}
    assert ceph.objects("ranks") == files_in(tmp_path / "made")
    assert digest(fb.materialized(ceph.url("ranks")).shuffle().batch(16)) == digest(pipeline)


def test_ctrl_c_ends_a_write_to_a_store_that_never_answers(ceph, faults, servers, aws_environment, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), str(ROOT / "tests")]))
    monkeypatch.setenv("AWS_ENDPOINT_URL", servers("ceph", "faults")["FOREBAY_TEST_FAULTS"])
    outcome = interrupted_script("""
        import sys
        import forebay as fb
        from materializing_far import numbers
        from servers.faults import Control

        def progress(now):
            if now["shards_done"] == 1:
                Control().outage(600, "never")
                print("ready", flush=True)

        fb.materialize(numbers(sys.argv[1]), sys.argv[2], cut="last", shards=9, progress=progress)
        """, tmp_path, ceph.url("stopped"))
    faults.reset()
    assert "KeyboardInterrupt" in outcome.err
    monkeypatch.setenv("AWS_ENDPOINT_URL", ceph.options["endpoint"])
    assert fb.materialize(numbers(tmp_path), ceph.url("stopped"), cut="last", shards=9).complete
    assert ceph.uploads() == 0


def test_the_program_writes_to_buckets(ceph, tmp_path):
    pipeline = numbers(tmp_path)
    (tmp_path / "p.json").write_text(pipeline.to_json())
    words = [word for name, value in ceph.options.items() for word in ("--url-option", f"{name}={value}")]
    told = json.loads(run("forebay", "materialize", tmp_path / "p.json", ceph.url("program"), "--cut", "last", "--shards", "3", "--apply",
                          tmp_path / "out.json", "--json", *words))
    assert told["complete"] and told["shards"] == 3
    made = fb.Pipeline.from_json((tmp_path / "out.json").read_text())
    assert digest(made, storage_options=ceph.options) == digest(pipeline)
