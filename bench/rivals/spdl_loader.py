"""SPDL with its own media functions (FFmpeg): decode, crop, scale and flip in one filter graph."""

import random
from importlib import metadata

import numpy as np
import spdl.io

import spdl_stream
from recipe import ANTIALIASED, FLIP, MEAN, SIZE, STD, random_crop

GAIN = [np.float32(1 / (255 * s)) for s in STD]
SHIFT = [np.float32(-m / s) for m, s in zip(MEAN, STD)]


def load(record):
    packets = spdl.io.demux_image(record[0])
    left, top, width, height = random_crop(packets.width, packets.height, random)
    steps = [f"crop={width}:{height}:{left}:{top}:exact=1", f"scale={SIZE}:{SIZE}:flags=bilinear"]
    steps += ["hflip"] if random.random() < FLIP else []
    return spdl.io.decode_packets(packets, filter_desc=",".join(steps + ["format=pix_fmts=rgb24"])), record[1]


def collate(records):
    raw = spdl.io.to_numpy(spdl.io.convert_frames([frames for frames, _ in records]))
    images = np.empty((len(records), 3, SIZE, SIZE), np.float32)
    for channel in range(3):
        np.multiply(raw[:, :, :, channel], GAIN[channel], out=images[:, channel], dtype=np.float32)
        images[:, channel] += SHIFT[channel]
    return images, np.array([label for _, label in records])


def epochs(paths, labels, batch, threads, seed):
    return spdl_stream.epochs(load, collate, zip(paths, labels), batch, threads, seed)


def name():
    return "SPDL"


def version():
    return f"spdl {metadata.version('spdl')}, spdl-io {metadata.version('spdl-io')}"


def settings():
    return {"workers": spdl_stream.WORKERS, "resample": ANTIALIASED, "decode": "full, FFmpeg's",
            "note": "scaled in YCbCr, then converted"}
