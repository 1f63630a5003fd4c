"""loader.report(path) and diagnosis.report(path): the page of the same figures."""
import numpy as np
import pytest

import forebay as fb


@pytest.fixture
def pipeline():
    return fb.arrays(x=np.arange(4000.0)).batch(10)


def test_a_loader_writes_its_page_and_returns_its_lines(tmp_path, pipeline):
    with fb.Loader(pipeline, epochs=1) as loader:
        assert sum(len(batch["x"]) for batch in loader) == 4000
        text = loader.report(tmp_path / "loader.html")
    assert text.startswith("4000 samples in ")
    page = (tmp_path / "loader.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "4000 samples in" in page


def test_a_diagnosis_writes_its_ranges(tmp_path, pipeline):
    found = fb.diagnose(pipeline, step=5, budget=3)
    assert found.report(tmp_path / "found.html") == str(found)
    page = (tmp_path / "found.html").read_text(encoding="utf-8")
    assert f"{found.data['samples_per_second_low']:.0f} to {found.data['samples_per_second_high']:.0f}" in page


def test_a_place_that_cannot_be_written_is_named(tmp_path, pipeline):
    with fb.Loader(pipeline) as loader, pytest.raises(fb.NotFound, match="cannot write it"):
        loader.report(tmp_path / "no" / "folder.html")
