"""tf.data without anti-aliasing: less work than the others do, what tf.image.resize does unless told otherwise."""

import tfdata_loader
from tfdata_loader import epochs, settings, version  # noqa: F401  (the interface)

tfdata_loader.ANTIALIAS = False


def name():
    return "tf.data, not anti-aliased"
