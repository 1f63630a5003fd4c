"""The closing line counts what happened: nothing that failed can be missed in it."""
import importlib.util

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


def test_every_run_of_ctest_counts(last_line, monkeypatch):
    monkeypatch.delenv("FOREBAY_REQUIRE_SHARED", raising=False)
    files = {"a_test.xml": GTEST, "ctest_above.xml": ctest("fail").replace("a_test", "b_test"), "ctest_changed.xml": ctest("fail")}
    assert last_line(files) == (1, "1 passed, 2 failed, 1 skipped")


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
