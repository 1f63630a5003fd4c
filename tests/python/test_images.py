"""Pictures become batches: pixels against Pillow, labels, keys, layouts and one draw for many fields."""
import numpy as np
import pytest
from loading import pillow
from PIL import Image, PngImagePlugin

import forebay as fb


def each(pipeline, **options):
    """name → row of every sample."""
    with fb.Loader(pipeline.batch(1), epochs=1, **options) as loader:
        for batch in loader:
            yield {name: batch[name][0] for name in batch.keys()}


def decoded(path, mode="rgb"):
    (row,) = each(fb.files([path]).decode_image(mode))
    return row["image"]


def test_the_example_of_the_documentation(photos):
    pipeline = (fb.images(photos).shuffle().decode_image().random_resized_crop(224).random_flip()
                .normalize(fb.IMAGENET).batch(8))
    with fb.Loader(pipeline, seed=7, epochs=1) as loader:
        assert len(loader) == 3
        rows = 0
        for batch in loader:
            assert batch["image"].shape == (len(batch), 3, 224, 224)
            assert batch["image"].dtype == np.float32
            assert batch["label"].shape == (len(batch),)
            assert batch["label"].dtype == np.int64
            assert np.isfinite(batch["image"]).all()
            rows += len(batch)
    assert rows == 21


def test_labels_keys_and_ids_follow_the_folder(photos):
    pipeline = fb.images(photos)
    assert pipeline.classes == ["cats", "dogs", "fish"]
    keys = sorted(path.relative_to(photos).as_posix().encode() for path in photos.rglob("*.jpg"))
    with fb.Loader(pipeline.select("label", "key").batch(5), epochs=1) as loader:
        for batch in loader:
            for i, label, key in zip(batch.ids, batch["label"], batch["key"]):
                assert key == keys[i].decode()
                assert pipeline.classes[label] == key.split("/")[0]


def test_decoded_jpeg_equals_pillow(photos):
    for row in each(fb.images(photos).decode_image()):
        difference = np.abs(row["image"].astype(int) - pillow(photos / row["key"]))
        assert difference.max() <= 1, row["key"]


def kinds():
    """Pictures of every kind that Pillow writes, by name."""
    draw = np.random.default_rng(1)
    rgb = draw.integers(0, 256, (37, 53, 3), dtype=np.uint8)
    rgba = draw.integers(0, 256, (37, 53, 4), dtype=np.uint8)
    gray = draw.integers(0, 256, (37, 53), dtype=np.uint8)
    deep = draw.integers(0, 65536, (37, 53), dtype=np.uint16)
    smooth = Image.fromarray(rgb).resize((90, 70), Image.Resampling.BICUBIC)
    return {
        "rgb.png": Image.fromarray(rgb), "rgba.png": Image.fromarray(rgba), "gray.png": Image.fromarray(gray),
        "deep.png": Image.fromarray(deep), "palette.png": Image.fromarray(rgb).quantize(64),
        "bilevel.png": Image.fromarray(gray).convert("1"), "gray_alpha.png": Image.fromarray(rgba).convert("LA"),
        "rgb.bmp": Image.fromarray(rgb), "gray.bmp": Image.fromarray(gray), "palette.bmp": Image.fromarray(rgb).quantize(64),
        "rgb.webp": Image.fromarray(rgb), "rgba.webp": Image.fromarray(rgba),
        "rgb.jpg": smooth, "gray.jpg": smooth.convert("L"), "cmyk.jpg": smooth.convert("CMYK"), "progressive.jpg": smooth,
    }


OPTIONS = {".webp": {"lossless": True, "exact": True}, "progressive.jpg": {"progressive": True}}


@pytest.mark.parametrize("mode", ["rgb", "gray"])
@pytest.mark.parametrize("name", list(kinds()))
def test_every_kind_of_picture_equals_pillow(name, mode, tmp_path):
    path = tmp_path / name
    kinds()[name].save(path, **OPTIONS.get(name, OPTIONS.get(path.suffix, {})))
    mine, theirs = decoded(path, mode), pillow(path, {"rgb": "RGB", "gray": "L"}[mode])
    assert mine.shape == theirs.shape
    difference = np.abs(mine.astype(int) - theirs)
    assert difference.max() <= (1 if path.suffix == ".jpg" or mode == "gray" else 0)


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation, tmp_path):
    path = tmp_path / "upright.jpg"
    exif = Image.Exif()
    exif[0x0112] = orientation
    Image.fromarray(np.arange(48 * 80, dtype=np.uint32).reshape(48, 80).astype(np.uint8)).resize((80, 48)).convert(
        "RGB").save(path, exif=exif, quality=95)
    theirs = pillow(path)
    mine = decoded(path)
    assert mine.shape == theirs.shape
    assert np.abs(mine.astype(int) - theirs).max() <= 1


