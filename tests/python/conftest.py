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


@pytest.fixture
def nothing_from_outside(monkeypatch, tmp_path):
    """No credentials, profiles or saved listings of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """Three Parquet files with columns of every kind, nulls among them."""
    pytest.importorskip("pyarrow")
    from materializing import write_tables

    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def short_looks(request):
    """Looks of studies last that share of their usual time: PACE of the module, or a tenth."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("forebay._trying.pace", getattr(request.module, "PACE", 0.1))
        yield
