"""The HTML page of a run: one harmless file that people can read everywhere."""
import json
import re

import pytest
from chromium import PROGRAM, Chromium
from test_cli import FAILED, forebay, photos, pipeline, write_pipeline  # noqa: F401  (fixtures)

WIDTHS = (360, 800, 1400)


@pytest.fixture
def report(tmp_path, pipeline):  # noqa: F811
    path = tmp_path / "run.html"
    forebay("run", pipeline, "--epochs", 3, "--report", path)
    return path


def plots_of(page):
    return json.loads(re.search(r'<script type="application/json" id="plots">(.*?)</script>', page, re.S)[1])


def test_the_page_says_the_limit_and_needs_nothing_else(report):
    page = report.read_text(encoding="utf-8")
    assert "of the time was spent waiting for batches" in page and "To change" in page
    assert "decode_image" in page and "±" in page and "one row in eight" in page
    assert not re.search(r'(src|href)="(?!data:)', page) and "@import" not in page and "url(" not in page
    assert "Copyright (c) 2021 Leon Sorokin" in page
    assert {"curves", "histogram"} & {plot["kind"] for plot in plots_of(page)}
    assert not list(report.parent.glob("*.tmp"))


def test_names_from_outside_are_only_text(tmp_path, photos):  # noqa: F811
    pipeline = tmp_path / "<img src=x onerror=alert(1)>&.json"
    write_pipeline(pipeline, photos)
    forebay("run", pipeline, "--report", tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "<img" not in page and "&lt;img src=x onerror=alert(1)&gt;&amp;.json" in page


def test_a_place_where_it_cannot_stand_is_refused_before_the_run(tmp_path, pipeline):  # noqa: F811
    for place in (tmp_path / "no" / "such" / "folder.html", tmp_path):
        out, err = forebay("run", pipeline, "--report", place, code=FAILED)
        assert "epoch" not in out and str(place) in err and "cannot write it" in err


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium here")
def test_a_browser_shows_it_at_three_widths(report):
    with Chromium() as browser:
        for width in WIDTHS:
            for dark in (False, True):
                browser.open(report, width, dark)
                assert browser.complaints() == []
                assert browser.value("document.documentElement.scrollWidth") <= width
                assert browser.value("document.querySelectorAll('.uplot').length") == len(plots_of(report.read_text()))
        browser.open(report, 360, scripts=False)
        assert browser.complaints() == []
        assert "decode_image" in report.read_text()
