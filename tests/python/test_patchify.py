"""`.patchify`: the sizes and the order of Qwen2-VL's processor, the pixels of `.resize`, ragged batches, and what is refused."""
import itertools
import math

import numpy as np
import pytest
from loading import one_epoch

import forebay as fb

SIZES = [(56, 56), (100, 75), (333, 500), (28, 28), (600, 801), (40, 2000), (21, 30), (1000, 1000)]


def smart_resize(height, width, factor, min_pixels=56 * 56, max_pixels=28 * 28 * 1280):
    """That of image_processing_qwen2_vl.py in transformers, without its check of proportions."""
    h, w = round(height / factor) * factor, round(width / factor) * factor
    if h * w > max_pixels:
        beta = math.sqrt((height * width) / max_pixels)
        h, w = (max(factor, math.floor(side / beta / factor) * factor) for side in (height, width))
    elif h * w < min_pixels:
        beta = math.sqrt(min_pixels / (height * width))
        h, w = (math.ceil(side * beta / factor) * factor for side in (height, width))
    return h, w


def cut(picture, patch, merge):
    """A picture (channels, height, width) in patches, in the order of the processor."""
    channels, height, width = picture.shape
    rows, columns = height // patch, width // patch
    blocks = picture.reshape(channels, rows // merge, merge, patch, columns // merge, merge, patch)
    return blocks.transpose(1, 4, 2, 5, 0, 3, 6).reshape(rows * columns, channels * patch * patch)


def picture(size, seed=0, channels=3, dtype=np.uint8):
    draw = np.random.default_rng([seed, *size])
    coarse = draw.integers(0, 256, (8, 8, channels))
    y, x = (np.arange(side) * 8 // side for side in size)
    return (coarse[y][:, x] + draw.integers(0, 8, (*size, channels))).clip(0, 255).astype(dtype)


PICTURES = [picture(size, seed) for seed, size in enumerate(SIZES)]


def of(pictures):
    return fb.Dataset([{"image": one} for one in pictures], version="1")


def one_by_one(pipeline):
    with fb.Loader(pipeline.batch(1), epochs=1) as loader:
        return [(np.array(batch["patches"]).reshape(-1, np.shape(batch["patches"])[-1]) if not isinstance(batch["patches"], tuple) else batch["patches"][0],
                 batch["grid"][0].tolist()) for batch in loader]


@pytest.mark.parametrize(("patch", "merge", "limits"), [(14, 2, {}), (14, 1, {}), (16, 2, {"max_pixels": 100_000}), (7, 3, {"min_pixels": 40_000, "max_pixels": 50_000})])
def test_equals_the_processor(patch, merge, limits):
    found = one_by_one(of(PICTURES).patchify(patch, merge=merge, **limits))
    for pixels, (patches, grid) in zip(PICTURES, found, strict=True):
        height, width = smart_resize(*pixels.shape[:2], patch * merge, **limits)
        assert grid == [height // patch, width // patch]
        resized = one_by_one_resized(pixels, (height, width))
        assert np.array_equal(patches, cut(resized.transpose(2, 0, 1), patch, merge))


def one_by_one_resized(pixels, size):
    with fb.Loader(of([pixels]).resize(size).batch(1)) as loader:
        return np.array(next(iter(loader))["image"][0])


def test_groups_of_neighbours_are_consecutive():
    """A picture of which each patch has one value: its number in rows."""
    numbers = np.arange(8).reshape(2, 4)
    pixels = np.kron(numbers, np.ones((14, 14), int)).astype(np.uint8)[:, :, None]
    (patches, grid), = one_by_one(of([pixels]).patchify(14, merge=2, min_pixels=1))
    assert grid == [2, 4]
    assert patches[:, 0].tolist() == [0, 1, 4, 5, 2, 3, 6, 7]
    assert patches.shape == (8, 196)


def encoded(tmp_path, sizes):
    from PIL import Image

    for number, size in enumerate(sizes):
        Image.fromarray(picture(size, number)).save(tmp_path / f"{number}.png")
    return fb.files(str(tmp_path / "*.png")).decode_image()


def test_batches_are_ragged(tmp_path):
    pytest.importorskip("PIL")
    pipeline = encoded(tmp_path, SIZES[:4]).patchify(14, merge=2, max_pixels=50_000)
    with fb.Loader(pipeline.batch(4), epochs=1) as loader:
        batch = next(iter(loader))
    values, offsets = batch["patches"]
    assert values.shape == (offsets[-1], 588)
    assert values.dtype == np.uint8
    assert batch["grid"].dtype == np.int32
    assert np.diff(offsets).tolist() == batch["grid"].prod(axis=1).tolist()
    assert "image" not in batch
    expected = [cut(one_by_one_resized(picture(size, n), smart_resize(*size, 28, max_pixels=50_000)).transpose(2, 0, 1), 14, 2) for n, size in enumerate(SIZES[:4])]
    for (first, last), rows in zip(itertools.pairwise(offsets), expected, strict=True):
        assert np.array_equal(values[first:last], rows)


def test_digests_do_not_depend_on_threads_batches_or_caches(tmp_path):
    pytest.importorskip("PIL")
    (tmp_path / "pictures").mkdir()
    pictures = encoded(tmp_path / "pictures", SIZES[:5])
    expected = one_epoch(pictures.normalize(fb.IMAGENET).patchify(14, max_pixels=60_000).batch(2))
    assert one_epoch(pictures.normalize(fb.IMAGENET).patchify(14, max_pixels=60_000).batch(5), threads=1) == expected
    for cached in (pictures.cache(ram="8MiB", disk=0).normalize(fb.IMAGENET), pictures.normalize(fb.IMAGENET).cache(ram="8MiB", disk=0)):
        assert one_epoch(cached.patchify(14, max_pixels=60_000).batch(3)) == expected
    assert one_epoch(pictures.normalize(fb.IMAGENET).patchify(14, max_pixels=60_000).cache(ram="8MiB", disk=0).batch(3)) == expected


def test_pictures_of_one_size_stack(tmp_path):
    pytest.importorskip("PIL")
    pipeline = encoded(tmp_path, SIZES[:3]).resize((84, 56)).normalize(fb.IMAGENET).patchify(14)
    with fb.Loader(pipeline.batch(3)) as loader:
        batch = next(iter(loader))
        assert batch["patches"].shape == (3, 24, 588)
        assert batch["patches"].dtype == np.float32
    with fb.Loader(encoded(tmp_path, SIZES[:3]).resize((84, 56)).normalize(fb.IMAGENET).batch(3)) as loader:
        images = next(iter(loader))["image"]
    for patches, image in zip(batch["patches"], images, strict=True):
        assert np.array_equal(patches, cut(np.array(image), 14, 1))


def test_normalized_pixels_are_resized_in_float(tmp_path):
    pytest.importorskip("PIL")
    pictures = encoded(tmp_path, SIZES[:4])
    before = one_by_one(pictures.normalize(fb.IMAGENET).patchify(14, merge=2))
    after = one_by_one(pictures.patchify(14, merge=2))
    mean, std = (np.repeat(np.array(numbers), 196) for numbers in (fb.IMAGENET.mean, fb.IMAGENET.std))
    for (floats, grid), (eight_bits, same) in zip(before, after, strict=True):
        assert grid == same
        # Each of the two passes rounds 8-bit pixels by at most half of 1 / 255.
        assert np.abs(floats * std + mean - eight_bits / 255).max() < 1.01 / 255


def test_layouts_and_other_types():
    gray = picture((60, 90), channels=1)
    wide = picture((60, 90)).astype(np.uint16) * 257
    for pixels in (gray, gray[:, :, 0], wide, picture((60, 90)).astype(np.float32) / 255):
        (patches, grid), = one_by_one(of([pixels]).patchify(14))
        assert patches.dtype == pixels.dtype
        assert grid == [4, 6]
        assert patches.shape == (24, (pixels.shape[2] if pixels.ndim == 3 else 1) * 196)
    first = picture((56, 84)).astype(np.float32)
    (patches, _), = one_by_one(of([first]).patchify(14))
    assert np.array_equal(patches, cut(first.transpose(2, 0, 1), 14, 1))


def test_patches_can_be_cast_and_padded(tmp_path):
    pytest.importorskip("PIL")
    pipeline = encoded(tmp_path, SIZES[:3]).patchify(14, merge=2).pad("patches", 0).cast("float16", field="patches")
    with fb.Loader(pipeline.batch(3)) as loader:
        patches = next(iter(loader))["patches"]
    assert patches.ndim == 3
    assert patches.dtype == np.float16


@pytest.mark.parametrize(("args", "message", "remedy"), [
    ({"patch": 0}, "patch is 0", "from 1 to"),
    ({"patch": 14, "merge": 0}, "merge is 0", "from 1 to"),
    ({"patch": 14, "min_pixels": 0}, "min_pixels is 0, and max_pixels 1003520", "from 1 to max_pixels"),
    ({"patch": 14, "min_pixels": 2000, "max_pixels": 1000}, "min_pixels is 2000, and max_pixels 1000", "from 1 to max_pixels"),
    ({"patch": 14, "max_pixels": 10**9}, "max_pixels is 1000000000", "from 1 to 100000000"),
    ({"patch": 14, "merge": 4, "min_pixels": 1, "max_pixels": 3000}, "4 × 4 patches of 14 × 14 pixels are more than max_pixels=3000", "smaller patches"),
    ({"patch": 14, "field": "key"}, "the field 'key' is text, not a picture", "name a field that holds a picture"),
    ({"patch": 14, "field": "mask"}, "mask", ""),
])
def test_check_says_what_is_wrong(args, message, remedy):
    problems = fb.images("photos").decode_image().patchify(**args).batch(1).check()
    assert any(message in one.message and remedy in one.remedy for one in problems), problems


def test_check_knows_the_steps_before():
    pictures = fb.images("photos")
    assert "put .decode_image() before .patchify" in pictures.patchify(14).check()[0].remedy
    half = pictures.decode_image().cast("float16").patchify(14)
    assert "float16 here" in half.check()[0].message
    assert ".cast after .patchify" in half.check()[0].remedy
    assert "a field 'grid' already" in pictures.decode_image().rename(key="grid").patchify(14).check()[0].message
    assert pictures.decode_image().normalize(fb.IMAGENET).patchify(14, merge=2).batch(4).check() == []


def test_narrow_strips_are_unsupported():
    with fb.Loader(of([picture((3, 700))]).patchify(14).batch(1)) as loader:
        with pytest.raises(fb.Unsupported, match="700 × 3 pixels: one side is more than 200 times as long as the other; crop it"):
            next(iter(loader))
