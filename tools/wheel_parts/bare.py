"""Bare roots: a Debian with Python and nothing else, in which wheels are installed and used (tests/wheel/uses.py). Those for another architecture
are unpacked, and qemu runs what is used of them."""
import contextlib
import os
import re
import shutil
import sys
from pathlib import Path

from wheel_parts import libraries, pythons, toolchain
from wheel_parts.architectures import ARCHITECTURES, Architecture
from wheel_parts.roots import Failed, Root, downloaded, host, made, platforms_of
from wheel_parts.wheels import GLIBC, PLATFORM, PYARROW

# From the oldest glibc to the newest. Where a root has no Python for a wheel, it gets one of the build root's (pythons.py).
SUITES = ("bullseye", "bookworm", "trixie", "forky")
NEEDED = ["numpy>=1.24", "cloudpickle>=3.1", "pip"]
# Tables are tried with the newest release of pyarrow that there is for a Python, and with the oldest that Forebay has a module for.
NEWEST_TABLES, OLDEST_TABLES = "pyarrow>=18", "pyarrow==18.0.0"

# An interpreter that was built from Debian's source has no pip for its environments: theirs comes from the wheelhouse.
INSTALL = """
rm -rf /try/environment
{program} -m venv /try/environment || {program} -m venv --clear --without-pip /try/environment
python=/try/environment/bin/python
offline="-q --no-index --disable-pip-version-check --find-links /try/wheelhouse"
$python -m pip --version || $python "$(ls /try/wheelhouse/pip-*.whl)/pip" install --ignore-installed $offline pip
$python -m pip install $offline /try/{wheel} {tables}
! command -v gcc cc c++ ld || {{ echo "a compiler is here"; exit 1; }}
"""
OLDER = "/try/environment/bin/python -m pip install -q --no-index --disable-pip-version-check --find-links /try/wheelhouse --no-deps '{tables}'"
# What each native file of the wheel is linked to, as the loader of this root sees it.
LINKED = """
cd /try/environment
for file in bin/forebay $(find lib/python3*/site-packages/forebay* -name '*.so*'); do echo "== $file"; ldd "$file"; done
"""


def versions_for(wheel: Path) -> tuple[int, str, bool]:
    """The Python that a wheel is for: 11 for 3.11, "t" if it is one without the global lock, and whether later ones will do, too."""
    python, abi = wheel.name.split("-")[2:4]
    return int(python.removeprefix("cp3")), "t" if abi.endswith("t") else "", abi == "abi3"


def takes(wheel: Path, version: str) -> bool:
    """Whether the wheel is for this version of Python ("3.13", "3.13t")."""
    number, threads, later = versions_for(wheel)
    minor = int(version.removeprefix("3.").rstrip("t"))
    return version.endswith("t") == bool(threads) and (minor == number or (later and minor >= number))


def interpreter(root: Root, build: Path, wheel: Path) -> tuple[str, str] | None:
    """A Python of this root that takes the wheel, as program and version: its own, or one of the build root's that runs on this glibc."""
    with contextlib.suppress(Failed):
        own = root.run('/usr/bin/python3 -c "import sys; print(\'%d.%d\' % sys.version_info[:2])"').strip()
        if takes(wheel, own):
            return "/usr/bin/python3", own
    for folder in sorted(build.glob("opt/python3.*")):
        if takes(wheel, version := folder.name.removeprefix("python")):
            # One of pyenv's is a link, and finds its library nowhere else than where it was built.
            place = f"/{folder.resolve().relative_to(build.resolve())}"
            # One of an earlier run has links, which are not copied over others.
            shutil.rmtree(root / place, ignore_errors=True)
            shutil.copytree(folder, root / place, symlinks=True)
            program = f"{place}/bin/{folder.name}"
            with contextlib.suppress(Failed):
                root.run(f"{program} -c 'import zlib'")
                return program, version
    return None


