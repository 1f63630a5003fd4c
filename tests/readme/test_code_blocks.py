"""Every code block of the documentation is run by some test, or at least checked here.

Blocks of the README, of C++, the guides and the pages "Coming from" run as they stand (test_readme.py, tests/examples). Fragments on
other pages are executed with loaders that run nothing: names, methods and arguments must exist, and pipelines must be well formed where
they name no data. Lines of a shell that call `forebay` must have known verbs and options.
"""
import builtins
import importlib.util
import json
import re
from unittest.mock import MagicMock, create_autospec

import pytest

from project import ROOT, run

fb = pytest.importorskip("forebay")

RUN_ELSEWHERE = {"start.md", "cpp.md"}
FOLDERS_RUN_ELSEWHERE = {"guides", "coming_from"}
PAGES = sorted(page for page in (ROOT / "docs").rglob("*.md")
               if page.name not in RUN_ELSEWHERE and page.parent.name not in {*FOLDERS_RUN_ELSEWHERE, "decisions", "javascripts"})
BLOCK = re.compile(r"^(?:<!-- not run: (.+?) -->\n)?```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
NOTHING_RUNS = ("Loader", "diagnose", "profile", "materialize", "simulate", "serve_metrics", "digest", "engine", "stream")
RUN_BY = {"dcp.save": "tests/python/test_frameworks_page.py", "init_device_mesh": "tests/python/test_frameworks_page.py"}
NEEDS = {"fb.tf.": "tensorflow", "fb.jax.": "jax", "fb.dali.": "numpy"}
# Names that fragments use without saying what they are.
GIVEN = {"dense": ["price", "age"], "categories": ["country", "city"], "batch": {"boxes": (MagicMock(), MagicMock())}}


def blocks(*languages):
    found = []
    for page in PAGES:
        for number, (reason, language, text) in enumerate(BLOCK.findall(page.read_text())):
            if language in languages and not any(word in text for word in RUN_BY):
                marks = [pytest.mark.skip(reason=reason)] if reason else []
                found.append(pytest.param(text, page, id=f"{page.stem}_{number}", marks=marks))
    return found


class Names(dict):
    """What a fragment may use: what it defines, what is given, builtins, and else an object that can do anything."""

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)
        return GIVEN.get(name) or MagicMock(name=name)


@pytest.fixture
def nothing_runs(monkeypatch, tmp_path):
    for name in NOTHING_RUNS:
        monkeypatch.setattr(fb, name, create_autospec(getattr(fb, name)))
    monkeypatch.setattr(fb.dali, "ExternalSource", create_autospec(fb.dali.ExternalSource))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("text, page", blocks("python"))
def test_python_names_what_exists(text, page, nothing_runs, monkeypatch):
    names = Names(fb=fb, pipeline=fb.arrays(x="x.npy"))
    for module in [*re.findall(r"^\s*(?:from|import) (\w+)", text, re.MULTILINE), *(module for name, module in NEEDS.items() if name in text)]:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"not installed: {module}")
    for face, function in (("tf", "dataset"), ("jax", "iterate")):
        if f"fb.{face}." in text:
            monkeypatch.setattr(getattr(fb, face), function, create_autospec(getattr(getattr(fb, face), function)))
    exec(compile(text, str(page), "exec"), {"__name__": "fragment", "fb": fb}, names)


def verbs():
    listed = run("forebay", "--help").split("Verbs:")[1].split("Options:")[0]
    return re.findall(r"^  (\w+)", listed, re.MULTILINE)


@pytest.mark.parametrize("text, page", blocks("sh", ""))
def test_shell_calls_verbs_and_options_that_exist(text, page):
    for line in text.splitlines():
        words = re.split(r"\s{2,}|\s#", line.strip())[0].split()
        if not words or words[0] != "forebay":
            continue
        assert words[1] in verbs() or words[1].startswith("--"), line
        known = run("forebay", words[1], "--help")
        assert [word for word in words[2:] if word.startswith("--") and word.split("=")[0] not in known] == [], line


@pytest.mark.parametrize("text, page", blocks("json"))
def test_json_is_json(text, page):
    value = json.loads(text)
    if "forebay_pipeline" in value:
        assert fb.Pipeline.from_json(text).check() == []


def test_every_language_is_checked():
    languages = {(page.name, language) for page in PAGES for _, language, _ in BLOCK.findall(page.read_text())}
    assert {language for _, language in languages} <= {"python", "sh", "", "json", "c", "cpp", "cmake", "text"}
    assert {page for page, language in languages if language in ("c", "cpp", "cmake")} <= {"c.md"}


def test_all_error_codes_have_a_row():
    text = (ROOT / "docs" / "reference" / "errors.md").read_text()
    classes = [name for name in fb.__all__ if isinstance(getattr(fb, name), type) and issubclass(getattr(fb, name), fb.Error) and name != "Error"]
    assert [name for name in classes if f"| `{name}` |" not in text] == []


def test_all_environment_variables_have_a_row():
    text = (ROOT / "docs" / "reference" / "environment.md").read_text()
    read = set()
    for path in [*(ROOT / "src").rglob("*.cc"), *(ROOT / "python").rglob("*.py")]:
        if not path.name.endswith("_test.cc"):
            read |= set(re.findall(r'"(FOREBAY_[A-Z_]+)"', path.read_text()))
    assert sorted(name for name in read if name not in text) == []
