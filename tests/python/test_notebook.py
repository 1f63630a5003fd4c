"""What a notebook shows for pipelines and batches: everything, escaped, and never much."""
import base64
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from PIL import Image

import forebay as fb

EVIL = "<script>alert('x')</script>&\""


class Tags(HTMLParser):
    """The tags of a page, and whether they are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.seen, self.text = [], [], ""
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("br", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def first_batch(pipeline, **options):
    with fb.Loader(pipeline, **options) as loader:
        return next(iter(loader))


def pictures(text):
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(data)))) for data in re.findall(r'src="data:image/png;base64,([^"]+)"', text)]


# Pipelines


def test_a_pipeline_is_a_table_of_its_operators():
    page = Tags(fb.images("photos").shuffle().decode_image().random_resized_crop(224).batch(64, last="drop")._repr_html_())
    for text in ("images", "photos", "shuffle", "decode_image", "random_resized_crop", "224", "batch", "64", "drop"):
        assert text in page.text
    assert page.seen.count("tr") == 6 and "problems" not in page.text
    assert page.seen.count("code") == 2 * 5 - 1, "shuffle has no options, and no empty box for them"


def test_a_pipeline_shows_its_problems():
    page = Tags(fb.images("photos").decode_image().batch(8)._repr_html_())
    problem = fb.images("photos").decode_image().batch(8).check()[0]
    assert problem.message in page.text and problem.remedy in page.text


def test_a_pipeline_touches_no_storage():
    fb.images("/there/is/no/such/folder").batch(1)._repr_html_()


def test_a_pipeline_is_escaped():
    text = fb.files(EVIL).rename(bytes=EVIL).batch(2)._repr_html_()
    assert "<script" not in text and "alert" in Tags(text).text


def test_a_pipeline_of_any_length_is_short():
    pipeline = fb.files(["a" * 5000] * 100)
    for i in range(300):
        pipeline = pipeline.take(1000 + i)
    text = pipeline._repr_html_()
    assert len(text) < 60_000 and "more steps" in text
    Tags(text)


# Batches


def test_a_batch_is_a_table_of_its_fields():
    text = first_batch(fb.arrays(x=np.arange(24.0).reshape(8, 3), label=np.arange(8)).batch(4))._repr_html_()
    page = Tags(text)
    for part in ("epoch 0, step 0: 4 rows", "x", "float64", "96", "label", "int64", "32", "0, 1, 2, 3"):
        assert part in page.text, part


def test_numbers_are_short():
    batch = first_batch(fb.arrays(x=np.array([0, 1 / 7, 1e-9, np.nan], np.float32), flag=np.array([True, False] * 2)).batch(4))
    page = Tags(batch._repr_html_())
    assert "0, 0.1429, 1e-09, nan" in page.text and "True, False, True, False" in page.text


@pytest.mark.parametrize("output", ["numpy", "torch"])
def test_pictures_are_thumbnails_of_the_first_eight(output):
    if output == "torch":
        pytest.importorskip("torch", reason="PYTORCH ABSENT")
    pixels = np.random.default_rng(0).integers(0, 256, (12, 40, 60, 3), dtype=np.uint8)
    shown = pictures(first_batch(fb.arrays(image=pixels).batch(12), output=output)._repr_html_())
    assert len(shown) == 8
    assert all((one == pixel).all() for one, pixel in zip(shown, pixels))


@pytest.mark.parametrize("channels, mode", [(1, "L"), (3, "RGB"), (4, "RGBA")])
def test_pictures_of_floats_and_channels_first(channels, mode):
    ramp = np.linspace(-2, 2, 2 * channels * 10 * 30, dtype=np.float32).reshape(2, channels, 10, 30)
    shown = pictures(first_batch(fb.arrays(image=ramp).batch(2))._repr_html_())
    assert [one.shape[:2] for one in shown] == [(10, 30)] * 2
    assert all(one.min() == 0 and one.max() == 255 for one in shown), "stretched to their range"


def test_pictures_that_are_no_numbers_or_all_alike():
    values = np.stack([np.full((8, 8, 3), np.nan), np.full((8, 8, 3), np.inf), np.full((8, 8, 3), 7.0)]).astype(np.float32)
    assert [one.max() for one in pictures(first_batch(fb.arrays(image=values).batch(3))._repr_html_())] == [0, 0, 0]


def test_a_large_picture_is_a_small_thumbnail():
    text = first_batch(fb.arrays(image=np.random.default_rng(0).integers(0, 256, (8, 1000, 2000, 3), dtype=np.uint8)).batch(8))._repr_html_()
    assert all(max(one.shape[:2]) <= 96 for one in pictures(text))
    assert len(text) < 8 * 96 * 96 * 3 * 4 / 3 + 20_000


def test_texts_are_decoded_escaped_and_cut(tmp_path):
    (tmp_path / "lines.txt").write_text(f"{EVIL}\näöü\n" + "long " * 10_000 + "\n")
    text = first_batch(fb.text(tmp_path / "lines.txt", by="line").batch(3))._repr_html_()
    page = Tags(text)
    assert "<script" not in text and EVIL in page.text and "äöü" in page.text
    assert "…" in page.text and len(text) < 5_000


def test_bytes_and_names_are_escaped(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"<b>\x00\xff")
    batch = first_batch(fb.files(str(tmp_path / "*.bin")).rename(bytes=EVIL).batch(1))
    text = batch._repr_html_()
    assert "<b>" not in text.replace("<br>", "") and r"<b>\x00\xff" in Tags(text).text and EVIL in Tags(text).text


def test_rows_of_different_lengths_show_their_lengths():
    rows = [np.zeros(n) for n in (3, 1, 2)]

    class Rows:
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return {"x": rows[i]}

    page = Tags(first_batch(fb.Dataset(Rows()).batch(3, ragged="x"))._repr_html_())
    assert "ragged float64" in page.text and "lengths 3, 1, 2" in page.text


def test_a_batch_without_rows_or_with_many_fields():
    fields = {f"field{i}": np.zeros((4, 2)) for i in range(200)}
    text = first_batch(fb.arrays(**fields).batch(4))._repr_html_()
    assert "and 150 more fields" in text and len(text) < 60_000
    Tags(text)
    broken = fb.Dataset([{"x": "text"}] * 2).map(_fail).batch(2)
    Tags(first_batch(broken, on_error="skip")._repr_html_())


def _fail(sample):
    raise ValueError


def test_padding_is_told():
    with fb.Loader(fb.arrays(x=np.arange(5)).batch(4, last="pad")) as loader:
        *_, last = loader
    assert "4 rows, the last 3 are padding" in Tags(last._repr_html_()).text
