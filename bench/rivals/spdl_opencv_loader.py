"""SPDL's threaded pipeline with OpenCV doing the image work."""

import random
from importlib import metadata

import cv2
import numpy as np
from spdl.pipeline import PipelineBuilder

from opencv_image import RESAMPLE, crop_of, normalize_into
from recipe import SIZE


def load(record):
    return crop_of(record[0]), record[1]


def collate(records):
    images = np.empty((len(records), 3, SIZE, SIZE), np.float32)
    for out, (image, _) in zip(images, records):
        normalize_into(image, out)
    return images, np.array([label for _, label in records])


def one_epoch(records, batch, threads):
    pipeline = (PipelineBuilder()
                .add_source(records)
                .pipe(load, concurrency=threads)
                .aggregate(batch)
                .pipe(collate)
                .add_sink(2)
                .build(num_threads=threads))
    with pipeline.auto_stop():
        yield from pipeline.get_iterator()


def epochs(paths, labels, batch, threads, seed):
    order = random.Random(seed)
    records = list(zip(paths, labels))
    while True:
        order.shuffle(records)
        yield one_epoch(list(records), batch, threads)


def name():
    return "SPDL + OpenCV"


def version():
    return f"spdl {metadata.version('spdl')}, OpenCV {cv2.__version__}"


def settings():
    return {"workers": "threads, sink 2 batches", "resample": RESAMPLE,
            "decode": "full, libjpeg's defaults"}
