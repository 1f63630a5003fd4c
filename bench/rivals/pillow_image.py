"""A photograph to a cropped, resized and perhaps flipped picture with Pillow, for the loaders that leave decoding to the user."""

from PIL import Image

from recipe import FLIP, SIZE, random_crop


def crop_of(path, random, flip=FLIP):
    """The picture, RGB. `random` has `uniform`, `randint` and `random` as Python's random module does."""
    with Image.open(path) as file:
        image = file.convert("RGB")
    left, top, width, height = random_crop(*image.size, random)
    image = image.crop((left, top, left + width, top + height)).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if random.random() < flip else image
