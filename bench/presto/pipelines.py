"""The pipelines that PRESTO (arXiv 2202.08679) profiled, over the real files that are here: what each reads, and its steps.

Files that are too few for whole epochs are enlarged (data_sets/presto_sets.py says how). Each entry of PIPELINES takes forebay and the folder
that its data set was made in, and gives the pipeline; what is random stands last, as in the paper.
"""

import os


def cv(fb, folder):
    """Photographs to a classifier's input."""
    crops = fb.images(folder).shuffle().decode_image().resize(short_side=256).normalize(fb.IMAGENET)
    return crops.random_crop(224).batch(32)


def large_pictures(fb, folder):
    """Pictures of several megapixels, made small first."""
    crops = fb.images(folder).shuffle().decode_image().resize(short_side=512).center_crop(512).resize((256, 256))
    return crops.random_crop(224).normalize(fb.IMAGENET).batch(16)


def table(fb, folder):
    """Not in the paper: a table of numbers and lists, whose decoding is most of the work."""
    rows = fb.parquet(os.path.join(folder, "*.parquet")).shuffle(block=8)
    return rows.batch(4096)


PIPELINES = {"CV": cv, "CV2-JPG": large_pictures, "CV2-PNG": large_pictures, "table": table}
