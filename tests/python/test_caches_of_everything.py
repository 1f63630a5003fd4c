"""`.cache()` over every kind of source: the same batches as without it, nothing done twice, and nothing kept that has changed."""
import collections
import email.utils
import http.server
import threading
import zlib

import numpy as np
import pytest
from loading import script

import forebay as fb

ROWS = 60
TIERS = [{"ram": "8MB", "disk": 0}, {"ram": 0, "disk": "16MB"}, {"ram": "20KB", "disk": "16MB"}]


class Doubled:
    """A function of the user that counts its calls."""

    def __init__(self, field):
        self.field, self.calls = field, 0

    def __call__(self, sample):
        self.calls += 1
        return {**sample, self.field: sample[self.field] * 2}


def pictures(seed=1, rows=ROWS):
    return np.random.default_rng(seed).integers(0, 255, (rows, 16, 16, 3), dtype=np.uint8)


def twice(pipeline, between=lambda: None, **options):
    """The digests of an epoch that is read twice by one loader, and so not before it was read once."""
    with fb.Loader(pipeline, seed=3, epochs=1, **options) as loader:
        first = fb.digest(loader)
        between()
        loader.set_epoch(0)
        return [first, fb.digest(loader)]


# Arrays


@pytest.mark.parametrize("tiers", TIERS)
def test_rows_of_arrays_are_kept_and_found_again(tmp_path, tiers):
    x, y = pictures(), np.arange(ROWS)
    kept, plain = Doubled("x"), Doubled("x")
    cached = fb.arrays(x=x, y=y).shuffle().map(kept, version="1").cache(dir=tmp_path, **tiers).batch(8)
    expected = twice(fb.arrays(x=x, y=y).shuffle().map(plain, version="1").batch(8))
    assert twice(cached) == expected
    assert [kept.calls, plain.calls] == [ROWS, 2 * ROWS]
    again = fb.arrays(x=x.copy(), y=y.copy()).shuffle().map(kept, version="1").cache(dir=tmp_path, **tiers).batch(8)
    assert twice(again) == expected
    assert kept.calls == (ROWS if tiers["disk"] else 2 * ROWS), "the disk keeps it for whoever has equal arrays"


def test_a_row_that_changed_is_made_anew_and_the_others_are_not(tmp_path):
    x = pictures()
    doubled = Doubled("x")

    def loaded(array):
        return [batch["x"].copy() for batch in fb.Loader(
            fb.arrays(x=array).map(doubled, version="1").cache(dir=tmp_path, ram=0).batch(8), epochs=1)]

    loaded(x)
    x[7] += 1
    assert np.array_equal(np.concatenate(loaded(x)), x * 2)
    assert doubled.calls == ROWS + 1
    moved = np.roll(x, 5, axis=0)
    assert np.array_equal(np.concatenate(loaded(moved)), moved * 2)
    assert doubled.calls == ROWS + 1, "wherever the row stands"
    assert np.array_equal(np.concatenate(loaded(x.astype(np.int64))), x.astype(np.int64) * 2), "another type"
    assert doubled.calls == 2 * ROWS + 1


def noisy(sample, rng):
    return {"x": sample["x"] + rng.integers(0, 1000)}


def test_equal_rows_share_an_entry_and_what_is_random_behind_it_stays_their_own():
    x = np.ones((ROWS, 100), np.int32)
    doubled = Doubled("x")
    cached = fb.arrays(x=x).map(doubled, version="1").cache(ram="8MB", disk=0)
    plain = fb.arrays(x=x).map(Doubled("x"), version="1")
    with fb.Loader(cached.batch(8), epochs=1) as loader:
        fb.digest(loader)
        assert loader.stats()["caches"][0]["ram"]["entries"] == 1
        doubled.calls = 0
        loader.set_epoch(0)
        fb.digest(loader)
    assert doubled.calls == 0
    assert twice(cached.map(noisy, random=True).batch(8)) == twice(plain.map(noisy, random=True).batch(8))


def test_rows_of_npy_files_are_kept_until_the_file_changes(tmp_path):
    x, doubled = pictures(), Doubled("x")
    path = tmp_path / "x.npy"
    np.save(path, x)
    pipeline = fb.arrays(x=path).map(doubled, version="1").cache(dir=tmp_path / "cache", ram=0).batch(8)
    expected = twice(fb.arrays(x=x).map(Doubled("x"), version="1").batch(8))
    assert twice(pipeline) == twice(pipeline) == expected
    assert doubled.calls == ROWS
    np.save(tmp_path / "other.npy", x[::-1])
    (tmp_path / "other.npy").rename(path)
    assert np.array_equal(np.concatenate([b["x"] for b in fb.Loader(pipeline, epochs=1)]), x[::-1] * 2)


