"""The module of tables is chosen by the pyarrow that is installed, and a pyarrow without a module is told with the remedy."""
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import forebay

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

PYARROW = Path(pa.__file__).parent
RELEASE = next(PYARROW.glob("libarrow.so.*")).name.rsplit(".", 1)[1]  # "2600" for 26.0
VERSION = f"{int(RELEASE) // 100}.{int(RELEASE) % 100}"
READ = """
import sys
import forebay as fb
{before}
try:
    with fb.Loader(fb.parquet({table!r}).batch(3), seed=1) as loader:
        print(next(iter(loader))["x"].tolist(), "pyarrow" in sys.modules)
except fb.Unsupported as error:
    print(error)
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("choice") / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2, 3]}), path)
    return path


@pytest.fixture
def site(tmp_path):
    """A folder of packages: this Forebay, NumPy and cloudpickle, without pyarrow."""
    site = tmp_path / "site"
    shutil.copytree(Path(forebay.__file__).parent, site / "forebay", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("numpy", "numpy.libs", "cloudpickle"):
        for folder in sys.path:
            if folder and (Path(folder) / name).is_dir():
                (site / name).symlink_to(Path(folder) / name)
                break
    return site


def made_up(folder, release):
    """A package `pyarrow` that has the name of a library and nothing else."""
    (folder / "pyarrow").mkdir(parents=True)
    (folder / "pyarrow/__init__.py").write_text("raise SystemExit('imported')\n")
    (folder / f"pyarrow/libarrow.so.{release}").write_text("made up")


def read(table, *folders, before=""):
    """What a process prints that reads the table and has these folders of packages alone."""
    code = f"import sys\nsys.path[:0] = {[str(folder) for folder in folders]!r}\n" + READ.format(table=str(table), before=before)
    environment = {name: value for name, value in os.environ.items() if name not in ("FOREBAY_MODULE_DIR", "LD_LIBRARY_PATH", "PYTHONPATH")}
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    return done.stdout.strip()


def test_the_module_for_the_pyarrow_beside_forebay_is_loaded_and_pyarrow_is_not_imported(site, table):
    (site / "pyarrow").symlink_to(PYARROW)
    (site / "forebay/libforebay_arrow_9900.so").write_text("a module of a newer release, which does not fit")
    assert read(table, site) == "[1, 2, 3] False"


def test_the_pyarrow_of_another_folder_of_packages_counts_before_the_one_beside_forebay(site, table, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/pyarrow").symlink_to(PYARROW)
    made_up(site, 9900)
    assert read(table, tmp_path / "other", site) == "[1, 2, 3] False"


def test_the_pyarrow_that_the_process_has_imported_counts_first(site, table, tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "other/pyarrow").symlink_to(PYARROW)
    made_up(site, 9900)
    imports = f"sys.path.insert(0, {str(tmp_path / 'other')!r})\nimport pyarrow"
    assert read(table, site, before=imports) == "[1, 2, 3] True"


def test_the_program_takes_the_pyarrow_beside_the_package(site, table):
    program = shutil.which("forebay")
    if program is None:
        pytest.skip("no program `forebay` on PATH")
    (site / "bin").mkdir()
    shutil.copy(program, site / "bin/forebay")
    (site / "pyarrow").symlink_to(PYARROW)
    pipeline = {"forebay_pipeline": 1, "steps": [{"op": "parquet", "pattern": str(table)}, {"op": "batch", "n": 3}]}
    (site / "pipeline.json").write_text(json.dumps(pipeline))
    plan = subprocess.run([site / "bin/forebay", "plan", site / "pipeline.json", "--json"], capture_output=True, text=True, timeout=120)
    assert plan.returncode == 0, plan.stderr
    assert json.loads(plan.stdout)["size"] == 3


def test_without_pyarrow_the_message_says_what_to_install(site, table):
    assert "Parquet and Arrow need Arrow's libraries, which the package pyarrow brings: pip install 'forebay[tables]'" in read(table, site)


@pytest.mark.parametrize(
    "release, found, remedy",
    [
        (9900, "pyarrow 99.0 is installed", "or build Forebay with the installed one"),
        (1700, "pyarrow 17.0 is installed", "18.0 is the oldest that it can be built for"),
    ],
    ids=["newer", "older"],
)
def test_a_pyarrow_without_a_module_is_told_with_those_that_have_one(site, table, release, found, remedy):
    made_up(site, release)
    said = read(table, site)
    assert found in said and remedy in said
    assert VERSION in said.split("was built for pyarrow ")[1].split(": ")[0].split(", ")
    assert "pip install 'pyarrow==" in said


def test_a_module_that_cannot_be_loaded_is_named(site, table):
    made_up(site, 9900)
    (site / "forebay/libforebay_arrow_9900.so").write_text("damaged")
    assert "libforebay_arrow_9900.so" in read(table, site)
