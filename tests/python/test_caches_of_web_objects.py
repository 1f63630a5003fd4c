"""`.cache()` over objects of web servers, which nobody lists: nothing is read twice, and nothing kept that has changed."""
import collections
import email.utils
import http.server
import threading
import zlib

import pytest
from caching import ROWS, TIERS, small_table, twice

import forebay as fb


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


class Web:
    """A web server that counts what it is asked, and whose objects may change, be gone, or have no version."""

    def __init__(self):
        self.objects, self.asked, self.mode, self.broken = {}, [], "etag", {}
        web = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, body):
                web.asked.append((self.command, self.path))
                status = web.broken.get(self.path, 200)
                content = web.objects.get(self.path, b"")
                if not body and self.path in web.after_head:  # before the client can know the answer
                    web.objects[self.path] = web.after_head.pop(self.path)
                if status == 200 and self.path not in web.objects:
                    status = 404
                if web.no_head and self.command == "HEAD":
                    status = 405
                self.send_response(status)
                if status == 200:
                    for name, value in web.signs(content):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content) if status == 200 else 0))
                self.end_headers()
                if body and status == 200:
                    self.wfile.write(content)

            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def log_message(self, *_):
                pass

        self.no_head, self.after_head = False, {}
        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def signs(self, content):
        number = zlib.crc32(content)
        if self.mode == "etag":
            return [("ETag", f'"{number}"')]
        if self.mode == "weak":
            return [("ETag", f'W/"{number}"')]
        if self.mode == "date":
            return [("Last-Modified", email.utils.formatdate(number % 10**9, usegmt=True))]
        if self.mode == "now":
            return [("Last-Modified", email.utils.formatdate(usegmt=True))]
        return []

    def url(self, path):
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    def urls(self):
        return [self.url(path) for path in sorted(self.objects)]

    def counts(self):
        """(GETs, HEADs) since this was asked last."""
        asked, self.asked = self.asked, []
        return tuple(sum(method == one for one, _ in asked) for method in ("GET", "HEAD"))

    def close(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def table():
    return small_table()


@pytest.fixture
def web():
    server = Web()
    for i in range(ROWS):
        server.objects[f"/{i:03}.bin"] = bytes([i]) * (100 + i)
    yield server
    server.close()


def shouted(sample):
    return {"bytes": sample["bytes"][::-1] + b"!"}


def made(source):
    return source.shuffle().map(shouted, fields="bytes", version="1")


def manifest_of(web, tmp_path, base=""):
    listed = tmp_path / "list.csv"
    listed.write_text("path,label\n" + "".join(f"{base or web.url('')}{path},{i}\n" for i, path in enumerate(sorted(web.objects))))
    return fb.manifest(listed)


KINDS = {"list": lambda web, tmp_path: fb.files(web.urls()), "manifest": manifest_of,
         "braces": lambda web, tmp_path: fb.files(web.url("/{000..%03d}.bin" % (ROWS - 1)))}


@pytest.mark.parametrize("mode", ["etag", "weak", "date"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tiers", TIERS)
def test_remote_objects_are_read_once_and_then_only_asked_whether_they_changed(web, tmp_path, kind, mode, tiers, capfd):
    web.mode = mode
    source = KINDS[kind](web, tmp_path)
    expected = twice(made(source).batch(8))
    web.counts()
    cached = made(source).cache(dir=tmp_path / "cache", **tiers).batch(8)
    asked = []
    assert twice(cached, between=lambda: asked.append(web.counts())) == expected
    assert asked == [(ROWS, 0)], "the first epoch"
    assert web.counts() == (0, 0), "the second"
    wanted = (0, ROWS) if tiers["disk"] else (ROWS, 0)
    for _ in range(1 if tiers["disk"] else 100):  # what is in memory goes with the last thread that still lets go of an answer
        assert twice(cached, between=lambda: asked.append(web.counts())) == expected
        if asked[-1] == wanted:
            break
    assert asked[-1] == wanted, "another run"
    assert web.counts() == (0, 0)
    assert "cache" not in capfd.readouterr().err


@pytest.mark.parametrize("mode", ["etag", "weak", "date"])
def test_an_object_that_changed_between_runs_is_seen_and_read_again(web, tmp_path, mode):
    web.mode = mode
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram=0).batch(8)
    before = twice(cached)
    web.counts()
    web.objects["/007.bin"] = b"x" * len(web.objects["/007.bin"])
    expected = twice(made(fb.files(web.urls())).batch(8))
    web.counts()
    assert expected != before
    assert twice(cached) == expected
    assert web.counts() == (1, ROWS)
    assert twice(cached) == expected
    assert web.counts() == (0, ROWS)


@pytest.mark.parametrize("mode", ["etag", "weak", "date"])
def test_an_object_that_changes_between_the_asking_and_the_reading_is_kept_as_what_was_read(web, tmp_path, mode):
    web.mode = mode
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram=0).batch(8)
    twice(cached)
    web.objects["/007.bin"] = b"second"
    web.after_head["/007.bin"] = b"third!"
    if mode == "etag":
        with pytest.raises(fb.Corrupt, match="007.bin: changed while it was read"):
            twice(cached)
    else:
        twice(cached)
    assert not web.after_head
    expected = twice(made(fb.files(web.urls())).batch(8))
    assert twice(cached) == expected
    web.counts()
    web.objects["/007.bin"] = b"second"  # of which nothing was made
    expected = twice(made(fb.files(web.urls())).batch(8))
    web.counts()
    assert twice(cached) == expected
    assert web.counts() == (1, ROWS)


def test_an_address_that_is_listed_twice_is_two_samples_of_one_entry(web, tmp_path):
    source = fb.files([web.url("/007.bin")] * ROWS)
    cached = made(source).cache(dir=tmp_path, ram=0).batch(8)
    assert twice(cached) == twice(made(source).batch(8)) == twice(cached)


def test_what_is_stopped_while_it_asks_goes_on_where_it_was(web, tmp_path):
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram=0).batch(8)
    expected = twice(made(fb.files(web.urls())).batch(8))
    twice(cached)
    with fb.Loader(cached, seed=3, epochs=1) as loader:
        batches = iter(loader)
        begun = [next(batches).ids.tolist() for _ in range(2)]
        state = loader.state_dict()
    with fb.Loader(cached, seed=3, epochs=1) as loader:
        loader.load_state_dict(state)
        ids = [batch.ids.tolist() for batch in loader]
        assert sorted(sum(begun + ids, [])) == list(range(ROWS))
    assert twice(cached) == expected


