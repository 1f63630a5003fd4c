"""Ceph's RADOS gateway with the least that it runs on: one monitor, one storage daemon with its data in memory."""
import json
import secrets
import uuid
from collections.abc import Callable
from pathlib import Path

from servers.daemon import Daemon, StartFailed, answers, free_ports, run

# The paxos intervals bring the start from 14 s to 2 s; without "crc" for the monitor's clients and auth "none" the gateway
# waits for keys for ever; without tcp_nodelay and with debug output it gives a third of its requests per second.
CONFIGURATION = """\
[global]
fsid = {fsid}
mon initial members = a
mon host = [v2:127.0.0.1:{v2},v1:127.0.0.1:{v1}]
public network = 127.0.0.1/32
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = true
ms bind ipv6 = false
ms mon client mode = crc
ms cluster mode = crc
ms service mode = crc
ms client mode = crc
paxos propose interval = 0.05
paxos min wait = 0.01
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data avail warn = 2
mon data avail crit = 1
mon max pg per osd = 1000
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
run dir = {folder}
crash dir = {folder}
admin socket = {folder}/$name.asok
log file = {folder}/$name.log
debug mon = 0/0
debug osd = 0/0
debug ms = 0/0
debug rgw = 0/0
debug beast = 0/0
debug objecter = 0/0
debug rocksdb = 0/0

[mon.a]
mon data = {folder}/mon

[osd.0]
osd data = {folder}/osd
osd objectstore = memstore
memstore device bytes = 8589934592
osd op num shards = 2

[client.rgw.a]
rgw frontends = beast endpoint=127.0.0.1:{http} {ipv6} ssl_endpoint=127.0.0.1:{tls} tcp_nodelay=1 \
ssl_certificate={folder}/server.pem ssl_private_key={folder}/server.key
rgw dns name = localhost
rgw thread pool size = 64
rgw dynamic resharding = false
rgw enable usage log = false
rgw enable ops log = false
rgw override bucket index max shards = 1
rgw s3 auth use sts = true
rgw sts key = {sts_key}
"""

PROGRAMS = ["ceph-mon", "ceph-osd", "radosgw", "radosgw-admin", "ceph", "monmaptool", "openssl"]


class Ceph:
    """S3 over HTTP (IPv4 and IPv6) and TLS, both styles of addressing (BUCKET.localhost), and its token service."""

    name = "ceph"
    programs = PROGRAMS
    VARIABLES = ("FOREBAY_TEST_S3", "FOREBAY_TEST_S3_TLS", "FOREBAY_TEST_CA", "FOREBAY_TEST_S3_KEY",
                 "FOREBAY_TEST_S3_SECRET")

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "ceph"
        self.authority = folder / "ca.pem"
        self.http, self.tls, self.v1, self.v2 = free_ports(4)
        self.key, self.secret = "FOREBAYTESTKEY000001", secrets.token_hex(20)
        self.running: list[Daemon] = []

    def variables(self) -> dict[str, str]:
        return {"FOREBAY_TEST_S3": f"http://127.0.0.1:{self.http}",
                "FOREBAY_TEST_S3_TLS": f"https://localhost:{self.tls}",
                "FOREBAY_TEST_S3_IPV6": f"http://[::1]:{self.http}", "FOREBAY_TEST_CA": str(self.authority),
                "FOREBAY_TEST_S3_KEY": self.key, "FOREBAY_TEST_S3_SECRET": self.secret,
                "FOREBAY_TEST_S3_ADMIN": f"radosgw-admin -c {self.folder}/ceph.conf"}

    def start(self, cancelled: Callable[[], bool]) -> None:
        self._configure()
        self._monitor(cancelled)
        self._storage(cancelled)
        gateway = self._daemon("the Ceph gateway", ["radosgw", "-f", "-n", "client.rgw.a"], "client.rgw.a.log")
        gateway.wait_until(lambda: answers(f"http://127.0.0.1:{self.http}/"), "an answer to HTTP", cancelled)
        self._call("radosgw-admin", "user", "create", "--uid=test", "--display-name=test", f"--access-key={self.key}",
                   f"--secret-key={self.secret}", "--caps=roles=*")

    def stop(self) -> None:
        for daemon in reversed(self.running):
            daemon.stop()

    def _configure(self) -> None:
        for part in ("mon", "osd"):
            (self.folder / part).mkdir(parents=True)
        for name in ("server.pem", "server.key"):
            (self.folder / name).symlink_to(self.folder.parent / name)
        self.fsid = str(uuid.uuid4())
        ipv6 = f"endpoint=[::1]:{self.http}" if Path("/proc/net/if_inet6").exists() else ""
        (self.folder / "ceph.conf").write_text(CONFIGURATION.format(
            fsid=self.fsid, folder=self.folder, v1=self.v1, v2=self.v2, http=self.http, tls=self.tls, ipv6=ipv6,
            sts_key=secrets.token_hex(8)))

    def _monitor(self, cancelled: Callable[[], bool]) -> None:
        addresses = f"[v2:127.0.0.1:{self.v2},v1:127.0.0.1:{self.v1}]"
        run("the Ceph monitor", ["monmaptool", "--create", "--fsid", self.fsid, "--addv", "a", addresses,
                                 self.folder / "monmap"])
        self._call("ceph-mon", "-i", "a", "--mkfs", "--monmap", str(self.folder / "monmap"))
        monitor = self._daemon("the Ceph monitor", ["ceph-mon", "-f", "-i", "a"], "mon.a.log")
        monitor.wait_until(lambda: (self.folder / "mon.a.asok").exists(), "its admin socket", cancelled)

    def _storage(self, cancelled: Callable[[], bool]) -> None:
        identity = str(uuid.uuid4())
        self._call("ceph", "--connect-timeout", "30", "osd", "new", identity, "0")
        self._call("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", identity)
        self._call("ceph", "--connect-timeout", "30", "osd", "crush", "add", "osd.0", "1.0", "host=h0", "root=default")
        storage = self._daemon("the Ceph storage daemon", ["ceph-osd", "-f", "-i", "0"], "osd.0.log")
        storage.wait_until(self._storage_is_up, "the monitor's notice", cancelled)

    def _storage_is_up(self) -> bool:
        try:
            state = json.loads(self._call("ceph", "--connect-timeout", "5", "osd", "stat", "--format=json"))
        except (StartFailed, ValueError):
            return False
        return state.get("num_up_osds") == 1

    def _call(self, program: str, *arguments: str) -> str:
        return run("Ceph", [program, "-c", self.folder / "ceph.conf", *arguments])

    def _daemon(self, name: str, command: list[str], log: str) -> Daemon:
        command[1:1] = ["-c", str(self.folder / "ceph.conf")]
        daemon = Daemon(name, command, self.folder / log)
        self.running.append(daemon)
        return daemon
