"""share=: batches that a server makes are those of a loader, whoever else comes, goes, stops or dies."""
import itertools
import os
import random
import signal
import socket as sockets
import struct
import subprocess

import numpy as np
import pytest

import forebay as fb
from loading import one_epoch
from sharing import ask, client, descriptors, program, serving, shared_memory, stat_of, wait_for


def photographs(folder, batch=4):
    return (fb.images(str(folder)).shuffle().decode_image().random_resized_crop(48).random_flip().normalize(fb.IMAGENET)
            .batch(batch))


@pytest.fixture
def server(tmp_path):
    """The path of a socket where a server listens."""
    path = tmp_path / "s.sock"
    with serving(path):
        yield str(path)


@pytest.fixture
def host(tmp_path, monkeypatch):
    """A host without a server; one that share="auto" starts is ended with the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    path = tmp_path / "forebay" / "auto.sock"
    yield path
    if status := ask(path):
        os.kill(status["process"], signal.SIGKILL)


def test_batches_are_those_of_a_loader(photos, server):
    pipeline = photographs(photos)
    with fb.Loader(pipeline, seed=3) as here, fb.Loader(pipeline, seed=3, share=server) as there:
        assert there.fingerprint == here.fingerprint
        assert (len(there), there.size, there.rank, there.world_size) == (len(here), here.size, 0, 1)
        for _ in range(2):
            for a, b in zip(here, there, strict=True):
                assert list(a) == list(b)
                assert a.ids.tolist() == b.ids.tolist() and a.positions.tolist() == b.positions.tolist()
                assert a["image"].tobytes() == b["image"].tobytes() and a["key"] == b["key"]
                assert here.state_dict() == there.state_dict()
        assert {step["name"] for step in there.stats()["steps"]} == {step["name"] for step in here.stats()["steps"]}


def test_restart_begins_an_epoch_anew_as_a_loader_here_does(photos, server):
    pipeline = photographs(photos)
    with fb.Loader(pipeline, seed=3, restart=True) as here, fb.Loader(pipeline, seed=3, restart=True, share=server) as there:
        for taken in (2, 1, len(here), 1, None):
            seen = [[batch.ids.tolist() for batch in itertools.islice(loader, taken)] for loader in (here, there)]
            assert seen[0] == seen[1] and here.state_dict() == there.state_dict()
        next(iter(here))
        state = here.state_dict()
        for loader in (here, there):
            loader.load_state_dict(state)
        seen = [[batch.ids.tolist() for batch in loader] for loader in (here, there)]
        assert seen[0] == seen[1] and len(seen[0]) == len(here) - 1


def test_tables_and_ragged_fields(tmp_path, server):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    rows = 5000
    columns = {"x": np.arange(rows) / 3, "text": [f"row {i}" for i in range(rows)],
               "list": [list(range(i % 7)) for i in range(rows)], "names": [["a" * (i % 3), "b"] for i in range(rows)]}
    pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=700)
    pipeline = fb.parquet(str(tmp_path / "t.parquet")).shuffle(block=2).batch(64)
    expected = one_epoch(pipeline, seed=1)
    assert one_epoch(pipeline, seed=1, share=server) == expected
    with fb.Loader(pipeline, seed=1) as here, fb.Loader(pipeline, seed=1, share=server, together=True) as there:
        for a, b in zip(here, there, strict=True):
            assert a["text"] == b["text"] and a["names"] == b["names"]
            assert [part.tolist() for part in a["list"]] == [part.tolist() for part in b["list"]]


@pytest.mark.parametrize("together", [False, True])
def test_ranks_and_ensembles(photos, server, together):
    pipeline = photographs(photos)
    expected = one_epoch(pipeline, seed=5)
    ranks = [fb.Loader(pipeline, seed=5, rank=rank, world_size=3, share=server, together=together) for rank in range(3)]
    members = [fb.Loader(pipeline, seed=5, share=server, together=4 if together else False) for _ in range(4)]
    assert fb.digest(*ranks) == expected
    passes = [iter(member) for member in members]
    digests = [fb._core.EpochDigest() for _ in members]
    for step in zip(*passes, strict=True):
        for digest, batch in zip(digests, step):
            digest.add(batch)
    assert [digest.hexdigest() for digest in digests] == [expected] * 4
    if together:
        saved = ask(server)["together"]
        assert saved["batches_saved"] >= 3 * 6, saved
    for loader in ranks + members:
        loader.close()


def test_pipelines_that_begin_alike_decode_once(photos, server):
    def pipeline(size):
        return fb.images(str(photos)).shuffle().decode_image().resize((64, 64)).random_crop(size).batch(4)

    expected = {size: one_epoch(pipeline(size), seed=size) for size in (32, 48)}
    with fb.Loader(pipeline(32), seed=32, share=server) as a, fb.Loader(pipeline(48), seed=48, share=server) as b:
        assert fb.digest(a) == expected[32] and fb.digest(b) == expected[48]
        with fb.Loader(pipeline(32), seed=32) as here:
            fb.digest(here)
            assert fb.digest(a) == fb.digest(here)
        clients = {each["rank"]: each for each in ask(server)["clients"]}
        assert ask(server)["cache_hits"] > 0, clients


def test_nobody_writes_into_what_others_read(photos, server):
    with fb.Loader(photographs(photos), share=server) as loader:
        image = next(iter(loader))["image"]
        assert not image.flags.writeable
        with pytest.raises(ValueError):
            image[0] = 0
        with pytest.raises(ValueError):
            image.flags.writeable = True
    # Whatever NumPy thinks of it: the memory itself cannot be written, nor made so.
    process = client("""
        import ctypes
        with fb.Loader(fb.images(sys.argv[1]).decode_image().resize((512, 512)).batch(4), share=sys.argv[2]) as loader:
            image = next(iter(loader))["image"]
            address = image.ctypes.data & ~4095
            libc = ctypes.CDLL(None, use_errno=True)
            say(libc.mprotect(ctypes.c_void_p(address), 4096, 3))
            ctypes.memset(image.ctypes.data, 0, 1)
            say("written")
    """, photos, server)
    out, _ = process.communicate(timeout=120)
    assert out.split() == ["-1"] and process.returncode == -signal.SIGSEGV


def test_batches_stay_after_the_loader(photos, server):
    with fb.Loader(photographs(photos), share=server) as loader:
        kept = [batch["image"] for batch in loader]
    copies = [image.copy() for image in kept]
    for seed in range(3):
        one_epoch(photographs(photos), seed=seed, share=server)
    assert all((a == b).all() for a, b in zip(kept, copies))


def test_a_state_goes_on_with_and_without(photos, server):
    pipeline = photographs(photos)
    with fb.Loader(pipeline, seed=2, share=server) as loader:
        passing = iter(loader)
        for _ in range(3):
            next(passing)
        state = loader.state_dict()
        rest = [batch.ids.tolist() for batch in passing]
    for share in (None, server):
        with fb.Loader(pipeline, seed=2, share=share) as loader:
            loader.load_state_dict(state)
            assert [batch.ids.tolist() for batch in loader] == rest
            assert loader.epoch == 1
            loader.set_epoch(0)
            assert loader.state_dict()["position"] == 0
        with fb.Loader(pipeline, seed=9, share=share) as loader, pytest.raises(fb.StateMismatch):
            loader.load_state_dict(state)


def test_leaving_the_loop_at_its_last_batch(photos, server):
    with fb.Loader(photographs(photos), share=server, epochs=2) as loader:
        for batch in loader:
            if batch.step == len(loader) - 1:
                break
        assert loader.epoch == 1
        assert len(list(loader)) == 6
        assert list(loader) == []


def test_an_epoch_ends_whoever_makes_its_batches(photos, host):
    """A loader, or a server, that goes on behind the last batch of an epoch would know nothing of its end."""
    with fb.Loader(photographs(photos), seed=1, share="auto") as loader:
        for epoch in range(3):
            batches = 0
            for batch in loader:
                batches += 1
                if batch.step == len(loader) - 2:
                    passing = ask(host)["process"]  # the last batch is on its way already
                    os.kill(passing, signal.SIGKILL)
                assert batch.epoch == epoch
            assert batches == 6


def test_an_epoch_ends_where_another_client_comes_at_its_last_batch(photos, server):
    def pipeline(size):
        return fb.images(str(photos)).shuffle().decode_image().resize((64, 64)).random_crop(size).batch(4)

    with fb.Loader(pipeline(32), seed=1, share=server) as loader:
        for epoch in range(3):
            steps = []
            for batch in loader:
                steps.append((batch.epoch, batch.step))
                if batch.step == len(loader) - 2:
                    with fb.Loader(pipeline(40 + epoch), seed=epoch, share=server) as other:
                        next(iter(other))
            assert steps == [(epoch, step) for step in range(6)]


def test_a_file_that_is_no_socket_stays(photos, tmp_path):
    path = tmp_path / "pipeline.json"
    path.write_text("{}")
    ended = subprocess.run([program(), "serve", "--socket", str(path)], capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0 and "no socket" in ended.stderr
    assert path.read_text() == "{}"


def test_what_is_for_streams_is_refused(photos, server):
    for name, value in {"steps_per_epoch": 3, "journal": "j"}.items():
        with pytest.raises(fb.InvalidArgument, match=name):
            fb.Loader(photographs(photos), share=server, **{name: value})


def test_auto_starts_a_server_and_another_one_where_it_was_killed(photos, host):
    pipeline = photographs(photos)
    with fb.Loader(pipeline, seed=1) as loader:
        expected = [batch.ids.tolist() for _ in range(3) for batch in loader]
    with fb.Loader(pipeline, seed=1, share="auto") as loader, fb.Loader(pipeline, seed=1, share="auto") as other:
        found, killed = [], []
        for _ in range(3):
            for batch in loader:
                if len(found) in (2, 6, 13):
                    killed.append(ask(host)["process"])
                    os.kill(killed[-1], signal.SIGKILL)
                found.append(batch.ids.tolist())
        assert found == expected
        assert len(set(killed)) == 3
        assert [batch.ids.tolist() for batch in other] == expected[:6]


def test_many_that_come_at_once_get_one_server(photos, host):
    code = """
        with fb.Loader(fb.images(sys.argv[1]).decode_image().resize((8, 8)).batch(4), share="auto") as loader:
            say(sum(len(batch) for batch in loader))
            sys.stdin.read()
    """
    processes = [client(code, photos, stdin=subprocess.PIPE) for _ in range(6)]
    assert [process.stdout.readline().strip() for process in processes] == ["21"] * 6
    status = ask(host)
    assert len(status["clients"]) == 6 and status["clients_served"] >= 6
    for process in processes:
        process.communicate(timeout=60)


def test_a_named_server_that_is_killed_is_an_error(photos, tmp_path):
    path = str(tmp_path / "s.sock")
    with serving(path) as process, fb.Loader(photographs(photos), share=path) as loader:
        passing = iter(loader)
        kept = next(passing)["image"]
        copy = kept.copy()
        process.kill()
        with pytest.raises(fb.Unavailable, match="has gone"):
            for _ in range(10):
                next(passing)
        assert loader.state_dict()["position"] in (4, 8)
        assert (kept == copy).all()
    with pytest.raises(fb.NotFound, match="forebay serve"):
        fb.Loader(photographs(photos), share=path)


def test_it_goes_when_the_last_has_left(photos, tmp_path):
    path = str(tmp_path / "s.sock")
    with serving(path, "--linger", "1") as process:
        with fb.Loader(photographs(photos), share=path) as loader:
            list(loader)
        del loader
        wait_for(lambda: process.poll() is not None, "the server goes")
        assert process.returncode == 0 and not os.path.exists(path)


def test_a_stopped_client_holds_up_nobody(photos, server):
    pipeline = photographs(photos)
    expected = one_epoch(pipeline, seed=4)
    code = """
        pipeline = (fb.images(sys.argv[1]).shuffle().decode_image().random_resized_crop(48).random_flip()
                    .normalize(fb.IMAGENET).batch(4))
        with fb.Loader(pipeline, seed=4, share=sys.argv[2], together=int(sys.argv[3])) as loader:
            digest = fb._core.EpochDigest()
            passing = iter(loader)
            digest.add(next(passing))
            os.kill(os.getpid(), 19)
            for batch in passing:
                digest.add(batch)
            say(digest.hexdigest())
    """
    for together in (0, 2):
        stopped = client(code, photos, server, together)
        with fb.Loader(pipeline, seed=4, share=server, together=together) as loader:
            passing = iter(loader)
            first = next(passing)
            wait_for(lambda: stat_of(stopped.pid) == "T", "it has stopped")
            for _ in range(20):  # twenty epochs past it
                list(passing)
                passing = iter(loader)
            assert len(first) == 4
            stopped.send_signal(signal.SIGCONT)
            told, _ = stopped.communicate(timeout=120)
            assert (told.strip(), stopped.returncode) == (expected, 0), together


KILLS = int(os.environ.get("FOREBAY_KILLS", "20"))
KILLED = """
    pipeline = (fb.images(sys.argv[1]).shuffle().decode_image().random_resized_crop(48).random_flip()
                .normalize(fb.IMAGENET).batch(4))
    with fb.Loader(pipeline, seed=int(sys.argv[3]), share=sys.argv[2], together=int(sys.argv[4])) as loader:
        say("begun")
        kept = []
        while True:
            for batch in loader:
                kept = [*kept[-3:], batch]
