"""What every baseline does to a photograph, where its library leaves that to the user."""

import math

SIZE = 224
SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)
FLIP = 0.5
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)

ANTIALIASED = "bilinear, anti-aliased"  # loaders that say this of themselves must agree in detail, see photos_report.py


def random_crop(width, height, random):
    """(left, top, width, height), drawn the way torchvision's RandomResizedCrop does.

    `random` has `uniform` and `randint` as Python's random module does.
    """
    area = width * height
    log_ratio = (math.log(RATIO[0]), math.log(RATIO[1]))
    for _ in range(10):
        target = area * random.uniform(*SCALE)
        aspect = math.exp(random.uniform(*log_ratio))
        w = round(math.sqrt(target * aspect))
        h = round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    return central_crop(width, height)


def central_crop(width, height):
    """The largest crop in the middle whose ratio is allowed: what is taken when ten draws did not fit."""
    w, h = width, height
    if width / height < RATIO[0]:
        h = round(width / RATIO[0])
    elif width / height > RATIO[1]:
        w = round(height * RATIO[1])
    return (width - w) // 2, (height - h) // 2, w, h
