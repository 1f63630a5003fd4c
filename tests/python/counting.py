"""An object server that counts what it is asked, and jobs of several ranks that read from it."""
import collections
import hashlib
import http.server
import json
import os
import select
import subprocess
import sys
import threading
import urllib.parse

from materializing_far import LAUNCHERS
from peering import TOKEN, free_addresses

import forebay as fb

KINDS = ("list", "bucket")  # addresses that nobody lists; objects of a bucket, whose listing tells their versions
EPOCHS = 3


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256
    daemon_threads = True


class Objects:
    """Objects of one web server, which is a bucket, too. `versions`: whether answers have an ETag."""

    def __init__(self, count, bytes_each=2000, versions=True, delay_s=0.0):
        self.keys = [f"{i:05}.bin" for i in range(count)]
        self.gets, self.heads, self.versions = collections.Counter(), collections.Counter(), versions
        self.lock = threading.Lock()
        sizes = {key: bytes_each + 17 * i % 97 for i, key in enumerate(self.keys)}
        objects = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1

            def answer(self, body):
                url = urllib.parse.urlsplit(self.path)
                if "list-type" in url.query:
                    return self.give(objects.listing(sizes), {"Content-Type": "application/xml"})
                key = url.path.rsplit("/", 1)[-1]
                if key not in sizes:
                    return self.give(b"", {}, status=404)
                with objects.lock:
                    (objects.gets if body else objects.heads)[key] += 1
                threading.Event().wait(delay_s)
                content = (key.encode() * (sizes[key] // len(key) + 1))[: sizes[key]]
                return self.give(content, {"ETag": objects.etag(key)} if objects.versions else {}, body)

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

    def listing(self, sizes):
        of_each = "".join(f"<Contents><Key>d/{key}</Key><Size>{size}</Size><ETag>{self.etag(key)}</ETag></Contents>" for key, size in sizes.items())
        return f"<ListBucketResult><IsTruncated>false</IsTruncated>{of_each}</ListBucketResult>".encode()

    def source(self, kind):
        """As arguments of `opened()`."""
        if kind == "list":
            return {"kind": kind, "urls": [f"{self.url}/d/{key}" for key in self.keys]}
        return {"kind": kind, "endpoint": self.url}

    def reads(self):
        """Since this was asked last."""
        with self.lock:
            gets, self.gets = self.gets, collections.Counter()
            return sum(gets.values())

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def opened(source, cache, batch, mapped=False, **options):
    if source["kind"] == "list":
        files = fb.files(source["urls"])
    else:
        files = fb.files("s3://bucket/d/*.bin")
        options["storage_options"] = {"endpoint": source["endpoint"], "anonymous": "true"}
    shuffled = files.shuffle()
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
with opened(**given) as loader:
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
        assert select.select([self.process.stdout], [], [], 240)[0], "a rank that says nothing"
        return json.loads(self.process.stdout.readline())

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()


def run_job(ranks, take=EPOCHS, **given):
    """What the ranks of a job gave in `take` epochs, over all of them. Each goes at its own pace."""
    peers = free_addresses(ranks) if ranks > 1 else None
    job = [Rank(take=take, rank=rank, world_size=ranks, peers=peers, **given) for rank in range(ranks)]
    try:
        for rank in job:
            assert rank.line() == "ready"
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
