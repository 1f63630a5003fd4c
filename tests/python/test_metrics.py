"""Prometheus: what a scrape over HTTP gives is what stats() says, and nothing listens unless asked to."""
import json
import os
import re
import socket
import urllib.request

import pytest
from prometheus_client.parser import text_string_to_metric_families

import forebay as fb
from forebay import metrics
from loading import script
from project import ROOT
from project import run as run_tool
from test_ledger import FILES, KINDS, SCHEMA, folder, table  # noqa: F401 (fixtures)


def scrape(url):
    with urllib.request.urlopen(url, timeout=60) as page:
        assert page.headers["Content-Type"].startswith("text/plain")
        return {family.name: family for family in text_string_to_metric_families(page.read().decode())}


def of_loader(family, loader, **labels):
    wanted = {"loader": str(loader._number), **labels}
    return [one for one in family.samples if wanted.items() <= one.labels.items()]


def value(families, name, loader, **labels):
    (one,) = of_loader(families[name], loader, **labels)
    return one.value


def measured(schema, groups=()):
    """The Prometheus name of every figure that has numbers of its own."""
    for one in schema:
        if "figures" in one:
            yield from measured(one["figures"], (*groups, one["one"] or one["name"]))
        elif one["kind"] not in ("text", "label", "tally"):
            yield metrics.metric_name(groups, one), one["unit"]


def test_names_are_different_and_end_with_their_unit():
    names = list(measured(SCHEMA["figures"]))
    assert len({name for name, _ in names}) == len(names) > 50
    for name, unit in names:
        assert name.startswith("forebay_") and (not unit or name.endswith("_" + unit))
    assert ("forebay_memory_peak_bytes", "bytes") in names
    assert ("forebay_step_busy_seconds", "seconds") in names


def test_a_scrape_has_what_stats_say(table, tmp_path):
    pipeline = fb.parquet(str(table)).cache(ram="1MB", disk="1MB", dir=str(tmp_path)).batch(100)
    with fb.serve_metrics(0) as server, fb.Loader(pipeline, epochs=1) as loader:
        list(loader)
        stats, families = loader.stats(), scrape(server.url)
    of_few = ("forebay_part_", "forebay_stream_", "forebay_partition_", "forebay_rehearsal_")
    assert set(families) == {name for name, _ in measured(SCHEMA["figures"]) if not name.startswith(of_few)}
    assert value(families, "forebay_samples", loader, rank="0") == stats["samples"] == 1000
    assert value(families, "forebay_chunks_decoded", loader) == stats["chunks"]["decoded"]
    assert value(families, "forebay_memory_peak_bytes", loader) == stats["memory_bytes"]["peak"]
    for number, step in enumerate(stats["steps"]):
        assert value(families, "forebay_step_samples", loader, step=step["name"], index=str(number)) == step["samples"]
    place = stats["caches"][0]["place"]
    assert value(families, "forebay_cache_ram_entries", loader, place=place) == stats["caches"][0]["ram"]["entries"] > 0
    for number, store in enumerate(stats["stores"]):
        assert value(families, "forebay_store_requests", loader, store=store["name"], index=str(number)) == store["requests"]


def test_the_dashboard_asks_for_what_a_scrape_has(table, tmp_path):
    """docs/reference/grafana.json: its metrics, and the labels by which it divides and names them."""
    panels = json.loads((ROOT / "docs" / "reference" / "grafana.json").read_text())["panels"]
    with fb.serve_metrics(0) as server, fb.Loader(fb.parquet(str(table)).cache(ram="1MB", disk=0).batch(100), epochs=1) as loader:
        list(loader)
        families = scrape(server.url)
    labels = {one.name: set(one.labels) | {"instance", "job"} for family in families.values() for one in family.samples}
    queries = [query for panel in panels for query in panel["targets"]]
    assert len(queries) > 30
    for query in queries:
        (name,) = re.findall(r"forebay_\w+", query["expr"])
        by = re.findall(r"by \((.*?)\)", query["expr"])
        wanted = {label.strip() for label in ",".join(by).split(",") if label} | set(re.findall(r"{{(\w+)}}", query["legendFormat"]))
        assert name in labels and wanted <= labels[name], query
    assert run_tool(ROOT / "tools" / "grafana_dashboard", "--check") == ""


