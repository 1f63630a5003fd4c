"""A bucket in memory behind S3's protocol, as far as readers use it: listings by folder, reads of ranges, heads. Nothing is signed or checked."""
import contextlib
import http.server
import threading
import urllib.parse
from xml.sax.saxutils import escape


class Bucket:
    """Objects by key; `headers` of single objects; `asked` has the method, path and headers of each request."""

    def __init__(self, objects, headers=None, refuse=None):
        self.objects, self.headers, self.refuse, self.asked = dict(objects), headers or {}, refuse, []

    def page(self, prefix):
        """One folder level, whole."""
        keys, folders = [], set()
        for key in sorted(self.objects):
            if not key.startswith(prefix):
                continue
            below = key[len(prefix):]
            if "/" in below:
                folders.add(prefix + below.split("/")[0] + "/")
            else:
                keys.append(key)
        quoted = lambda name: escape(urllib.parse.quote(name, safe="/"))  # noqa: E731
        listed = "".join(f"<Contents><Key>{quoted(key)}</Key><Size>{len(self.objects[key])}</Size><ETag>\"{abs(hash(self.objects[key])):x}\"</ETag></Contents>"
                         for key in keys)
        listed += "".join(f"<CommonPrefixes><Prefix>{quoted(folder)}</Prefix></CommonPrefixes>" for folder in sorted(folders))
        return f"<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>{listed}</ListBucketResult>".encode()


def _handler(bucket):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            bucket.asked.append((self.command, self.path, dict(self.headers)))
            url = urllib.parse.urlsplit(self.path)
            key = urllib.parse.unquote(url.path).split("/", 2)[2] if url.path.count("/") > 1 else ""
            query = urllib.parse.parse_qs(url.query, keep_blank_values=True)
            refused = bucket.refuse(self) if bucket.refuse else None
            if refused is not None:
                return self.answer(refused, b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>", {})
            if "list-type" in query:
                return self.answer(200, bucket.page(query["prefix"][0]), {})
            if key not in bucket.objects:
                return self.answer(404, b"<Error><Code>NoSuchKey</Code></Error>", {})
            body = bucket.objects[key]
            headers = {"ETag": f'"{abs(hash(body)):x}"', **bucket.headers.get(key, {})}
            if part := self.headers.get("Range"):
                first, last = (int(one) for one in part.removeprefix("bytes=").split("-"))
                if first >= len(body):
                    return self.answer(416, b"", {"Content-Range": f"bytes */{len(body)}"})
                last = min(last, len(body) - 1)
                headers["Content-Range"] = f"bytes {first}-{last}/{len(body)}"
                return self.answer(206, body[first : last + 1], headers)
            return self.answer(200, body, headers)

        do_HEAD = do_GET

        def answer(self, status, body, headers):
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


@contextlib.contextmanager
def serving(bucket):
    """The storage options under which s3://data/ is that bucket."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _handler(bucket))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {"endpoint": f"http://127.0.0.1:{server.server_port}", "access_key_id": "id", "secret_access_key": "secret", "region": "r",
               "addressing_style": "path", "listing_cache": ""}
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
