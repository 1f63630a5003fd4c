"""./quickstart where a wheel lies in dist/: it is installed, and no compiler is used; a wheel for another Python is not."""
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from project import ROOT, write_photos

COMPILERS = ("c++", "g++", "cc", "gcc", "clang", "clang++", "cmake", "ninja", "make")


def tag():
    return next(line.removeprefix("Tag: ") for line in metadata.distribution("forebay").read_text("WHEEL").splitlines() if line.startswith("Tag: "))


def pack_wheel(folder, tag):
    """A wheel of the package that is installed here."""
    scripts = Path(sysconfig.get_path("scripts"))
    names = {}
    for path in metadata.files("forebay"):
        file = Path(path.locate()).resolve()
        if file.parent == scripts.resolve():
            names[f"forebay-{metadata.version('forebay')}.data/scripts/{file.name}"] = file
        elif path.name not in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json") and not path.name.endswith(".pyc"):
            names[str(path)] = file
    folder.mkdir()
    record = f"{next(name for name in names if name.endswith('.dist-info/WHEEL')).rpartition('/')[0]}/RECORD"
    with zipfile.ZipFile(folder / f"forebay-{metadata.version('forebay')}-{tag}.whl", "w") as archive:
        for name, file in names.items():
            archive.write(file, name)
        archive.writestr(record, "".join(f"{name},,\n" for name in [*names, record]))


def program(file, script):
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


@pytest.fixture
def checkout(tmp_path):
    """What ./quickstart needs of a checkout, with an environment that has numpy, cloudpickle and Pillow. Compilers and tools/system_packages only say
    that they were called; there are no packages to build with."""
    (tmp_path / "tools").mkdir()
    shutil.copy2(ROOT / "quickstart", tmp_path / "quickstart")
    program(tmp_path / "tools/system_packages", f'echo "$1" >> {tmp_path}/groups\n[ "$1" = python ]')
    venv.create(tmp_path / ".venv", with_pip=True)
    packages = next((tmp_path / ".venv/lib").glob("python3*/site-packages"))
    # After its own packages, those of this environment.
    (packages / "more.pth").write_text(sysconfig.get_path("purelib") + "\n")
    (tmp_path / "programs").mkdir()
    for name in COMPILERS:
        program(tmp_path / "programs" / name, f"echo {name} >> {tmp_path}/called\nexit 1")
    write_photos(tmp_path / "photos")
    return tmp_path


def quickstart(checkout):
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX", "PYTHONPATH")}
    environment["PATH"] = f"{checkout}/programs:{environment['PATH']}"
    return subprocess.run([checkout / "quickstart", checkout / "photos"], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def test_quickstart_installs_a_wheel_that_fits_and_compiles_nothing(checkout):
    pack_wheel(checkout / "dist", tag())
    done = quickstart(checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"forebay-{metadata.version('forebay')}-{tag()}.whl" in done.stdout and "contact sheet" in done.stdout
    assert (checkout / "groups").read_text() == "python\n" and not (checkout / "called").exists()
    installed = next((checkout / ".venv/lib").glob("python3*/site-packages/forebay"))
    assert installed.is_dir() and sys.prefix not in str(installed)


def test_quickstart_builds_where_the_wheel_is_for_another_python(checkout):
    pack_wheel(checkout / "dist", "cp39-cp39-linux_x86_64")
    done = quickstart(checkout)
    assert done.returncode != 0 and "packages to build with" in done.stdout, done.stdout + done.stderr
    assert (checkout / "groups").read_text() == "python\nbuild\n"
