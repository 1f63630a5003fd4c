"""tools/wheel, without its roots: what it says of wheels, and the functions that replace those of newer glibcs."""
import subprocess
import sys
from pathlib import Path

import pytest

from project import ROOT, run

sys.path.insert(0, str(ROOT / "tools"))

from wheel_parts import bare, libraries, pythons, toolchain, wheels  # noqa: E402
from wheel_parts.architectures import Architecture  # noqa: E402
from wheel_parts.roots import Failed, abis_for, platforms_of  # noqa: E402

OTHER = Architecture("sparc64", "sparc64", "linux64-sparcv9", "ld-linux.so.2")  # of no machine that runs these tests


@pytest.mark.parametrize("name, wanted", [
    ("forebay-0.1.0-cp311-cp311-manylinux_2_31_x86_64.whl", (11, "", False)),
    ("forebay-0.1.0-cp312-abi3-manylinux_2_31_x86_64.whl", (12, "", True)),
    ("forebay-0.1.0-cp313-cp313t-manylinux_2_31_x86_64.whl", (13, "t", False)),
])
def test_a_wheel_is_for_the_pythons_that_its_name_says(name, wanted):
    assert bare.versions_for(Path(name)) == wanted


@pytest.mark.parametrize("name, takes, refuses", [
    ("forebay-0.1.0-cp311-cp311-manylinux_2_31_aarch64.whl", ["3.11"], ["3.10", "3.12", "3.11t"]),
    ("forebay-0.1.0-cp312-abi3-manylinux_2_31_aarch64.whl", ["3.12", "3.13", "3.14"], ["3.11", "3.13t"]),
    ("forebay-0.1.0-cp313-cp313t-manylinux_2_31_aarch64.whl", ["3.13t"], ["3.13", "3.14t"]),
])
def test_a_wheel_is_tried_with_the_pythons_that_take_it(name, takes, refuses):
    assert all(bare.takes(Path(name), version) for version in takes)
    assert not any(bare.takes(Path(name), version) for version in refuses)


def test_another_architecture_is_built_by_its_own_tools_and_in_its_own_folders():
    words = toolchain.words_of(OTHER)
    for text in (toolchain.SYSROOT, toolchain.WRAPPERS, toolchain.CXX_LIBRARY, toolchain.CMAKE_CROSS):
        assert "x86" not in text.format(**words)
    assert "/usr/bin/sparc64-linux-gnu-%s-12" in toolchain.WRAPPERS.format(**words) and "libc6:sparc64" in toolchain.SYSROOT.format(**words)
    assert libraries.variables(OTHER) == {"OPENSSL_TARGET": "linux64-sparcv9", "HOST": "--host=sparc64-linux-gnu"}
    assert "manylinux_2_28_sparc64" in platforms_of("sparc64") and "manylinux1_sparc64" not in platforms_of("sparc64")


def test_what_is_neither_glibc_nor_in_the_wheel_is_named():
    listed = """\
== bin/forebay
\tlinux-vdso.so.1 (0x00007ffd)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f)
== lib/python3.11/site-packages/forebay/libforebay_sound.so
\tlibsndfile-1a2b.so.1 => /try/environment/lib/python3.11/site-packages/forebay/../forebay.libs/libsndfile-1a2b.so.1 (0x00007f)
\tlibsoxr.so.0 => not found
== lib/python3.11/site-packages/forebay/_core.so
\tlibstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6 (0x00007f)
"""
    assert bare.strangers(listed) == ["libforebay_sound.so: libsoxr.so.0 => not found", "_core.so: libstdc++.so.6 => /lib/x86_64-linux-gnu/libstdc++.so.6"]


def test_of_the_interpreters_of_pyenv_the_newest_of_a_version_is_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path))
    for name in ("3.12.1", "3.12.10", "3.12.9", "3.13.0"):
        (tmp_path / "versions" / name).mkdir(parents=True)
    assert pythons.of_pyenv("3.12").name == "3.12.10"
    with pytest.raises(Failed, match="pyenv install 3.10"):
        pythons.of_pyenv("3.10")


def test_pythons_without_the_lock_are_given_no_wheels_of_the_stable_abi():
    assert abis_for("cp312") == ["cp312", "abi3", "none"]
    assert abis_for("cp313t") == ["cp313t", "none"]
    assert abis_for("") == []


def test_libraries_come_after_those_that_they_are_built_with():
    order = [library.source for library in libraries.LIBRARIES]
    assert len(order) == len(set(order))
    for library, needs in {"libspng": ["zlib"], "curl": ["openssl", "nghttp2", "zlib"], "nats.c": ["openssl"], "librdkafka": ["openssl", "libzstd", "lz4"],
                           "libsndfile": ["libogg", "libvorbis", "opus", "flac"], "libvorbis": ["libogg"], "flac": ["libogg"]}.items():
        assert all(order.index(need) < order.index(library) for need in needs), library


def test_every_bundled_library_is_in_the_list_of_third_parties():
    told = (ROOT / "THIRD_PARTY.md").read_text().lower()
    names = {"libzstd": "zstandard", "fmtlib": "{fmt}", "librdkafka": "librdkafka", "libsoxr": "libsoxr", "mpg123": "libmpg123", "opus": "libopus"}
    missing = [library.source for library in libraries.LIBRARIES if names.get(library.source, library.source) not in told]
    assert missing == []


PROBE = """
#include <stdio.h>
#include SHIMS
int main(void) {
  unsigned different = 0, last = ours();
  for (int i = 0; i < 64; ++i) { unsigned next = ours(); different += next != last; last = next; }
  return different < 60 || single != 0;
}
"""


def test_random_numbers_of_the_shims_differ_and_nothing_is_single_threaded(tmp_path):
    (tmp_path / "probe.c").write_text(PROBE)
    shims = ROOT / "tools" / "wheel_parts" / "glibc_shims.c"
    run("cc", "-D_GNU_SOURCE", "-Darc4random=ours", "-D__libc_single_threaded=single", f'-DSHIMS="{shims}"', tmp_path / "probe.c", "-o", tmp_path / "probe")
    assert subprocess.run([tmp_path / "probe"]).returncode == 0


def test_the_old_glibc_is_older_than_the_compiler_s():
    order = ["bullseye", "bookworm", "trixie"]
    assert order.index(toolchain.GLIBC) < order.index(toolchain.COMPILER) <= order.index(toolchain.SOURCES)


def test_of_the_licences_of_boost_the_text_alone_is_taken():
    text = "Files: a.hpp\nCopyright: 2001 Somebody\nLicense: BSL-1.0\n\nLicense: BSL-1.0\n Boost Software License\n .\n Permission\n\nLicense: MIT\n Other\n"
    assert wheels.paragraph_of(text, "BSL-1.0") == "License: BSL-1.0\n Boost Software License\n .\n Permission\n"
