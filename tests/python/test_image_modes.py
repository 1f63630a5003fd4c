"""Every mode of `.decode_image` × kind of picture × size equals Pillow; indices of palettes keep their classes through what follows."""
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

import forebay as fb

SIZES = [(1, 1), (3, 2), (8, 8), (7, 13), (33, 17)]  # width, height


def png(size, bits, color, rows, interlaced=False, chunks=()):
    """A PNG of rows of packed samples, written here: Pillow writes few of the kinds."""
    width, height = size

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, int(interlaced))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + b"".join(chunk(*one) for one in chunks) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def packed(samples, bits):
    """Rows of (width, channels) samples, each behind its filter byte."""
    rows = b""
    for row in samples:
        flat = row.reshape(-1)
        if bits == 16:
            data = flat.astype(">u2").tobytes()
        else:
            data = np.packbits(((flat[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8).reshape(-1)).tobytes()
        rows += b"\0" + data
    return rows


PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def any_png(size, bits, color, interlaced, transparent, seed=0):
    width, height = size
    random = np.random.default_rng(seed + 1000 * bits + color)
    samples = random.integers(0, 2**bits, (height, width, CHANNELS[color]))
    chunks = []
    if color == 3:
        chunks.append((b"PLTE", random.integers(0, 256, 3 * 2**bits, dtype=np.uint8).tobytes()))
    if transparent and color == 3:
        chunks.append((b"tRNS", random.integers(0, 256, max(1, 2**bits - 1), dtype=np.uint8).tobytes()))
    elif transparent and color in (0, 2):
        chunks.append((b"tRNS", samples[0, 0].astype(">u2").tobytes()))
    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in PASSES]
        rows = b"".join(packed(part, bits) for part in parts if part.size)
    else:
        rows = packed(samples, bits)
    return png(size, bits, color, rows, interlaced, chunks), samples


KINDS = [(bits, color) for color, depths in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}.items() for bits in depths]


def decoded(folder, data, mode, name="p", **more):
    path = folder / name
    path.write_bytes(data)
    with fb.Loader(fb.files([str(path)]).decode_image(mode=mode).batch(1), epochs=1, **more) as loader:
        (batch,) = loader
        return batch["image"][0]


def of_pillow(data, mode):
    """What Pillow's mode of that name holds, (height, width, channels)."""
    picture = Image.open(io.BytesIO(data))
    if mode == "palette":
        assert picture.mode in ("P", "1", "L")
        array = np.asarray(picture).astype(np.uint8)
    elif mode == "alpha":
        array = np.asarray(picture.convert("RGBA"))[..., 3]
    else:
        array = np.asarray(picture.convert({"rgb": "RGB", "gray": "L", "rgba": "RGBA"}[mode]))
    return array[..., None] if array.ndim == 2 else array


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("transparent", [False, True])
@pytest.mark.parametrize("bits, color", KINDS)
def test_png_of_every_kind_equals_pillow(tmp_path, bits, color, transparent, interlaced):
    for size in SIZES:
        data, samples = any_png(size, bits, color, interlaced, transparent)
        for mode in ("rgba", "alpha"):
            found = decoded(tmp_path, data, mode)
            if bits == 16 or (transparent and color == 0 and bits < 8):
                # Pillow shortens a transparent colour of 16 bits, and compares one of few bits with what it scaled: the file's own meaning.
                expected = expected_rgba(samples, bits, color, transparent)
                expected = expected if mode == "rgba" else expected[..., 3:]
            else:
                expected = of_pillow(data, mode)
            assert found.dtype == np.uint8 and np.array_equal(found, expected), (mode, size)
        if color == 3:
            assert np.array_equal(decoded(tmp_path, data, "palette"), samples)
            assert np.array_equal(decoded(tmp_path, data, "palette"), of_pillow(data, "palette")), size


