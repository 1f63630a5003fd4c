"""Hosts of one machine: network namespaces behind a switch, each with an address, a rate and a disk of its own.

Nothing of it has a name outside: namespaces are those of processes that end with this one, and cables end with their namespaces. So
nothing is left behind, also after a kill.
"""
import ctypes
import shutil
import subprocess
from pathlib import Path
from urllib.parse import quote

from servers import nginx
from servers.daemon import die_with_parent

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
NETWORK = "10.77.0."
PROGRAMS = ("ip", "tc", "nsenter", "mount", "nginx")
COMMAND_LIMIT_S = 60
_libc = ctypes.CDLL(None, use_errno=True)


def _apart():
    """In a child before exec: a network and mounts of its own, and no life after its parent's."""
    die_with_parent()
    if _libc.unshare(CLONE_NEWNET | CLONE_NEWNS) != 0 or _libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None) != 0:
        raise OSError(ctypes.get_errno(), "no namespaces")


class Namespace:
    def __init__(self):
        self.holder = subprocess.Popen(["sleep", "infinity"], stdin=subprocess.DEVNULL, preexec_fn=_apart)
        self.run("ip", "link", "set", "lo", "up")
        self._see_own_devices()

    def _see_own_devices(self):
        """Under /sys, where programs look for them; what else is mounted there stays."""
        self.run("mount", "-t", "sysfs", "sysfs", "/mnt")
        if Path("/sys/fs/cgroup").is_dir():
            self.run("mount", "--rbind", "/sys/fs/cgroup", "/mnt/fs/cgroup")
        self.run("mount", "--rbind", "/mnt", "/sys")

    def command(self, *words):
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--mount", "--", *(str(word) for word in words)]

    def run(self, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=COMMAND_LIMIT_S, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(str(word) for word in words)}: {done.stderr or done.stdout}")
        return done.stdout

    def path(self, inside):
        """A path inside of it, as others see it."""
        return Path(f"/proc/{self.holder.pid}/root{inside}")

    def mount_disk(self, at, size):
        """A file system of so many bytes at a folder, for those inside alone."""
        self.run("mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", at)

    def close(self):
        self.holder.kill()
        self.holder.wait()


def absent():
    """Why there can be no hosts here; empty where there can."""
    if missing := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"not installed: {', '.join(missing)}"
    try:
        Namespace().close()
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        return f"this process may not make network namespaces ({error})"
    return ""


class Lab:
    """A switch with so many hosts at it, "10.77.0.1" and on, and one for storage. Rates are bits a second, each way."""

    STORAGE = NETWORK + "254"

    def __init__(self, hosts, link=None, storage_rate=None):
        self.link, self.storage_rate = link, storage_rate
        self._made = []
        self.switch = self._namespace()
        self.switch.run("ip", "link", "add", "bridge", "type", "bridge")
        self.switch.run("ip", "link", "set", "bridge", "up")
        self.hosts = [self._namespace() for _ in range(hosts)]
        self.storage = self._namespace()
        for i in range(hosts):
            self._plug(self.hosts[i], f"p{i}", self.address(i))
            self.set_link(i, link)
        self._plug(self.storage, "store", self.STORAGE)
        if storage_rate:
            shape(self.storage, "eth", storage_rate)

    def _namespace(self):
        self._made.append(Namespace())
        return self._made[-1]

    @staticmethod
    def address(host):
        return f"{NETWORK}{host + 1}"

    def _plug(self, space, port, address):
        self.switch.run("ip", "link", "add", port, "type", "veth", "peer", "name", "eth", "netns", space.holder.pid)
        self.switch.run("ip", "link", "set", port, "master", "bridge", "up")
        space.run("ip", "address", "add", f"{address}/24", "dev", "eth")
        space.run("ip", "link", "set", "eth", "up")

    def set_link(self, host, rate):
        """From now on the host sends and receives so many bits a second; None: without limit."""
        shape(self.hosts[host], "eth", rate)
        shape(self.switch, f"p{host}", rate)

    def cut(self, host):
        self.switch.run("ip", "link", "set", f"p{host}", "down")

    def mend(self, host):
        self.switch.run("ip", "link", "set", f"p{host}", "up")

    def close(self):
        for space in reversed(self._made):
            space.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def shape(space, device, rate):
    if rate is None:
        if "tbf" in space.run("tc", "qdisc", "show", "dev", device):
            space.run("tc", "qdisc", "del", "dev", device, "root")
        return
    # The kernel's timer lets a bucket fill for some milliseconds; a frame of 64 kB has to fit.
    burst = max(int(rate / 8 * 0.004), 80_000)
    space.run("tc", "qdisc", "replace", "dev", device, "root", "tbf", "rate", f"{int(rate)}bit", "burst", burst, "latency", "200ms")


