"""tools/compilers, without its roots: a warning is a refusal, and a compiler that is not in the table is told."""
import importlib.util
import json
import subprocess
from importlib.machinery import SourceFileLoader

import pytest

from project import ROOT


@pytest.fixture
def compilers():
    loader = SourceFileLoader("compilers", str(ROOT / "tools" / "compilers"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("compilers", loader))
    loader.exec_module(module)
    return module


def units(folder, *sources):
    """A build tree with a unit for each source, as CMake describes it, with and without the compiler's cache."""
    found = []
    for number, source in enumerate(sources):
        file = folder / f"{number}.cc"
        file.write_text(source)
        launcher = "/usr/bin/ccache " if number % 2 else ""
        found.append({"directory": str(folder), "file": str(file), "command": f"{launcher}c++ -std=c++20 -Wall -o {number}.o -c {file}"})
    (folder / "compile_commands.json").write_text(json.dumps(found))
    return folder


def test_a_warning_is_a_refusal(compilers, monkeypatch, tmp_path, capsys):
    folder = units(tmp_path, "int twice(int x) { return 2 * x; }\n", "int twice(int x) { int unused; return 2 * x; }\n")
    monkeypatch.setattr(compilers, "configured", lambda name: folder)
    refusal, = compilers.parsed("gcc-12", jobs=2)
    assert "1.cc" in refusal and "unused" in refusal
    assert capsys.readouterr().out == "gcc-12: 2 units parsed, 1 refused\n"
    assert list(folder.glob("*.o")) == []


def test_a_compiler_that_is_not_in_the_table_is_told():
    done = subprocess.run([ROOT / "tools" / "compilers", "gcc-3"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "no such compiler: gcc-3 (there are gcc-12, " in done.stderr


def test_a_compiler_that_is_missing_is_named_with_its_package(compilers, monkeypatch):
    monkeypatch.setitem(compilers.COMPILERS, "gcc-99", ("g++-99", ""))
    with pytest.raises(compilers.Failed, match="apt-get install g\\+\\+-99"):
        compilers.configured("gcc-99")
