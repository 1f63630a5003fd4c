"""Every example runs, and says the same in both languages."""
import sys

import pytest

from project import BUILD, ROOT, run, write_photos

EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("[0-9]*.py"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    return write_photos(tmp_path_factory.mktemp("examples") / "photos")


def python(name, photos):
    path = ROOT / "examples" / f"{name}.py"
    return run(sys.executable, path, *([photos] if "FOLDER" in path.read_text() else []), timeout_s=300)


def cpp(name, photos):
    text = (ROOT / "examples" / f"{name}.cc").read_text()
    return run(BUILD / "examples" / name, *([photos] if "FOLDER" in text else []), timeout_s=300)


def test_there_is_one_in_each_language():
    assert EXAMPLES
    assert EXAMPLES == sorted(path.stem for path in (ROOT / "examples").glob("[0-9]*.cc"))


@pytest.mark.parametrize("name", EXAMPLES)
def test_python(name, photos):
    output = python(name, photos)
    assert output
    assert "no\n" not in output, "the example found that something is not the same"


@pytest.mark.parametrize("name", EXAMPLES)
def test_cpp_says_what_python_says(name, photos):
    output = cpp(name, photos)
    assert output
    if name != "04_own_code":  # a data set that is a Python object has no like in C++
        assert output == python(name, photos)