def test_another_process_finds_what_was_made_of_arrays(tmp_path):
    program = """
        import sys
        import numpy as np
        import forebay as fb
        calls = []
        def doubled(sample):
            calls.append(1)
            return {"x": sample["x"] * 2}
        x = np.random.default_rng(1).integers(0, 255, (60, 16, 16, 3), dtype=np.uint8)
        with fb.Loader(fb.arrays(x=x).map(doubled, version="1").cache(dir=sys.argv[1], ram=0).batch(8), epochs=1) as loader:
            print(fb.digest(loader), len(calls))
    """
    first, second = (script(program, tmp_path).out.split() for _ in range(2))
    assert first[0] == second[0]
    assert [first[1], second[1]] == ["60", "0"]


# Tables in memory


@pytest.fixture
def table():
    pa = pytest.importorskip("pyarrow")
    return pa.table({"n": np.arange(ROWS), "text": [f"row {i % 7}" for i in range(ROWS)],
                     "list": [[float(i)] * (i % 3) for i in range(ROWS)]})


@pytest.mark.parametrize("tiers", TIERS)
def test_groups_of_rows_of_tables_in_memory_are_kept_and_found_again(tmp_path, table, tiers):
    def columns(where):
        return where.cast("float32", field="n").log1p("n")

    cached = columns(fb.arrow(table).shuffle()).cache(dir=tmp_path, **tiers).batch(8)
    expected = twice(columns(fb.arrow(table).shuffle()).batch(8))
    assert twice(cached) == expected
    again = columns(fb.arrow(table.take(list(range(ROWS)))).shuffle()).cache(dir=tmp_path, **tiers).batch(8)
    with fb.Loader(again, seed=3, epochs=1) as loader:
        assert fb.digest(loader) == expected[0]
        if tiers["ram"] == 0:
            assert loader.stats()["caches"][0]["misses"] == 0, "an equal table, other memory"


@pytest.mark.parametrize("tiers", TIERS)
def test_rows_of_tables_in_memory_are_kept_behind_functions_of_the_user(tmp_path, table, tiers):
    kept = Doubled("n")
    cached = fb.arrow(table).shuffle().map(kept, version="1").cache(dir=tmp_path, **tiers).batch(8)
    expected = twice(fb.arrow(table).shuffle().map(Doubled("n"), version="1").batch(8))
    assert twice(cached) == expected
    assert kept.calls == ROWS
    changed = table.set_column(0, "n", [np.arange(ROWS) + (np.arange(ROWS) == 9)])
    cached = fb.arrow(changed).map(kept, version="1").cache(dir=tmp_path, **tiers)
    assert np.concatenate([b["n"] for b in fb.Loader(cached.batch(8), epochs=1)])[9] == 20
    assert kept.calls == 2 * ROWS


# Data sets of the user's own


class Squares:
    """A data set that counts what it is asked for, of the usual forms of fields."""

    def __init__(self, rows=ROWS, factor=1):
        self.rows, self.factor, self.asked = rows, factor, []

    @property
    def calls(self):
        return len(self.asked)

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        self.asked.append(i)
        return {"x": np.full((4, 4), i * i * self.factor, np.float32), "text": f"sample {i}", "n": i, "share": i / 7,
                "raw": bytes([i % 256] * (i % 5))}


@pytest.mark.parametrize("tiers", TIERS)
@pytest.mark.parametrize("behind", [lambda p: p, lambda p: p.map(Doubled("x"), version="1"), lambda p: p.select("x", "text")])
def test_a_data_set_with_a_version_is_kept_and_found_again(tmp_path, tiers, behind, capfd):
    plain, kept = Squares(), Squares()
    expected = twice(behind(fb.Dataset(plain, version="1").shuffle()).batch(8))
    cached = behind(fb.Dataset(kept, version="1").shuffle()).cache(dir=tmp_path, **tiers).batch(8)
    assert twice(cached) == expected
    assert [kept.calls, plain.calls] == [ROWS, 2 * ROWS]
    other = Squares()
    assert twice(behind(fb.Dataset(other, version="1").shuffle()).cache(dir=tmp_path, **tiers).batch(8)) == expected
    assert other.calls == (0 if tiers["disk"] else ROWS)
    assert "cache" not in capfd.readouterr().err


