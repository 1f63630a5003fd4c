"""The code blocks of README.md and docs/tour.md run as they stand, in a folder that has photographs in photos/train."""
import json
import re

import pytest

from project import ROOT, run, write_photos

TEXT = "".join((ROOT / page).read_text() for page in ("README.md", "docs/tour.md"))
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def blocks(language):
    return [pytest.param(text, id=f"{language}_{i}") for i, (name, text) in enumerate(BLOCKS) if name == language]


def write_clicks(folder):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    folder.mkdir()
    rows = 5000
    clicks = pa.table({"label": [i % 2 for i in range(rows)], "price": pa.array([float(i % 7) for i in range(rows)], pa.float32()),
                       "country": [("de", "fr", "is")[i % 3] for i in range(rows)],
                       "visits": pa.array([list(range(i % 4)) for i in range(rows)], pa.list_(pa.int32())), "unused": range(rows)})
    pq.write_table(clicks, folder / "part-0.parquet", row_group_size=1000)


def write_speech(folder):
    """Two recordings of half a second, and a tokenizer that knows single bytes."""
    numpy = pytest.importorskip("numpy")
    soundfile = pytest.importorskip("soundfile")
    (folder / "speech" / "ann").mkdir(parents=True)
    for number in range(2):
        wave = numpy.sin(numpy.arange(8000) / (10 + number))
        soundfile.write(folder / "speech" / "ann" / f"{number}.flac", wave, 16000)
    shown = [chr(byte) if 33 <= byte <= 126 or 161 <= byte <= 172 or 174 <= byte else None for byte in range(256)]
    others = iter(range(256, 512))
    vocabulary = {character or chr(next(others)): byte for byte, character in enumerate(shown)}
    pieces = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False,
             "byte_fallback": False, "vocab": vocabulary, "merges": []}
    told = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "pre_tokenizer": pieces,
            "post_processor": None, "decoder": pieces, "model": model}
    (folder / "tokenizer.json").write_text(json.dumps(told))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_photos(tmp_path / "photos" / "train", per_class=4)
    write_clicks(tmp_path / "clicks")
    write_speech(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
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
    """Built as a project of its own, with the CMake lines that the README shows."""
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
