"""fb.versions(): one version everywhere, and the same of the program."""
import json
import re
import sys
from importlib import metadata
from pathlib import Path

import forebay as fb
from project import ROOT, run


def test_the_version_is_that_of_cmake_everywhere():
    version = re.search(r"^project\(forebay VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]
    assert fb.__version__ == fb.versions()["forebay"] == metadata.version("forebay") == version
    others = [file for file in (ROOT / "pyproject.toml", *(ROOT / "python").rglob("*.py")) if re.search(r"""version\w*\s*=\s*["']\d""", file.read_text())]
    assert others == []


def test_the_program_says_the_same_as_the_package():
    # In a process of its own: here, other tests may have loaded another libsndfile or OpenSSL.
    package = run(sys.executable, "-c", "import forebay, json; print(json.dumps(forebay.versions()))")
    assert json.loads(run(Path(sys.executable).parent / "forebay", "--version", "--json")) == json.loads(package)


def test_the_revision_is_a_commit_or_unknown():
    assert re.fullmatch(r"([0-9a-f]{40})?", fb.versions()["revision"])
