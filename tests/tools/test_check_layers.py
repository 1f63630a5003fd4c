"""The layer check finds what it says it finds, and nothing in a tree that obeys."""
import importlib.util

import pytest

from project import ROOT

spec = importlib.util.spec_from_file_location("check_layers", ROOT / "tools" / "check_layers.py")
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)


@pytest.fixture
def tree(tmp_path, capsys):
    """Writes files into an empty project and returns what the check prints about it."""
    (tmp_path / "src").mkdir()

    def run(files):
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        code = check_layers.main([str(tmp_path)])
        return code, capsys.readouterr().out

    return run


def test_the_project_itself_obeys():
    assert check_layers.main([str(ROOT)]) == 0


def test_downhill_is_allowed(tree):
    code, _ = tree({
        "src/base/a.h": "#include <vector>\n",
        "src/telemetry/t.h": '#include "base/a.h"\n',
        "src/store/s.h": '#include "base/a.h"\n#include "telemetry/t.h"\n#include "forebay/status.h"\n',
        "src/pipeline/p.h": '#include "store/s.h"\n#include "plan/random.h"\n#include "forebay/pipeline.h"\n',
        "src/loader/l.cc": '#include "loader/l.h"\n#include "forebay/batch.h"\n',
    })
    assert code == 0


@pytest.mark.parametrize("path, line, says", [
    ("src/plan/a.h", '#include "store/store.h"', "plan (layer 1) may not use store (layer 2)"),
    ("src/format/a.cc", '#include "pipeline/operator.h"', "format (layer 3) may not use pipeline (layer 4)"),
    ("src/base/a.h", '#include "telemetry/counter.h"', "base (layer 0) may not use telemetry"),
    ("src/ops/a.cc", '#include "forebay/loader.h"', "ops (layer 5) may not use loader"),
    ("src/codec/a.cc", '#include "forebay/batch.h"', "codec (layer 1) may not use pipeline"),
    ("src/ops/a.cc", '#include "a.h"', "write the path from src/"),
    ("src/ops/a.cc", '  #  include "forebay/nothing.h"', "no such public header"),
    ("src/gadgets/a.h", "", "in no layer"),
    ("include/forebay/status.h", "#include <nlohmann/json.hpp>", "only forebay/ and the C++ standard library"),
    ("include/forebay/status.h", '#include "base/hash.h"', "includes no private one"),
    ("include/forebay/tensor.h", '#include "forebay/loader.h"', "base (layer 0) may not use loader"),
    ("include/forebay/extra.h", "", "without an owner"),
    ("include/forebay/stats/extra.h", "", "without an owner"),
    ("src/loader/a.h", '#include "forebay/ledger.h"', "few headers include this"),
    ("include/forebay/loader.h", '#include "forebay/ledger.h"', "few headers include this"),
    ("src/pipeline/a.h", "#include <nlohmann/json.hpp>", "few headers include this"),
    ("examples/a.cc", '#include "pipeline/operator.h"', "public headers only"),
])
def test_each_offence_is_named_with_its_line(tree, path, line, says):
    code, output = tree({path: "#pragma once\n" + line + "\n"})
    assert code == 1
    assert says in output
    assert path.split("/a.")[0] in output


def test_cycles_between_files_are_found_behind_pragma_once(tree):
    code, output = tree({
        "src/plan/a.h": '#include "plan/b.h"\n',
        "src/plan/b.h": '#include "plan/c.h"\n',
        "src/plan/c.h": '#include "plan/a.h"\n',
    })
    assert code == 1
    assert "src/plan/a.h -> src/plan/b.h -> src/plan/c.h -> src/plan/a.h" in output


def test_cycles_between_folders_of_a_module_are_found_but_for_tests(tree):
    files = {"src/store/http/a.h": '#include "store/s3/b.h"\n', "src/store/s3/b.h": "", "src/store/http/d.h": ""}
    code, output = tree({**files, "src/store/s3/c.cc": '#include "store/http/d.h"\n'})
    assert code == 1
    assert "store/http -> store/s3 -> store/http" in output
    assert tree({**files, "src/store/s3/c.cc": "", "src/store/s3/c_test.cc": '#include "store/http/d.h"\n'})[0] == 0


def test_cycles_between_folders_are_found(tree):
    code, output = tree({
        "src/store/a.h": '#include "plan/b.h"\n',
        "src/plan/b.h": "",
        "src/plan/c.cc": '#include "store/d.h"\n',
        "src/store/d.h": "",
    })
    assert code == 1
    assert "folders that include each other in a circle" in output


def test_cycles_between_python_modules_are_found_where_they_load_each_other(tree):
    package = {"python/forebay/__init__.py": "from .a import A\n", "python/forebay/a.py": "from . import b\nfrom ._core import x\n"}
    for back, code in (("from .a import A\n", 1), ("from . import a\n", 1), ("def f():\n    from .a import A\n", 0),
                       ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import A\n", 0)):
        found, output = tree({**package, "python/forebay/b.py": back})
        assert found == code
        assert ("a.py -> python/forebay/b.py -> python/forebay/a.py" in output) == bool(code)


@pytest.mark.parametrize("name", ["src/plan/utils.h", "src/store/misc/a.h", "src/ops/cache_manager.cc"])
def test_names_that_say_nothing_are_refused(tree, name):
    code, output = tree({name: ""})
    assert code == 1
    assert "says nothing" in output


def test_two_types_of_one_name_are_found(tree):
    code, output = tree({
        "src/store/a.h": "namespace forebay {\n\nclass Folder {\n};\n\n}  // namespace forebay\n",
        "src/study/b.h": "namespace forebay {\n\nstruct Folder final : public Place {\n};\n\n}  // namespace forebay\n",
        "src/ops/c.cc": "namespace forebay {\n\nnamespace {\n\nclass Folder {\n};\n\n}  // namespace\n\n"
                        "class Other::Folder {\n};\n\n}  // namespace forebay\n",
    })
    assert code == 1
    assert "src/study/b.h:3: forebay::Folder: there is another one in src/store/a.h" in output
    assert "layers: 1 problem" in output
