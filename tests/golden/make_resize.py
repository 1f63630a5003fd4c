"""Writes the golden pictures of the image operators with Pillow 13: python tests/golden/make_resize.py

The inputs are made by a formula that the C++ tests repeat (src/ops/golden_pictures.h), so only results are stored:
tests/golden/resize/METHOD_HxW_to_HxW_CHANNELS.npy and tests/golden/color/NAME.npy.
"""

from pathlib import Path

import numpy as np
import PIL
from PIL import Image, ImageEnhance

HERE = Path(__file__).resolve().parent

# Height and width before and after, channels. Both orders of the passes, both directions of each, and edges of one pixel.
RESIZES = [
    ((61, 47), (24, 24), 3),
    ((47, 61), (24, 24), 3),
    ((33, 90), (16, 20), 3),
    ((90, 33), (16, 40), 3),
    ((20, 17), (31, 45), 3),
    ((24, 24), (24, 11), 3),
    ((24, 24), (9, 24), 3),
    ((97, 89), (5, 7), 3),
    ((1, 50), (8, 8), 3),
    ((50, 1), (8, 3), 3),
    ((2, 3), (13, 11), 3),
    ((40, 30), (1, 1), 3),
    ((61, 47), (24, 24), 1),
    ((19, 23), (40, 9), 1),
]


def picture(height, width, channels):
    y, x, c = np.meshgrid(np.arange(height), np.arange(width), np.arange(channels), indexing="ij")
    mixed = (x * 73856093 ^ y * 19349663 ^ c * 83492791) >> 5
    return ((x * 3 + y * 2 + c * 60 + mixed % 97) % 256).astype(np.uint8)


def image(height, width, channels):
    pixels = picture(height, width, channels)
    return Image.fromarray(pixels if channels == 3 else pixels[..., 0])


def save(folder, name, result, channels):
    (HERE / folder).mkdir(exist_ok=True)
    np.save(HERE / folder / f"{name}.npy", np.asarray(result).reshape(result.height, result.width, channels))


def hue(source, shift):
    h, s, v = source.convert("HSV").split()
    turned = np.asarray(h) + np.int64(shift * 255).astype(np.uint8)
    return Image.merge("HSV", (Image.fromarray(turned), s, v)).convert("RGB")


def main():
    assert PIL.__version__.startswith("13."), f"made with Pillow 13, this is {PIL.__version__}"
    for (height, width), (to_height, to_width), channels in RESIZES:
        source = image(height, width, channels)
        for method, filter_ in (("bilinear", Image.Resampling.BILINEAR), ("nearest", Image.Resampling.NEAREST)):
            name = f"{method}_{height}x{width}_to_{to_height}x{to_width}_{channels}"
            save("resize", name, source.resize((to_width, to_height), filter_), channels)
    source = image(16, 20, 3)
    save("color", "brightness_0.6", ImageEnhance.Brightness(source).enhance(0.6), 3)
    save("color", "brightness_1.7", ImageEnhance.Brightness(source).enhance(1.7), 3)
    save("color", "contrast_0.4", ImageEnhance.Contrast(source).enhance(0.4), 3)
    save("color", "contrast_1.9", ImageEnhance.Contrast(source).enhance(1.9), 3)
    save("color", "saturation_0.3", ImageEnhance.Color(source).enhance(0.3), 3)
    save("color", "saturation_1.8", ImageEnhance.Color(source).enhance(1.8), 3)
    save("color", "hue_0.3", hue(source, 0.3), 3)
    save("color", "hue_-0.4", hue(source, -0.4), 3)


if __name__ == "__main__":
    main()
