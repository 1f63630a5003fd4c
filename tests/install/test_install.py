"""What `cmake --install` leaves is enough for a stranger's project, and a wheel holds what it should and no more."""
import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from project import ROOT, run, write_photos


def test_find_package_and_link(installed, tmp_path):
    run("cmake", "-S", ROOT / "tests" / "install", "-B", tmp_path, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path)
    assert run(tmp_path / "consumer") == "sum 4950\n"


def test_a_program_in_c_needs_pkg_config_alone(installed, tmp_path):
    environment = {**os.environ, "PKG_CONFIG_PATH": str(next(installed.rglob("pkgconfig")))}
    told = subprocess.run(["pkg-config", "--cflags", "--libs", "forebay"], env=environment, capture_output=True, text=True, check=True)
    library = next(installed.rglob("libforebay.so")).parent
    run("cc", "-std=c99", "-Wall", "-Werror", ROOT / "tests" / "install" / "consumer.c", "-o", tmp_path / "consumer", *told.stdout.split(),
        f"-Wl,-rpath,{library}")
    assert run(tmp_path / "consumer") == "InvalidArgument\n"


def test_the_program_of_the_page_on_c_runs(installed, tmp_path):
    (tmp_path / "page.c").write_text(re.search(r"^```c\n(.*?)^```", (ROOT / "docs" / "reference" / "c.md").read_text(), re.MULTILINE | re.DOTALL)[1])
    write_photos(tmp_path / "photos" / "train", per_class=2)
    library = next(installed.rglob("libforebay.so")).parent
    run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", f"-I{installed}/include", tmp_path / "page.c", "-o", tmp_path / "page", f"-L{library}", "-lforebay",
        f"-Wl,-rpath,{library}")
    done = subprocess.run([tmp_path / "page"], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith("step 0: 6 pictures at "), done.stdout + done.stderr


def test_a_project_in_c_asks_for_the_c_component_alone(installed, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(app LANGUAGES C)\nfind_package(forebay 0.1 REQUIRED COMPONENTS c)\n"
        f"add_executable(app {ROOT}/tests/install/consumer.c)\ntarget_link_libraries(app PRIVATE forebay::c)\n")
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "app") == "InvalidArgument\n"


def test_the_shared_library_promises_what_the_header_says_and_nothing_else(installed):
    listed = [line.split()[-1].partition("@@") for line in run("nm", "-D", "--defined-only", next(installed.rglob("libforebay.so"))).splitlines()]
    versions = {node for _, _, node in listed if node}
    private, = versions - {"FOREBAY_1"}
    assert private.startswith("FOREBAY_PRIVATE_")
    header = (ROOT / "include" / "forebay" / "c.h").read_text()
    stable = {name for name, _, node in listed if node == "FOREBAY_1"} - {"FOREBAY_1"}
    assert stable == set(re.findall(r"^FB_API [^(]*?(fb_\w+)\(", header, re.MULTILINE))
    others = [name for name, _, node in listed if node != "FOREBAY_1" and not re.match(r"_Z(N|NK|NO|NR|NKR|NKO|TIN|TSN|TVN)7forebay|FOREBAY_", name)]
    assert others == []  # nothing of the libraries that it uses


LOADED = ["redis", "nats", "kafka", "sound", "http", "xml"]
BEHIND_MODULES = ["hiredis", "nats", "rdkafka", "sndfile", "FLAC", "mpg123", "soxr", "curl", "ssl", "crypto", "xml2"]


def package_folder():
    return Path(next(metadata.distribution("forebay").locate_file(path) for path in metadata.files("forebay")
                     if str(path).endswith("forebay/__init__.py"))).parent


def needed_by(file):
    return re.findall(r"\(NEEDED\).*\[lib([\w+]+)[.-]", run("readelf", "-d", file))


def test_heavy_libraries_are_behind_modules_that_stand_beside(installed):
    package = package_folder()
    engines = [next(installed.rglob("libforebay.so")), package / "libforebay.so"]
    for file in engines:
        needed = needed_by(file)
        assert "jpeg" in needed and not set(needed) & set(BEHIND_MODULES), file
    for folder in (package, engines[0].parent):
        assert [name for name in LOADED if not (folder / f"libforebay_{name}.so").exists()] == [], folder


