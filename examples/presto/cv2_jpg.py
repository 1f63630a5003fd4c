"""Large JPEG pictures, made small first.

python cv2_jpg.py FOLDER        a folder per class, such as images/large-jpeg
"""
import forebay as fb
import show


def pipeline(folder):
    return (
        fb.images(folder)
        .shuffle()
        .decode_image()
        .resize(short_side=512)
        .normalize(fb.IMAGENET)
        .random_crop(448)
        .batch(8)
    )


if __name__ == "__main__":
    show.main(pipeline, __doc__)