def test_histograms_are_those_of_stats(folder):
    with fb.serve_metrics(0) as server, fb.Loader(fb.files(f"{folder}/*.bin").batch(8), epochs=1) as loader:
        list(loader)
        sizes, families = loader.stats()["stores"][0]["read_bytes"], scrape(server.url)
    family = families["forebay_store_read_bytes"]
    assert family.type == "histogram"
    samples = of_loader(family, loader)
    buckets = [one.value for one in samples if one.name.endswith("_bucket")]
    assert buckets == [sum(sizes["counts"][: n + 1]) for n in range(len(sizes["counts"]))], "Prometheus counts all up to a bound"
    bounds = [float(one.labels["le"]) for one in samples if one.name.endswith("_bucket")]
    assert bounds == [*sizes["bounds"], float("inf")]
    assert [one.value for one in samples if one.name.endswith(("_count", "_sum"))] == [FILES, sizes["sum"]]


def test_several_loaders_are_told_apart_and_closed_ones_are_left_out(folder):
    pipeline = fb.files(f"{folder}/*.bin").batch(8)
    with fb.serve_metrics(0) as server, fb.Loader(pipeline, epochs=1) as one:
        with fb.Loader(pipeline, epochs=1, rank=1, world_size=2) as two:
            list(one), list(two)
            both = scrape(server.url)
        after = scrape(server.url)
    assert value(both, "forebay_samples", one) == FILES and value(both, "forebay_samples", two, rank="1") == FILES / 2
    assert len(of_loader(after["forebay_samples"], one)) == 1 and not of_loader(after["forebay_samples"], two)


def test_counters_only_grow_from_scrape_to_scrape(photos):
    pipeline = fb.images(str(photos)).shuffle().decode_image().resize(32).random_flip().normalize(fb.IMAGENET).batch(2)
    with fb.serve_metrics(0) as server, fb.Loader(pipeline, threads=2) as loader:
        before = {}
        for _ in range(3):
            for _ in loader:
                now = {}
                for family in scrape(server.url).values():
                    for one in of_loader(family, loader) if family.type in ("counter", "histogram") else ():
                        now[(one.name, *sorted(one.labels.items()))] = one.value
                assert now and not {key for key in before if now[key] < before[key]}
                before = now


def test_an_estimate_that_falls_is_told_as_it_was():
    class Fake:
        _number, rank, seconds = 0, 0, 2.0

        def stats(self):
            step = {"name": "resize", "samples": 1, "bytes_in": 0, "bytes_out": 0, "busy_seconds": self.seconds, "waiting_seconds": 0.0}
            return {"steps": [step]}

    fake = Fake()
    collector = metrics.LoaderCollector(lambda: [fake])

    def busy():
        (family,) = [one for one in collector.collect() if one.name == "forebay_step_busy_seconds"]
        return family.samples[0].value

    assert busy() == 2.0
    fake.seconds = 1.9
    assert busy() == 2.0
    fake.seconds = 2.5
    assert busy() == 2.5


def test_names_that_are_not_utf_8_do_not_break_the_page(folder, tmp_path):
    odd = os.fsencode(tmp_path) + b"/odd\xff"
    pipeline = fb.files(f"{folder}/*.bin").cache(ram=0, disk="1MB", dir=os.fsdecode(odd)).batch(8)
    with fb.serve_metrics(0) as server, fb.Loader(pipeline) as loader:
        next(iter(loader))
        (disk,) = of_loader(scrape(server.url)["forebay_store_requests"], loader, index="1")
    assert "odd\ufffd/" in disk.labels["store"]


