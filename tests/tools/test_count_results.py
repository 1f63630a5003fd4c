"""The closing line counts what happened: nothing that failed can be missed in it."""
import importlib.util
import subprocess
import sys

import pytest

from project import ROOT

spec = importlib.util.spec_from_file_location("count_results", ROOT / "tools" / "count_results.py")
count_results = importlib.util.module_from_spec(spec)
spec.loader.exec_module(count_results)

GTEST = """<testsuites><testsuite name="A">
  <testcase name="good" classname="A" status="run" result="completed"/>
  <testcase name="bad" classname="A" status="run" result="completed"><failure message="1 != 2"/></testcase>
  <testcase name="away" classname="A" status="run" result="skipped"><skipped message="SHARED DATA ABSENT: images"/></testcase>
</testsuite></testsuites>"""


@pytest.fixture
def last_line(tmp_path, capsys):
    def run(files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        code = count_results.main([str(tmp_path)])
        return code, capsys.readouterr().out.splitlines()[-1]

    return run


def ctest(status):
    return f'<testsuite><testcase name="a_test" status="{status}"/></testsuite>'


def test_everything_is_summed(last_line, monkeypatch):
    monkeypatch.delenv("FOREBAY_REQUIRE_SHARED", raising=False)
    files = {"a_test.xml": GTEST, "ctest.xml": ctest("fail"), "checks.tsv": "ok\tlayers\nskipped\tformat\n"}
    assert last_line(files) == (1, "2 passed, 1 failed, 2 skipped")


def again(tests):
    cases = "".join(f'<testcase name="{name}" classname="A" status="run" result="completed">{inner}</testcase>' for name, inner in tests)
    return f"<testsuites><testsuite>{cases}</testsuite></testsuites>"


def test_what_passes_the_second_time_counts_and_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("FOREBAY_REQUIRE_SHARED", raising=False)
    (tmp_path / "again").mkdir()
    (tmp_path / "a_test.xml").write_text(GTEST)
    (tmp_path / "b_test.xml").write_text(GTEST)
    (tmp_path / "again" / "a_test.xml").write_text(again([("bad", "")]))
    (tmp_path / "again" / "b_test.xml").write_text(again([("bad", '<failure message="1 != 3"/>')]))
    assert count_results.main([str(tmp_path)]) == 1
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "UNSTEADY A.bad passed only when it ran again, alone; first: 1 != 2"
    assert out[-2:] == ["FAILED A.bad: 1 != 2", "3 passed, 1 failed, 2 skipped"]


def test_a_second_try_makes_up_for_no_crash(tmp_path, capsys):
    (tmp_path / "again").mkdir()
    (tmp_path / "ctest.xml").write_text(ctest("fail"))
    (tmp_path / "again" / "a_test.xml").write_text(again([("bad", "")]))
    assert count_results.main([str(tmp_path)]) == 1
    assert capsys.readouterr().out.splitlines()[-1] == "0 passed, 1 failed, 0 skipped"


def test_few_failures_run_again_and_many_do_not(tmp_path, monkeypatch):
    monkeypatch.delenv("FOREBAY_REQUIRE_SHARED", raising=False)
    (tmp_path / "a_test.xml").write_text(GTEST)
    script, build = ROOT / "tools" / "run_again.py", tmp_path / "build"
    build.mkdir()
    program = build / "a_test"
    program.write_text('#!/bin/sh\necho "$@" >"$(dirname "$0")/called"\n')
    program.chmod(0o755)
    run = [sys.executable, script, tmp_path, build, sys.executable]
    subprocess.run(run, check=True, capture_output=True)
    assert (build / "called").read_text() == "--gtest_filter=A.bad\n"
    (build / "called").unlink()
    (tmp_path / "b_test.xml").write_text(again([(f"bad{i}", '<failure message=""/>') for i in range(count_results.MOST_AGAIN)]))
    subprocess.run(run, check=True, capture_output=True)
    assert not (build / "called").exists()


def test_absent_shared_data_fails_where_it_is_required(last_line, monkeypatch):
    monkeypatch.setenv("FOREBAY_REQUIRE_SHARED", "1")
    assert last_line({"a_test.xml": GTEST}) == (1, "1 passed, 2 failed, 0 skipped")


def test_a_program_that_crashed_counts_although_it_left_no_file(last_line):
    assert last_line({"ctest.xml": ctest("fail"), "checks.tsv": "ok\tx\n"}) == (1, "1 passed, 1 failed, 0 skipped")


def test_a_sanitizer_report_counts_although_every_test_passed(last_line):
    passed = '<testsuites><testsuite><testcase name="good" status="run" result="completed"/></testsuite></testsuites>'
    assert last_line({"a_test.xml": passed, "ctest.xml": ctest("fail")}) == (1, "1 passed, 1 failed, 0 skipped")


def test_no_test_at_all_is_no_success(last_line):
    assert last_line({}) == (1, "0 passed, 0 failed, 0 skipped")


def test_half_a_file_counts_as_a_failure(last_line):
    assert last_line({"a_test.xml": GTEST[:60]}) == (1, "0 passed, 1 failed, 0 skipped")
