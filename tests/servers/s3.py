"""A small S3 client for tests and benchmarks: signs by itself, so that it can be held against the project's own signer."""
import concurrent.futures
import datetime
import hashlib
import hmac
import http.client
import ssl
import urllib.parse
import xml.etree.ElementTree as xml


class S3Error(Exception):
    def __init__(self, status: int, code: str, where: str) -> None:
        super().__init__(f"{where}: HTTP {status} {code}")
        self.status, self.code = status, code


def _hmac(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def _query(parameters: dict[str, str]) -> str:
    quote = urllib.parse.quote
    quoted = sorted((quote(key, safe=""), quote(value, safe="")) for key, value in parameters.items())
    return "&".join(f"{key}={value}" for key, value in quoted)


class Client:
    """Requests to one endpoint with path style addresses. One thread at a time uses one client."""

    def __init__(self, endpoint: str, key: str, secret: str, token: str = "", ca: str | None = None,
                 region: str = "us-east-1") -> None:
        self.parts = urllib.parse.urlsplit(endpoint)
        self.arguments = (endpoint, key, secret, token, ca, region)
        self.key, self.secret, self.token, self.region = key, secret, token, region
        if self.parts.scheme == "https":
            self.connection = http.client.HTTPSConnection(self.parts.netloc, timeout=60,
                                                          context=ssl.create_default_context(cafile=ca))
        else:
            self.connection = http.client.HTTPConnection(self.parts.netloc, timeout=60)

    def request(self, method: str, path: str, parameters: dict[str, str] | None = None, body: bytes = b"",
                headers: dict[str, str] | None = None, service: str = "s3") -> tuple[int, dict[str, str], bytes]:
        """(status, headers with small letters, body); raises S3Error from status 400."""
        path, query = urllib.parse.quote(path, safe="/~"), _query(parameters or {})
        signed = self._signed(method, path, query, body, headers or {}, service)
        self.connection.request(method, f"{path}?{query}" if query else path, body or None, signed)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 400:
            parts = xml.fromstring(text).iter() if text else ()
            code = next((part.text or "" for part in parts if part.tag.endswith("Code")), "")
            raise S3Error(answer.status, code, f"{method} {path}")
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, text

    def _signed(self, method: str, path: str, query: str, body: bytes, headers: dict[str, str],
                service: str) -> dict[str, str]:
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        digest = hashlib.sha256(body).hexdigest()
        all_headers = {key.lower(): value for key, value in headers.items()}
        all_headers |= {"host": self.parts.netloc, "x-amz-date": now, "x-amz-content-sha256": digest}
        if self.token:
            all_headers["x-amz-security-token"] = self.token
        names = ";".join(sorted(all_headers))
        lines = "".join(f"{key}:{all_headers[key].strip()}\n" for key in sorted(all_headers))
        canonical = "\n".join([method, path, query, lines, names, digest])
        scope = f"{now[:8]}/{self.region}/{service}/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, hashlib.sha256(canonical.encode()).hexdigest()])
        secret = _hmac(("AWS4" + self.secret).encode(), now[:8])
        for part in (self.region, service, "aws4_request"):
            secret = _hmac(secret, part)
        signature = hmac.new(secret, text.encode(), hashlib.sha256).hexdigest()
        all_headers["authorization"] = (f"AWS4-HMAC-SHA256 Credential={self.key}/{scope}, SignedHeaders={names}, "
                                        f"Signature={signature}")
        return all_headers

    def make_bucket(self, bucket: str) -> None:
        self.request("PUT", f"/{bucket}")

    def put(self, bucket: str, key: str, body: bytes) -> None:
        self.request("PUT", f"/{bucket}/{key}", body=body)

    def get(self, bucket: str, key: str) -> bytes:
        return self.request("GET", f"/{bucket}/{key}")[2]

    def delete(self, bucket: str, key: str) -> None:
        self.request("DELETE", f"/{bucket}/{key}")

    def keys(self, bucket: str, prefix: str = "") -> list[str]:
        """All of them, in the server's order."""
        found: list[str] = []
        more = {"list-type": "2", "prefix": prefix}
        while True:
            root = xml.fromstring(self.request("GET", f"/{bucket}", more)[2])
            space = root.tag.partition("}")[0] + "}" if root.tag.startswith("{") else ""
            found += [part.findtext(f"{space}Key") or "" for part in root.iter(f"{space}Contents")]
            token = root.findtext(f"{space}NextContinuationToken")
            if not token:
                return found
            more = more | {"continuation-token": token}

    def put_all(self, bucket: str, objects: dict[str, bytes], threads: int = 8) -> None:
        """Puts many objects on several connections."""
        clients = [Client(*self.arguments) for _ in range(threads)]
        keys = sorted(objects)

        def some(number: int) -> None:
            for key in keys[number::threads]:
                clients[number].put(bucket, key, objects[key])

        with concurrent.futures.ThreadPoolExecutor(threads) as pool:
            list(pool.map(some, range(threads)))
            for client in clients:
                client.connection.close()
