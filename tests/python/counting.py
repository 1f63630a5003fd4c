"""An object server that counts what it is asked, and jobs of several ranks that read from it."""
import collections
import csv
import hashlib
import http.server
import json
import os
import select
import subprocess
import sys
import tempfile
import threading
import urllib.parse

from materializing_far import LAUNCHERS
from peering import TOKEN, free_addresses

import forebay as fb

EPOCHS = 3


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


def filled(count, bytes_each):
    """Contents of so many objects of about that size."""
    keys = [f"{i:05}.bin" for i in range(count)]
    return {key: (key.encode() * (bytes_each // len(key) + 12))[: bytes_each + 17 * i % 97] for i, key in enumerate(keys)}


class Objects:
    """Objects of one web server, which is a bucket, too: so many, or `contents` by key. `versions`: whether answers have an ETag."""

    def __init__(self, contents, bytes_each=2000, versions=True, delay_s=0.0):
        self.contents = filled(contents, bytes_each) if isinstance(contents, int) else contents
        self.keys = list(self.contents)
        self.gets, self.heads, self.versions, self.sent = collections.Counter(), collections.Counter(), versions, 0
        self.lock = threading.Lock()
        self.folder = tempfile.TemporaryDirectory()
        objects = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def answer(self, body):
                url = urllib.parse.urlsplit(self.path)
                if "list-type" in url.query:
                    return self.give(objects.listing(urllib.parse.parse_qs(url.query)), {"Content-Type": "application/xml"})
                key = url.path.rpartition("/d/")[2]
                if key not in objects.contents:
                    return self.give(b"", {}, status=404)
                content, headers = objects.contents[key], {"ETag": objects.etag(key)} if objects.versions else {}
                begin, end = 0, len(content)
                if "Range" in self.headers:
                    first, last = self.headers["Range"].removeprefix("bytes=").split("-")
                    begin, end = (max(end - int(last), 0), end) if not first else (int(first), min(int(last) + 1, end))
                    headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(content)}"
                with objects.lock:
                    (objects.gets if body else objects.heads)[key] += 1
                    objects.sent += end - begin if body else 0
                threading.Event().wait(delay_s)
                return self.give(content[begin:end], headers, body, 206 if "Range" in self.headers else 200)

            def give(self, content, headers, body=True, status=200):
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                if body:
                    self.wfile.write(content)

            def do_HEAD(self):
                self.answer(False)

            def do_GET(self):
                self.answer(True)

            def log_message(self, *_):
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def etag(self, key):
        return f'"{hashlib.md5(key.encode()).hexdigest()}"'

    def listing(self, query):
        prefix = query.get("prefix", [""])[0]
        below = [key for key in sorted("d/" + key for key in self.keys) if key.startswith(prefix)]
        here = [key for key in below if "/" not in key[len(prefix):]]
        folders = sorted({prefix + key[len(prefix):].split("/")[0] + "/" for key in below if "/" in key[len(prefix):]})
        of_each = "".join(f"<Contents><Key>{key}</Key><Size>{len(self.contents[key[2:]])}</Size><ETag>{self.etag(key[2:])}</ETag></Contents>" for key in here)
        of_each += "".join(f"<CommonPrefixes><Prefix>{folder}</Prefix></CommonPrefixes>" for folder in folders)
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{of_each}</ListBucketResult>".encode()

    def source(self, kind):
        """As arguments of `opened()`: of a "list" of addresses or a "manifest" of them nobody lists versions, of all else listings tell them."""
        urls = [f"{self.url}/d/{key}" for key in self.keys]
        if kind == "list":
            return {"kind": kind, "urls": urls}
        if kind == "manifest":
            path = os.path.join(self.folder.name, "manifest.csv")
            with open(path, "w", newline="") as file:
                csv.writer(file).writerows([["path", "label"], *([url, number % 7] for number, url in enumerate(urls))])
            return {"kind": kind, "path": path}
        return {"kind": kind, "endpoint": self.url}

    def reads(self):
        """Since this was asked last."""
        with self.lock:
            gets, self.gets = self.gets, collections.Counter()
            return sum(gets.values())

    def data_sets(self):
        """Bytes that were sent since this was asked last, in data sets."""
        with self.lock:
            sent, self.sent = self.sent, 0
            return sent / sum(map(len, self.contents.values()))

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.folder.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


BUCKETS = {
    "bucket": lambda: fb.files("s3://bucket/d/*.bin"),
    "images": lambda: fb.images("s3://bucket/d"),
    "lines": lambda: fb.jsonl("s3://bucket/d/*.jsonl"),
    "shards": lambda: fb.webdataset("s3://bucket/d/*.tar"),
    "tables": lambda: fb.parquet("s3://bucket/d/*.parquet"),
}


def opened(source, cache, batch, mapped=False, **options):
    if source["kind"] == "list":
        samples = fb.files(source["urls"])
    elif source["kind"] == "manifest":
        samples = fb.manifest(source["path"])
    else:
        samples = BUCKETS[source["kind"]]()
        options["storage_options"] = {"endpoint": source["endpoint"], "anonymous": "true"}
    shuffled = samples.shuffle()
    if mapped:
        shuffled = shuffled.map(shouted, fields="bytes", version="1")
    return fb.Loader(shuffled.cache(**cache).batch(batch), seed=7, **options)


def shouted(sample):
    return {"bytes": sample["bytes"][::-1]}


def ids_of(loader, epochs):
    return [sorted(int(i) for batch in loader for i in batch.ids) for _ in range(epochs)]


RANK = """
import json, sys
from counting import ids_of, opened
given = json.loads(sys.stdin.readline())  # no argument: it may be long
epochs = given.pop("take")
with opened(**{"epochs": epochs, **given}) as loader:  # reads ahead no further: others close meanwhile
    len(loader)
    print(json.dumps("ready"), flush=True)
    sys.stdin.readline()
    print(json.dumps(ids_of(loader, epochs)), flush=True)
    sys.stdin.readline()  # what this rank keeps is there for the others until all are through
"""


class Rank:
    def __init__(self, **given):
        environment = {name: value for name, value in os.environ.items() if name not in LAUNCHERS}
        environment |= {"PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]), "FOREBAY_CLUSTER_TOKEN": TOKEN}
        self.process = subprocess.Popen([sys.executable, "-c", RANK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
        self.process.stdin.write(json.dumps(given) + "\n")
        self.process.stdin.flush()

    def line(self):
        answers = select.poll()  # with many connections numbers of files are too large for select()
        answers.register(self.process.stdout, select.POLLIN)
        assert answers.poll(240_000), "a rank that says nothing"
        return json.loads(self.process.stdout.readline())

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()


def run_job(ranks, take=EPOCHS, when_open=lambda: None, **given):
    """What the ranks of a job gave in `take` epochs, over all of them. Each goes at its own pace; `when_open` is called when all know their samples."""
    peers = free_addresses(ranks) if ranks > 1 else None
    job = [Rank(take=take, rank=rank, world_size=ranks, peers=peers, **given) for rank in range(ranks)]
    try:
        for rank in job:
            assert rank.line() == "ready"
        when_open()
        for rank in job:
            rank.go()
        took = [rank.line() for rank in job]
    finally:
        for rank in job:
            rank.process.stdin.close()
        for rank in job:
            rank.process.wait(60)
            rank.process.stdout.close()
    return [sorted(sum((of[epoch] for of in took), [])) for epoch in range(take)]
