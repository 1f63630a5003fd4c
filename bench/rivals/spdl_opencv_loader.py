"""SPDL's threaded pipeline with OpenCV doing the image work."""

from importlib import metadata

import cv2
import numpy as np

import spdl_stream
from opencv_image import RESAMPLE, crop_of, normalize_into
from recipe import SIZE


def load(record):
    return crop_of(record[0]), record[1]


def collate(records):
    images = np.empty((len(records), 3, SIZE, SIZE), np.float32)
    for out, (image, _) in zip(images, records):
        normalize_into(image, out)
    return images, np.array([label for _, label in records])


def epochs(paths, labels, batch, threads, seed):
    return spdl_stream.epochs(load, collate, zip(paths, labels), batch, threads, seed)


def name():
    return "SPDL + OpenCV"


def version():
    return f"spdl {metadata.version('spdl')}, OpenCV {cv2.__version__}"


def settings():
    return {"workers": spdl_stream.WORKERS, "resample": RESAMPLE,
            "decode": "full, libjpeg's defaults"}
