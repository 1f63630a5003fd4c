"""A photograph to a normalised CHW float32 array with OpenCV, for the loaders that leave decoding to the user."""

import random

import cv2
import numpy as np

from recipe import FLIP, MEAN, SIZE, STD, random_crop

SCALE = [np.float32(1 / (255 * s)) for s in STD]
SHIFT = [np.float32(-m / s) for m, s in zip(MEAN, STD)]
RESAMPLE = "bilinear (INTER_LINEAR), not anti-aliased"

cv2.setNumThreads(0)  # the loader's workers are the parallelism


def crop_of(path):
    """The decoded, cropped, resized and perhaps flipped photograph: HWC uint8 RGB."""
    image = cv2.imdecode(np.fromfile(path, np.uint8), cv2.IMREAD_COLOR_RGB)
    left, top, width, height = random_crop(image.shape[1], image.shape[0], random)
    image = cv2.resize(image[top:top + height, left:left + width], (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
    return cv2.flip(image, 1) if random.random() < FLIP else image


def normalize_into(image, out):
    """HWC uint8 to CHW float32, one plane at a time: no temporary of the whole picture."""
    for channel in range(3):
        np.multiply(image[:, :, channel], SCALE[channel], out=out[channel], dtype=np.float32)
        out[channel] += SHIFT[channel]
    return out
