"""NVIDIA DALI on the CPU alone: decodes the random crop, resizes anti-aliased, normalises and transposes in one step."""

import nvidia.dali
import numpy as np
from nvidia.dali import fn, pipeline_def, types

from recipe import ANTIALIASED, FLIP, MEAN, RATIO, SCALE, SIZE, STD


@pipeline_def
def photos(paths, labels):
    data, label = fn.readers.file(name="photos", files=paths, labels=labels, shuffle_after_epoch=True,
                                  pad_last_batch=True, prefetch_queue_depth=1)
    image = fn.decoders.image_random_crop(data, device="cpu", random_area=SCALE, random_aspect_ratio=RATIO,
                                          num_attempts=10)
    image = fn.resize(image, size=(SIZE, SIZE), interp_type=types.INTERP_LINEAR, antialias=True)
    image = fn.crop_mirror_normalize(image, dtype=types.FLOAT, output_layout="CHW",
                                     mirror=fn.random.coin_flip(probability=FLIP),
                                     mean=[255 * m for m in MEAN], std=[255 * s for s in STD])
    return image, label


def epochs(paths, labels, batch, threads, seed):
    pipe = photos(paths=list(paths), labels=[int(label) for label in labels], batch_size=batch, num_threads=threads,
                  device_id=None, seed=seed, prefetch_queue_depth=2)
    pipe.build()
    while True:
        yield one_epoch(pipe, len(paths), batch)


def one_epoch(pipe, count, batch):
    """The reader fills the last batch with repeats: they are cut off here."""
    for done in range(0, count, batch):
        images, labels = pipe.run()
        rows = min(batch, count - done)
        yield np.asarray(images.as_tensor())[:rows], np.asarray(labels.as_tensor()).reshape(-1)[:rows]


def name():
    return "DALI (CPU)"


def version():
    return f"nvidia-dali {nvidia.dali.__version__}"


def settings():
    return {"workers": "threads, prefetch_queue_depth 2", "resample": ANTIALIASED,
            "decode": "crop only"}
