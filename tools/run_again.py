#!/usr/bin/env python3
"""Runs tests that failed a second time, alone: on a machine that is busy with other things a promise of time can fail once.

    tools/run_again.py RESULTS BUILD PYTHON

RESULTS holds JUnit files of GoogleTest and pytest, BUILD the test programs, PYTHON runs pytest. What comes out goes to
RESULTS/again; count_results.py counts it, and names what did not pass at once. Nothing runs again where more than a few tests
failed. Crashes and reports of sanitizers are no failures of single tests, so nothing makes up for them.
"""
import os
import subprocess
import sys
from pathlib import Path

from count_results import MOST_AGAIN, failed_tests


def run_program(name, tests, build, again):
    program = next((path for path in build.rglob(name) if path.is_file() and os.access(path, os.X_OK)), None)
    if program is None:
        return
    environment = os.environ | {"GTEST_OUTPUT": f"xml:{again / name}.xml"}
    subprocess.run([program, "--gtest_filter=" + ":".join(tests)], env=environment, stdin=subprocess.DEVNULL, check=False)


def run_pytest(suite, python, again):
    subprocess.run([python, "-m", "pytest", "-q", "-ra", "--last-failed", "--last-failed-no-failures", "none",
                    "-o", f"cache_dir={again.parent / suite}.cache", f"--junitxml={again / suite}.xml"], stdin=subprocess.DEVNULL, check=False)


def main(arguments):
    if len(arguments) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    results, build, python = Path(arguments[0]), Path(arguments[1]), arguments[2]
    failed = failed_tests(results)
    count = sum(map(len, failed.values()))
    if not 0 < count <= MOST_AGAIN:
        print(f"{count} tests failed; nothing runs again")
        return 0
    again = results / "again"
    again.mkdir(exist_ok=True)
    for suite, tests in failed.items():
        print("again:", *tests, sep="\n  ", flush=True)
        if suite.startswith("pytest"):
            run_pytest(suite, python, again)
        else:
            run_program(suite, tests, build, again)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
