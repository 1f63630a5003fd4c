"""The endpoints from which machines and containers get credentials, on loopback: each answer is a new session at Ceph.

    PUT /latest/api/token, GET /latest/meta-data/iam/security-credentials/[ROLE]     the instance's (version 2 only)
    GET /container                                                                   the container's
    GET /control/set?lifetime_s=..&fail=..&authorization=..   GET /control/status    for tests

`Expiration` is `lifetime_s` after the answer; the session itself is good for an hour. That it is refused in time is told to
the fault proxy (token_lifetime_s). `fail=N`: the next N requests get 503. `authorization=TEXT`: the container's endpoint
wants this Authorization header. Counts of what was asked are in /control/status.
"""
import datetime
import http.server
import json
import threading
import urllib.parse
import xml.etree.ElementTree as xml

from servers.daemon import StartFailed
from servers.s3 import Client, S3Error

ROLE = "trainer"
INSTANCE = "/latest/meta-data/iam/security-credentials/"
TOKEN = "instance-token-of-the-test"
TRUST = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"AWS": ["arn:aws:iam:::user/test"]},
                                                 "Action": ["sts:AssumeRole"]}]}
POLICY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ["s3:*"], "Resource": "arn:aws:s3:::*"}]}
TTL_HEADER, TOKEN_HEADER = "X-aws-ec2-metadata-token-ttl-seconds", "X-aws-ec2-metadata-token"


def field(text: bytes, name: str) -> str:
    return next(part.text or "" for part in xml.fromstring(text).iter() if part.tag.rpartition("}")[2] == name)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, *_) -> None:
        pass

    def _say(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _refused(self, what: str) -> bool:
        """Counts the request; whether it was answered with a failure that the test ordered."""
        with self.server.guard:
            self.server.counts[what] = self.server.counts.get(what, 0) + 1
            if self.server.settings["fail"] < 1:
                return False
            self.server.settings["fail"] -= 1
        self._say(503, "ordered by the test")
        return True

    def do_PUT(self) -> None:
        if self.path != "/latest/api/token":
            return self._say(404, "")
        if self._refused("token"):
            return None
        if not self.headers.get(TTL_HEADER, "").isdigit():
            return self._say(400, "the lifetime of the token is missing")
        return self._say(200, TOKEN)

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        if url.path.startswith("/control/"):
            self._control(url)
        elif url.path.startswith(INSTANCE):
            self._instance(url.path.removeprefix(INSTANCE))
        elif url.path == "/container":
            self._container()
        else:
            self._say(404, "")

    def _instance(self, role: str) -> None:
        if self._refused("instance"):
            return None
        if self.headers.get(TOKEN_HEADER) != TOKEN:
            return self._say(401, "this endpoint wants a token")
        if role not in ("", ROLE):
            return self._say(404, "")
        return self._say(200, json.dumps({"Code": "Success", "Type": "AWS-HMAC"} | self.server.issue()) if role else ROLE)

    def _container(self) -> None:
        if self._refused("container"):
            return None
        wanted = self.server.settings["authorization"]
        if wanted and self.headers.get("Authorization") != wanted:
            return self._say(401, "the Authorization header is not that of the test")
        return self._say(200, json.dumps({"RoleArn": f"arn:aws:iam:::role/{ROLE}"} | self.server.issue()))

    def _control(self, url: urllib.parse.SplitResult) -> None:
        given = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        if url.path == "/control/set":
            unknown = given.keys() - self.server.settings.keys()
            if unknown:
                return self._say(400, f"no such setting: {', '.join(sorted(unknown))}")
            self.server.settings |= {key: type(self.server.settings[key])(value) for key, value in given.items()}
        elif url.path == "/control/reset":
            self.server.reset()
        return self._say(200, json.dumps({"settings": self.server.settings, "counts": self.server.counts}))


class Credentials(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int, gateway: dict[str, str]) -> None:
        self.gateway, self.guard = gateway, threading.Lock()
        self.prepared = False
        self.reset()
        try:
            super().__init__(("127.0.0.1", port), Handler)
        except OSError as error:
            raise StartFailed(f"the credential endpoints did not start: {error}") from error
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def reset(self) -> None:
        self.settings = {"lifetime_s": 3600.0, "fail": 0, "authorization": ""}
        self.counts: dict[str, int] = {}

    def issue(self) -> dict[str, str]:
        """A new session: what both endpoints say of it."""
        with self.guard:
            client = Client(self.gateway["FOREBAY_TEST_S3"], self.gateway["FOREBAY_TEST_S3_KEY"],
                            self.gateway["FOREBAY_TEST_S3_SECRET"])
            if not self.prepared:
                self._make_role(client)
            text = client.request("POST", "/", {"Action": "AssumeRole", "RoleArn": f"arn:aws:iam:::role/{ROLE}",
                                                "RoleSessionName": "forebay", "DurationSeconds": "3600"}, service="sts")[2]
            client.connection.close()
        ends = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.settings["lifetime_s"])
        return {"AccessKeyId": field(text, "AccessKeyId"), "SecretAccessKey": field(text, "SecretAccessKey"),
                "Token": field(text, "SessionToken"), "Expiration": ends.strftime("%Y-%m-%dT%H:%M:%SZ")}

    def _make_role(self, client: Client) -> None:
        try:
            client.request("POST", "/", {"Action": "CreateRole", "RoleName": ROLE, "Path": "/",
                                         "AssumeRolePolicyDocument": json.dumps(TRUST)}, service="iam")
        except S3Error as error:
            if error.status != 409:  # another proxy in front of the same gateway was first
                raise
        client.request("POST", "/", {"Action": "PutRolePolicy", "RoleName": ROLE, "PolicyName": "all",
                                     "PolicyDocument": json.dumps(POLICY)}, service="iam")
        self.prepared = True

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