def strangers(listed: str) -> list[str]:
    """Libraries that are neither glibc's nor in the wheel, with the file that wants them. Those of pyarrow count for the module of tables alone."""
    found, file = [], ""
    for line in listed.splitlines():
        if line.startswith("== "):
            file = line[3:]
        elif match := re.match(r"\s+(\S+) => (.+?)( \(0x|$)", line):
            name, path = match[1], match[2]
            bundled = "forebay.libs/" in path or "site-packages/forebay/" in path
            tables = "libforebay_arrow" in file and path != "not found"
            if name not in GLIBC and not bundled and not tables and not (PYARROW.fullmatch(name) and path == "not found"):
                found.append(f"{Path(file).name}: {name} => {path}")
    return found


def gather(folder: Path, shared: Path) -> None:
    """Photographs of two classes, a WebP and recordings in four formats."""
    shutil.rmtree(folder, ignore_errors=True)
    data = shared / "data"
    if not data.exists():
        raise Failed(f"no files to try with: {data} is not there (FOREBAY_SHARED)")
    wanted = {f"photos/{label}/{file.name}": file for label in ("daisy", "dandelion") for file in sorted((data / "images/flowers" / label).glob("*.jpg"))[:6]}
    for pattern, name in (("images/webp/**/*.webp", "one.webp"), ("audio/librispeech/**/*.flac", "sound.flac"), ("audio/mp3/test_audio_16000.mp3", "sound.mp3"),
                          ("audio/librispeech-wav/*.wav", "sound.wav"), ("audio/esc10/**/*.ogg", "sound.ogg")):
        wanted[name] = sorted(data.glob(pattern))[0]
    for name, file in wanted.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)


@contextlib.contextmanager
def servers(source: Path):
    """Servers of tests/servers that are installed here. A root has its own files and this machine's network. Gives their variables."""
    sys.path.insert(0, str(source / "tests"))
    from servers import Servers, absent
    present = []
    for name in ("redis", "nats", "ceph"):
        if why := absent(name):
            print(f"SERVERS ABSENT: {why}")
        else:
            present.append(name)
    with Servers(present) as running:
        yield running.variables


def fill_bucket(variables: dict[str, str], data: Path) -> None:
    from servers.s3 import Client
    if "FOREBAY_TEST_S3" not in variables:
        return
    client = Client(variables["FOREBAY_TEST_S3"], variables["FOREBAY_TEST_S3_KEY"], variables["FOREBAY_TEST_S3_SECRET"])
    client.make_bucket("wheel")
    for file in sorted((data / "photos").rglob("*.jpg")):
        client.put("wheel", file.relative_to(data).as_posix(), file.read_bytes())
    shutil.copyfile(variables["FOREBAY_TEST_CA"], data / "ca.pem")


def _tried_in(root: Root, build: Path, wheel: Path, source: Path, data: Path, variables: dict[str, str]) -> bool:
    if (found := interpreter(root, build, wheel)) is None:
        print(f"{wheel.name} in {root.path.name}: no Python here that takes it")
        return False
    program, version = found
    folder, wheelhouse = root / "/try", root.path.parent / "wheelhouses" / version
    shutil.rmtree(folder, ignore_errors=True)
    plain, abi = version.rstrip("t"), f"cp{version.replace('.', '')}"
    downloaded(wheelhouse, plain, NEEDED, abi)
    newest, oldest = (_offered(wheelhouse, plain, abi, tables) for tables in (NEWEST_TABLES, OLDEST_TABLES))
    shutil.copytree(wheelhouse, folder / "wheelhouse")
    shutil.copytree(data, folder / "data")
    shutil.copyfile(wheel, folder / wheel.name)
    shutil.copyfile(source / "tests/wheel/uses.py", folder / "uses.py")
    root.run(INSTALL.format(program=program, wheel=wheel.name, tables=f"'{NEWEST_TABLES}'" if newest else ""))
    listed = root.run(LINKED, log="ldd")
    if odd := strangers(listed):
        raise Failed(f"{wheel.name} in {root.path.name} is linked to more than glibc:\n" + "\n".join(odd))
    glibc = root.run("ldd --version").splitlines()[0].rsplit(" ", 1)[1]
    names = sorted(set(re.findall(r"(\S+) =>", listed)) & GLIBC)
    print(f"{wheel.name} in {root.path.name}: Python {version}, glibc {glibc}; ldd names {', '.join(names)} and what is in the wheel")
    print(root.run("/try/environment/bin/python /try/uses.py /try/data", log="uses", **variables), end="", flush=True)
    if oldest:
        root.run(OLDER.format(tables=OLDEST_TABLES))
        print(root.run("/try/environment/bin/python /try/uses.py /try/data table", log="uses-oldest", **variables), end="", flush=True)
    return True