def test_another_version_type_or_length_is_another_data_set(tmp_path):
    class Others(Squares):
        pass

    def calls(dataset, version):
        pipeline = fb.Dataset(dataset, version=version).cache(dir=tmp_path, ram=0).batch(8)
        with fb.Loader(pipeline, epochs=1) as loader:
            sums = sum(float(batch["x"].sum()) for batch in loader)
        assert sums == dataset.factor * sum(16 * i * i for i in range(len(dataset)))
        return dataset.calls

    assert calls(Squares(), "1") == ROWS
    assert calls(Squares(), "1") == 0
    assert calls(Squares(factor=2), "2") == ROWS
    assert calls(Others(), "1") == ROWS
    assert calls(Squares(rows=ROWS - 1), "1") == ROWS - 1


def test_without_a_version_a_data_set_is_kept_for_its_loader_alone(tmp_path):
    kept = Squares()
    expected = twice(fb.Dataset(Squares()).shuffle().batch(8))
    cached = fb.Dataset(kept).shuffle().cache(dir=tmp_path, ram="8MB").batch(8)
    with fb.Loader(cached, seed=3, epochs=1) as loader:
        first = fb.digest(loader)
        assert kept.calls == ROWS
        kept.factor = 2  # what another loader has to notice
        with fb.Loader(cached, seed=3, epochs=1) as other:
            assert fb.digest(other) != first
        assert kept.calls == 2 * ROWS
        loader.set_epoch(0)
        assert [first, fb.digest(loader)] == expected
    assert kept.calls == 2 * ROWS
    assert not list(tmp_path.iterdir()), "nothing on disk that nobody may find"


@pytest.mark.parametrize("tiers, told", [({"ram": "1MB", "disk": "16MB"}, ["keeps nothing on disk", "version=", "disk=0"]),
                                         ({"ram": 0, "disk": "16MB"}, ["keeps nothing", "version=", "ram="]),
                                         ({"ram": "1MB", "disk": 0}, [])])
def test_what_a_data_set_without_a_version_lacks_is_told_once(tmp_path, capfd, tiers, told):
    twice(fb.Dataset(Squares()).cache(dir=tmp_path, **tiers).batch(8))
    lines = [line for line in capfd.readouterr().err.splitlines() if "cache" in line]
    assert len(lines) == (1 if told else 0)
    assert all(word in line for line in lines for word in told)


def test_the_version_of_a_data_set_is_part_of_what_it_is():
    def state(**version):
        pipeline = fb.Dataset(Squares(), **version).batch(8)
        with fb.Loader(pipeline) as loader:
            return str(pipeline), pipeline.fingerprint, loader.fingerprint

    assert 'version="1"' in state(version="1")[0]
    assert state(version="1") == state(version="1")
    assert len({state(), state(version="1"), state(version="2")}) == 3
    assert "version" not in state()[0]
    (problem,) = fb.Dataset(Squares(), version="").check()
    assert "empty" in problem.message and "version=" in problem.remedy
    assert fb.Dataset(Squares(), version=1).check()


def test_a_sample_is_asked_for_once_by_all_loaders_of_a_version(tmp_path):
    program = """
        import sys
        import numpy as np
        import forebay as fb
        class Numbers:
            def __len__(self):
                return 40
            def __getitem__(self, i):
                open(f"{sys.argv[1]}/{i}", "x")
                return {"x": np.arange(i, i + 3)}
        if __name__ == "__main__":
            pipeline = fb.Dataset(Numbers(), workers="threads", version="1").cache(dir=sys.argv[1] + "/cache", ram=0).batch(8)
            for _ in range(2):
                with fb.Loader(pipeline, epochs=1) as loader:
                    print(fb.digest(loader))
    """
    (tmp_path / "cache").mkdir(mode=0o700)
    outcome = script(program, tmp_path)
    first, second = outcome.out.split()
    assert first == second, outcome.err


def test_a_damaged_entry_of_a_data_set_is_asked_of_it_again(tmp_path):
    kept = Squares()
    cached = fb.Dataset(kept, version="1").cache(dir=tmp_path, ram=0).batch(8)
    expected = twice(cached)
    for segment in [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 16_000]:
        content = bytearray(segment.read_bytes())
        for at in range(300, len(content), 500):
            content[at] ^= 1
        segment.write_bytes(content)
    assert twice(cached) == expected
    assert kept.calls > ROWS


# Objects of web servers, which nobody lists


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
