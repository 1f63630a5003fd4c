"""The edit loop runs the tests of what changed and of the layers above it, and no others."""
import importlib.util
import re
import sys
from importlib.machinery import SourceFileLoader

import pytest

from project import ROOT

loader = SourceFileLoader("affected_tests", str(ROOT / "tools" / "affected_tests"))
spec = importlib.util.spec_from_loader("affected_tests", loader)
affected_tests = importlib.util.module_from_spec(spec)
sys.modules["affected_tests"] = affected_tests
loader.exec_module(affected_tests)

MODULES = ["base", "telemetry", "plan", "arrow_codec", "store", "format", "pipeline", "ops", "stream", "loader", "serve", "study", "capi", "cli"]
SUITES = ["property_test", "stress_test", "golden_test", "servers_test", "c_abi_test"]
PROGRAMS = [f"{module}_test" for module in MODULES] + SUITES


def split(*paths):
    changed, above = affected_tests.split(paths, PROGRAMS)
    return [name.removesuffix("_test") for name in changed], [name.removesuffix("_test") for name in above]


ABOVE_LOADER = ["serve", "study", "capi", "cli"]
ALL_SUITES = ["property", "stress", "golden", "servers", "c_abi"]


def test_an_operator_runs_its_module_and_what_is_above():
    assert split("src/ops/resize.cc") == (["ops"], ["loader", *ABOVE_LOADER, *ALL_SUITES])


def test_a_layer_beside_is_left_out():
    _, above = split("src/ops/resize.cc")
    assert "stream" not in above and "pipeline" not in above


def test_a_module_that_is_loaded_at_run_time_has_those_above_it_too():
    assert split("src/arrow_codec/table_plan.cc") == (
        ["arrow_codec"], ["store", "format", "pipeline", "ops", "stream", "loader", *ABOVE_LOADER, *ALL_SUITES])


def test_only_base_is_below_telemetry():
    changed, above = split("src/telemetry/ledger.cc")
    assert changed == ["telemetry"]
    assert above == [*MODULES[2:], *ALL_SUITES]


@pytest.mark.parametrize("path, module", [
    ("include/forebay/ledger.h", "telemetry"),
    ("include/forebay/stats/store.h", "telemetry"),
    ("include/forebay/pipeline.h", "pipeline"),
    ("include/forebay/loader.h", "loader"),
])
def test_a_public_header_belongs_to_its_module(path, module):
    assert split(path)[0] == [module]


def test_the_highest_layer_has_its_own_tests_only():
    assert split("src/cli/run.cc") == (["cli"], [])


def test_the_c_interface_has_a_program_in_c():
    assert split("src/capi/texts.cc") == (["capi"], ["c_abi"])
    assert split("tests/capi/c_abi_test.c") == (["c_abi"], [])


def test_what_changed_together_is_run_once():
    assert split("src/loader/loader.cc", "src/ops/resize.cc", "src/ops/pad.cc") == (["ops", "loader"], [*ABOVE_LOADER, *ALL_SUITES])


@pytest.mark.parametrize("path", [
    "CMakeLists.txt", "CMakePresets.json", "cmake/ForebayModule.cmake", "third_party/a/a.h", "tests/CMakeLists.txt",
    "include/forebay/unknown.h", "src/unknown/a.cc",
])
def test_a_change_of_the_build_or_of_something_unknown_runs_everything(path):
    assert affected_tests.split([path], PROGRAMS) == (PROGRAMS, [])


@pytest.mark.parametrize("path", [
    "README.md", "src/ops/README.md", "docs/reference/operators.md", "python/forebay/loader.py", "tests/python/test_ops.py", "tests/fuzz/tar.cc",
    "runtests", "examples/train.cc", "bench/limit.cc",
])
def test_what_no_test_program_is_made_of_runs_nothing(path):
    assert split(path) == ([], [])


def test_a_suite_runs_alone():
    assert split("tests/stress/storms.cc") == (["stress"], [])
    assert split("tests/pictures.h") == (ALL_SUITES, [])


def test_every_folder_and_every_program_of_tests_is_known():
    cmake = (ROOT / "tests" / "CMakeLists.txt").read_text()
    kinds = re.search(r"foreach\(kind ([\w ]+)\)", cmake)[1].split()
    compiled = {f"{kind}_test" for kind in kinds if list((ROOT / "tests" / kind).glob("*.cc"))}
    assert compiled | {"servers_test", "c_abi_test"} == affected_tests.SUITES.keys()


def test_the_options_are_explained(capsys):
    assert affected_tests.main(["--some", "build/dev"]) == 2
    assert "--changed BUILD" in capsys.readouterr().err
