"""What `cmake --install` leaves is enough for a stranger's project, and a wheel holds what it should and no more."""
import subprocess
import sys
from importlib import metadata
from pathlib import Path

from project import ROOT, run


def test_find_package_and_link(installed, tmp_path):
    run("cmake", "-S", ROOT / "tests" / "install", "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "consumer") == "sum 4950\n"


def test_only_public_headers_are_installed(installed):
    include = installed / "include"
    found = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h"))
    public = sorted(f"forebay/{path.name}" for path in (ROOT / "include" / "forebay").glob("*.h"))
    assert found == public


def test_another_minor_version_is_refused(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(app LANGUAGES CXX)\nfind_package(forebay 0.2 REQUIRED)\n")
    done = subprocess.run(["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}"],
                          capture_output=True, text=True, timeout=300)
    assert done.returncode != 0
    assert "0.2" in done.stderr


def test_the_wheel_holds_module_stubs_and_program_and_no_headers():
    files = {str(path) for path in metadata.files("forebay")}
    assert any(name.startswith("forebay/_core") and name.endswith(".so") for name in files)
    assert "forebay/__init__.py" in files
    assert any(name.startswith("forebay/_core") and name.endswith(".pyi") for name in files)
    assert "forebay/py.typed" in files
    assert any(name.endswith("bin/forebay") for name in files)
    assert not [name for name in files if name.endswith((".h", ".a", ".cmake"))]


def test_the_program_is_on_the_path_of_the_environment():
    program = Path(sys.executable).parent / "forebay"
    assert metadata.version("forebay") in run(program, "--version")
