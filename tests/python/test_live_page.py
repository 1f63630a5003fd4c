"""loader.show(): the page has the loader's figures and the samples of its batch, for nobody but its user, and ends with the loader."""
import base64
import io
import json
import os
import socket
import subprocess
import threading
import wave
from urllib.parse import urlsplit

import numpy as np
import pytest
from live import ask, fact, figures, samples
from loading import script, soon

import forebay as fb
from forebay import _core, _trying
from forebay._live import samples as live_samples
from forebay._live import server as live_server
from forebay._options import _program


@pytest.fixture(autouse=True)
def runtime_folder(tmp_path_factory, monkeypatch):
    """Pages of these tests are found by these tests alone."""
    folder = tmp_path_factory.mktemp("run")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    return folder / "forebay" / "pages"


@pytest.fixture
def pipeline():
    return fb.arrays(x=np.arange(4000.0), label=np.arange(4000)).batch(10)


@pytest.fixture
def quick(monkeypatch):
    """What a study finds is not looked at here."""
    monkeypatch.setattr(_trying, "pace", 0.05)


@pytest.fixture
def steady_clock(monkeypatch):
    """The clock of the samples, which the test moves."""
    class Clock:
        now_s = 1000.0

        def monotonic(self):
            return self.now_s

    clock = Clock()
    monkeypatch.setattr(live_samples, "time", clock)
    return clock


def field(shown, name):
    (found,) = [one for one in shown["fields"] if one["name"] == name]
    return found


def bytes_of(url):
    return base64.b64decode(url.partition(",")[2])


# Figures


def test_the_figures_are_those_of_stats(pipeline):
    with fb.Loader(pipeline, epochs=1) as loader:
        page = loader.show()
        assert len(list(loader)) == 400
        told = figures(page)["page"]
        assert fact(told["facts"], "compute threads")["value"] == str(loader.stats()["threads"])
    assert fact(told["facts"], "speed")["note"].endswith("4000 samples")
    titles = [section["title"] for section in told["sections"]]
    assert {"Pipeline", "What the consumer waited for", "Operators", "Compute threads", "Memory"} <= set(titles)
    assert ">trainer<" in told["sections"][0]["html"] and ">batch<" in told["sections"][0]["html"]
    assert "arrays" in told["subject"] and told["finding"]


def test_a_loader_that_has_not_begun_has_a_page_and_no_batch(pipeline):
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        told = figures(page)
        assert told["batch"] == 0 and told["study"]["state"] == "none" and "No batch" in told["page"]["finding"]
        assert ask(page, "/batch")[0] == 404


def test_the_document_has_no_figures_and_loads_nothing(pipeline):
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        code, headers, body = ask(page, "/", token="")
        again = ask(page, "/", token="")[1]
    text = body.decode()
    assert code == 200 and headers["Content-Type"].startswith("text/html")
    assert urlsplit(page.url).fragment not in text and "arrays" not in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    nonce = headers["Content-Security-Policy"].partition("'nonce-")[2].partition("'")[0]
    assert f'<script nonce="{nonce}">' in text and "<script>" not in text
    assert nonce not in again["Content-Security-Policy"]


# Refusals


REFUSED = {
    "no token": (403, dict(path="/figures", token="")),
    "another token": (403, dict(path="/figures", token="x" * 32)),
    "a token that is not ASCII": (403, dict(path="/facts", token="\xe9")),
    "a batch without the token": (403, dict(path="/batch", token="x")),
    "a study without the token": (403, dict(path="/study", method="POST", token="x", body='{"what": "diagnose"}')),
    "a name that leads here": (403, dict(path="/figures", headers={"Host": "evil.example:80"})),
    "a name that begins like ours": (403, dict(path="/", headers={"Host": "localhost.evil.example"})),
    "no host that can be read": (403, dict(path="/", headers={"Host": "[::"})),
    "a page of another site": (403, dict(path="/figures", headers={"Origin": "http://evil.example"})),
    "a page of another port": (403, dict(path="/figures", headers={"Origin": "http://127.0.0.1:1"})),
    "no such page": (404, dict(path="/etc/passwd")),
    "a way out": (404, dict(path="/../figures")),
    "a long path": (414, dict(path="/" + "x" * 1000)),
    "PUT": (405, dict(path="/figures", method="PUT")),
    "DELETE": (405, dict(path="/figures", method="DELETE")),
    "OPTIONS": (405, dict(path="/figures", method="OPTIONS", headers={"Origin": "http://evil.example"})),
    "a study by GET": (404, dict(path="/study")),
    "figures by POST": (404, dict(path="/figures", method="POST", body="{}")),
    "a study of nothing": (400, dict(path="/study", method="POST", body="{}")),
    "a study that is no JSON": (400, dict(path="/study", method="POST", body="{")),
    "a study that is a list": (400, dict(path="/study", method="POST", body="[1]")),
    "an unknown study": (400, dict(path="/study", method="POST", body='{"what": "erase"}')),
    "a long request": (413, dict(path="/study", method="POST", body="x" * 5000)),
    "a request without a length": (411, dict(path="/study", method="POST", headers={"Content-Length": "-1"})),
}


