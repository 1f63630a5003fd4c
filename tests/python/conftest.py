"""Fixtures of the Python package's tests."""
import os
from pathlib import Path

import pytest

from project import ROOT, write_photos


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """21 small JPEG pictures in three class folders."""
    return write_photos(tmp_path_factory.mktemp("python") / "photos")


@pytest.fixture(scope="session")
def shared():
    """The folder of real files; tests that need it are skipped where it is absent."""
    folder = Path(os.environ.get("FOREBAY_SHARED") or ROOT.parent / "shared") / "data"
    if not folder.is_dir():
        pytest.skip(f"SHARED DATA ABSENT: {folder}")
    return folder
