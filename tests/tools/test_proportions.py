"""The figures about tests and comments are those that one would count by hand."""
import importlib.util
import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader

import pytest

from project import ROOT

PROGRAM = ROOT / "tools" / "proportions"
loader = SourceFileLoader("proportions", str(PROGRAM))
spec = importlib.util.spec_from_loader("proportions", loader)
proportions = importlib.util.module_from_spec(spec)
sys.modules["proportions"] = proportions
loader.exec_module(proportions)


def lines(text):
    counted = proportions.count(text)
    return counted.all, counted.only, counted.some


@pytest.mark.parametrize("text, expected", [
    ("", (0, 0, 0)),
    ("\n  \n\t\n", (0, 0, 0)),
    ("int a;\n", (1, 0, 0)),
    ("// why\nint a;\n", (2, 1, 1)),
    ("int a;  ///< bytes\n", (1, 0, 1)),
    ("  /// one\n  /// two\n", (2, 2, 2)),
    ("/* one\n\n   two */\nint a;\n", (3, 2, 2)),
    ("int a; /* one\n two */ int b;\n", (2, 0, 2)),
    ('auto a = "http://x";\n', (1, 0, 0)),
    ('auto a = "say \\"//\\"";  // odd\n', (1, 0, 1)),
    ("char a = '\"'; // a quote\nchar b = '\"';\n", (2, 0, 1)),
    ('auto a = R"(\n// text\n)";\nint b;\n', (4, 0, 0)),
    ('auto a = R"x(\n)"\n// text )x";  // comment\n', (3, 0, 1)),
    ("// it's \"quoted\nint a;  // don't\n", (2, 1, 2))])
def test_lines_are_counted_as_a_reader_would(text, expected):
    assert lines(text) == expected


@pytest.fixture
def tree(tmp_path):
    def write(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return proportions.measure(tmp_path)

    return write


def test_tests_stand_beside_the_code_and_below_tests(tree):
    modules = tree({"src/plan/order.h": "int a;\n", "src/plan/order.cc": "int b;\nint c;\n",
                    "src/plan/order_test.cc": "int t;\n\nint u;\n", "src/plan/x_test_support.h": "int s;\n",
                    "tests/property/order.cc": '#include "plan/order.h"\n'})
    assert (modules["plan"].code, modules["plan"].beside, modules["plan"].below) == (3, 3, 1)
    assert modules["plan"].ratio == pytest.approx(4 / 3)


def test_headers_that_only_tests_include_are_tests(tree):
    modules = tree({"src/store/test_server.h": '#include "store/of_server.h"\n', "src/store/of_server.h": "int a;\n",
                    "src/store/x_test.cc": '#include "store/test_server.h"\n',
                    "src/store/used.h": "int a;\n", "src/store/x.cc": '#include "store/used.h"\n',
                    "src/store/y_test.cc": '#include "store/used.h"\n',
                    "src/store/by_nobody.h": "int a;\n"})
    assert (modules["store"].code, modules["store"].beside) == (3, 4)


def test_what_tests_of_another_module_include_is_still_code_of_tests(tree):
    modules = tree({"src/codec/encoder.h": "int a;\n", "src/ops/crop_test.cc": '#include "codec/encoder.h"\n'})
    assert (modules["codec"].code, modules["codec"].beside, modules["ops"].beside) == (0, 1, 1)


def test_a_suite_belongs_to_the_highest_module_that_it_drives(tree):
    modules = tree({"tests/stress/a.cc": '#include "plan/order.h"\n#include "forebay/loader.h"\n',
                    "tests/fuzz/b.cc": '#include "ops/crop.h"\n#include "codec/image.h"\n', "tests/install/c.cc": "int a;\n"})
    assert (modules["loader"].below, modules["ops"].below, modules[""].below) == (2, 2, 1)
    assert "plan" not in modules and "codec" not in modules


def test_public_headers_are_code_of_their_owner(tree):
    modules = tree({"include/forebay/loader.h": "/// Why.\nint a;\n", "src/loader/a.cc": "int b;\n"})
    assert modules["loader"].header.shares() == (0.5, 0.5) and modules["loader"].code == 3


def test_the_program_prints_a_row_for_each_module_and_the_sum():
    printed = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, check=True).stdout
    rows = {line.split()[0] for line in printed.splitlines()[1:]}
    assert {"cli", "loader", "base", "all"} <= rows
    as_json = json.loads(subprocess.run([sys.executable, str(PROGRAM), "--json"], capture_output=True, text=True, check=True).stdout)
    modules = [row for name, row in as_json.items() if name != "all"]
    assert as_json["all"]["code"] == sum(row["code"] for row in modules)
    assert as_json["all"]["below"] >= sum(row["below"] for row in modules)  # and what drives no module


def test_a_folder_without_sources_is_misuse(tmp_path):
    done = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 2 and "has no folder src" in done.stderr
