"""Brokers of streams, Redis and NATS with JetStream, which tests may kill and start again.

    GET $FOREBAY_TEST_REDIS_CONTROL/kill      kills it (SIGKILL); answers when it is gone
    GET $FOREBAY_TEST_REDIS_CONTROL/start     starts it again, with what it had on its disk; answers when it can be used
    GET $FOREBAY_TEST_REDIS_CONTROL/pause     stops it (SIGSTOP), as a host does that hangs
    GET $FOREBAY_TEST_REDIS_CONTROL/resume

The same for NATS. Those that speak TLS (RedisTls, NatsTls) are started with other certificates and demands by

    GET …_CONTROL/start?certificate=NAME      "server", or one of certificates.make_odd(): "elsewhere", "expired"
    GET …_CONTROL/start?clients=yes           who has no certificate of the authority's is turned away
    GET …_CONTROL/start?authorization=TEXT    NATS: what stands between the braces of its configuration's `authorization`
"""
import http.server
import os
import signal
import socket
import threading
import urllib.parse
from collections.abc import Callable
from pathlib import Path

from servers import certificates
from servers.daemon import Daemon, StartFailed, free_ports

NATS_CONFIG = """\
listen: 127.0.0.1:{port}
max_payload: 8MB
jetstream {{ store_dir: "{folder}", max_mem: 64MB, max_file: 4GB }}
"""


def greets(port: int, question: bytes, answer: bytes) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(question)
            return answer in connection.recv(4096)
    except OSError:
        return False


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass

    def do_GET(self) -> None:
        broker, status, text = self.server.broker, 200, "done"
        url = urllib.parse.urlsplit(self.path)
        try:
            if url.path == "/start":
                broker.settings = dict(urllib.parse.parse_qsl(url.query))
            {"/kill": broker.kill, "/start": broker.start_again, "/pause": broker.pause, "/resume": broker.resume}[url.path]()
        except KeyError:
            status, text = 404, "kill, start, pause or resume"
        except (StartFailed, OSError) as error:
            status, text = 500, str(error)
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Broker:
    """One process. All of its lives are begun on one thread, which lives as long as it may: the kernel ties them together."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name
        self.port, self.control_port = free_ports(2)
        self.settings: dict[str, str] = {}  # of its next life
        self.running: list[Daemon] = []
        self.over = threading.Event()
        self.control: http.server.HTTPServer | None = None

    def variables(self) -> dict[str, str]:
        return dict(zip(self.VARIABLES, (f"{self.name}://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.control_port}")))

    def start(self, cancelled: Callable[[], bool]) -> None:
        self.folder.mkdir(parents=True)
        failed: list[StartFailed] = []
        first = threading.Event()
        threading.Thread(target=self._live, args=(cancelled, first, failed), daemon=True).start()
        first.wait()
        if failed:
            raise failed[0]

    def _live(self, cancelled: Callable[[], bool], first: threading.Event, failed: list[StartFailed]) -> None:
        try:
            self._begin(cancelled)
            self.control = http.server.HTTPServer(("127.0.0.1", self.control_port), Handler)
            self.control.broker = self
        except (StartFailed, OSError) as error:
            failed.append(error if isinstance(error, StartFailed) else StartFailed(f"{self.name} did not start: {error}"))
            return
        finally:
            first.set()
        self.control.serve_forever(poll_interval=0.1)

    def _begin(self, cancelled: Callable[[], bool]) -> None:
        daemon = Daemon(self.name, self.command(), self.folder / "log")
        self.running[:] = [daemon]
        daemon.wait_until(self.answers, "an answer", cancelled)

    def kill(self) -> None:
        for daemon in self.running:
            daemon.stop()

    def start_again(self) -> None:
        self.kill()
        self._begin(self.over.is_set)

    def pause(self) -> None:
        os.kill(self.running[0].process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self.running[0].process.pid, signal.SIGCONT)

    def stop(self) -> None:
        self.over.set()
        if self.control:
            self.control.shutdown()
            self.control.server_close()
        self.kill()


class Redis(Broker):
    name = "redis"
    programs = ["redis-server"]
    VARIABLES = ("FOREBAY_TEST_REDIS", "FOREBAY_TEST_REDIS_CONTROL")

    def command(self) -> list:
        return ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--dir", self.folder, "--save", "",
                "--appendonly", "yes", "--appendfsync", "everysec", "--daemonize", "no"]

    def answers(self) -> bool:
        return greets(self.port, b"PING\r\n", b"+PONG")


class Nats(Broker):
    name = "nats"
    programs = ["nats-server"]
    VARIABLES = ("FOREBAY_TEST_NATS", "FOREBAY_TEST_NATS_CONTROL")

    def command(self) -> list:
        (self.folder / "nats.conf").write_text(NATS_CONFIG.format(port=self.port, folder=self.folder))
        return ["nats-server", "-c", self.folder / "nats.conf"]

    def answers(self) -> bool:
        return greets(self.port, b"", b"INFO")


class OverTls:
    """Of a broker: its certificates."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.certificates = folder / f"{self.name}-certificates"

    def start(self, cancelled: Callable[[], bool]) -> None:
        self.certificates.mkdir(parents=True)
        certificates.make_odd(self.certificates)
        super().start(cancelled)

    def file(self, kind: str) -> Path:
        return self.certificates / f"{self.settings.get('certificate', 'server')}.{kind}"

    def demanding(self) -> bool:
        return self.settings.get("clients") == "yes"

    def variables(self) -> dict[str, str]:
        values = (f"{self.scheme}://localhost:{self.tls_port()}", f"http://127.0.0.1:{self.control_port}", str(self.certificates))
        return dict(zip(self.VARIABLES, values))


class RedisTls(OverTls, Redis):
    """With a second port, for TLS."""

    name, scheme = "redis_tls", "rediss"
    programs = ["redis-server", "openssl"]
    VARIABLES = ("FOREBAY_TEST_REDIS_TLS", "FOREBAY_TEST_REDIS_TLS_CONTROL", "FOREBAY_TEST_REDIS_TLS_CERTIFICATES", "FOREBAY_TEST_REDIS_TLS_PLAIN")

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._tls_port = free_ports(1)[0]

    def tls_port(self) -> int:
        return self._tls_port

    def variables(self) -> dict[str, str]:
        return super().variables() | {self.VARIABLES[3]: f"redis://127.0.0.1:{self.port}"}

    def command(self) -> list:
        return [*super().command(), "--tls-port", self._tls_port, "--tls-cert-file", self.file("pem"), "--tls-key-file", self.file("key"),
                "--tls-ca-cert-file", self.certificates / "ca.pem", "--tls-auth-clients", "yes" if self.demanding() else "optional"]


class NatsTls(OverTls, Nats):
    name, scheme = "nats_tls", "tls"
    programs = ["nats-server", "openssl"]
    VARIABLES = ("FOREBAY_TEST_NATS_TLS", "FOREBAY_TEST_NATS_TLS_CONTROL", "FOREBAY_TEST_NATS_TLS_CERTIFICATES")

    def tls_port(self) -> int:
        return self.port

    def command(self) -> list:
        command = super().command()
        with open(self.folder / "nats.conf", "a") as config:
            config.write(f'tls {{ cert_file: "{self.file("pem")}", key_file: "{self.file("key")}", '
                         f'ca_file: "{self.certificates / "ca.pem"}", verify: {str(self.demanding()).lower()} }}\n')
            if authorization := self.settings.get("authorization"):
                config.write(f"authorization {{ {authorization} }}\n")
        return command
