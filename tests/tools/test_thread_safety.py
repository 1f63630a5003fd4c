"""The thread safety check reports the mistakes that it is for, and nothing in code without them."""
import re
import shutil
import subprocess

import pytest

from project import ROOT

WRONG = ROOT / "tests" / "tools" / "unguarded_access.cc"

pytestmark = pytest.mark.skipif(shutil.which("clang++-19") is None, reason="clang++-19 is missing")


def check(path):
    return subprocess.run([ROOT / "tools" / "thread_safety", path], capture_output=True, text=True)


def test_each_mistake_is_an_error_at_its_line():
    found = check(WRONG)
    assert found.returncode != 0
    wrong = [n for n, line in enumerate(WRONG.read_text().splitlines(), 1) if "// wrong" in line]
    reported = re.findall(rf"{WRONG.name}:(\d+):\d+: error: .*\[-Werror,-Wthread-safety", found.stderr)
    assert sorted(set(map(int, reported))) == wrong


def test_code_without_mistakes_passes(tmp_path):
    right = tmp_path / "right.cc"
    right.write_text("".join(line for line in WRONG.read_text().splitlines(keepends=True) if "// wrong" not in line))
    found = check(right)
    assert found.returncode == 0, found.stderr
