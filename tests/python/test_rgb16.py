"""`.decode_image(mode="rgb16")`: 16 bits kept, by values that others read, and what may follow."""
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import forebay as fb


def png16(pixels):
    """A PNG of uint16 (height, width) or (height, width, 3 or 4)."""
    height, width = pixels.shape[:2]
    color = {1: 0, 3: 2, 4: 6}[1 if pixels.ndim == 2 else pixels.shape[2]]
    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in pixels)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, color, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def noise(*shape):
    return np.random.default_rng(sum(shape)).integers(0, 65536, shape, dtype=np.uint16)


def read(tmp_path, files, steps=lambda pipeline: pipeline, mode="rgb16", **options):
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    pipeline = steps(fb.files([str(tmp_path / name) for name in files]).decode_image(mode=mode)).batch(1)
    with fb.Loader(pipeline, **options) as loader:
        return [batch["image"][0] for batch in loader]


def test_sixteen_bits_of_a_png_are_kept(tmp_path):
    rgb, gray, alpha = noise(31, 45, 3), noise(20, 17), noise(9, 8, 4)
    found = read(tmp_path, {"a.png": png16(rgb), "b.png": png16(gray), "c.png": png16(alpha)})
    assert all(one.dtype == np.uint16 for one in found)
    assert np.array_equal(found[0], rgb)
    assert np.array_equal(found[1], np.repeat(gray[..., None], 3, axis=2))
    assert np.array_equal(found[2], alpha[..., :3])


def test_real_files_have_the_values_that_others_read(tmp_path, shared):
    paths = [shared / "images" / name for name in ("odd-go/png/basn0g16.png", "odd-go/png/basn2c16.png", "odd-go/png/basn6a16.png", "odd-go/png/video-display-16.png",
                                                   "d75/png/D75_16b_grey.png", "d75/png/D75_16b.png")]
    found = read(tmp_path, {path.name: path.read_bytes() for path in paths})
    for path, ours in zip(paths, found):
        picture = Image.open(path)
        if picture.mode.startswith("I"):
            assert np.array_equal(ours[..., 0], np.asarray(picture).astype(np.uint16)), path
        else:  # Pillow keeps the upper bytes of colours
            assert np.array_equal(ours >> 8, np.asarray(picture.convert("RGB"))), path
    cv2 = pytest.importorskip("cv2")
    for path, ours in zip(paths, found):
        theirs = cv2.imread(str(path), cv2.IMREAD_UNCHANGED)
        theirs = np.repeat(theirs[..., None], 3, axis=2) if theirs.ndim == 2 else theirs[..., 2::-1]
        assert np.array_equal(ours, theirs.astype(np.uint16) * (257 if theirs.dtype == np.uint8 else 1)), path


@pytest.mark.parametrize("orientation", range(1, 9))
def test_eight_bits_are_spread_over_sixteen_upright(tmp_path, orientation):
    made = io.BytesIO()
    exif = Image.Exif()
    exif[0x112] = orientation
    Image.fromarray((noise(24, 33, 3) >> 8).astype(np.uint8)).save(made, "JPEG", exif=exif, quality=90)
    eight = read(tmp_path, {"a.jpg": made.getvalue()}, mode="rgb")[0]
    wide = read(tmp_path, {"a.jpg": made.getvalue()})[0]
    assert np.array_equal(wide, eight.astype(np.uint16) * 257)
    for format in ("PNG", "WEBP", "BMP"):
        made = io.BytesIO()
        Image.fromarray(eight).save(made, format, **({"lossless": True} if format == "WEBP" else {}))
        assert np.array_equal(read(tmp_path, {"b": made.getvalue()})[0], wide)


