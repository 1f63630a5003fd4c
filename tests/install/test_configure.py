"""Libraries that are missing when the project is configured: a part is left out and says so, or nothing is built and the message says what to install."""
import os
import re
import subprocess
from pathlib import Path

import pytest

from project import ROOT, run


@pytest.fixture(scope="module")
def descriptions():
    """What pkg-config finds on this machine, by name: the files of libraries."""
    folders = run("pkg-config", "--variable", "pc_path", "pkg-config").strip().split(":")
    return {file.stem: file for folder in reversed(folders) for file in Path(folder).glob("*.pc")}


def configured(folder, descriptions, *options, without=()):
    """Configures the library and the program where pkg-config finds all but `without`. Returns the exit code and what CMake printed, without line ends."""
    known = folder / "pkgconfig"
    known.mkdir()
    for name, file in descriptions.items():
        if name not in without:
            (known / file.name).symlink_to(file)
    environment = {**os.environ, "PKG_CONFIG_LIBDIR": str(known)}
    environment.pop("PKG_CONFIG_PATH", None)
    done = subprocess.run(["cmake", "-S", ROOT, "-B", folder / "build", "-G", "Ninja", "-DFOREBAY_BUILD_TESTS=OFF", *options], env=environment,
                          capture_output=True, text=True, timeout=300)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def left_out(part, told):
    """The libraries that a part lacks, and the packages to install. Others may need a library that is missing, and are missing with it."""
    found = re.search(re.escape(part) + r": left out, no (.*?)\. On Debian: apt-get install (.*?), then configure again", told)
    assert found, told
    return found[1].split(", "), found[2].split()


@pytest.mark.parametrize("library, part, package", [
    ("libcurl", "http(s)://, s3:// and peers=", "libcurl4-openssl-dev"), ("libxml-2.0", "S3 and the text of HTML", "libxml2-dev"),
    ("sndfile", "Sound", "libsndfile1-dev"), ("flac", "Sound", "libflac-dev"), ("libmpg123", "Sound", "libmpg123-dev"), ("soxr", "Sound", "libsoxr-dev"),
    ("hiredis", "redis://", "libhiredis-dev"), ("libnats", "nats://", "libnats-dev"), ("rdkafka", "kafka://", "librdkafka-dev")])
def test_a_part_whose_library_is_missing_is_left_out_and_says_so(descriptions, tmp_path, library, part, package):
    code, told = configured(tmp_path, descriptions, without=[library])
    assert code == 0, told
    libraries, packages = left_out(part, told)
    assert library in [name.partition(">")[0] for name in libraries] and package in packages


def test_without_openssl_there_is_neither_http_nor_a_broker(descriptions, tmp_path):
    code, told = configured(tmp_path, descriptions, without=["libssl", "libcrypto"])
    assert code == 0, told
    for part in ("http(s)://, s3:// and peers=", "redis://", "nats://", "kafka://"):
        libraries, packages = left_out(part, told)
        assert {"libssl", "libcrypto"} <= set(libraries) and "libssl-dev" in packages


def test_without_boost_there_is_no_http(descriptions, tmp_path):
    code, told = configured(tmp_path, descriptions, "-DCMAKE_IGNORE_PATH=/usr/include")
    assert code == 0, told
    assert left_out("http(s)://, s3:// and peers=", told) == (["Boost.Beast"], ["libboost-dev"])


def test_without_pyarrow_there_are_no_tables(descriptions, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text("import sys\nsys.modules['pyarrow'] = None\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code, told = configured(tmp_path, descriptions)
    assert code == 0, told
    assert "Parquet and Arrow: left out, no pyarrow; pip install 'pyarrow>=18', then configure again" in told


def test_a_folder_without_a_release_of_arrow_is_refused(descriptions, tmp_path):
    (tmp_path / "arrows/26.0.1/pyarrow").mkdir(parents=True)
    code, told = configured(tmp_path, descriptions, f"-DFOREBAY_ARROWS={tmp_path}/arrows")
    assert code != 0
    assert "26.0.1/pyarrow is left out, it has no libarrow.so.* with its headers" in told
    assert "has no release of pyarrow: expected folders such as 26.0.1/pyarrow" in told


@pytest.mark.parametrize("library, package", [
    ("libjpeg", "libjpeg62-turbo-dev"), ("spng", "libspng-dev"), ("libwebp", "libwebp-dev"), ("libxxhash", "libxxhash-dev"), ("libzstd", "libzstd-dev"),
    ("liblz4", "liblz4-dev"), ("libdeflate", "libdeflate-dev")])
def test_a_library_that_everything_needs_is_named_with_its_package(descriptions, tmp_path, library, package):
    code, told = configured(tmp_path, descriptions, without=[library])
    assert code != 0
    found = re.search(r"Forebay needs (.*?), found none\. On Debian: apt-get install (.*?) Call Stack", told)
    assert found, told
    assert library in found[1].split(", ") and package in found[2].split()


@pytest.mark.parametrize("library, package", [("fmt", "libfmt-dev"), ("nlohmann_json", "nlohmann-json3-dev"), ("CLI11", "libcli11-dev")])
def test_a_package_of_cmake_that_is_missing_is_named(descriptions, tmp_path, library, package):
    code, told = configured(tmp_path, descriptions, f"-DCMAKE_DISABLE_FIND_PACKAGE_{library}=ON")
    assert code != 0
    assert f"needs {library}, found none. On Debian: apt-get install {package}" in told


def test_all_that_is_missing_is_named_at_once(descriptions, tmp_path):
    code, told = configured(tmp_path, descriptions, without=["libjpeg", "libzstd"])
    assert code != 0
    assert "Forebay needs libjpeg, libzstd, found none. On Debian: apt-get install libjpeg62-turbo-dev libzstd-dev" in told


def test_tests_that_need_a_part_are_refused_without_it(descriptions, tmp_path):
    code, told = configured(tmp_path, descriptions, "-DFOREBAY_BUILD_TESTS=ON", without=["libxml-2.0"])
    assert code != 0
    assert "configure with -DFOREBAY_BUILD_TESTS=OFF" in told
