"""The scripts of "Coming from": what a user had runs where the other loader is installed, and Forebay's prints the same.

FOREBAY_RIVALS names a folder of virtual environments, as bench/rivals/install makes them; this Python is tried, too. A line
that begins with "order:" is compared only for scripts that differ by one import.
"""
import os
import re
import subprocess
import sys
import tarfile
from functools import cache
from io import BytesIO
from pathlib import Path

import pytest

from project import ROOT

SCRIPTS = ROOT / "examples" / "coming_from"
PAGES = sorted((ROOT / "docs" / "coming_from").glob("[a-z]*.md"))
NEEDS = {  # of the script before; of the one after, beside forebay
    "torch": (["torch", "PIL"], ["torch"]), "tf_data": (["tensorflow"], ["tensorflow"]), "dali": (["nvidia.dali"], []), "ffcv": (["ffcv"], []),
    "webdataset": (["webdataset", "PIL"], []), "mosaicml": (["streaming", "PIL"], []), "litdata": (["litdata", "tokenizers"], []),
    "huggingface": (["datasets", "tokenizers", "torch"], ["torch"]), "petastorm": (["petastorm"], ["pyarrow"]), "grain": (["grain", "PIL"], []),
}
FOLDER = {"webdataset": ["shards/{000..002}.tar"], "litdata": ["books", "tokenizer.json"], "huggingface": ["books", "tokenizer.json"], "petastorm": ["clicks"]}
ONE_IMPORT = ("torch", "petastorm")


@cache
def python_with(*modules):
    """A Python that can import all of them, or None."""
    rivals = os.environ.get("FOREBAY_RIVALS")
    others = sorted(Path(rivals).glob("*/bin/python")) if rivals else []
    for python in (sys.executable, *map(str, others)):
        if subprocess.run([python, "-c", "".join(f"import {name}\n" for name in modules)], capture_output=True).returncode == 0:
            return python
    return None


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    pytest.importorskip("PIL")
    sys.path.insert(0, str(ROOT / "examples" / "guides"))
    import small_data

    folder = tmp_path_factory.mktemp("coming_from")
    photos = small_data.photos(folder / "photos")
    books = small_data.books(folder / "books")
    if python_with("pyarrow") == sys.executable:
        small_data.clicks(folder / "clicks")
    if python_with("tokenizers") == sys.executable:
        small_data.tokenizer(books, folder / "tokenizer.json")
    write_shards(sorted(photos.rglob("*.jpg")), folder / "shards")
    return folder


def write_shards(files, folder):
    folder.mkdir()
    classes = sorted({path.parent.name for path in files})
    for number in range(3):
        with tarfile.open(folder / f"{number:03d}.tar", "w") as shard:
            for path in files[number::3]:
                for extension, content in (("jpg", path.read_bytes()), ("cls", str(classes.index(path.parent.name)).encode())):
                    member = tarfile.TarInfo(f"{path.stem}.{extension}")
                    member.size = len(content)
                    shard.addfile(member, BytesIO(content))


def printed(script, needed, data, folder):
    """The lines that a script prints about its data; others, such as those of a library, have no "per class", "sum" or "blocks of"."""
    python = python_with(*needed)
    if python is None:
        pytest.skip(f"not installed: {', '.join(needed)}; FOREBAY_RIVALS names a folder of environments (bench/rivals/install)")
    name = script.split("_before")[0].split("_after")[0].split("_one_import")[0]
    arguments = [str(data / each) for each in FOLDER.get(name, ["photos"])]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([python, str(SCRIPTS / f"{script}.py"), *arguments], capture_output=True, text=True, timeout=600, cwd=folder, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stdout.splitlines() if re.search(r"per class|, sum|sum of|^blocks of|^order:", line)]
    assert lines, done.stdout
    return lines


def without_order(lines):
    return [line for line in lines if not line.startswith("order:")]


@pytest.mark.parametrize("name", NEEDS)
def test_after(name, data, tmp_path):
    assert printed(f"{name}_after", ["forebay", *NEEDS[name][1]], data, tmp_path)


@pytest.mark.parametrize("name", NEEDS)
def test_before_prints_the_same(name, data, tmp_path):
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    before = printed(f"{name}_before", NEEDS[name][0], data, tmp_path / "before")
    assert without_order(before) == printed(f"{name}_after", ["forebay", *NEEDS[name][1]], data, tmp_path / "after")


@pytest.mark.parametrize("name", ONE_IMPORT)
def test_one_import_prints_the_same(name, data, tmp_path):
    before = printed(f"{name}_before", NEEDS[name][0], data, tmp_path)
    assert before == printed(f"{name}_one_import", ["forebay", *NEEDS[name][1]], data, tmp_path)


def test_one_import_is_all_that_differs():
    for name in ONE_IMPORT:
        before, after = ((SCRIPTS / f"{name}_{kind}.py").read_text().splitlines()[1:] for kind in ("before", "one_import"))
        assert {line for line in set(before) ^ set(after) if line} <= {line for line in before + after if line.startswith("from ")}


def test_every_script_is_on_a_page():
    text = "".join(page.read_text() for page in PAGES)
    assert [path.name for path in SCRIPTS.glob("*.py") if f'"examples/coming_from/{path.name}' not in text] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_hold_no_code_of_their_own(page):
    for language, text in re.findall(r"^```(\w+)[^\n]*\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        assert language in ("python", "sh", "text")
        assert language != "python" or re.fullmatch(r'--8<-- "examples/coming_from/\w+\.py"\n', text), text