class ObjectServer:
    """nginx as a bucket: a listing, objects with ETags, and a log of what was read. It takes any signature."""

    def __init__(self, space, address, folder, photos):
        self.folder = Path(folder)
        bucket = self.folder / "root" / "bucket"
        bucket.mkdir(parents=True)
        shutil.copytree(photos, bucket / "train")
        self.paths = sorted(path for path in bucket.rglob("*") if path.is_file())
        self.bytes = sum(path.stat().st_size for path in self.paths)
        listings = self._write_listings(bucket)
        self.endpoint = f"http://{address}:8080"
        self.log = self.folder / "access.log"
        self._read = 0
        command = nginx.command(self.folder, SERVER.format(folder=self.folder, address=address, listings=listings))
        self.process = subprocess.Popen(space.command(*command), stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        # It listens before it serves, so that its pid file is the sign that questions wait for it at the least.
        for _ in range(600):
            if self.process.poll() is not None or (self.folder / "pid").exists():
                break
            try:
                self.process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
        if self.process.poll() is not None or not (self.folder / "pid").exists():
            raise RuntimeError((self.folder / "error.log").read_text())

    def _write_listings(self, bucket):
        """A file for what is asked of each folder, and nginx's map of them."""
        lines = []
        for number, folder in enumerate([bucket / "train", *sorted(path for path in (bucket / "train").rglob("*") if path.is_dir())]):
            prefix = f"{folder.relative_to(bucket)}/"
            name = f"/listing-{number}.xml"
            (self.folder / "root" / name[1:]).write_text(listing(bucket, folder, prefix))
            lines.append(f'"{quote(prefix, safe="")}" {name};')
        return "\n    ".join(lines)

    URL = "s3://bucket/train"

    def storage_options(self):
        return {"endpoint": self.endpoint, "access_key_id": "lab", "secret_access_key": "lab-secret"}

    def urls(self):
        root = self.folder / "root"
        return [f"{self.endpoint}/{path.relative_to(root)}" for path in self.paths]

    def reads(self):
        """Since it was last asked: of each object, by whom it was read, an address each time."""
        with open(self.log, "rb") as log:
            log.seek(self._read)
            told = log.read()
        told = told[:told.rfind(b"\n") + 1]  # the last line may be half written
        self._read += len(told)
        by_key = {}
        for line in told.decode().splitlines():
            address, method, path, _ = line.split()
            if method == "GET" and path.startswith("/bucket/train/"):
                by_key.setdefault(path, []).append(address)
        return by_key

    def close(self):
        self.process.kill()
        self.process.wait()


def listing(bucket, folder, prefix):
    rows = []
    for path in sorted(folder.iterdir()):
        told = path.stat()
        if path.is_dir():
            rows.append(f"<CommonPrefixes><Prefix>{path.relative_to(bucket)}/</Prefix></CommonPrefixes>")
        else:
            rows.append(f"<Contents><Key>{path.relative_to(bucket)}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified>"
                        f'<ETag>"{int(told.st_mtime):x}-{told.st_size:x}"</ETag><Size>{told.st_size}</Size></Contents>')
    return ('<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>bucket</Name><Prefix>{prefix}</Prefix><KeyCount>{len(rows)}</KeyCount><IsTruncated>false</IsTruncated>"
            f"{''.join(rows)}</ListBucketResult>")


SERVER = """\
  map $arg_prefix $listing {{
    default /none.xml;
    {listings}
  }}
  log_format reads "$remote_addr $request_method $uri $body_bytes_sent";
  server {{
    listen {address}:8080 backlog=4096;
    root {folder}/root;
    access_log {folder}/access.log reads;
    if ($args ~ "list-type=2") {{ rewrite ^ $listing break; }}
  }}
"""