@pytest.mark.parametrize("why", REFUSED)
def test_refused(pipeline, why):
    code, request = REFUSED[why]
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        answer, headers, body = ask(page, **request)
        assert answer == code, body
        assert b"samples/s" not in body and "Access-Control-Allow-Origin" not in headers
        assert figures(page)["study"]["state"] == "none", "the page goes on, and nothing was started"


def test_localhost_and_a_forwarded_port_are_let_in(pipeline):
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        for host in ("localhost:9999", "127.0.0.1"):
            assert ask(page, "/figures", headers={"Host": host, "Origin": f"http://{host}"})[0] == 200, host


def test_it_listens_at_the_loopback_alone(pipeline):
    with fb.Loader(pipeline) as loader:
        assert loader.show()._server.socket.getsockname()[0] == "127.0.0.1"


def test_connections_that_ask_nothing_do_not_keep_others_out_for_ever(pipeline):
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        place = "127.0.0.1", urlsplit(page.url).port
        idle = [socket.create_connection(place, timeout=60) for _ in range(live_server._MOST_CONNECTIONS)]
        with socket.create_connection(place, timeout=60) as one_more:
            assert one_more.recv(1) == b"", "it is closed at once, not left waiting"
        for one in idle:
            one.close()
        assert soon(lambda: _refused(page), 0)


def _refused(page):
    try:
        return int(ask(page, "/facts")[0] != 200)
    except (OSError, EOFError):
        return 1


# Samples


def test_the_samples_of_the_batch_are_shown(photos):
    pipeline = fb.images(str(photos)).decode_image().resize((200, 100)).batch(5)
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        shown = samples(page, loader)
        assert figures(page)["batch"] == 1
    assert (shown["epoch"], shown["step"], shown["rows"], shown["shown"]) == (0, 0, 5, 5)
    pictures = field(shown, "image")
    assert pictures["kind"] == "pictures" and pictures["type"].startswith("uint8 (5, ")
    assert pictures["items"][0]["title"] == "id 0: cats"
    assert field(shown, "label")["items"][0]["text"] == "0, 0, 0, 0, 0"


def test_a_picture_has_the_pixels_of_the_sample():
    Image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (3, 20, 30, 3), dtype=np.uint8)
    with fb.Loader(fb.arrays(image=pixels).batch(3)) as loader:
        items = field(samples(loader.show(), loader), "image")["items"]
    for item, expected in zip(items, pixels, strict=True):
        assert np.array_equal(np.asarray(Image.open(io.BytesIO(bytes_of(item["src"])))), expected)


def test_a_picture_is_made_small_by_means_of_its_pixels():
    Image = pytest.importorskip("PIL.Image")
    pixels = np.zeros((1, 400, 800, 3), np.uint8)
    pixels[:, :, 400:] = 200
    with fb.Loader(fb.arrays(image=pixels).batch(1)) as loader:
        (item,) = field(samples(loader.show(), loader), "image")["items"]
    made = np.asarray(Image.open(io.BytesIO(bytes_of(item["src"]))))
    assert max(made.shape) <= 128 and (made[:, 0] == 0).all() and (made[:, -1] == 200).all()


def test_normalized_pictures_are_spread_over_all_brightnesses():
    Image = pytest.importorskip("PIL.Image")
    pixels = np.linspace(-2.1, 2.6, 3 * 16 * 16, dtype=np.float32).reshape(1, 3, 16, 16)
    with fb.Loader(fb.arrays(image=pixels).batch(1)) as loader:
        (item,) = field(samples(loader.show(), loader), "image")["items"]
    made = np.asarray(Image.open(io.BytesIO(bytes_of(item["src"]))))
    assert made.min() == 0 and made.max() == 255 and made.shape == (16, 16, 3)


