"""The live page as a reader sees it, in headless Chromium."""
import os
import time
from pathlib import Path

import pytest
from chromium import PROGRAM, Chromium
from project import write_photos

import forebay as fb
from forebay import _trying

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="no Chromium here: apt install chromium")
PATIENCE_S = 120
SHOTS = os.environ.get("FOREBAY_SCREENSHOTS")  # a folder for pictures of what these tests saw


@pytest.fixture
def browser():
    with Chromium() as one:
        yield one


@pytest.fixture
def loader(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    pipeline = fb.images(str(write_photos(tmp_path / "photos"))).shuffle().decode_image().random_resized_crop(64).normalize(fb.IMAGENET).batch(4)
    with fb.Loader(pipeline, seed=7) as one:
        yield one


def train_until(loader, browser, condition):
    """Takes batches until a JavaScript expression holds."""
    end_s = time.monotonic() + PATIENCE_S
    while not browser.value(condition):
        for _ in loader:
            pass
        assert time.monotonic() < end_s, f"{condition}\n{browser.value('document.body.innerText')}\n{browser.complaints()[:3]}"


def until(browser, condition):
    train_until((), browser, condition)


@pytest.mark.parametrize("look", [(1280, False), (1280, True), (390, False)], ids=["light", "dark", "narrow"])
def test_it_shows_live_figures_and_the_pictures_of_a_batch(loader, browser, look):
    width, dark = look
    browser.open(loader.show().url, width, dark)
    train_until(loader, browser, "document.querySelectorAll('#fields img').length === 4 && document.querySelectorAll('.uplot').length >= 4")
    assert browser.value("[...document.images].every(image => image.complete && image.naturalWidth === 64)")
    text = browser.value("document.body.innerText")
    assert "samples/s" in text and "decode_image" in text and "trainer" in text and "of the time" in text
    before = browser.value("document.querySelector('.facts').innerText")
    train_until(loader, browser, f"document.querySelector('.facts').innerText !== {before!r}")
    assert browser.complaints() == []
    assert browser.value("document.documentElement.scrollWidth") <= width
    if SHOTS:
        browser.screenshot(Path(SHOTS) / f"live_{width}_{'dark' if dark else 'light'}.png")


def test_plots_are_drawn_on_and_not_anew(loader, browser):
    browser.open(loader.show().url, 1280)
    train_until(loader, browser, "document.querySelectorAll('.uplot').length >= 4")
    browser.value("window.first = document.querySelector('.uplot')")
    points = "JSON.stringify([...document.querySelectorAll('.facts dd')].map(one => one.innerText))"
    before = browser.value(points)
    train_until(loader, browser, f"{points} !== {before!r}")
    assert browser.value("document.contains(window.first)")


def test_a_diagnosis_is_started_from_it_and_shown_in_it(loader, browser, monkeypatch):
    monkeypatch.setattr(_trying, "pace", 0.05)
    for _ in range(2):
        list(loader)
    browser.open(loader.show().url, 1280)
    until(browser, "!!document.querySelector('.facts div')")
    browser.value("document.querySelector('[data-study=diagnose]').click()")
    until(browser, "!document.getElementById('found').hidden")
    assert "The limit is" in browser.value("document.getElementById('found').innerText")
    assert browser.value("document.querySelector('[data-study=diagnose]').disabled") is False
    assert browser.complaints() == []
    if SHOTS:
        browser.screenshot(Path(SHOTS) / "live_diagnosis.png")


def test_a_wrong_token_and_a_closed_loader_are_told(loader, browser):
    page = loader.show()
    browser.open(page.url.partition("#")[0] + "#wrong", 1280)
    until(browser, "document.body.innerText.includes('is not that of this loader')")
    browser.value(f"location.hash = '{page.url.partition('#')[2]}'")
    until(browser, "!!document.querySelector('.facts div')")
    loader.close()
    until(browser, "document.body.innerText.includes('the loader is closed')")