def test_only_this_host_can_ask_unless_said_otherwise():
    with fb.serve_metrics(0) as server:
        assert server.address.startswith("127.0.0.1:")
    server.close()
    with pytest.raises(OSError):
        scrape(server.url)
    with fb.serve_metrics(0, host="0.0.0.0") as server:
        assert server.address.startswith("0.0.0.0:")


def test_a_port_that_is_taken_is_an_error_that_says_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(fb.InvalidArgument, match=f"127.0.0.1:{port}.*another port"):
            fb.serve_metrics(port)
    with pytest.raises(fb.InvalidArgument, match="another port"):
        fb.serve_metrics(70000)


@pytest.mark.parametrize(("text", "address"), [
    ("9400", ("127.0.0.1", 9400)), (":9400", ("127.0.0.1", 9400)), ("0.0.0.0:0", ("0.0.0.0", 0)), ("[::1]:9400", ("::1", 9400)),
    ("localhost:9400", ("localhost", 9400)),
])
def test_addresses_of_the_environment(text, address):
    assert metrics.address_of(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "9400:host", "1:65536", "1:-1"])
def test_what_is_no_address_says_how_one_looks(text):
    with pytest.raises(fb.InvalidArgument, match="host:port"):
        metrics.address_of(text)


RUN = """
    import os, sys, warnings
    import numpy as np
    import forebay as fb
    told = []
    warnings.showwarning = lambda message, *_: told.append(str(message))
    with fb.Loader(fb.arrays(x=np.arange(8)).batch(4), epochs=1) as loader:
        assert sum(len(batch) for batch in loader) == 8
"""


def run(after="", **environment):
    setup = f"import os; os.environ.pop('FOREBAY_METRICS', None); os.environ.update({environment!r})\n"
    import textwrap

    done = script(setup + textwrap.dedent(RUN) + textwrap.dedent(after))
    assert done.code == 0, done.err
    return done.out


LISTENING = """
    inodes = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{fd}")}
    lines = [line.split() for name in ("tcp", "tcp6") if os.path.exists(f"/proc/net/{name}") for line in open(f"/proc/net/{name}")]
    print(sorted(line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in inodes), "prometheus_client" in sys.modules, told)
"""


def test_nothing_listens_unless_asked_to():
    assert run(LISTENING).split() == ["[]", "False", "[]"]


def test_the_environment_asks_once_for_all_loaders():
    again = "\n    with fb.Loader(fb.arrays(x=np.arange(8)).batch(4), epochs=1) as loader: list(loader)\n"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert run(again + LISTENING, FOREBAY_METRICS=f"127.0.0.1:{port}").strip() == f"['0100007F:{port:04X}'] True []"


@pytest.mark.parametrize("text", ["nonsense", "127.0.0.1:1x"])
def test_what_is_wrong_in_the_environment_is_a_warning(text):
    out = run("print(told)", FOREBAY_METRICS=text)
    assert out.count("FOREBAY_METRICS") == 2 and "host:port" in out


def test_without_the_library_the_message_says_how_to_get_it():
    out = run("""
        sys.modules["prometheus_client"] = None
        try:
            fb.serve_metrics(0)
        except fb.InvalidArgument as error:
            print(error)
    """)
    assert "pip install 'forebay[metrics]'" in out


def test_the_child_of_a_fork_serves_nothing_and_does_not_hold_the_port():
    with fb.serve_metrics(0) as server:
        port = int(server.address.rpartition(":")[2])
        told, tell = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                server.close()
                os.write(tell, b"closed" if server._server is None else b"open")
            finally:
                os._exit(0)
        os.close(tell)
        assert os.read(told, 10) == b"closed"
        os.waitpid(child, 0)
        os.close(told)
        assert scrape(server.url) is not None
    with fb.serve_metrics(port) as server:
        assert server.address.endswith(f":{port}")
