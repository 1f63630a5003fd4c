"""The source package for pip: it has what the build needs, nothing that is large, and makes a package from itself in an empty folder."""
import json
import os
import subprocess
import sys
import tarfile
import zipfile

import pytest

from project import ROOT, run

pytest.importorskip("scikit_build_core")

MOST_BYTES = 4_000_000
BUILT = ("CMakeLists.txt", "LICENSE", "README.md", "THIRD_PARTY.md", "pyproject.toml", "cmake/", "include/", "python/", "src/", "third_party/")
LEFT_OUT = ("tests/", "bench/", "docs/", "build/", ".git/", ".ci/")


@pytest.fixture(scope="module")
def source_package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    subprocess.run([sys.executable, "-c", "import scikit_build_core.build as b, sys; b.build_sdist(sys.argv[1])", folder], cwd=ROOT, check=True, timeout=300)
    file, = folder.glob("forebay-*.tar.gz")
    return file


def test_it_has_what_is_built_and_no_more(source_package):
    with tarfile.open(source_package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if (ROOT / ".git").exists():
        tracked = run("git", "-C", ROOT, "ls-files").splitlines()
        assert [name for name in tracked if name.startswith(BUILT) and (ROOT / name).exists() and name not in names] == []
    assert [name for name in names if name.startswith(LEFT_OUT)] == []
    print(f"{source_package.name}: {source_package.stat().st_size} bytes, {len(names)} files")
    assert source_package.stat().st_size < MOST_BYTES


def test_it_makes_a_package_of_itself_in_an_empty_folder(source_package, tmp_path):
    """Takes minutes where the compiler's cache has nothing of this source."""
    with tarfile.open(source_package) as archive:
        archive.extractall(tmp_path)
    source, = tmp_path.iterdir()
    # The package that `./runtests` has installed was compiled the same way: it is in the cache.
    environment = {**os.environ, "CXX": os.environ.get("CXX", "c++"), "CMAKE_CXX_COMPILER_LAUNCHER": "ccache", "CCACHE_BASEDIR": str(source), "CCACHE_NOHASHDIR": "1"}
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path, "."], cwd=source,
                          env=environment, capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    wheel, = tmp_path.glob("forebay-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    told = subprocess.run([sys.executable, "-c", "import forebay, json; print(json.dumps([forebay.__file__, forebay.versions()]))"], capture_output=True, text=True,
                          check=True, env={**os.environ, "PYTHONPATH": str(tmp_path / "installed")}, timeout=120)
    file, versions = json.loads(told.stdout)
    assert file.startswith(str(tmp_path / "installed"))
    assert versions["forebay"] == wheel.name.split("-")[1]
    assert versions["revision"] == ""  # no git here
    assert versions["modules"]["http"]["loads"], versions
