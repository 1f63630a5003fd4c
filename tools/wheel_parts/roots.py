"""Roots: folders with a Debian of their own, made by debootstrap, in which commands run (chroot)."""
import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

DEBIAN = "http://deb.debian.org/debian"
SECURITY = "http://deb.debian.org/debian-security"

# /proc and /dev are mounted for one command alone: the mounts are in its own name space and end with it.
ENTER = """
mount -t proc proc "$ROOT/proc"
mount --rbind /dev "$ROOT/dev"
exec env -u ROOT -u COMMAND chroot "$ROOT" sh -euc "$COMMAND"
"""


class Failed(Exception):
    """A step failed; the text says which and what it printed last."""


def digest(*parts) -> str:
    """A name for all that a step depends on: when it changes, the step is done again."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


class Root:
    def __init__(self, path: Path):
        self.path = path

    def __truediv__(self, inside: str) -> Path:
        """The file of the root that commands in it call /inside."""
        return self.path / inside.lstrip("/")

    def run(self, command: str, *, log: str = "", **environment: str) -> str:
        """Runs a shell command in the root and returns what it printed. With `log`, that is written to a file as well."""
        words = {"PATH": "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}
        words |= {**environment, "ROOT": str(self.path), "COMMAND": command}
        done = subprocess.run(["unshare", "--mount", "sh", "-euc", ENTER], env=words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace")
        if log:
            file = self.path.parent / "logs" / f"{self.path.name}-{log}.txt"
            file.parent.mkdir(exist_ok=True)
            file.write_text(done.stdout)
        if done.returncode != 0:
            raise Failed(f"in {self.path}: {command.strip()[:400]}\n{done.stdout[-4000:]}" + (f"\nall of it: {file}" if log else ""))
        return done.stdout

    def once(self, name: str, key: str, work) -> None:
        """Calls `work` unless it was done in this root with the same key."""
        stamp = self.path / "stamps" / name
        if stamp.exists() and stamp.read_text() == key:
            return
        began = time.monotonic()
        print(f"{self.path.name}: {name} …", flush=True)
        stamp.unlink(missing_ok=True)
        work()
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(key)
        print(f"{self.path.name}: {name} done in {time.monotonic() - began:.0f} s", flush=True)


def made(path: Path, suite: str, packages: tuple[str, ...] = ()) -> Root:
    """The root at `path`: the essential packages of a Debian suite and those named."""
    root = Root(path)
    if not (path / "etc" / "debian_version").exists():
        if os.geteuid() != 0:
            raise Failed("making a root needs root")
        if shutil.which("debootstrap") is None:
            raise Failed("debootstrap is missing: apt-get install debootstrap")
        print(f"{path.name}: debootstrap {suite} …", flush=True)
        began, unfinished = time.monotonic(), path.with_name(path.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        # In a name space of its own, so that what it mounts ends with it, also where it is ended itself.
        command = ["unshare", "--mount", "debootstrap", "--variant=minbase", *([f"--include={','.join(packages)}"] if packages else []), suite, str(unfinished), DEBIAN]
        if not Path(f"/usr/share/debootstrap/scripts/{suite}").exists():
            command.append("/usr/share/debootstrap/scripts/sid")  # a suite that is newer than debootstrap
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0:
            raise Failed(f"{' '.join(command)}\n{done.stdout[-4000:]}")
        unfinished.rename(path)
        print(f"{path.name}: debootstrap done in {time.monotonic() - began:.0f} s", flush=True)
    for name in ("resolv.conf", "hosts"):  # names of hosts are found as they are here
        shutil.copyfile(f"/etc/{name}", root / f"/etc/{name}")
    return root


def copied(source: Path, target: Path, files: list[str]) -> None:
    """Makes `target` a copy of these files of `source`. What has not changed keeps its time, so that a build does only what is new."""
    kept = set(files)
    for file in target.rglob("*"):
        inside = file.relative_to(target)
        if inside.parts[0] != "build" and (file.is_file() or file.is_symlink()) and str(inside) not in kept:
            file.unlink()
    for name in files:
        old, new = source / name, target / name
        if new.exists() and new.read_bytes() == old.read_bytes():
            continue
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(old, new)
        shutil.copymode(old, new)


def host(*command, **more) -> str:
    """Runs a command on this machine, outside of any root, and returns what it printed."""
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        raise Failed(f"{' '.join(str(word) for word in command)}\n{(done.stdout + done.stderr)[-4000:]}")
    return done.stdout


def abis_for(abi: str) -> list[str]:
    """The ABIs of wheels that an interpreter of ABI `abi` ("cp311") takes. Those without the global lock ("cp313t") have no stable one."""
    if not abi:
        return []
    return [abi, "none"] if abi.endswith("t") else [abi, "abi3", "none"]


def platforms_of(machine: str) -> list[str]:
    """The options by which pip takes wheels for this machine ("x86_64") and no glibc newer than Debian 11's."""
    tags = ["manylinux_2_28", "manylinux_2_27", "manylinux_2_17", "manylinux2014"]
    if machine == "x86_64":
        tags += ["manylinux_2_12", "manylinux2010", "manylinux_2_5", "manylinux1"]
    return [word for tag in tags for word in ("--platform", f"{tag}_{machine}")]


def downloaded(folder: Path, python: str, packages: list[str], abi: str = "", machine: str = "x86_64") -> None:
    """Puts wheels of these packages and of what they need into `folder`, for Python `python` ("3.11") with the oldest glibc that they are made for.

    They are fetched by pip outside of the root, which therefore needs no network and none of this machine's settings of pip."""
    folder.mkdir(parents=True, exist_ok=True)
    host(sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--python-version", python, "--implementation", "cp",
         *(word for name in abis_for(abi) for word in ("--abi", name)), *platforms_of(machine), "--dest", folder, *packages)
