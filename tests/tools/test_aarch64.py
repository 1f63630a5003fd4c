"""tools/aarch64, without its compiler: the packages of the root, links in it, and refusals."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys

import pytest

from project import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from wheel_parts import foreign  # noqa: E402


@pytest.fixture
def tool(monkeypatch, tmp_path):
    monkeypatch.setenv("FOREBAY_ARM_ROOT", str(tmp_path))
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    loader = importlib.machinery.SourceFileLoader("aarch64_tool", str(ROOT / "tools/aarch64"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("aarch64_tool", loader))
    loader.exec_module(module)
    return module


def test_the_root_gets_the_development_packages_and_no_tools(tool):
    packages = tool.packages()
    assert {"libc6-dev", "libjpeg62-turbo-dev", "libgtest-dev"} <= set(packages)
    assert not {"cmake", "ccache", "ninja-build", "build-essential"} & set(packages)


def test_absolute_links_lead_to_files_of_the_root(tool, tmp_path):
    (tmp_path / "usr/lib/arch").mkdir(parents=True)
    (tmp_path / "usr/lib/libz.so.1").write_text("z")
    (tmp_path / "usr/lib/arch/libz.so").symlink_to("/usr/lib/libz.so.1")
    (tmp_path / "usr/lib/libz.so").symlink_to("libz.so.1")
    foreign.make_relative(tmp_path)
    assert (tmp_path / "usr/lib/arch/libz.so").read_text() == "z"
    assert os.readlink(tmp_path / "usr/lib/libz.so") == "libz.so.1"


def test_a_program_that_is_not_built_is_named_with_the_remedy(tool):
    with pytest.raises(tool.Failed, match="tools/aarch64 build no_such_test"):
        tool.test(["no_such_test"])


def test_without_a_command_it_prints_its_use():
    done = subprocess.run([ROOT / "tools/aarch64"], capture_output=True, text=True)
    assert done.returncode == 2 and "tools/aarch64 build" in done.stderr