def expected_rgba(samples, bits, color, transparent):
    """By the PNG specification, with 16 bits by their upper byte."""
    eight = (samples >> 8 if bits == 16 else samples * 255 // (2**bits - 1)).astype(np.uint8)
    rgb = eight[..., [0, 0, 0]] if color in (0, 4) else eight[..., :3]
    if color in (4, 6):
        alpha = eight[..., -1:]
    elif transparent:
        alpha = np.where((samples == samples[0, 0]).all(-1, keepdims=True), 0, 255).astype(np.uint8)
    else:
        alpha = np.full(rgb.shape[:2] + (1,), 255, np.uint8)
    return np.concatenate([rgb, alpha], -1)


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("bits, color", KINDS)
def test_sixteen_bits_of_one_channel(tmp_path, bits, color, interlaced):
    for size in SIZES:
        data, samples = any_png(size, bits, color, interlaced, False)
        found = decoded(tmp_path, data, "gray16")
        assert found.dtype == np.uint16 and found.shape == (size[1], size[0], 1)
        if bits == 16 and color in (0, 4):
            assert np.array_equal(found, samples[..., :1])
        elif bits == 16:
            luma = (samples[..., :3].astype(np.int64) @ [19595, 38470, 7471] + 0x8000) >> 16
            assert np.array_equal(found[..., 0], luma)
        else:
            assert np.array_equal(found, decoded(tmp_path, data, "gray").astype(np.uint16) * 257)
        if bits == 16 and color == 0:
            picture = Image.open(io.BytesIO(data))
            assert picture.mode == "I;16" and np.array_equal(found[..., 0], np.asarray(picture))


def saved(picture, form, **how):
    data = io.BytesIO()
    picture.save(data, form, **how)
    return data.getvalue()


def random_picture(size, mode, seed=0):
    depth = {"RGBA": 4, "RGB": 3, "L": 1, "P": 1}[mode]
    pixels = np.random.default_rng(seed).integers(0, 256, (size[1], size[0], depth), dtype=np.uint8)
    picture = Image.fromarray(pixels if depth > 1 else pixels[..., 0], mode if mode != "P" else "L")
    if mode == "P":
        picture = Image.fromarray(pixels[..., 0], "P")
        picture.putpalette(np.random.default_rng(1).integers(0, 256, 768, dtype=np.uint8).tobytes())
    return picture


@pytest.mark.parametrize("mode", ["rgba", "alpha"])
@pytest.mark.parametrize("how", [{"lossless": True}, {"lossless": True, "exact": True}, {"quality": 80}, {"quality": 30, "alpha_quality": 20}])
@pytest.mark.parametrize("kind", ["RGBA", "RGB"])
def test_webp_equals_pillow(tmp_path, mode, how, kind):
    for size in SIZES:
        data = saved(random_picture(size, kind), "WEBP", **how)
        assert np.array_equal(decoded(tmp_path, data, mode), of_pillow(data, mode)), size


def test_frames_of_an_animation_have_alpha(tmp_path):
    frames = [random_picture((9, 7), "RGBA", seed) for seed in range(2)]
    data = saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    assert np.array_equal(decoded(tmp_path, data, "rgba"), of_pillow(data, "rgba"))


@pytest.mark.parametrize("mode", ["rgba", "alpha"])
@pytest.mark.parametrize("kind, form", [("RGB", "JPEG"), ("L", "JPEG"), ("RGB", "BMP"), ("RGBA", "BMP"), ("P", "BMP"), ("L", "BMP")])
def test_other_formats_equal_pillow(tmp_path, mode, kind, form):
    for size in SIZES:
        data = saved(random_picture(size, kind), form)
        assert np.array_equal(decoded(tmp_path, data, mode), of_pillow(data, mode)), size


def bmp(size, bits, indices, palette):
    width, height = size
    stride = (width * bits + 31) // 32 * 4
    rows = b""
    for row in indices[::-1]:
        bits_of = ((row[:, None] >> np.arange(bits - 1, -1, -1)) & 1).astype(np.uint8).reshape(-1)
        rows += np.packbits(bits_of).tobytes().ljust(stride, b"\0")
    table = b"".join(bytes([b, g, r, 0]) for r, g, b in palette)
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, bits, 0, len(rows), 0, 0, len(palette), 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(table) + len(rows), 0, 0, 54 + len(table)) + head + table + rows


@pytest.mark.parametrize("bits", [1, 4, 8])
def test_indices_of_bmp(tmp_path, bits):
    random = np.random.default_rng(bits)
    palette = random.integers(1, 255, (2**bits, 3)).tolist()
    for size in SIZES:
        indices = random.integers(0, 2**bits, (size[1], size[0]))
        data = bmp(size, bits, indices, palette)
        assert np.array_equal(decoded(tmp_path, data, "palette")[..., 0], indices)
        assert np.array_equal(of_pillow(data, "palette")[..., 0], indices)
        assert np.array_equal(decoded(tmp_path, data, "rgba"), of_pillow(data, "rgba"))


@pytest.mark.parametrize("data, what", [
    (lambda: saved(random_picture((4, 4), "L"), "PNG"), "a grey PNG"), (lambda: saved(random_picture((4, 4), "RGB"), "PNG"), "a PNG of colours"),
    (lambda: saved(random_picture((4, 4), "RGB"), "JPEG"), "a JPEG"), (lambda: saved(random_picture((4, 4), "RGB"), "WEBP"), "a WebP"),
    (lambda: saved(random_picture((4, 4), "RGB"), "BMP"), "a BMP")])
def test_pictures_without_a_palette_are_refused_with_the_way_out(tmp_path, data, what):
    with pytest.raises(fb.Unsupported, match=f'{what}.* has no palette.*mode="gray"'):
        decoded(tmp_path, data(), "palette")


def test_unknown_modes_name_those_that_there_are():
    (problem, *_) = fb.files("x.png").decode_image(mode="index").batch(1).check()
    assert "unknown mode 'index'" in problem.message and all(f'"{mode}"' in problem.remedy for mode in ("rgb", "gray", "palette", "rgba", "alpha", "rgb16", "gray16"))


