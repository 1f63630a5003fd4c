"""OpenStack Swift with its S3 interface: another implementation of S3, by other people, in another language."""
import os
import pwd
from collections.abc import Callable
from pathlib import Path

from servers.daemon import Daemon, answers, free_ports, run

PYTHON = "/usr/bin/python3"  # Debian's: its packages are there
KINDS = ("account", "container", "object")
HASH = """\
[swift-hash]
swift_hash_path_suffix = forebay
swift_hash_path_prefix = test

[storage-policy:0]
name = only
default = yes
"""
COMMON = """\
[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
user = {user}
swift_dir = {folder}
devices = {folder}/node
mount_check = false
workers = 0
log_address = /dev/null
log_level = WARNING
fallocate_reserve = 0

"""
STORAGE = "[pipeline:main]\npipeline = {kind}-server\n\n[app:{kind}-server]\nuse = egg:swift#{kind}\n"
PROXY = """\
[pipeline:main]
pipeline = catch_errors gatekeeper healthcheck cache listing_formats s3api tempauth bulk symlink slo dlo versioned_writes \
proxy-server

[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true

[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{cache}

[filter:s3api]
use = egg:swift#s3api
location = us-east-1
s3_acl = false
check_bucket_owner = false
dns_compliant_bucket_names = false
allow_multipart_uploads = true

[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin

[filter:versioned_writes]
use = egg:swift#versioned_writes
allow_versioned_writes = true
""" + "".join(f"\n[filter:{name}]\nuse = egg:swift#{name}\n" for name in
              ("catch_errors", "gatekeeper", "healthcheck", "listing_formats", "symlink", "bulk", "slo", "dlo"))

# Without set_swift_dir the settings that all servers share would have to be in /etc.
LAUNCH = """
import sys
from swift.common import utils
utils.set_swift_dir(sys.argv[1])
from swift.common.wsgi import run_wsgi
sys.exit(run_wsgi(sys.argv[3], sys.argv[2] + "-server"))
"""
RINGS = """
import sys
from swift.common.ring import RingBuilder
for kind, port in zip(sys.argv[2::2], sys.argv[3::2]):
    ring = RingBuilder(4, 1, 0)
    ring.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(port), "device": "d1", "weight": 1})
    ring.rebalance()
    ring.get_ring().save(f"{sys.argv[1]}/{kind}.ring.gz")
"""


class Swift:
    name = "swift"
    programs = ["swift-proxy-server", "swift-account-server", "swift-container-server", "swift-object-server", "memcached"]
    VARIABLES = ("FOREBAY_TEST_SWIFT", "FOREBAY_TEST_SWIFT_KEY", "FOREBAY_TEST_SWIFT_SECRET")

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "swift"
        self.proxy, self.cache, *ports = free_ports(5)
        self.ports = dict(zip(KINDS, ports))
        self.secret = "forebay" + os.urandom(12).hex()
        self.running: list[Daemon] = []

    def variables(self) -> dict[str, str]:
        return {"FOREBAY_TEST_SWIFT": f"http://127.0.0.1:{self.proxy}", "FOREBAY_TEST_SWIFT_KEY": "test:tester",
                "FOREBAY_TEST_SWIFT_SECRET": self.secret}

    def start(self, cancelled: Callable[[], bool]) -> None:
        (self.folder / "node" / "d1").mkdir(parents=True)
        (self.folder / "swift.conf").write_text(HASH)
        user = pwd.getpwuid(os.getuid()).pw_name
        run("Swift", [PYTHON, "-c", RINGS, self.folder, *(str(part) for pair in self.ports.items() for part in pair)])
        self._daemon("memcached", ["memcached", "-u", user, "-l", "127.0.0.1", "-p", self.cache, "-m", "64"])
        for kind, port in {**self.ports, "proxy": self.proxy}.items():
            text = (COMMON + (PROXY if kind == "proxy" else STORAGE)).format(
                kind=kind, port=port, user=user, folder=self.folder, cache=self.cache, secret=self.secret)
            (self.folder / f"{kind}.conf").write_text(text)
            self._daemon(f"Swift's {kind} server", [PYTHON, "-c", LAUNCH, self.folder, kind, self.folder / f"{kind}.conf"])
        for daemon, port in zip(self.running[1:], [*self.ports.values(), self.proxy]):
            daemon.wait_until(lambda: answers(f"http://127.0.0.1:{port}/healthcheck"), "an answer to HTTP", cancelled)

    def stop(self) -> None:
        for daemon in reversed(self.running):
            daemon.stop()

    def _daemon(self, name: str, command: list) -> None:
        log = self.folder / (name.replace("Swift's ", "").replace(" ", "-") + ".log")
        self.running.append(Daemon(name, command, log))
