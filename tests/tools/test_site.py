"""The documentation builds as a site, strictly, and none of its links is dead."""
import importlib.util
import re
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from project import ROOT, run

loader = SourceFileLoader("site_tool", str(ROOT / "tools" / "site"))
spec = importlib.util.spec_from_loader("site_tool", loader)
site_tool = importlib.util.module_from_spec(spec)
loader.exec_module(site_tool)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    missing = [name for name in ("material", "mkdocstrings", "forebay") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"SITE NOT BUILT: not installed: {', '.join(missing)}")
    out = tmp_path_factory.mktemp("site")
    run(sys.executable, ROOT / "tools" / "site", "--out", out, timeout_s=600)
    return out


def test_it_builds_without_dead_links(site):
    assert (site / "index.html").exists()


def test_nothing_is_loaded_from_elsewhere(site):
    for page in site.rglob("*.html"):
        assert re.findall(r'<script[^>]*src="?https?:|<img[^>]*src="?https?:|<link[^>]*rel="?stylesheet[^>]*href="?https?:', page.read_text()) == [], page.name


def test_all_verbs_and_public_functions_have_an_entry(site):
    import forebay as fb

    program = (site / "reference" / "program.html").read_text()
    verbs = re.findall(r"^  (\w+)", run("forebay", "--help").split("Verbs:")[1].split("Options:")[0], re.MULTILINE)
    assert [verb for verb in verbs if f"forebay {verb}" not in program] == []
    python = "".join((site / "reference" / name).read_text() for name in ("python.html", "python_operators.html", "python_studies.html"))
    constants = {"__version__", "IMAGENET", "NULL_MASK", "Normalization"}
    assert [name for name in fb.__all__ if name not in constants and f">{name}<" not in python] == []


def test_a_dead_link_is_found(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="one">A</h1><a href="b.html">gone</a><a href="#two">no heading</a><a href="#one">there</a>')
    assert list(site_tool.dead_links(Path(tmp_path))) == ["a.html: b.html is not there", "a.html: #two has no such heading"]


def test_pictures_are_fresh():
    if importlib.util.find_spec("forebay") is None:
        pytest.skip("not installed: forebay")
    run(sys.executable, ROOT / "tools" / "pictures", "--check")
