"""tools/arrow_releases: what it takes out of pyarrow's wheels."""
import runpy
import zipfile

import pytest

from project import ROOT

TOOL = runpy.run_path(str(ROOT / "tools/arrow_releases"))
FILES = ("pyarrow/__init__.py", "pyarrow/include/arrow/api.h", "pyarrow/libarrow.so.2600", "pyarrow/libparquet.so.2600", "pyarrow/libarrow_python.so.2600",
         "pyarrow/libarrow_flight.so.2600", "pyarrow-26.0.1.dist-info/METADATA")


@pytest.mark.parametrize("whole, files", [
    (False, {"pyarrow/include/arrow/api.h", "pyarrow/libarrow.so.2600", "pyarrow/libparquet.so.2600"}),
    (True, set(FILES)),
])
def test_a_release_has_what_a_build_needs_or_the_whole_package(tmp_path, whole, files):
    wheel = tmp_path / "pyarrow-26.0.1-cp311-cp311-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in FILES:
            archive.writestr(name, "made up")
    TOOL["unpack"](wheel, tmp_path / "26.0.1", whole)
    assert {str(file.relative_to(tmp_path / "26.0.1")) for file in (tmp_path / "26.0.1").rglob("*") if file.is_file()} == files


def test_every_release_of_a_build_is_within_the_bounds_of_the_project():
    """pyproject.toml has the releases that sources compile with."""
    majors = {int(version.split(".")[0]) for version in TOOL["RELEASES"]}
    (wanted,) = [line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("requires = ")]
    assert f'"pyarrow>={min(majors)},<{max(majors) + 1}"' in wanted
    assert majors == set(range(min(majors), max(majors) + 1))