"""


def test_killed_clients_leave_nothing(photos, tmp_path):
    path, draw, before = str(tmp_path / "s.sock"), random.Random(1), shared_memory()
    pipeline = photographs(photos)
    expected = one_epoch(pipeline, seed=0)
    with serving(path) as process:
        wait_for(lambda: not ask(path)["clients"])
        at_first = descriptors(process.pid)
        with fb.Loader(pipeline, seed=0, share=path, together=True) as loader:
            for _ in range(KILLS // 4):
                killed = [client(KILLED, photos, path, number % 2, int(number % 3 == 0)) for number in range(4)]
                for each in killed[:3]:
                    assert each.stdout.readline().strip() == "begun"
                loader.set_epoch(0)
                digest, passing = fb._core.EpochDigest(), iter(loader)
                for batch in passing:
                    digest.add(batch)
                    if killed and draw.random() < 0.7:
                        killed.pop().kill()
                for each in killed:
                    each.kill()
                assert digest.hexdigest() == expected
                del batch
            wait_for(lambda: len(ask(path)["clients"]) == 1, "killed clients are gone")
        del loader, passing
        wait_for(lambda: not ask(path)["clients"] and ask(path)["batch_memory_bytes"] == 0, "memory is free")
        wait_for(lambda: descriptors(process.pid) <= at_first, "no descriptor is left")
    assert shared_memory() == before


@pytest.mark.skipif(os.getuid() != 0, reason="becoming another user needs root")
def test_another_user_cannot_connect(photos, tmp_path):
    path = str(tmp_path / "s.sock")
    with serving(path):
        def connects():
            child = os.fork()
            if child == 0:  # nobody
                try:
                    os.setgid(65534)
                    os.setuid(65534)
                    with sockets.socket(sockets.AF_UNIX) as made:
                        made.settimeout(30)
                        made.connect(path)
                        hello = struct.pack("<QIQ", 0x3165767265734246, 1, 1) + b"x"
                        made.sendall(struct.pack("<IHH", len(hello), 1, 0) + hello)
                        os._exit(7 if made.recv(1) else 3)
                except PermissionError:
                    os._exit(4)
                except OSError:
                    os._exit(3)
                finally:
                    os._exit(9)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

        assert connects() == 4  # the file's rights
        folder = tmp_path
        while folder != folder.parent:
            folder.chmod(folder.stat().st_mode | 0o055)
            folder = folder.parent
        os.chmod(path, 0o666)
        assert connects() == 3  # and without them: it is hung up on
        with fb.Loader(photographs(photos), share=path) as loader:
            assert len(list(loader)) == 6


def test_what_cannot_be_shared_is_refused(photos, server):
    with pytest.raises(fb.InvalidArgument, match='functions of yours.*share="auto"'):
        fb.Loader(fb.images(str(photos)).decode_image().map(lambda sample: sample).batch(1), share=server)
    with pytest.raises(fb.InvalidArgument, match="share=None"):
        fb.Loader(fb.arrays(x=np.arange(10)).batch(2), share=server)
    with pytest.raises(fb.InvalidArgument, match="together="):
        fb.Loader(photographs(photos), together=True)
    with pytest.raises(fb.InvalidArgument, match="peers="):
        fb.Loader(photographs(photos), share=server, peers=["a:1"], world_size=1, rank=0)
    with pytest.raises(fb.InvalidArgument, match="no name"):
        fb.Loader(photographs(photos), share="what is this")
    with pytest.raises(fb.InvalidArgument, match="share is"):
        fb.Loader(photographs(photos), share=7)
    with pytest.raises(fb.NotFound, match="nowhere"):
        fb.Loader(fb.images("/nowhere").decode_image().batch(1), share=server)


def test_places_are_those_of_the_client(photos, server, monkeypatch):
    monkeypatch.chdir(photos.parent)
    pipeline = fb.images(photos.name).decode_image().resize((8, 8)).batch(4)
    assert one_epoch(pipeline, share=server) == one_epoch(pipeline)


def test_bad_samples_are_told_as_without(tmp_path, server):
    (tmp_path / "a").mkdir()
    for number in range(6):
        (tmp_path / "a" / f"{number}.jpg").write_bytes(b"no picture")
    pipeline = fb.images(str(tmp_path)).decode_image().resize((8, 8)).batch(2)
    with fb.Loader(pipeline) as here, fb.Loader(pipeline, share=server) as there:
        told = []
        for loader in (here, there):
            with pytest.raises((fb.Corrupt, fb.Unsupported)) as error:
                next(iter(loader))
            told.append((str(error.value), error.value.key, error.value.sample))
        assert told[0] == told[1]
    with fb.Loader(pipeline, on_error="skip", share=server) as loader:
        assert [len(batch) for batch in loader] == [0, 0, 0]
        assert len(loader.errors()) == 6


def test_status_and_stop(photos, tmp_path):
    path = str(tmp_path / "s.sock")
    with serving(path) as process:
        with fb.Loader(photographs(photos), share=path) as loader:
            list(loader)
            text = subprocess.run([program(), "serve", "status", "--socket", path], capture_output=True, text=True).stdout
            assert "1 client" in text and str(os.getpid()) in text
            assert ask(path)["clients"][0]["samples"] >= 21
        done = subprocess.run([program(), "serve", "stop", "--json", "--socket", path], capture_output=True, text=True)
        assert done.returncode == 0 and '"stopped": true' in done.stdout
        process.wait(timeout=60)
    assert subprocess.run([program(), "serve", "status", "--socket", path], capture_output=True).returncode == 1