def test_the_module_and_the_program_use_the_engine_of_the_library():
    package = package_folder()
    for file in (next(package.glob("_core*.so")), Path(sys.executable).parent / "forebay"):
        needed = needed_by(file)
        assert "forebay" in needed and not set(needed) & {"jpeg", *BEHIND_MODULES}, file
        assert file.stat().st_size < 6_000_000, file


WITHOUT = """
import forebay as fb
try:
    fb.Loader(%s)
except fb.Unsupported as error:
    print(error)
"""


def copy_without(monkeypatch, folder, name):
    """Lets programs find a copy of the package that lacks a module. That of tables has the release of Arrow in its name."""
    shutil.copytree(package_folder(), folder / "forebay", ignore=shutil.ignore_patterns(f"libforebay_{name}.so", f"libforebay_{name}_*.so"))
    monkeypatch.setenv("PYTHONPATH", str(folder))


def without_module(monkeypatch, folder, name, pipeline):
    """What opening the pipeline says where the package has no libforebay_NAME.so."""
    copy_without(monkeypatch, folder, name)
    return run(sys.executable, "-c", WITHOUT % pipeline)


def test_without_the_module_of_http_the_message_says_what_to_do(monkeypatch, tmp_path):
    told = without_module(monkeypatch, tmp_path, "http", 'fb.manifest("http://127.0.0.1:1/list.csv").batch(1)')
    assert "libforebay_http.so, which needs libcurl and OpenSSL: install libcurl4-openssl-dev, libssl-dev and libboost-dev" in told


@pytest.mark.parametrize("name", ["redis", "nats", "kafka"])
def test_without_the_module_of_a_broker_the_message_says_what_to_do(monkeypatch, tmp_path, name):
    told = without_module(monkeypatch, tmp_path, name, f'fb.stream("{name}://127.0.0.1:1/news").batch(1), steps_per_epoch=1')
    assert f"{name}:// needs the module libforebay_{name}.so" in told


def test_without_the_module_of_sound_the_message_says_what_to_do(monkeypatch, tmp_path):
    (tmp_path / "one.wav").write_bytes(b"")
    told = without_module(monkeypatch, tmp_path, "sound", f'fb.files(["{tmp_path}/one.wav"]).decode_audio().batch(1)')
    assert "sound needs the module libforebay_sound.so" in told


@pytest.mark.parametrize("name, pipeline", [
    ("http", 'fb.files(["http://127.0.0.1:1/one.jpg"]).batch(1)'), ("http", 'fb.files(["s3://bucket/one.jpg"]).batch(1)'),
    ("xml", 'fb.text("one.html", by="file").extract_text().batch(1)')])
def test_a_missing_module_is_no_bad_sample(monkeypatch, tmp_path, name, pipeline):
    """Samples that cannot be read are skipped here, and without the module none could."""
    (tmp_path / "one.html").write_text("<p>one</p>")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "some")
    monkeypatch.chdir(tmp_path)
    told = without_module(monkeypatch, tmp_path, name, f'{pipeline}, on_error="skip"')
    assert f"the module libforebay_{name}.so" in told


@pytest.mark.parametrize("name, packages", [
    ("http", ["libcurl4-openssl-dev", "libssl-dev", "libboost-dev"]), ("xml", ["libxml2-dev"]), ("redis", ["libhiredis-dev", "libssl-dev"]),
    ("nats", ["libnats-dev", "libssl-dev"]), ("kafka", ["librdkafka-dev", "libssl-dev"]),
    ("sound", ["libsndfile1-dev", "libflac-dev", "libmpg123-dev", "libsoxr-dev"]), ("arrow", ["'forebay[tables]'"])])
def test_versions_tell_a_module_that_is_missing_with_what_to_install(monkeypatch, tmp_path, name, packages):
    copy_without(monkeypatch, tmp_path, name)
    modules = json.loads(run(sys.executable, "-c", "import forebay, json; print(json.dumps(forebay.versions()['modules']))"))
    assert not modules[name]["loads"]
    assert [package for package in packages if package not in modules[name]["detail"]] == []
    assert [other for other in LOADED if other != name and not modules[other]["loads"]] == []


def test_only_public_headers_are_installed(installed):
    include = installed / "include"
    found = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h"))
    public = sorted(path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.h"))
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
    assert "forebay/libforebay.so" in files
    assert not [name for name in files if name.endswith((".h", ".a", ".cmake"))]


def test_the_program_is_on_the_path_of_the_environment():
    program = Path(sys.executable).parent / "forebay"
    assert metadata.version("forebay") in run(program, "--version")
