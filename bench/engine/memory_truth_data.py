"""Inputs for memory_truth.py, made from a seed: photographs, a wide table, lists, a bucket."""

import http.server
import os
import sys
import threading
import urllib.parse

import numpy as np

KINDS = ("photographs", "table", "lists", "s3", "cache")


def photographs(folder, count=240, size=(600, 800)):
    from PIL import Image
    root = os.path.join(folder, "photographs")
    if os.path.isdir(root):
        return root
    rng = np.random.default_rng(1)
    for number in range(count):
        place = os.path.join(root, f"class{number % 4}")
        os.makedirs(place, exist_ok=True)
        coarse = Image.fromarray(rng.integers(0, 255, (60, 80, 3), dtype=np.uint8))
        coarse.resize(size[::-1]).save(os.path.join(place, f"{number:05}.jpg"), quality=90)
    return root


def table(folder, rows=120_000, columns=60):
    import pyarrow as pa
    import pyarrow.parquet as pq
    path = os.path.join(folder, "wide.parquet")
    if not os.path.exists(path):
        rng = np.random.default_rng(2)
        values = {f"c{i}": rng.random(rows, dtype=np.float32) for i in range(columns)}
        pq.write_table(pa.table(values), path, row_group_size=10_000)
    return path


def lists(folder, rows=60_000):
    import pyarrow as pa
    import pyarrow.parquet as pq
    path = os.path.join(folder, "lists.parquet")
    if not os.path.exists(path):
        rng = np.random.default_rng(3)
        ends = np.cumsum(rng.integers(20, 200, rows))
        offsets = np.concatenate([[0], ends]).astype(np.int32)
        values = rng.random(int(ends[-1]), dtype=np.float32)
        pq.write_table(pa.table({"x": pa.ListArray.from_arrays(offsets, values)}), path, row_group_size=5_000)
    return path


class Bucket(http.server.BaseHTTPRequestHandler):
    """As much of S3 as reading a bucket takes: ListObjectsV2 on one page, and GET with a range."""

    protocol_version = "HTTP/1.1"
    root = ""

    def log_message(self, *_):
        pass

    def answer(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        key = urllib.parse.unquote(url.path).lstrip("/").partition("/")[2]
        if not key:
            return self.answer(self.listing(urllib.parse.parse_qs(url.query).get("prefix", [""])[0]))
        with open(os.path.join(self.root, key), "rb") as file:
            body = file.read()
        asked = self.headers.get("Range")
        if not asked:
            return self.answer(body, headers=[("ETag", '"e"')])
        begin, _, end = asked.removeprefix("bytes=").partition("-")
        last = min(int(end), len(body) - 1) if end else len(body) - 1
        return self.answer(body[int(begin):last + 1], 206,
                           [("ETag", '"e"'), ("Content-Range", f"bytes {begin}-{last}/{len(body)}")])

    def listing(self, prefix):
        found, folders = [], []
        for name in sorted(os.listdir(os.path.join(self.root, prefix))):
            path = os.path.join(self.root, prefix, name)
            if os.path.isdir(path):
                folders.append(f"<CommonPrefixes><Prefix>{prefix}{name}/</Prefix></CommonPrefixes>")
            else:
                found.append(f"<Contents><Key>{prefix}{name}</Key><Size>{os.path.getsize(path)}</Size>"
                             "<LastModified>2020-01-01T00:00:00.000Z</LastModified><ETag>&quot;e&quot;</ETag></Contents>")
        return ('<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><IsTruncated>false</IsTruncated>'
                + "".join(found + folders) + "</ListBucketResult>").encode()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # a client that ends leaves what it has asked for
            super().handle_error(*address)


def bucket(root, open_servers):
    """Its address; it ends with `open_servers`."""
    server = Server(("127.0.0.1", 0), type("Handler", (Bucket,), {"root": root}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    open_servers.callback(server.server_close)
    open_servers.callback(server.shutdown)
    return f"http://127.0.0.1:{server.server_address[1]}"


def made(kind, folder, open_servers):
    """Where the input of a kind of work is, as memory_truth_run.py wants it."""
    if kind in ("photographs", "cache"):
        return {"path": photographs(folder)}
    if kind == "s3":
        return {"endpoint": bucket(photographs(folder), open_servers)}
    return {"path": {"table": table, "lists": lists}[kind](folder)}