def _offered(wheelhouse: Path, python: str, abi: str, package: str) -> bool:
    """Puts a package into the wheelhouse if pip has it for this Python."""
    try:
        downloaded(wheelhouse, python, [package], abi)
    except Failed:
        return False
    return True


# What needs neither servers nor a compiled program.
EMULATED_USES = ("photographs", "webp", "html", "table", "tar", "sound", "cached", "threads")


def _tried_emulated(wheel: Path, architecture: Architecture, roots: Path, source: Path, data: Path) -> bool:
    """Installs a wheel for another architecture beside the interpreters of its roots, and uses it under qemu."""
    found = False
    for suite in pythons.FOREIGN_SUITES:
        root, version = pythons.unpacked_foreign(roots, architecture, suite)
        if not takes(wheel, version):
            continue
        found, folder = True, root / "try"
        shutil.rmtree(folder, ignore_errors=True)
        host(sys.executable, "-m", "pip", "install", "--quiet", "--target", folder, "--python-version", version, "--only-binary=:all:",
             *platforms_of(architecture.machine), "--platform", f"{PLATFORM}_{architecture.machine}", wheel, NEWEST_TABLES)
        pythons.emulated(folder / "python", str(root), architecture, version, str(folder))
        print(f"{wheel.name} in {root.name}: Python {version}, by qemu")
        print(host(folder / "python", source / "tests/wheel/uses.py", data, *EMULATED_USES), end="", flush=True)
    return found


def tried(wheels: list[Path], roots: Path, source: Path, jobs: int) -> None:
    """Installs each wheel in every bare root that has a Python for it, and uses all that it contains."""
    data = roots / "data"
    gather(data, Path(os.environ.get("FOREBAY_SHARED", source.parent / "shared")))
    own = []
    for wheel in wheels:
        architecture = ARCHITECTURES[next(name for name in ARCHITECTURES if wheel.stem.endswith(name))]
        if not architecture.foreign:
            own.append(wheel)
        elif not _tried_emulated(wheel, architecture, roots, source, data):
            raise Failed(f"{wheel.name} was tried nowhere")
    if own:
        _tried_here(own, roots, source, jobs, data)


def _tried_here(wheels: list[Path], roots: Path, source: Path, jobs: int, data: Path) -> None:
    bare = [made(roots / f"bare-{suite}", suite, ("python3-venv",)) for suite in SUITES]
    probe = toolchain.built_probe(Root(roots / "build"), source)
    pythons.build(Root(roots / "build"), pythons.to_build("3.13"), libraries.PREFIX, {}, jobs)  # for the oldest root, whose own is too old
    for root in bare:
        for file in probe:
            shutil.copy2(file, root / f"/tmp/{file.name}")
        print(f"{root.path.name}: {root.run('/tmp/catcher /tmp/thrower.so').strip()}")
    with servers(source) as variables:
        fill_bucket(variables, data)
        for wheel in wheels:
            if not any([_tried_in(root, roots / "build", wheel, source, data, variables) for root in bare]):
                raise Failed(f"{wheel.name} was tried nowhere")