def test_sound_can_be_heard():
    sound = np.sin(np.arange(2 * 8000, dtype=np.float32) / 5).reshape(1, -1) * 0.5
    with fb.Loader(fb.arrays(audio=sound).batch(1)) as loader:
        shown = field(samples(loader.show(), loader), "audio")
    (item,) = shown["items"]
    assert shown["kind"] == "sounds" and "16 kHz assumed" in item["title"]
    assert len(item["peaks"]) == live_samples._PEAKS and max(item["peaks"]) == 1
    with wave.open(io.BytesIO(bytes_of(item["src"]))) as heard:
        assert (heard.getnchannels(), heard.getframerate(), heard.getnframes()) == (1, 16_000, 16_000)
        values = np.frombuffer(heard.readframes(16_000), "<i2")
    assert np.abs(values / 32767 - sound[0]).max() < 1e-3


def test_the_rate_of_a_sound_is_the_pipelines(shared):
    files = sorted(str(file) for file in (shared / "audio").rglob("*.wav"))[:2]
    pipeline = fb.files(files).decode_audio(rate=8000).pad_or_crop(1).batch(2)
    with fb.Loader(pipeline) as loader:
        shown = samples(loader.show(), loader)
    (sounds,) = [one for one in shown["fields"] if one["kind"] == "sounds"]
    assert all(item["title"].endswith("1.00 s") for item in sounds["items"])


def test_text_tokens_and_numbers_can_be_read(tmp_path):
    (tmp_path / "lines.txt").write_text("größer als <b>\nzwei\n")
    with fb.Loader(fb.text(str(tmp_path / "lines.txt")).batch(2)) as loader:
        shown = samples(loader.show(), loader)
    texts = [item["text"] for one in shown["fields"] for item in one["items"]]
    assert "größer als <b>" in texts and "zwei" in texts
    tokens = np.arange(2 * 100).reshape(2, 100)
    with fb.Loader(fb.arrays(tokens=tokens, weight=np.array([0.25, 3.0])).batch(2)) as loader:
        shown = samples(loader.show(), loader)
    first = field(shown, "tokens")["items"][0]["text"]
    assert first.startswith("0 1 2 3") and first.endswith("(100 values)")
    assert field(shown, "weight")["items"] == [{"text": "0.25, 3", "title": ""}]


