"""FFCV's own favourite: the batch stays NHWC in memory, which spares the transposition that the others do."""

import ffcv_loader
from ffcv_loader import epochs, settings, version  # noqa: F401  (the interface)

ffcv_loader.CHANNELS_LAST = True
CONTIGUOUS = False


def name():
    return "FFCV (own file, quality 90), NHWC"
