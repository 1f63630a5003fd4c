"""nginx: a plain file server, over HTTP, and over TLS with HTTP/2."""
from collections.abc import Callable
from pathlib import Path

from servers import nginx
from servers.daemon import Daemon, answers, free_ports

FILES = """\
  server {{
    listen 127.0.0.1:{http} backlog=4096;
    {ipv6}
    listen 127.0.0.1:{tls} ssl http2 backlog=4096;
    http2_max_concurrent_streams 256;
    ssl_certificate {folder}/../server.pem;
    ssl_certificate_key {folder}/../server.key;
    root {root};
  }}
"""
# Each says in the log which connection a request came by. Answers are slow, so that many are under way at once.
COUNTED = """\
  server {{
    listen 127.0.0.1:{port} ssl {http2} backlog=4096;
    {streams}
    ssl_certificate {folder}/../server.pem;
    ssl_certificate_key {folder}/../server.key;
    root {root};
    limit_rate 200k;
    access_log {folder}/connections.log connections;
  }}
"""
LOG = """\
  log_format connections "$server_port $connection $uri";
"""


def counted(port: int, streams: int, **paths: Path) -> str:
    """A server that takes so many requests on a connection; 0: one, by HTTP/1.1."""
    limit = f"http2_max_concurrent_streams {streams};" if streams else ""
    return COUNTED.format(port=port, http2="http2" if streams else "", streams=limit, **paths)


class Web:
    name = "nginx"
    programs = ["nginx", "openssl"]
    VARIABLES = ("FOREBAY_TEST_HTTP", "FOREBAY_TEST_HTTPS", "FOREBAY_TEST_HTTP_ROOT", "FOREBAY_TEST_CA",
                 "FOREBAY_TEST_HTTPS_1_STREAM", "FOREBAY_TEST_HTTPS_10_STREAMS", "FOREBAY_TEST_HTTPS_128_STREAMS",
                 "FOREBAY_TEST_HTTPS_CONNECTIONS")

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "web"
        self.root = self.folder / "root"
        self.authority = folder / "ca.pem"
        self.http, self.tls, *self.counted = free_ports(5)
        self.running: list[Daemon] = []

    def variables(self) -> dict[str, str]:
        return {"FOREBAY_TEST_HTTP": f"http://127.0.0.1:{self.http}",
                "FOREBAY_TEST_HTTPS": f"https://localhost:{self.tls}",
                "FOREBAY_TEST_HTTP_ROOT": str(self.root), "FOREBAY_TEST_CA": str(self.authority),
                "FOREBAY_TEST_HTTPS_1_STREAM": f"https://localhost:{self.counted[0]}",
                "FOREBAY_TEST_HTTPS_10_STREAMS": f"https://localhost:{self.counted[1]}",
                "FOREBAY_TEST_HTTPS_128_STREAMS": f"https://localhost:{self.counted[2]}",
                "FOREBAY_TEST_HTTPS_CONNECTIONS": str(self.folder / "connections.log")}

    def start(self, cancelled: Callable[[], bool]) -> None:
        self.root.mkdir(parents=True)
        self.root.chmod(0o755)
        ipv6 = f"listen [::1]:{self.http};" if Path("/proc/net/if_inet6").exists() else ""
        text = FILES.format(folder=self.folder, http=self.http, tls=self.tls, ipv6=ipv6, root=self.root) + LOG
        for port, streams in zip(self.counted, (0, 10, 128)):
            text += counted(port, streams, folder=self.folder, root=self.root)
        daemon = Daemon("nginx", nginx.command(self.folder, text), self.folder / "error.log")
        self.running.append(daemon)
        daemon.wait_until(lambda: answers(f"http://127.0.0.1:{self.http}/"), "an answer to HTTP", cancelled)

    def stop(self) -> None:
        for daemon in self.running:
            daemon.stop()
