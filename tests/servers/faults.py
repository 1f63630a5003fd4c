"""nginx with Lua in front of Ceph's gateway: latency, errors, outages, on demand; counts what went through.

faults.lua decides; README.md lists the settings. Also a plain forward proxy, and the credential endpoints (credentials.py).
"""
import json
import os
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from servers import nginx
from servers.credentials import Credentials
from servers.daemon import Daemon, StartFailed, answers, free_ports

MODULES = Path("/usr/lib/nginx/modules")
FILES = [MODULES / "ndk_http_module.so", MODULES / "ngx_http_lua_module.so"]
SERVERS = """\
  lua_package_path "{lua}/?.lua;/usr/share/lua/5.1/?.lua;;";
  init_by_lua_block {{ faults = require "faults" }}
  proxy_http_version 1.1;
  proxy_set_header Connection "";
  proxy_set_header Host $http_host;
  proxy_buffering off;
  proxy_request_buffering off;
  proxy_read_timeout 60;
  upstream gateway {{ server {upstream}; keepalive 256; keepalive_requests 10000000; keepalive_timeout 50; }}

  server {{
    listen 127.0.0.1:{http} backlog=8192;
    lua_check_client_abort on;
    set $faults_counted "";
    set $faults_cut "";
    location / {{
      access_by_lua_block {{ faults.access() }}
      body_filter_by_lua_block {{ return faults.body() }}
      log_by_lua_block {{ faults.finished() }}
      proxy_pass http://gateway;
    }}
    location @cut {{
      content_by_lua_block {{ faults.cut() }}
      log_by_lua_block {{ faults.finished() }}
    }}
    location = /__whole {{ internal; proxy_pass http://gateway$request_uri; }}
  }}
  # Lua cannot take a whole answer inside an HTTP/2 stream, so TLS is a hop of its own before the faults, which it passes on.
  upstream faults {{ server 127.0.0.1:{http}; keepalive 256; keepalive_requests 10000000; keepalive_timeout 50; }}
  server {{
    listen 127.0.0.1:{tls} ssl http2 backlog=8192;
    http2_max_concurrent_streams 1024;
    ssl_certificate {folder}/../server.pem;
    ssl_certificate_key {folder}/../server.key;
    proxy_read_timeout 3600;
    proxy_next_upstream off;
    location / {{
      proxy_pass http://faults;
      error_page 502 504 = @closed;
    }}
    location @closed {{ return 444; }}
  }}
  server {{
    listen 127.0.0.1:{control};
    location / {{ content_by_lua_block {{ faults.control() }} }}
  }}
  server {{
    listen 127.0.0.1:{proxy} backlog=4096;
    location / {{ proxy_pass http://$http_host$request_uri; }}
  }}
"""


class Faults:
    name = "faults"
    programs = ["nginx", "openssl"]
    files = FILES
    VARIABLES = ("FOREBAY_TEST_FAULTS", "FOREBAY_TEST_FAULTS_TLS", "FOREBAY_TEST_FAULTS_CONTROL", "FOREBAY_TEST_CREDENTIALS",
                 "FOREBAY_TEST_PROXY")

    def __init__(self, folder: Path, gateway: dict[str, str]) -> None:
        """`gateway`: the variables of the Ceph gateway that it stands in front of."""
        self.folder, self.gateway = folder / "faults", gateway
        self.http, self.tls, self.control, self.proxy, self.credentials_port = free_ports(5)
        self.running: list[Daemon] = []
        self.credentials: Credentials | None = None

    def variables(self) -> dict[str, str]:
        return {"FOREBAY_TEST_FAULTS": f"http://127.0.0.1:{self.http}",
                "FOREBAY_TEST_FAULTS_TLS": f"https://localhost:{self.tls}",
                "FOREBAY_TEST_FAULTS_CONTROL": f"http://127.0.0.1:{self.control}",
                "FOREBAY_TEST_CREDENTIALS": f"http://127.0.0.1:{self.credentials_port}",
                "FOREBAY_TEST_PROXY": f"http://127.0.0.1:{self.proxy}"}

    def start(self, cancelled: Callable[[], bool]) -> None:
        self.folder.mkdir(parents=True)
        upstream = urllib.parse.urlsplit(self.gateway.get("FOREBAY_TEST_S3", "")).netloc
        if not upstream:
            raise StartFailed("the fault proxy did not start: it stands in front of ceph, so start that too "
                              "(--only ceph,faults)")
        text = SERVERS.format(folder=self.folder, lua=Path(__file__).parent, upstream=upstream, http=self.http, tls=self.tls,
                              control=self.control, proxy=self.proxy)
        daemon = Daemon("the fault proxy (nginx with Lua)", nginx.command(self.folder, text, FILES, connections=8192),
                        self.folder / "error.log")
        self.running.append(daemon)
        daemon.wait_until(lambda: answers(f"http://127.0.0.1:{self.control}/status"), "an answer to HTTP", cancelled)
        self.credentials = Credentials(self.credentials_port, self.gateway)

    def stop(self) -> None:
        if self.credentials:
            self.credentials.stop()
        for daemon in self.running:
            daemon.stop()


class Control:
    """Turns the knobs of a fault proxy and reads its counts; by default of that in the environment."""

    def __init__(self, url: str | None = None) -> None:
        self.url = url or os.environ["FOREBAY_TEST_FAULTS_CONTROL"]

    def _ask(self, action: str, **arguments) -> dict:
        query = urllib.parse.urlencode(arguments)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(f"{self.url}/{action}?{query}", timeout=10) as answer:
            return json.load(answer)

    def set(self, **settings: float) -> dict:
        """As settings in faults.lua: set(latency_ms=20, share_503=0.02)."""
        return self._ask("set", **settings)

    def status(self) -> dict:
        """{"settings": {...}, "counts": {...}, "in_flight", "outage_s", "connections"}"""
        return self._ask("status")

    def reset(self) -> dict:
        """No faults, counts at 0, all session tokens forgotten; what was held "for ever" is closed."""
        return self._ask("reset")

    def wait_until_idle(self, limit_s: float = 10) -> None:
        """Until no request is in flight, at most `limit_s`: one that an ended test has left would be counted in the next."""
        till = time.monotonic() + limit_s
        while self.status()["in_flight"] and time.monotonic() < till:
            time.sleep(0.05)
        self.reset_counts()

    def reset_counts(self) -> dict:
        return self._ask("reset_counts")

    def outage(self, seconds: float, kind: str = "closed") -> dict:
        """From now: every request is closed, never answered ("never") or refused ("503"); 0 ends it."""
        return self._ask("outage", seconds=seconds, kind=kind)
