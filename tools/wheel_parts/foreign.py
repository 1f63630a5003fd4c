"""Debian's packages for another architecture, unpacked without being installed: a root for a cross compiler and for qemu."""
import os
import shutil
import subprocess
from pathlib import Path

from wheel_parts.architectures import Architecture
from wheel_parts.roots import DEBIAN, Failed, digest, host

APT = """
#clear APT::Architectures;
APT::Architecture "{architecture}";
APT::Architectures {{ "{architecture}"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::Etc::SourceList "{root}/apt/sources.list";
Dir::Etc::SourceParts "-";
Dir::State "{root}/apt/state";
Dir::State::status "{root}/apt/status";
Dir::Cache "{root}/apt/cache";
"""


def _downloaded(root: Path, architecture: Architecture, suite: str, packages: list[str]) -> list[Path]:
    """Downloads the packages and all that they depend on, by an apt with a state of its own."""
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (root / "apt" / folder).mkdir(parents=True, exist_ok=True)
    (root / "apt/status").touch()
    (root / "apt/sources.list").write_text(f"deb {DEBIAN} {suite} main\n")
    config = root / "apt/apt.conf"
    config.write_text(APT.format(root=root, architecture=architecture.debian))
    apt = {**os.environ, "APT_CONFIG": str(config), "DEBIAN_FRONTEND": "noninteractive"}
    host("apt-get", "update", "-qq", env=apt)
    host("apt-get", "install", "-qq", "--yes", "--download-only", *packages, env=apt)
    return sorted((root / "apt/cache/archives").glob("*.deb"))


def _unpack(archive: Path, root: Path) -> None:
    """Unpacks one package. Unlike `dpkg-deb --extract`, this follows the links of a merged /usr."""
    contents = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE)
    subprocess.run(["tar", "--extract", "--keep-directory-symlink", "--no-same-owner", "--directory", root], stdin=contents.stdout, check=True)
    if contents.wait() != 0:
        raise Failed(f"dpkg-deb: cannot read {archive}")


def make_relative(root: Path) -> None:
    """Makes absolute links relative, so that they lead to the root's own files when seen from outside."""
    for link in (file for file in (root / "usr/lib").rglob("*") if file.is_symlink()):
        target = os.readlink(link)
        if target.startswith("/"):
            link.unlink()
            link.symlink_to(os.path.relpath(f"{root}{target}", link.parent))


def made_foreign(root: Path, architecture: Architecture, suite: str, packages: list[str]) -> Path:
    """The root with these packages of a suite of Debian, made unless it was made from the same list."""
    stamp, wanted = root / "packages", digest(architecture, suite, packages)
    if stamp.exists() and stamp.read_text() == wanted:
        return root
    shutil.rmtree(root, ignore_errors=True)
    for name in ("bin", "lib", "sbin"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    archives = _downloaded(root, architecture, suite, packages)
    for archive in archives:
        _unpack(archive, root)
    make_relative(root)
    shutil.rmtree(root / "apt")
    stamp.write_text(wanted)
    print(f"{root.name}: {len(archives)} packages of {suite} for {architecture.debian}", flush=True)
    return root
