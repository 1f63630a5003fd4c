"""Sources of Debian's packages: what upstream released, with Debian's fixes."""
import hashlib
import re
import shutil
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

from wheel_parts.roots import DEBIAN, Failed, Root


def _fetched(uri: str, sha256: str, folder: Path) -> Path | None:
    """The file of the archive, or None if the archive does not have it. Its hash comes from the signed list of sources."""
    file = folder / urllib.request.url2pathname(uri.rsplit("/", 1)[1])
    if not file.exists() or hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
        try:
            with urllib.request.urlopen(uri, timeout=120) as answer:
                file.write_bytes(answer.read())
        except urllib.error.HTTPError:
            return None
    if hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
        raise Failed(f"{uri} is not what the list of sources says")
    return file


def _lists_of(root: Root, suite: str) -> dict[str, str]:
    """Gives apt lists of the sources of this suite alone, beside its own. Returns the variables for commands that are to use them.

    A mirror that is the copy of an earlier day has lists of a testing suite that have expired, and is good enough for sources: they are signed all the same."""
    (root / f"etc/apt/{suite}.list").write_text(f"deb-src {DEBIAN} {suite} main\n")
    (root / f"etc/apt/{suite}.conf").write_text(
        f'Dir::Etc::SourceList "/etc/apt/{suite}.list";\nDir::Etc::SourceParts "-";\nDir::State::Lists "/var/lib/apt/lists-{suite}";\n'
        'Dir::Cache::srcpkgcache "";\nDir::Cache::pkgcache "";\nAcquire::Check-Valid-Until "false";\n')
    variables = {"APT_CONFIG": f"/etc/apt/{suite}.conf"}
    root.run(f"mkdir -p /var/lib/apt/lists-{suite}/partial && apt-get update -qq", **variables)
    return variables


def unpacked(root: Root, source: str, suite: str = "", patched: bool = True) -> str:
    """Unpacks the newest version whose files the archive has into /sources/NAME of the root, and returns that version.

    It has Debian's fixes, unless `patched` is False. It is of `suite`, or else of those that the root's own lists name. apt-get source would do this, but needs the .dsc file as well, and
    some mirrors have the archives of a version and not that.
    """
    variables = _lists_of(root, suite) if suite else {}
    lists = root.run(f"""for version in $(apt-cache showsrc --only-source {source} | sed -n 's/^Version: //p' | sort -Vru); do
        echo "version $version"; apt-get source -qq --print-uris --only-source {source}=$version; done 2>/dev/null""", **variables)
    kept = root / "sources/files"
    kept.mkdir(parents=True, exist_ok=True)
    for chunk in lists.split("version ")[1:]:
        version = chunk.split()[0]
        wanted = re.findall(r"'(\S+\.(?:orig|debian)\.tar\.\w+)' \S+ \d+ SHA256:(\w+)", chunk)
        files = [_fetched(uri, sha256, kept) for uri, sha256 in wanted]
        if len(files) != 2 or None in files:
            continue
        folder = root / f"sources/{source}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        upstream, debian = sorted(files, key=lambda file: ".debian." in file.name)
        subprocess.run(["tar", "-xf", upstream, "-C", folder, "--strip-components=1", "--no-same-owner"], check=True)
        shutil.rmtree(folder / "debian", ignore_errors=True)
        subprocess.run(["tar", "-xf", debian, "-C", folder, "--no-same-owner"], check=True)
        series = folder / "debian/patches/series"
        for line in series.read_text().splitlines() if patched and series.exists() else []:
            if name := line.split("#")[0].strip().split(" ")[0]:
                with open(folder / "debian/patches" / name, "rb") as patch:
                    subprocess.run(["patch", "-p1", "-s", "-d", folder], stdin=patch, check=True)
        return version
    raise Failed(f"no version of the source package {source} is whole in the archive:\n{lists}")
