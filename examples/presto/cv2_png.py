"""Large PNG pictures of 16 bits a channel, which stay 16 bits until they are numbers.

python cv2_png.py FOLDER        a folder per class; pictures of 8 bits are taken, too
"""
import forebay as fb
import show


def pipeline(folder):
    return (
        fb.images(folder)
        .shuffle()
        .decode_image(mode="rgb16")
        .resize(short_side=512)
        .normalize(fb.IMAGENET)
        .random_crop(448)
        .batch(8)
    )


if __name__ == "__main__":
    show.main(pipeline, __doc__)