@pytest.fixture
def pairs(tmp_path):
    """Pictures whose red channel is the class of their mask."""
    rows = []
    for i in range(6):
        classes = np.random.default_rng(i).choice([0, 1, 15, 255], (24, 30)).astype(np.uint8)
        mask = Image.fromarray(classes, "P")
        mask.putpalette(np.random.default_rng(9).integers(0, 256, 768, dtype=np.uint8).tobytes())
        image = Image.fromarray(np.dstack([classes] * 3), "RGB")
        rows.append({"image": saved(image, "PNG"), "mask": saved(mask, "PNG")})
    return fb.Dataset(rows).decode_image(field="image").decode_image("palette", field="mask")


def test_pairs_share_a_draw_and_classes_stay_classes(pairs):
    both = ["image", "mask"]
    pipeline = pairs.random_resized_crop(16, field=both, interpolation="nearest").random_flip(field=both).batch(3)
    with fb.Loader(pipeline, epochs=2, seed=5) as loader:
        for _ in range(2):
            for batch in loader:
                assert batch["mask"].shape == (3, 16, 16, 1) and set(np.unique(batch["mask"])) <= {0, 1, 15, 255}
                assert np.array_equal(batch["image"][..., :1], batch["mask"])
    mixed = pairs.resize((48, 20), field=both, interpolation={"mask": "nearest"}).batch(6)
    with fb.Loader(mixed, epochs=1) as loader:
        assert set(np.unique(next(iter(loader))["mask"])) <= {0, 1, 15, 255}


def test_nearest_equals_pillows(tmp_path):
    classes = np.random.default_rng(1).choice([0, 1, 15, 255], (24, 30)).astype(np.uint8)
    mask = Image.fromarray(classes, "P")
    mask.putpalette([7] * 768)
    (tmp_path / "m.png").write_bytes(saved(mask, "PNG"))
    pipeline = fb.files([str(tmp_path / "m.png")]).decode_image(mode="palette").resize((11, 47), interpolation="nearest").batch(1)
    with fb.Loader(pipeline, epochs=1) as loader:
        assert np.array_equal(next(iter(loader))["image"][0, ..., 0], np.asarray(mask.resize((47, 11), Image.NEAREST)))


def test_classes_are_never_blended(pairs):
    with pytest.raises(fb.InvalidArgument, match='indices of a palette.*nearest'):
        with fb.Loader(pairs.resize(10, field=["image", "mask"]).batch(2), epochs=1) as loader:
            list(loader)


@pytest.mark.parametrize("mode, depth", [("rgba", 4), ("alpha", 1), ("gray16", 1), ("palette", 1)])
def test_modes_go_through_what_follows(tmp_path, mode, depth):
    mask = random_picture((20, 18), "P")
    data = saved(mask, "PNG", transparency=3)
    (tmp_path / "p.png").write_bytes(data)
    source = fb.files([str(tmp_path / "p.png")]).decode_image(mode=mode)
    plain = decoded(tmp_path, data, mode)

    def one(pipeline):
        with fb.Loader(pipeline.batch(1), epochs=1) as loader:
            return next(iter(loader))["image"][0]

    assert np.array_equal(one(source.center_crop(8)), plain[5:13, 6:14])
    assert np.array_equal(one(source.random_flip(p=1.0)), plain[:, ::-1])
    assert np.array_equal(one(source.layout("chw")), plain.transpose(2, 0, 1))
    assert one(source.cast("float32")).dtype == np.float32
    assert np.array_equal(one(source.cache(ram="1MiB", disk=0)), plain)
    assert np.array_equal(one(source.resize((9, 10), interpolation="nearest")), plain[1::2, 1::2]) and plain.shape == (18, 20, depth)


def test_several_encoded_pictures_of_a_row(tmp_path):
    pa = pytest.importorskip("pyarrow")
    left, right = (random_picture((6, 5), "RGB", seed) for seed in (1, 2))
    table = fb.arrow(pa.table({"left": [saved(left, "PNG")], "right": [saved(right, "PNG")]}))
    with fb.Loader(table.decode_image(field=["left", "right"]).batch(1), epochs=1) as loader:
        batch = next(iter(loader))
        assert np.array_equal(batch["left"][0], np.asarray(left)) and np.array_equal(batch["right"][0], np.asarray(right))


def test_real_masks_equal_pillow(shared):
    found = 0
    for path in sorted(shared.rglob("*.png"))[:400]:
        data = path.read_bytes()
        try:
            mode = Image.open(io.BytesIO(data)).mode
        except Exception:
            continue
        if mode == "P":
            found += 1
            with fb.Loader(fb.files([str(path)]).decode_image(mode="palette").batch(1), epochs=1) as loader:
                assert np.array_equal(next(iter(loader))["image"][0], of_pillow(data, "palette")), path
    if not found:
        pytest.skip("SHARED DATA ABSENT: no PNG with a palette")
