"""Type checkers accept users' code in their strict modes, and refuse mistakes, each on the line that makes it.

The files users_*.py say which types they see; the files wrong_*.py mark their mistakes."""
import importlib.util
import inspect
import json
import re
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import forebay as fb

HERE = Path(__file__).parent
NEEDS = {"code": None, "torch": "torch", "jax": "jax"}  # users_NAME.py and wrong_NAME.py → what they import


def installed(package):
    return package is None or importlib.util.find_spec(package) is not None


def _run(*command, cwd):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=900, cwd=cwd, stdin=subprocess.DEVNULL)


def mypy(folder):
    """The messages of mypy --strict, as (file name, line, text)."""
    if not installed("mypy"):
        pytest.skip("MYPY ABSENT: pip install mypy")
    done = _run(sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir", folder / "cache", *folder.glob("*.py"), cwd=folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [(Path(name).name, int(line), text) for name, line, text in re.findall(r"^(.+?):(\d+): error: (.*)$", done.stdout, re.MULTILINE)]


def _pyright(folder, *arguments):
    """What pyright reports as JSON. It runs on Node, which the package pyright may have to fetch."""
    if not installed("pyright") or _run(sys.executable, "-m", "pyright", "--version", cwd=folder).returncode != 0:
        pytest.skip("PYRIGHT ABSENT: pip install pyright[nodejs]")
    done = _run(sys.executable, "-m", "pyright", *arguments, "--pythonpath", sys.executable, "--outputjson", cwd=folder)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads(done.stdout)


def pyright(folder):
    """The messages of pyright in its strict mode."""
    (folder / "pyrightconfig.json").write_text(json.dumps({"typeCheckingMode": "strict"}))
    found = _pyright(folder, "-p", folder)["generalDiagnostics"]
    return [(Path(one["file"]).name, one["range"]["start"]["line"] + 1, one["message"]) for one in found if one["severity"] == "error"]


CHECKERS = {"mypy": mypy, "pyright": pyright}


@pytest.fixture(scope="module", params=CHECKERS)
def messages(request, tmp_path_factory):
    """What a checker says of all files: their imports, which take it longest, are read once."""
    folder = tmp_path_factory.mktemp(request.param)
    for name in (name for name, package in NEEDS.items() if installed(package)):
        shutil.copy(HERE / f"users_{name}.py", folder)
        shutil.copy(HERE / f"wrong_{name}.py", folder)
    return CHECKERS[request.param](folder)


@pytest.fixture(params=NEEDS)
def name(request):
    if not installed(NEEDS[request.param]):
        pytest.skip(f"{request.param.upper()} ABSENT: the code imports it")
    return request.param


def test_users_code_is_accepted_in_strict_mode(messages, name):
    assert [message for message in messages if message[0] == f"users_{name}.py"] == []


def test_each_mistake_is_refused_and_nothing_else(messages, name):
    lines = (HERE / f"wrong_{name}.py").read_text().splitlines()
    marked = [number for number, line in enumerate(lines, 1) if "  # wrong: " in line]
    refused = {line: text for file, line, text in messages if file == f"wrong_{name}.py"}
    assert marked and sorted(refused) == marked, refused


def test_all_public_names_have_known_types(tmp_path):
    symbols = _pyright(tmp_path, "--verifytypes", "forebay", "--ignoreexternal")["typeCompleteness"]["symbols"]
    public = {symbol["name"]: symbol["isTypeKnown"] for symbol in symbols if symbol["isExported"]}
    assert "forebay.loader.Loader.state_dict" in public
    # A class that derives from one of a framework has no known base without that framework.
    assert [name for name, known in public.items() if not known and not name.startswith(("forebay.tf.", "forebay.torch."))] == []


def test_checkers_and_python_know_the_same_options_of_a_loader():
    """The options stand in a signature and, for the overloads of output=, in a TypedDict."""
    text = (Path(fb.__file__).parent / "_typing.py").read_text()
    listed = re.findall(r"^        (\w+): ", text.split("class LoaderOptions")[1].split("\nelse")[0], re.MULTILINE)
    options = [name for name in inspect.signature(fb.Loader).parameters if name not in ("pipeline", "output")]
    assert listed == options


def test_a_loader_and_a_batch_take_their_arrays_as_a_type_argument():
    assert typing.get_origin(fb.Loader[int]) is fb.Loader
    assert typing.get_origin(fb.Batch[int]) is fb.Batch