def test_an_object_that_is_gone_is_missed_although_the_cache_has_what_was_made_of_it(web, tmp_path):
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram=0).batch(8)
    twice(cached)
    gone = web.objects.pop("/007.bin")
    with pytest.raises(fb.NotFound, match="007.bin"):
        twice(cached)
    with fb.Loader(cached, epochs=1, on_error="skip") as loader:
        assert sum(len(batch.ids) for batch in loader) == ROWS - 1
    web.objects["/007.bin"] = gone
    web.counts()
    twice(cached)
    assert web.counts() == (0, ROWS)


def test_a_server_that_is_away_for_a_moment_is_waited_for(web, tmp_path):
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram=0).batch(8)
    expected = twice(cached)
    tries = collections.Counter()

    class Shaky(dict):
        def get(self, path, otherwise):
            tries[path] += 1
            return 503 if tries[path] == 1 and path.endswith("0.bin") else otherwise

    web.broken = Shaky()
    web.counts()
    assert twice(cached) == expected
    assert web.counts()[0] == 0


def test_where_a_server_knows_no_head_a_byte_is_asked_for(web, tmp_path):
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram=0).batch(8)
    expected = twice(cached)
    web.no_head = True
    assert twice(cached) == expected


@pytest.mark.parametrize("mode", ["none", "now"])
def test_objects_without_a_version_are_kept_for_the_run_and_that_is_told_once(web, tmp_path, mode, capfd):
    web.mode = mode
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram="8MB").batch(8)
    asked = []
    first = twice(cached, between=lambda: asked.append(web.counts()))
    assert first[0] == first[1]
    assert [asked, web.counts()] == [[(ROWS, 0)], (0, 0)]
    told = [line for line in capfd.readouterr().err.splitlines() if "cache" in line]
    assert len(told) == 1 and "no version of 'http://127.0.0.1" in told[0] and "memory only" in told[0]
    web.objects["/007.bin"] = b"x" * len(web.objects["/007.bin"])
    second = twice(cached)
    assert web.counts() == (ROWS, 0)
    assert second == twice(made(fb.files(web.urls())).batch(8)) != first


