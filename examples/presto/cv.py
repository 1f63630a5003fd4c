"""Photographs to a classifier's input: decode, resize, centre, crop.

python cv.py FOLDER        a folder per class, such as images/flowers
"""
import forebay as fb
import show


def pipeline(folder):
    return (
        fb.images(folder)
        .shuffle()
        .decode_image()
        .resize(short_side=256)
        .normalize(fb.IMAGENET)
        .random_crop(224)
        .batch(32)
    )


if __name__ == "__main__":
    show.main(pipeline, __doc__)