@pytest.mark.parametrize("packed", [False, True], ids=["tEXt", "zTXt"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_in_a_text_chunk_is_applied(orientation, packed, tmp_path):
    """As ImageMagick writes it into PNG files."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = exif.tobytes()
    digits = "\n".join(data.hex()[i : i + 72] for i in range(0, len(data.hex()), 72))
    chunks = PngImagePlugin.PngInfo()
    chunks.add_text("Raw profile type exif", f"\nexif\n{len(data):8}\n{digits}\n", zip=packed)
    pixels = np.random.default_rng(0).integers(0, 256, (5, 8, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "x.png", pnginfo=chunks)
    assert b"zTXt" in (tmp_path / "x.png").read_bytes() or not packed
    mine, theirs = decoded(tmp_path / "x.png"), pillow(tmp_path / "x.png")
    assert mine.shape == theirs.shape == ((8, 5, 3) if orientation > 4 else (5, 8, 3))
    assert (mine == theirs).all() and ((mine == pixels).all() if orientation == 1 else mine.tobytes() != pixels.tobytes())


def test_real_pictures_equal_pillow(shared):
    """Every picture of ../shared that Pillow loads without complaint and that is of a kind promised."""
    from csv import DictReader

    with open(shared / "IMAGES.tsv") as file:
        rows = [row for row in DictReader(file, delimiter="\t")
                if row["format"] in ("JPEG", "PNG", "WEBP", "BMP") and row["pillow_9.4_load"] == "ok"]
    chosen = [shared / row["path"] for i, row in enumerate(rows) if "/flowers/" not in row["path"] or i % 40 == 0]
    chosen = [path for path in chosen if "/grocery/" not in str(path)]
    assert len(chosen) > 80
    wrong, seen = [], 0
    with fb.Loader(fb.files(chosen).decode_image().batch(1), epochs=1, on_error="skip", memory="1GiB") as loader:
        for batch in loader:
            if len(batch) == 0:
                continue
            seen += 1
            path = chosen[batch.ids[0]]
            mine, theirs = batch["image"][0], pillow(path)
            if mine.shape != theirs.shape or np.abs(mine.astype(int) - theirs).mean() > 0.5:
                wrong.append(path.name)
        refused = [entry["key"] for entry in loader.errors()]
    assert wrong == []
    assert len(refused) <= 0.1 * len(chosen), refused
    assert seen + len(refused) == len(chosen)


@pytest.mark.parametrize("size", [(32, 32), (17, 40), (200, 180)])
def test_resize_is_within_1_of_pillow(photos, size):
    for row in each(fb.images(photos).decode_image().resize(size)):
        height, width = size
        theirs = np.asarray(Image.fromarray(pillow(photos / row["key"])).resize((width, height), Image.Resampling.BILINEAR))
        assert row["image"].shape == (height, width, 3)
        assert np.abs(row["image"].astype(int) - theirs).max() <= 2  # one from decoding, one from resizing


def test_short_side_keeps_the_ratio(photos):
    for row in each(fb.images(photos).decode_image().resize(short_side=48)):
        height, width = pillow(photos / row["key"]).shape[:2]
        short, long = min(height, width), max(height, width)
        assert sorted(row["image"].shape[:2]) == [48, int(48 * long / short)]


def test_center_crop_is_in_the_middle(photos):
    for row in each(fb.images(photos).decode_image().center_crop((31, 40))):
        picture = pillow(photos / row["key"])
        top, left = round((picture.shape[0] - 31) / 2), round((picture.shape[1] - 40) / 2)
        expected = picture[top : top + 31, left : left + 40]
        assert np.abs(row["image"].astype(int) - expected).max() <= 1


def test_random_crop_is_a_part_of_the_picture(photos):
    for row in each(fb.images(photos).decode_image().random_crop(24), seed=3):
        picture = pillow(photos / row["key"]).astype(np.int16)
        windows = np.lib.stride_tricks.sliding_window_view(picture, (24, 24, 3))[:, :, 0]
        assert np.abs(windows - row["image"]).max(axis=(2, 3, 4)).min() <= 1


def test_random_flip_mirrors_about_half(photos):
    flipped = 0
    plain = {row["key"]: row["image"] for row in each(fb.images(photos).decode_image())}
    for row in each(fb.images(photos).decode_image().random_flip(), seed=5):
        same = np.array_equal(row["image"], plain[row["key"]])
        assert same or np.array_equal(row["image"], plain[row["key"]][:, ::-1])
        flipped += not same
    assert 3 <= flipped <= 18
    always = {row["key"]: row["image"] for row in each(fb.images(photos).decode_image().random_flip(p=1.0))}
    assert all(np.array_equal(always[key], image[:, ::-1]) for key, image in plain.items())


def test_normalize_is_the_documented_formula(photos):
    plain = {row["key"]: row["image"] for row in each(fb.images(photos).decode_image().center_crop(32))}
    for row in each(fb.images(photos).decode_image().center_crop(32).normalize(fb.IMAGENET)):
        expected = (plain[row["key"]] / 255 - np.array(fb.IMAGENET.mean)) / np.array(fb.IMAGENET.std)
        assert row["image"].dtype == np.float32
        np.testing.assert_allclose(row["image"], expected.transpose(2, 0, 1), atol=1e-5)


def test_layout_and_cast(photos):
    base = fb.images(photos).decode_image().center_crop(32)
    plain = {row["key"]: row["image"] for row in each(base)}
    for row in each(base.layout("chw").cast("float32")):
        assert np.array_equal(row["image"], plain[row["key"]].transpose(2, 0, 1).astype(np.float32))
    for row in each(base.normalize([0.5] * 3, [0.5] * 3).layout("hwc").cast("float16")):
        assert row["image"].shape == (32, 32, 3) and row["image"].dtype == np.float16


def test_color_jitter_changes_colours_and_keeps_the_shape(photos):
    base = fb.images(photos).decode_image().center_crop(32)
    plain = {row["key"]: row["image"] for row in each(base)}
    changed = 0
    for row in each(base.color_jitter(0.4, 0.4, 0.4, 0.1), seed=1):
        assert row["image"].shape == (32, 32, 3) and row["image"].dtype == np.uint8
        changed += not np.array_equal(row["image"], plain[row["key"]])
    assert changed >= 20
    assert all(np.array_equal(row["image"], plain[row["key"]]) for row in each(base.color_jitter(brightness=0)))


def test_a_picture_and_its_mask_share_one_draw(tmp_path):
    draw = np.random.default_rng(2)
    for i in range(6):
        Image.fromarray(draw.integers(0, 256, (50, 60, 3), dtype=np.uint8)).save(tmp_path / f"{i}.png")

    fields = ["image", "mask"]
    pipeline = (fb.files(str(tmp_path / "*.png")).map(lambda sample: {"image": sample["bytes"], "mask": sample["bytes"]})
                .decode_image(field=fields).random_resized_crop(20, field=fields).random_flip(field=fields))
    for row in each(pipeline):
        assert np.array_equal(row["image"], row["mask"])


@pytest.mark.parametrize("name, options", [("big.jpg", {"progressive": True}), ("big.webp", {"lossless": True, "method": 0}),
                                           ("big.png", {})])
def test_a_large_picture_among_small_ones_needs_no_option(name, options, tmp_path):
    for i in range(3):
        Image.new("RGB", (20, 20)).save(tmp_path / f"{i}.png")
    Image.new("RGB", (3000, 2000), (200, 100, 50)).save(tmp_path / name, **options)
    rows = list(each(fb.files(f"{tmp_path}/*").decode_image().resize(16)))
    assert len(rows) == 4


def test_a_picture_over_the_pixel_cap_is_unsupported(photos):
    with pytest.raises(fb.Unsupported, match="max_pixels"):
        list(each(fb.images(photos).decode_image(max_pixels=100)))


def test_a_crop_larger_than_the_picture_has_zeros_around_it(tmp_path):
    Image.new("RGB", (20, 30), (9, 9, 9)).save(tmp_path / "small.png")
    (row,) = each(fb.files(f"{tmp_path}/*.png").decode_image().center_crop(64))
    expected = np.zeros((64, 64, 3), np.uint8)
    expected[17:47, 22:42] = 9
    assert np.array_equal(row["image"], expected)
