"""FFCV, from its own file (rivals/ffcv_write.py makes it: JPEG re-encoded at quality 90)."""

import os
from dataclasses import replace
from importlib import metadata

import numpy as np
from ffcv.fields.decoders import IntDecoder
from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.pipeline.allocation_query import AllocationQuery
from ffcv.pipeline.compiler import Compiler
from ffcv.pipeline.operation import Operation
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor

from recipe import FLIP, MEAN, RATIO, SCALE, SIZE, STD

CHANNELS_LAST = False
MEAN_255 = 255 * np.array(MEAN)
STD_255 = 255 * np.array(STD)


class NormalizePlanar(Operation):
    """FFCV's NormalizeImage with NCHW output: in one pass, where FFCV's ToTorchImage would copy the batch twice more."""

    def generate_code(self):
        table = ((np.arange(256)[:, None] - MEAN_255) / STD_255).astype(np.float32).T.copy()
        my_range = Compiler.get_iterator()

        def normalize(images, result, indices):
            for i in my_range(len(indices)):
                for channel in range(3):
                    for y in range(images.shape[1]):
                        for x in range(images.shape[2]):
                            result[i, channel, y, x] = table[channel, images[i, y, x, channel]]
            return result[:len(indices)]

        normalize.is_parallel = True
        normalize.with_indices = True
        return normalize

    def declare_state_and_memory(self, previous_state):
        height, width, channels = previous_state.shape
        shape, dtype = (channels, height, width), np.dtype("<f4")
        return replace(previous_state, jit_mode=True, shape=shape, dtype=dtype), AllocationQuery(shape, dtype)


def normalize_steps():
    return [NormalizeImage(MEAN_255, STD_255, np.float32)] if CHANNELS_LAST else [NormalizePlanar()]


def nchw(images):
    """As the trainer indexes it; without copying."""
    return images.numpy().transpose(0, 3, 1, 2) if CHANNELS_LAST else images.numpy()


def epochs(paths, labels, batch, threads, seed):
    image = [RandomResizedCropRGBImageDecoder((SIZE, SIZE), scale=SCALE, ratio=RATIO),
             RandomHorizontalFlip(FLIP),
             *normalize_steps(),
             ToTensor()]
    loader = Loader(os.environ["BENCH_FFCV_FILE"], batch_size=batch, num_workers=threads, order=OrderOption.RANDOM,
                    os_cache=True, drop_last=False, seed=seed,
                    pipelines={"image": image, "label": [IntDecoder(), ToTensor()]})
    while True:
        yield ((nchw(images), numbers.numpy().reshape(-1)) for images, numbers in loader)


def name():
    return "FFCV (own file, quality 90)"


def version():
    return f"ffcv {metadata.version('ffcv')}, numba {metadata.version('numba')}, torch {metadata.version('torch')}"


def settings():
    return {"workers": "threads, batches_ahead 3, os_cache", "resample": "OpenCV's INTER_AREA",
            "decode": "full, fast integer DCT; easier files: quality 90",
            "layout": "NHWC in memory" if CHANNELS_LAST else "NCHW, by an operator of ours", "numba": "compiles in each process"}
