"""The papers point at what is there, and every module says which of its files to open first."""
import re

import pytest

from project import ROOT

PAPERS = sorted(path for folder in (".", "docs", "docs/*", "examples", "examples/*", "bench", "src/*")
                for path in ROOT.glob(f"{folder}/*.md"))
MODULES = sorted(path.parent for path in ROOT.glob("src/*/CMakeLists.txt"))


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(paper):
    text = re.sub(r"^```.*?^```", "", paper.read_text(), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert (paper.parent / target).exists(), f"{paper.name} points at {target}"


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_within_a_paper_meet_a_heading(paper):
    for target, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)]+)\)", paper.read_text()):
        text = (paper.parent / target).read_text() if target else paper.read_text()
        headings = {re.sub(r"[^\w\- ]", "", line.lstrip("# ").lower()).replace(" ", "-")
                    for line in text.splitlines() if line.startswith("#")}
        assert anchor in headings


@pytest.mark.parametrize("paper", [ROOT / "ARCHITECTURE.md", *[module / "README.md" for module in MODULES]],
                         ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_are_named_exist(paper):
    for name in re.findall(r"`([\w./]+\.(?:h|cc|py))`", paper.read_text()):
        assert (ROOT / name).exists() or any(ROOT.glob(f"src/**/{name}")) or any(ROOT.glob(f"include/**/{name}")), name


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.name)
def test_every_module_has_a_readme(module):
    assert "pen first" in (module / "README.md").read_text()


def test_the_map_lists_every_module():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert [module.name for module in MODULES if f"src/{module.name}/README.md" not in text] == []


def test_the_index_lists_every_decision():
    text = (ROOT / "docs" / "decisions" / "README.md").read_text()
    assert [path.name for path in (ROOT / "docs" / "decisions").glob("*.md") if path.name != "README.md" and f"]({path.name})" not in text] == []


def test_the_readme_stays_short():
    assert len((ROOT / "README.md").read_text().split()) <= 600
