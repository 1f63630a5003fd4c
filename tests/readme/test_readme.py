"""The code blocks of README.md, docs/reference/cpp.md and program.md run as they stand, in a folder that has photographs in photos/train."""
import re

import pytest

from project import ROOT, run, write_photos

TEXT = "".join((ROOT / page).read_text() for page in ("README.md", "docs/reference/cpp.md", "docs/reference/program.md"))
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def blocks(language):
    return [pytest.param(text, id=f"{language}_{i}") for i, (name, text) in enumerate(BLOCKS) if name == language]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_photos(tmp_path / "photos" / "train", per_class=4)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_block_is_of_a_kind_that_is_run():
    assert {name for name, _ in BLOCKS} <= {"python", "cpp", "cmake", "sh"}


@pytest.mark.parametrize("text", blocks("python"))
def test_python(text, folder):
    seen = []
    exec(compile(text, "README.md", "exec"), {"step": lambda *arrays: seen.append(arrays), "save": lambda state: None})
    assert seen, "the block gave no batch to step()"


@pytest.mark.parametrize("text", blocks("cpp"))
def test_cpp(text, folder, installed):
    """Built as a project of its own, with the CMake lines that the page shows."""
    (folder / "app.cc").write_text(text)
    cmake = "".join(block for name, block in BLOCKS if name == "cmake")
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.22)\nproject(app LANGUAGES CXX)\nadd_executable(app app.cc)\n" + cmake)
    run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={installed}")
    run("cmake", "--build", folder / "build")
    assert run(folder / "build" / "app")


@pytest.mark.parametrize("text", blocks("sh"))
def test_shell(text, folder):
    """Lines that call the program are run. The others are what this run of the tests, or the quick start, is doing."""
    for line in text.splitlines():
        if line.startswith("forebay "):
            run("bash", "-c", line)
