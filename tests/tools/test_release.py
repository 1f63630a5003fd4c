"""tools/release --dry-run in a clone: what it refuses, and the files that it makes."""
import hashlib
import os
import re
import subprocess
import sys
import tarfile

import pytest

from project import ROOT, run

pytest.importorskip("scikit_build_core")

VERSION = re.search(r"^project\(forebay VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE)[1]


def git(clone, *words):
    run("git", "-C", clone, "-c", "user.name=tester", "-c", "user.email=tester@localhost", *words)


def commit(clone):
    git(clone, "commit", "--quiet", "--all", "--message", "A release")


@pytest.fixture
def clone(tmp_path):
    """The project as it is in this folder, with a day for the release in its changelog."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is no git repository")
    folder = tmp_path / "clone"
    run("git", "clone", "--quiet", "--shared", ROOT, folder)
    changed = subprocess.run(["git", "-C", ROOT, "diff", "--binary", "HEAD"], capture_output=True, check=True).stdout
    if changed:
        subprocess.run(["git", "-C", folder, "apply"], input=changed, check=True)
    changelog = folder / "CHANGELOG.md"
    changelog.write_text(re.sub(rf"^## {re.escape(VERSION)}\b.*$", f"## {VERSION} (2027-01-01)", changelog.read_text(), flags=re.MULTILINE))
    git(folder, "add", "--all")
    commit(folder)
    return folder


def release(clone, *words, code=0):
    done = subprocess.run([clone / "tools" / "release", VERSION, "--dry-run", *words], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PATH": os.pathsep.join([f"{sys.prefix}/bin", os.environ["PATH"]])})
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_dry_run_makes_the_files_of_the_source_and_no_tag(clone, tmp_path):
    told = release(clone, "--output", tmp_path / "files")
    sdist, archive, changes = f"forebay-{VERSION}.tar.gz", f"forebay-cpp-{VERSION}.tar.gz", f"changes-{VERSION}.md"
    assert {file.name for file in (tmp_path / "files").iterdir()} == {sdist, archive, changes, "SHA256SUMS"}
    sums = dict(reversed(line.split("  ")) for line in (tmp_path / "files" / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((tmp_path / "files" / name).read_bytes()).hexdigest() for name in (sdist, archive, changes)}
    assert (tmp_path / "files" / changes).read_text().startswith(f"# Forebay {VERSION} (2027-01-01)\n\n")
    for promised in ("CI_SUITE=asan .ci/run", "CI_SUITE=tsan .ci/run", "CI_SUITE=fuzz .ci/run", "tools/wheel --test", f"tag v{VERSION}"):
        assert any(line.startswith("would do") and promised in line for line in told.splitlines()), promised
    assert run("git", "-C", clone, "tag") == ""


def test_the_archive_for_cpp_knows_its_commit(clone, tmp_path):
    release(clone, "--output", tmp_path / "files")
    with tarfile.open(tmp_path / "files" / f"forebay-cpp-{VERSION}.tar.gz") as archive:
        written = archive.extractfile(f"forebay-cpp-{VERSION}/cmake/revision.txt").read().decode()
    assert written == run("git", "-C", clone, "rev-parse", "HEAD")


def test_all_that_stands_in_the_way_is_named_at_once(clone):
    changelog = clone / "CHANGELOG.md"
    changelog.write_text(changelog.read_text().replace("(2027-01-01)", "(unreleased)"))
    git(clone, "tag", f"v{VERSION}")
    told = release(clone, code=1)
    assert "expected a tree without changes, found 1: commit or remove them" in told
    assert f"expected '## {VERSION} (YYYY-MM-DD)' in CHANGELOG.md, found ## {VERSION} (unreleased): write the day of the release" in told
    assert f"expected no tag v{VERSION}, found one" in told


def test_another_version_than_that_of_the_build_is_refused(clone):
    cmake = clone / "CMakeLists.txt"
    cmake.write_text(cmake.read_text().replace(f"VERSION {VERSION}", "VERSION 9.9.9"))
    commit(clone)
    assert f"expected version {VERSION} in CMakeLists.txt, found 9.9.9" in release(clone, code=1)


def test_files_of_an_earlier_run_are_not_mixed_with_new_ones(clone, tmp_path):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "old.whl").write_text("")
    assert "found old.whl: remove them" in release(clone, "--output", tmp_path / "files", code=1)
