"""Apple's mlx-data: a buffer of records, a stream with threads."""

from importlib import metadata

import mlx.data as dx
import numpy as np

from recipe import FLIP, MEAN, RATIO, SCALE, SIZE, STD

GAIN = np.array([1 / (255 * s) for s in STD], np.float32).reshape(3, 1, 1)
SHIFT = np.array([-m / s for m, s in zip(MEAN, STD)], np.float32).reshape(3, 1, 1)


def normalized(image):
    out = np.multiply(image.transpose(2, 0, 1), GAIN, dtype=np.float32, order="C")
    out += SHIFT
    return out


def epochs(paths, labels, batch, threads, seed):
    records = [{"image": path.encode(), "label": int(label)} for path, label in zip(paths, labels)]
    while True:
        stream = (dx.buffer_from_vector(records)
                  .shuffle()
                  .to_stream()
                  .load_image("image")
                  .image_random_area_crop("image", SCALE, RATIO, 10)
                  .image_resize("image", SIZE, SIZE)
                  .image_random_h_flip("image", FLIP)
                  .key_transform("image", normalized)
                  .prefetch(2 * batch, threads)
                  .batch(batch)
                  .prefetch(2, 1))
        yield ((record["image"], record["label"]) for record in stream)


def name():
    return "mlx-data"


def version():
    return f"mlx-data {metadata.version('mlx-data')}"


def settings():
    return {"workers": "threads, prefetch 2 batches", "resample": "stb_image_resize2 (Mitchell, Catmull-Rom)",
            "decode": "full, stb_image (the wheel has no libjpeg)",
            "note": "the crop is drawn by rejection of width and height, not by area and ratio"}
