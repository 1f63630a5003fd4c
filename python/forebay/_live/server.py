"""The server of a live page: few requests, from this host, by those who know the token."""

from __future__ import annotations

import hmac
import http.server
import json
import secrets
import selectors
import socket
import socketserver
import threading
from typing import TYPE_CHECKING, Any

from .. import _core
from ..errors import InvalidArgument
from .study import STUDIES

if TYPE_CHECKING:
    from .page import LivePage

TOKEN_HEADER = "X-Forebay-Token"
_HOSTS = ("127.0.0.1", "localhost")
_MOST_CONNECTIONS = 16
_LONGEST_PATH, _LONGEST_BODY = 256, 1024  # bytes
_SLOWEST_S = 10  # wait for a browser that sends or takes nothing


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """Serves a live page at a port of 127.0.0.1, on its own thread, until `close()`.

    Further connections than some are refused. InvalidArgument if the port cannot be used.
    """

    allow_reuse_address = True
    daemon_threads = True  # a browser that is slow does not keep the process
    timeout = 0  # of handle_request(), which is called when there is a connection

    def __init__(self, page: LivePage, port: int) -> None:
        self.page = page
        self.token = secrets.token_urlsafe(24)
        self._free = threading.BoundedSemaphore(_MOST_CONNECTIONS)
        try:
            super().__init__((_HOSTS[0], port), _Handler)
        except (OSError, OverflowError, TypeError) as error:
            raise InvalidArgument(f"show(): no page can be served at port {port!r} ({error}); give another one, or 0 for any") from error
        self.port = self.server_address[1]
        self._wake, self._waking = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="forebay page", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """The address of the page. Browsers do not send what is behind the `#`."""
        return f"http://{_HOSTS[0]}:{self.port}/#{self.token}"

    def close(self) -> None:
        """Stops listening."""
        self._waking.close()
        # A loader may be closed by the garbage collector, on any thread.
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def forget(self) -> None:
        """Closes the sockets in the child of a fork, where the thread does not exist."""
        for one in (self.socket, self._wake, self._waking):
            one.close()

    def _run(self) -> None:
        with selectors.DefaultSelector() as ready, self._wake:
            ready.register(self.socket, selectors.EVENT_READ)
            ready.register(self._wake, selectors.EVENT_READ)
            while self._wake not in [key.fileobj for key, _ in ready.select()]:
                self.handle_request()
        self.server_close()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Drops the connection. Browsers end theirs at any time."""


class _Refused(Exception):
    def __init__(self, code: int, text: str) -> None:
        self.code, self.text = code, text


class _Handler(http.server.BaseHTTPRequestHandler):
    """Answers one request."""

    server: Server
    server_version, sys_version = "forebay", ""
    timeout = _SLOWEST_S

    def do_GET(self) -> None:
        self._answer({"/": self._document, "/figures": self._figures, "/facts": self._facts, "/batch": self._batch})

    def do_POST(self) -> None:
        self._answer({"/study": self._study})

    def do_other(self) -> None:
        self._send(405, b"GET and POST are all there is", "text/plain")

    do_HEAD = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_other

    def log_message(self, *_: Any) -> None:
        pass  # the output is the user's

    def _answer(self, routes: Any) -> None:
        try:
            self._check_origin()
            if len(self.path) > _LONGEST_PATH:
                raise _Refused(414, "the path is too long")
            if self.path not in routes:
                raise _Refused(404, "there is no such page")
            routes[self.path]()
        except _Refused as refused:
            self._send(refused.code, refused.text.encode(), "text/plain")

    def _check_origin(self) -> None:
        """Refuses pages of other sites, also those whose names lead here (DNS rebinding)."""
        host = self.headers.get("Host", "")
        if host.partition(":")[0] not in _HOSTS:
            raise _Refused(403, f"the page is at {_HOSTS[0]} alone")
        if self.headers.get("Origin", f"http://{host}") != f"http://{host}":
            raise _Refused(403, "pages of other sites get no figures")

    def _check_token(self) -> None:
        given = self.headers.get(TOKEN_HEADER, "").encode("latin-1", "replace")
        if not hmac.compare_digest(given, self.server.token.encode()):
            raise _Refused(403, "The token in the address is not that of this loader; `forebay ui` prints the address.")

    def _document(self) -> None:
        # It has no figures and needs no token: browsers do not send what is behind the `#`.
        nonce = secrets.token_urlsafe(16)
        policy = (f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data:; media-src data:; "
                  "connect-src 'self'; base-uri 'none'; form-action 'none'")
        self._send(200, _core.live_document(nonce).encode(), "text/html", {"Content-Security-Policy": policy})

    def _figures(self) -> None:
        self._check_token()
        self._send(200, self.server.page.figures(), "application/json")

    def _facts(self) -> None:
        self._check_token()
        self._send(200, self.server.page.facts(), "application/json")

    def _batch(self) -> None:
        self._check_token()
        samples = self.server.page.samples()
        if samples is None:
            raise _Refused(404, "there is no batch yet")
        self._send(200, samples, "application/json")

    def _study(self) -> None:
        self._check_token()
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            raise _Refused(411, "the request has no length")
        if int(length) > _LONGEST_BODY:
            raise _Refused(413, "the request is too long")
        try:
            what = json.loads(self.rfile.read(int(length)))["what"]
        except (ValueError, TypeError, KeyError):
            what = None
        if what not in STUDIES:
            raise _Refused(400, f"expected {{\"what\": \"{STUDIES[0]}\"}} or \"{STUDIES[1]}\"")
        if not self.server.page.start(what):
            raise _Refused(409, "a study is running, or the loader is gone")
        self._send(202, b"{}", "application/json")

    def _send(self, code: int, body: bytes, kind: str, more: Any = None) -> None:
        self.send_response(code)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8", "Content-Length": len(body), "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Resource-Policy": "same-origin",
            **(more or {}),
        }.items():
            self.send_header(name, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