def test_loaders_that_share_a_tier_ask_before_they_believe(web, tmp_path):
    cached = made(fb.files(web.urls())).cache(ram="8MB", disk=0).batch(8)
    with fb.Loader(cached, seed=3, epochs=1) as loader:
        first = fb.digest(loader)
        web.counts()
        assert twice(cached)[0] == first
        assert web.counts() == (0, ROWS)


def test_many_are_asked_at_once_within_requests(web, tmp_path):
    cached = made(fb.files(web.urls())).cache(dir=tmp_path, ram=0).batch(8)
    twice(cached)
    lock, now, most = threading.Lock(), [0], [0]
    gate = threading.Semaphore(0)

    class Slow(dict):
        def get(self, path, otherwise):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
                if now[0] == 5:
                    for _ in range(10 * ROWS):
                        gate.release()
            gate.acquire(timeout=20)  # nobody is answered before five have asked
            with lock:
                now[0] -= 1
            return otherwise

    web.broken = Slow()
    twice(cached, requests=5)
    assert most[0] == 5


def test_what_needs_no_bytes_is_kept_without_asking(web, tmp_path):
    def doubled(sample):
        doubled.calls += 1
        return {"label": sample["label"] * 2}

    doubled.calls = 0
    labels = manifest_of(web, tmp_path).map(doubled, fields="label", version="1").cache(dir=tmp_path / "cache", ram=0)
    pipeline = labels.select("label").batch(8)
    assert twice(pipeline)[0] == twice(pipeline)[1]
    assert doubled.calls == ROWS and web.counts() == (0, 0)


@pytest.mark.parametrize("mode, kept", [("etag", True), ("weak", False), ("date", False)])
def test_tables_on_a_web_server_are_kept_where_it_gives_strong_etags(web, tmp_path, table, mode, kept, capfd):
    pq = pytest.importorskip("pyarrow.parquet")
    web.mode, web.objects = mode, {}
    for part in range(3):
        path = tmp_path / f"{part}.parquet"
        pq.write_table(table.slice(part * 20, 20), path)
        web.objects[f"/{part}.parquet"] = path.read_bytes()
    source = fb.parquet(web.urls(), ["n", "text"]).cast("float32", field="n")
    cached = source.cache(dir=tmp_path / "cache", ram=0).batch(8)
    assert twice(cached) == twice(source.batch(8))
    asked = []
    opened = "cache keeps nothing" not in capfd.readouterr().err
    assert opened == kept
    with fb.Loader(cached, epochs=1) as loader:
        web.counts()
        fb.digest(loader)
        asked = web.counts()
    assert (asked == (0, 0)) == kept


# A closed loader notes nothing, whoever still holds it


def contents(loader):
    return [bytes(value) for batch in loader for value in batch["bytes"]]


def test_an_object_that_changed_behind_a_closed_loader_is_no_error(web):
    files = fb.files(web.urls()).batch(8)
    with fb.Loader(files, epochs=1) as before:
        assert contents(before)[7] == web.objects["/007.bin"]
    web.objects["/007.bin"] = b"another one"
    with fb.Loader(files, epochs=1) as after:
        assert contents(after)[7] == b"another one"
    assert before.closed


def test_an_object_that_changes_under_an_open_loader_is_an_error_whoever_comes_and_goes(web):
    files = fb.files(web.urls()).batch(8)
    with fb.Loader(files) as stays:
        first = [bytes(value) for _, batch in zip(range(8), stays, strict=False) for value in batch["bytes"]]
        assert first[7] == web.objects["/007.bin"]
        with fb.Loader(files, epochs=1) as other:
            assert len(contents(other)) == ROWS
        web.objects["/007.bin"] = b"another one"
        with pytest.raises(fb.Corrupt, match="007.bin: changed while it was read"):
            for _ in range(8):  # more than is read ahead
                contents(stays)
