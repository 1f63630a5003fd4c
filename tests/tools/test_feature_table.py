"""The table of ARCHITECTURE.md says which files know of many features now, by includes, types and words of the code."""
import importlib.util
import sys
from importlib.machinery import SourceFileLoader

import pytest

from project import ROOT

loader = SourceFileLoader("feature_table", str(ROOT / "tools" / "feature_table"))
spec = importlib.util.spec_from_loader("feature_table", loader)
feature_table = importlib.util.module_from_spec(spec)
sys.modules["feature_table"] = feature_table
loader.exec_module(feature_table)


@pytest.fixture
def known(tmp_path):
    """What a file of a small tree knows of: the names of features."""
    def knowledge(name, files):
        tree = {"src/cache/cache.h": "namespace forebay {\nclass TieredCache {\n};\n}  // namespace forebay\n",
                "src/pipeline/held.h": '#include "cache/cache.h"\n', **files}
        for path, text in tree.items():
            place = tmp_path / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        return [feature.name for feature in feature_table.knowledge(tmp_path)[name][1]]

    return knowledge


@pytest.mark.parametrize("text, expected", [
    ('#include "cache/cache.h"\n', ["caches"]),
    ('#include "pipeline/held.h"\n', []),
    ('#include "pipeline/held.h"\nTieredCache* cache;\n', ["caches"]),
    ("TieredCache* cache;\n", []),
    ("// TieredCache, is_old\n", []),
    ('#include "pipeline/held.h"\nauto a = "TieredCache";\n', []),
    ("bool b = plan.is_replayed(1) && effect == OpEffect::kPacking;\n", ["replay", "packing"]),
    ("bool b = effect == OpEffect::kPackage;\n", [])])
def test_a_file_knows_what_it_includes_and_uses(known, text, expected):
    assert known("pipeline/row.cc", {"src/pipeline/row.cc": text}) == expected


def test_a_feature_is_known_at_home(known):
    assert known("cache/tier.cc", {"src/cache/tier.cc": '#include "cache/cache.h"\nTieredCache* cache;\n'}) == []


def test_all_homes_are_there():
    for feature in feature_table.FEATURES:
        for home in feature.homes:
            places = [top / home for top in (ROOT / "src", ROOT / "include")]
            assert any(place.is_dir() if home.endswith("/") else [*place.parent.glob(place.name + ".*")] for place in places), home


def test_the_page_is_fresh():
    _, inside, _ = feature_table.between_markers((ROOT / "ARCHITECTURE.md").read_text())
    assert inside == feature_table.table(ROOT), "run tools/feature_table --write"


def test_all_words_are_in_the_code():
    missing = {word for feature in feature_table.FEATURES for word in feature.words}
    for path in [*(ROOT / "src").rglob("*.h"), *(ROOT / "src").rglob("*.cc")]:
        missing -= feature_table.words_of(path)
    assert missing == set()