def test_steps_behind_keep_sixteen_bits(tmp_path):
    rgb = noise(40, 30, 3)
    files = {"a.png": png16(rgb)}
    assert np.array_equal(read(tmp_path, files, lambda p: p.center_crop((10, 20)))[0], rgb[15:25, 5:25])
    assert np.array_equal(read(tmp_path, files, lambda p: p.random_flip(p=1.0))[0], rgb[:, ::-1])
    assert np.array_equal(read(tmp_path, files, lambda p: p.layout("chw"))[0], rgb.transpose(2, 0, 1))
    assert np.array_equal(read(tmp_path, files, lambda p: p.cast("float32"))[0], rgb.astype(np.float32))
    normalized = read(tmp_path, files, lambda p: p.normalize((0.5, 0.25, 0.1), (0.2, 0.3, 0.4)))[0]
    expected = (rgb / 65535 - np.array([0.5, 0.25, 0.1])) / np.array([0.2, 0.3, 0.4])
    assert normalized.dtype == np.float32 and np.allclose(normalized, expected.transpose(2, 0, 1), atol=1e-5)


@pytest.mark.parametrize("size", [(13, 9), (80, 61), (40, 30), (40, 7), (1, 1)])
def test_resized_as_pillow_resizes_numbers(tmp_path, size):
    rgb = noise(40, 30, 3)
    found = read(tmp_path, {"a.png": png16(rgb)}, lambda p: p.resize(size))[0]
    height, width = size
    for c in range(3):
        theirs = np.asarray(Image.fromarray(rgb[..., c].astype(np.float32), "F").resize((width, height), Image.Resampling.BILINEAR))
        assert np.abs(found[..., c] - theirs).max() <= 1.01
    nearest = read(tmp_path, {"a.png": png16(rgb)}, lambda p: p.resize(size, interpolation="nearest"))[0]
    assert np.array_equal(nearest[..., 0], np.asarray(Image.fromarray(rgb[..., 0].astype(np.int32), "I").resize((width, height), Image.Resampling.NEAREST)))


def test_resizing_in_parts_and_layouts_is_the_same(tmp_path):
    files = {"a.png": png16(noise(40, 30, 3))}
    plain = read(tmp_path, files, lambda p: p.random_flip(p=1.0).center_crop((30, 20)).resize((11, 12)).normalize(0.5, 0.5))[0]
    turned = read(tmp_path, files, lambda p: p.layout("chw").random_flip(p=1.0).center_crop((30, 20)).resize((11, 12)).normalize(0.5, 0.5))[0]
    assert plain.shape == (3, 11, 12) and np.array_equal(plain, turned)


def test_pictures_of_an_epoch_are_the_same_by_any_threads_and_materialized(tmp_path):
    files = {f"{i:02}.png": png16(noise(30 + i, 40, 3)) for i in range(12)}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    pipeline = fb.files(str(tmp_path / "*.png")).shuffle().decode_image(mode="rgb16").resize((20, 16)).random_crop(12).normalize(0.5, 0.5).batch(5)
    digests = set()
    for threads in (1, 3):
        with fb.Loader(pipeline, seed=3, threads=threads) as loader:
            digests.add(fb.digest(loader))
    made = fb.materialize(pipeline, tmp_path / "made", cut="resize")
    with fb.Loader(made.pipeline, seed=3) as loader:
        digests.add(fb.digest(loader))
    assert len(digests) == 1


def test_what_wants_eight_bits_is_told_before_the_start(tmp_path):
    source = fb.files([str(tmp_path / "a.png")])
    problems = source.decode_image(mode="rgb16").color_jitter(brightness=0.1).batch(1).check()
    assert any("uint16" in problem.message for problem in problems)
    assert any("rgb16" in problem.remedy for problem in source.decode_image(mode="rgb32").batch(1).check())
    assert not source.decode_image(mode="rgb16").resize((8, 8)).normalize(0.5, 0.5).batch(1).check()


def test_a_damaged_one_is_a_bad_sample(tmp_path):
    whole = png16(noise(20, 20, 3))
    with pytest.raises(fb.Corrupt, match="PNG"):
        read(tmp_path, {"a.png": whole[: len(whole) // 2]})
    assert read(tmp_path, {"a.png": whole, "b.png": whole[:200]}, on_error="replace")[1].shape == (20, 20, 3)