def test_bytes_that_are_no_text_are_told_by_their_length(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\xff\x00\x01")
    with fb.Loader(fb.files(str(tmp_path / "*.bin")).batch(1)) as loader:
        shown = samples(loader.show(), loader)
    assert field(shown, "bytes")["items"][0]["text"].startswith("3 bytes: ff 00 01")


@pytest.mark.parametrize("output", ["torch", "jax"])
def test_samples_of_other_frameworks_are_shown_too(output):
    pytest.importorskip(output)
    with fb.Loader(fb.arrays(x=np.arange(8.0, dtype=np.float32)).cast("bfloat16", field="x").batch(4), output=output) as loader:
        shown = samples(loader.show(), loader)
    assert field(shown, "x")["items"] == [{"text": "0, 1, 2, 3", "title": ""}]


def test_of_many_rows_the_first_are_shown():
    with fb.Loader(fb.arrays(x=np.zeros((100, 3))).batch(100)) as loader:
        shown = samples(loader.show(), loader)
    assert shown["shown"] == len(field(shown, "x")["items"]) == 8 and shown["rows"] == 100


def test_large_samples_are_copied_one_at_a_time():
    with fb.Loader(fb.arrays(x=np.zeros((3, 5 << 20), np.float32)).batch(3)) as loader:
        assert len(field(samples(loader.show(), loader), "x")["items"]) == 1


def test_an_empty_batch_is_shown():
    class Empty(dict):
        epoch = step = 0
        ids = np.zeros(0, np.int64)

        def __len__(self):
            return 0

    with fb.Loader(fb.arrays(x=np.zeros(4)).batch(2)) as loader:
        view = live_samples.SampleView(loader)
        view.want()
        view.offer(Empty(x=np.zeros((0, 3)), y=[], z=(np.zeros(0), np.zeros(1, np.int64))))
        assert [one["items"][0]["text"] for one in view.shown()["fields"]] == ["no rows"] * 3


def test_what_the_user_does_with_a_batch_later_is_not_shown(pipeline):
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        figures(page)
        batch = next(iter(loader))
        batch["x"][:] = -1
        shown = json.loads(ask(page, "/batch")[2])
    assert field(shown, "x")["items"][0]["text"].startswith("0, 1, 2")


def test_batches_are_copied_once_a_second_and_only_while_somebody_looks(pipeline, steady_clock):
    with fb.Loader(pipeline) as loader:
        page, batches = loader.show(), iter(loader)
        next(batches)
        assert page._samples.number == 0, "nobody looks"
        page._samples.want()
        for number, seconds in ((1, 0), (1, 0.5), (1, 0.4), (2, 0.2), (3, 1.5), (3, 10)):
            steady_clock.now_s += seconds
            next(batches)
            assert page._samples.number == number
        page._samples.want()
        next(batches)
        assert page._samples.number == 4


def test_a_field_that_cannot_be_shown_does_not_end_the_training(pipeline, monkeypatch):
    monkeypatch.setattr(live_samples, "_copy", lambda row: 1 / 0)
    with fb.Loader(pipeline) as loader:
        shown = samples(loader.show(), loader)
    assert "ZeroDivisionError" in field(shown, "x")["items"][0]["text"]


# Its life


def test_it_ends_with_the_loader(pipeline, runtime_folder):
    loader = fb.Loader(pipeline)
    page = loader.show()
    assert loader.show() is page and not page.closed
    assert [one["url"] for one in _core.live_pages()] == [page.url]
    loader.close()
    assert page.closed and _core.live_pages() == [] and list(runtime_folder.iterdir()) == []
    with pytest.raises(OSError):
        ask(page, "/figures")
    assert not [thread.name for thread in threading.enumerate() if thread.name == "forebay page"]


def test_it_ends_with_a_loader_that_is_forgotten(pipeline):
    loader = fb.Loader(pipeline)
    page = loader.show()
    del loader
    assert page.closed and _core.live_pages() == []


def test_the_loader_goes_on_without_it_and_can_have_another(pipeline):
    with fb.Loader(pipeline) as loader:
        first = loader.show()
        batches = iter(loader)
        next(batches)
        first.close()
        first.close()
        next(batches)
        assert loader.show() is not first and loader.show().url != first.url


def test_a_closed_loader_and_a_port_in_use_are_refused(pipeline):
    with fb.Loader(pipeline) as one, fb.Loader(pipeline) as two:
        port = urlsplit(one.show().url).port
        for wrong in (port, -1, 70_000, "x"):
            with pytest.raises(fb.InvalidArgument, match="show\\(\\): no page can be served"):
                two.show(wrong)
        assert [place["url"] for place in _core.live_pages()] == [one.show().url]
    with pytest.raises(fb.InvalidArgument, match="closed"):
        one.show()


def test_the_program_lists_it(pipeline):
    def ui(*arguments):
        return subprocess.run([*_program(), "ui", *arguments], check=True, capture_output=True, text=True)

    assert json.loads(ui("--json").stdout) == {"pages": []} and "FOREBAY_UI=1" in ui().stderr
    with fb.Loader(pipeline, rank=1, world_size=2) as loader:
        page = loader.show()
        (listed,) = json.loads(ui("--json").stdout)["pages"]
        assert listed["url"] == page.url and listed["process"] == os.getpid()
        assert (listed["rank"], listed["world_size"], listed["fingerprint"]) == (1, 2, loader.fingerprint)
        assert page.url in ui().stdout and f"process {os.getpid()}, rank 1 of 2" in ui().stdout
        assert ui("--process", "1").stdout == ""


def test_a_notebook_shows_it(pipeline):
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        shown = page._repr_html_()
        assert f'<iframe src="{page.url}"' in shown and f'<a href="{page.url}"' in shown and page.url in repr(page)


def test_the_environment_shows_loaders_that_are_used(runtime_folder):
    text = """
        import forebay as fb, numpy as np
        from forebay import _core
        loader, other = (fb.Loader(fb.arrays(x=np.arange(9)).batch(3)) for _ in range(2))
        next(iter(loader))
        print(len(_core.live_pages()), loader._page is not None)
    """
    for value, expected in (("1", "1 True"), ("0", "0 False"), ("", "0 False")):
        os.environ["FOREBAY_UI"] = value
        try:
            ended = script(text)
        finally:
            del os.environ["FOREBAY_UI"]
        assert (ended.code, ended.out.strip(), ended.err) == (0, expected, "")
    assert list(runtime_folder.iterdir()) == [], "the process that has ended left nothing"


def test_a_wrong_value_in_the_environment_is_a_warning(pipeline, monkeypatch):
    monkeypatch.setenv("FOREBAY_UI", "yes")
    with fb.Loader(pipeline) as loader, pytest.warns(RuntimeWarning, match="FOREBAY_UI is 'yes'; give 1"):
        assert len(next(iter(loader))) == 10


def test_importing_forebay_loads_nothing_of_it():
    ended = script("""
        import sys
        import forebay
        print({"forebay._live", "http.server", "wave", "secrets", "socketserver"} & set(sys.modules))
    """)
    assert ended.out.strip() == "set()", ended.err


def test_the_child_of_a_fork_leaves_the_page_to_its_parent():
    ended = script("""
        import os
        import forebay as fb, numpy as np
        from forebay import _core
        loader = fb.Loader(fb.arrays(x=np.arange(9)).batch(3))
        page = loader.show()
        child = os.fork()
        if child == 0:
            os._exit(page._server.socket.fileno() != -1)
        print(os.waitpid(child, 0)[1], [one["url"] for one in _core.live_pages()] == [page.url])
    """)
    assert ended.out.strip() == "0 True", ended.err


# Ranks


def test_the_ranks_of_a_job_see_each_other(pipeline):
    with fb.Loader(pipeline, rank=0, world_size=2) as zero, fb.Loader(pipeline, rank=1, world_size=2) as one, \
            fb.Loader(pipeline, rank=1, world_size=2, seed=5) as of_another_job:
        page, other = zero.show(), one.show()
        of_another_job.show()
        next(iter(one))
        ranks = figures(page)["ranks"]
    assert [(rank["rank"], rank["url"]) for rank in ranks] == [(0, ""), (1, other.url)]
    assert fact(ranks[1]["facts"], "speed")["note"].endswith("10 samples")


def test_a_rank_that_does_not_answer_is_left_out(pipeline, monkeypatch):
    with fb.Loader(pipeline, rank=0, world_size=2) as zero, socket.create_server(("127.0.0.1", 0)) as silent:
        page = zero.show()
        lost = _core.publish_page(url=f"http://127.0.0.1:{silent.getsockname()[1]}/#x", pipeline="", fingerprint=zero.fingerprint,
                                  process=os.getpid(), rank=1, world_size=2)
        assert len(figures(page)["ranks"]) == 1
        del lost


# Studies


def start(page, what):
    return ask(page, "/study", "POST", body=json.dumps({"what": what}))


def ended(page, within_s=240):
    assert page._study.idle.wait(within_s)
    return figures(page)["study"]


@pytest.mark.parametrize("what, title", [("diagnose", "Forebay diagnosis"), ("profile", "Forebay profile")])
def test_a_study_shows_what_it_found(photos, quick, what, title):
    pipeline = fb.images(str(photos)).shuffle().decode_image().resize((48, 48)).batch(1)
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        for _ in loader:
            pass
        assert start(page, what)[0] == 202
        study = ended(page)
        assert study["state"] == "done", study
        assert study["page"]["title"] == title and study["page"]["sections"] and study["what"] == what
        assert len(loader) == len(list(loader)), "the loader goes on where it was"


def test_the_trainer_waits_while_a_study_runs(pipeline, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def found(what, loader):
        begun.set()
        assert go_on.wait(60)
        raise ValueError("no result")

    monkeypatch.setattr("forebay._live.study._found", found)
    with fb.Loader(pipeline) as loader:
        page, batches = loader.show(), iter(loader)
        next(batches)
        assert start(page, "diagnose")[0] == 202 and begun.wait(60)
        assert figures(page)["study"]["state"] == "running" and start(page, "profile")[0] == 409
        got = []
        trainer = threading.Thread(target=lambda: got.append(next(batches)))
        trainer.start()
        assert not got and loader.stats()["batches"] == 1
        go_on.set()
        trainer.join(60)
        assert len(got) == 1
        study = ended(page)
        assert (study["state"], study["error"]) == ("failed", "no result")


def test_a_study_that_cannot_be_made_says_why(pipeline):
    with fb.Loader(pipeline) as loader:
        page = loader.show()
        next(iter(loader))
        start(page, "diagnose")
        study = ended(page)
    assert study["state"] == "failed" and "10 tell how fast the trainer is" in study["error"]


def test_closing_the_loader_ends_a_study(photos):
    pipeline = fb.images(str(photos)).shuffle().decode_image().resize((48, 48)).batch(1)
    loader = fb.Loader(pipeline)
    page = loader.show()
    list(loader)
    assert start(page, "profile")[0] == 202
    loader.close()
    assert page._study.status()["state"] == "failed" and "closed" in page._study.status()["error"]
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("forebay ")]


def test_a_program_that_ends_ends_its_study():
    ended = script("""
        import forebay as fb, numpy as np
        loader = fb.Loader(fb.arrays(x=np.arange(9000)).batch(3))
        page = loader.show()
        next(iter(loader))
        print(page.start("profile"))
    """)
    assert (ended.code, ended.out.strip(), ended.err) == (0, "True", "")


def test_loaders_of_a_study_have_no_page(photos, quick, monkeypatch):
    monkeypatch.setenv("FOREBAY_UI", "1")
    fb.diagnose(fb.images(str(photos)).decode_image().resize((48, 48)).batch(1), budget=0)
    assert _core.live_pages() == []
