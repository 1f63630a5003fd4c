#!/usr/bin/env python3
"""Adds up what the test programs wrote, names what failed and why something was skipped.

    tools/count_results.py FOLDER

FOLDER holds JUnit files of GoogleTest and pytest (*.xml), those of ctest (ctest*.xml), and checks.tsv with one line
"ok|failed|skipped <tab> name" per check that is no test program. The last line printed is "N passed, N failed, N skipped".
With FOREBAY_REQUIRE_SHARED=1 a test that was skipped because the shared data is absent counts as failed.
"""
import os
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

SHARED_ABSENT = "SHARED DATA ABSENT"


def outcome(case):
    """('passed' | 'failed' | 'skipped', reason) of one <testcase>."""
    for child in case:
        if child.tag in ("failure", "error"):
            return "failed", (child.get("message") or "").strip()
    skip = case.find("skipped")
    if skip is None and case.get("result") != "skipped" and case.get("status") != "notrun":
        return "passed", ""
    reason = (skip.get("message") or skip.text or "").strip() if skip is not None else ""
    if os.environ.get("FOREBAY_REQUIRE_SHARED") == "1" and SHARED_ABSENT in reason:
        return "failed", reason
    return "skipped", reason


def read_suite(path):
    """Yields (name, outcome, reason) of every test of a JUnit file."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        yield (f"{case.get('classname', '')}.{case.get('name', '')}".strip("."), *outcome(case))


def read_checks(path):
    words = {"ok": "passed", "failed": "failed", "skipped": "skipped"}
    for line in path.read_text().splitlines():
        word, _, name = line.partition("\t")
        yield name, words[word], ""


def read_programs(path, suites):
    """Programs that failed although no test of theirs did: crashes, sanitizer reports, time-outs."""
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = case.get("name")
        failed_inside = any(result == "failed" for _, result, _ in suites.get(name, []))
        if case.get("status") not in ("run", "disabled") and not failed_inside:
            yield name, "failed", "the program failed: it crashed, ran out of time, or a sanitizer reported"


def read_suites(folder):
    """{program: [(name, outcome, reason)]} of all JUnit files but ctest's."""
    suites = {}
    for path in sorted(folder.glob("*.xml")):
        if path.stem.startswith("ctest"):
            continue
        try:
            suites[path.stem] = list(read_suite(path))
        except ElementTree.ParseError as error:
            suites[path.stem] = [(path.stem, "failed", f"its results cannot be read: {error}")]
    return suites


def collect(folder):
    suites = read_suites(folder)
    results = [test for tests in suites.values() for test in tests]
    for path in sorted(folder.glob("ctest*.xml")):
        results += read_programs(path, suites)
    if (folder / "checks.tsv").exists():
        results += read_checks(folder / "checks.tsv")
    return results


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    results = collect(Path(arguments[0]))
    reasons = Counter(reason.splitlines()[0] if reason else "no reason given"
                      for _, result, reason in results if result == "skipped")
    for reason, count in reasons.most_common():
        print(f"skipped {count}: {reason}")
    for name, result, reason in results:
        if result == "failed":
            print(f"FAILED {name}" + (f": {reason.splitlines()[0]}" if reason else ""))
    counts = Counter(result for _, result, _ in results)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
