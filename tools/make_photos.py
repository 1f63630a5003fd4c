#!/usr/bin/env python3
"""Makes a data set, one folder per class, out of a few large photographs: each becomes a class of many cut-outs.

    tools/make_photos.py PHOTOGRAPHS OUT [--per-class 24]

The cut-outs are JPEG files of the size and quality that training sets have (about 500 pixels, 10 to 150 KB), the same on
every run. Needs Pillow.
"""
import argparse
import os
import random
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image

LONG_SIDE = 2000  # photographs are shrunk to this first: a cut-out then shows something
ENDINGS = {".jpg", ".jpeg"}


def class_name(path):
    """'Bridge_by_Sander_Klootwijk.jpg' is of the class 'bridge'."""
    return path.stem.split("_by_")[0].lower().replace(" ", "_")


def cut_out(picture, draw):
    """A random part of the picture, between a third and all of it wide, as a picture of about 500 pixels."""
    width, height = picture.size
    long_side = draw.randint(max(200, min(picture.size) // 3), min(picture.size))
    short_side = int(long_side * draw.uniform(0.66, 1.0))
    w, h = (long_side, short_side) if draw.random() < 0.7 else (short_side, long_side)
    x, y = draw.randint(0, width - w), draw.randint(0, height - h)
    scale = draw.randint(400, 560) / max(w, h)
    return picture.resize((round(w * scale), round(h * scale)), Image.Resampling.BICUBIC, box=(x, y, x + w, y + h))


def write_class(path, out, count):
    name = class_name(path)
    draw = random.Random(name)
    with Image.open(path) as opened:
        opened.draft("RGB", (LONG_SIDE, LONG_SIDE))
        picture = opened.convert("RGB")
    picture.thumbnail((LONG_SIDE, LONG_SIDE), Image.Resampling.BICUBIC)
    folder = out / name
    folder.mkdir(parents=True)
    for i in range(count):
        cut_out(picture, draw).save(folder / f"{name}_{i:03d}.jpg", quality=draw.randint(85, 95))
    return count


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("photographs", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--per-class", type=int, default=24)
    arguments = arguments.parse_args()

    photographs = sorted(p for p in arguments.photographs.rglob("*") if p.suffix.lower() in ENDINGS and p.is_file())
    if not photographs:
        print(f"no photographs in {arguments.photographs}", file=sys.stderr)
        return 1
    # Written beside its final place and moved there when it is whole, so a run that was stopped leaves no half of a set.
    unfinished = arguments.out.with_name(arguments.out.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        written = sum(pool.map(lambda path: write_class(path, unfinished, arguments.per_class), photographs))
    shutil.rmtree(arguments.out, ignore_errors=True)
    unfinished.rename(arguments.out)
    print(f"{written} pictures of {len(photographs)} classes in {arguments.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
