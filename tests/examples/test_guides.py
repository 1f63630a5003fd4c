"""Each program of a guide runs as its page says, and prints what the page shows, up to figures."""
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from project import ROOT
from servers.s3 import Client

PROGRAMS = ROOT / "examples" / "guides"
PAGES = [ROOT / "docs" / "start.md", *sorted((ROOT / "docs" / "guides").glob("[a-z]*.md"))]
NEEDS = {"pretraining_text": ["tokenizers"], "pretraining_blend": ["tokenizers"], "packed_chats": ["pyarrow"], "mixed_kinds": ["pyarrow", "PIL"], "live_and_old": ["pyarrow"], "image_text_pairs": ["tokenizers", "PIL"], "click_tables": ["pyarrow"], "many_ranks": ["torch"], "language_models": ["torch"], "picture_patches": ["tokenizers", "PIL"]}
MEASURED = {"find_bottleneck": ("limit:", "To change:")}  # beginnings of the lines that are the same on every machine
NO_PROGRAMS = ("small_data",)
ELSEWHERE = ("frameworks.md",)  # its programs are examples/frameworks: test_frameworks.py runs them
SHOWN = re.compile(r'<!-- output of (\w+) -->\n```text\n(.*?)^```', re.MULTILINE | re.DOTALL)
OUTPUTS = {found[1]: (page, found[2]) for page in PAGES for found in SHOWN.finditer(page.read_text())}
FIGURE = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")


def without_figures(text, beginnings=("",)):
    """Lines that begin so, with # for each number; blanks do not count."""
    return [" ".join(FIGURE.sub("#", line).split()) for line in text.splitlines() if line.strip() and line.startswith(beginnings)]


def command(name, page):
    """The line of the page that starts the program, with this Python."""
    found = re.search(rf"^(python|torchrun --nproc-per-node=\d+) {name}\.py(.*)$", page.read_text(), re.MULTILINE)
    assert found, f"{page.name} does not say how to run {name}.py"
    start = [sys.executable] if found[1] == "python" else [sys.executable, "-m", "torch.distributed.run", *found[1].split()[1:]]
    return [*start, str(PROGRAMS / f"{name}.py")]


def bucket(servers, folder):
    """The arguments of a program that reads a bucket: photographs in a real one."""
    sys.path.insert(0, str(PROGRAMS))
    import small_data

    there = servers("ceph")
    photos = small_data.photos(folder / "photos")
    client = Client(there["FOREBAY_TEST_S3"], there["FOREBAY_TEST_S3_KEY"], there["FOREBAY_TEST_S3_SECRET"])
    client.make_bucket("guides")
    client.put_all("guides", {f"train/{path.relative_to(photos)}": path.read_bytes() for path in sorted(photos.rglob("*.jpg"))})
    secrets = {"AWS_ACCESS_KEY_ID": there["FOREBAY_TEST_S3_KEY"], "AWS_SECRET_ACCESS_KEY": there["FOREBAY_TEST_S3_SECRET"], "AWS_REGION": "us-east-1"}
    return ["s3://guides/train", there["FOREBAY_TEST_S3"]], secrets


def test_every_program_is_shown_with_its_output():
    assert sorted(OUTPUTS) == sorted(path.stem for path in PROGRAMS.glob("*.py") if path.stem not in NO_PROGRAMS)


def test_every_guide_has_a_program():
    assert [page.name for page in PAGES if page not in {shown for shown, _ in OUTPUTS.values()}] == list(ELSEWHERE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_hold_no_code_of_their_own(page):
    """Python on these pages is included from examples, so that it is there once, and runs."""
    for language, text in re.findall(r"^```(\w+)[^\n]*\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        assert language in ("python", "sh", "text")
        assert language != "python" or re.fullmatch(r'--8<-- "examples/(guides|frameworks)/\w+\.py(:\w+)?"\n', text), text


@pytest.mark.parametrize("name", OUTPUTS)
def test_program(name, tmp_path, request):
    missing = [package for package in NEEDS.get(name, ["PIL"]) if importlib.util.find_spec(package) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    page, shown = OUTPUTS[name]
    more, environment = bucket(request.getfixturevalue("servers"), tmp_path) if name == "read_from_s3" else ([], {})
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run([*command(name, page), *more], capture_output=True, text=True, timeout=600, cwd=Path(tmp_path), env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    same = MEASURED.get(name, ("",))
    assert without_figures(done.stdout, same) == without_figures(shown, same), done.stdout
